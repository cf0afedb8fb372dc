//! Formats are taken apart; called by nothing but the test harness.

use super::parse::{Class, Direction, Limit, Use, classes, conversions};
use alloc::{vec, vec::Vec};

fn of(format: &str, direction: Direction) -> Vec<super::parse::Conversion> {
    let format: Vec<u32> = format.chars().map(u32::from).collect();
    conversions(&format, direction)
}

/// Argument and what is done with it.
fn uses(format: &str, direction: Direction) -> Vec<(usize, Use)> {
    let found = of(format, direction).into_iter();
    found
        .filter_map(|conversion| Some((conversion.argument?, conversion.takes)))
        .collect()
}

#[test]
fn texts_are_found_among_other_arguments() {
    let expected = vec![(0, Use::Value), (1, Use::Text), (2, Use::Value)];
    assert_eq!(uses("%d: %s%%, %5.2f%m", Direction::Out), expected);
}

#[test]
fn widths_and_precisions_are_arguments() {
    let found = of("%-*.*s %.3s %.s", Direction::Out);
    assert_eq!(found[0].argument, Some(2));
    let limits: Vec<Limit> = found.iter().map(|conversion| conversion.limit).collect();
    assert_eq!(
        limits,
        [Limit::Argument(1), Limit::Fixed(3), Limit::Fixed(0)]
    );
}

#[test]
fn arguments_can_have_numbers() {
    let expected = vec![(1, Use::Text), (0, Use::Value)];
    assert_eq!(uses("%2$s %1$*3$d", Direction::Out), expected);
    assert_eq!(
        classes(&of("%2$s %1$*3$f", Direction::Out)),
        [Class::Float, Class::Word, Class::Word]
    );
}

#[test]
fn floats_are_passed_elsewhere() {
    let expected = [Class::Float, Class::LongDouble, Class::Word];
    assert_eq!(classes(&of("%g %Lg %lld", Direction::Out)), expected);
}

#[test]
fn numbers_of_characters_are_written() {
    let expected = vec![(0, Use::Place(4)), (1, Use::Place(1)), (2, Use::Place(8))];
    assert_eq!(uses("%n%hhn%ln", Direction::Out), expected);
}

#[test]
fn input_goes_to_places_by_its_length() {
    let expected = vec![
        (0, Use::Place(4)),
        (1, Use::Place(8)),
        (2, Use::Text),
        (3, Use::Place(7)),
        (4, Use::Place(16)),
        (5, Use::Place(8)),
    ];
    let format = "%d %lf %*s %9[]a%]x %7c%Lf%ms";
    assert_eq!(uses(format, Direction::In), expected);
}

#[test]
fn what_follows_an_unknown_conversion_is_left_alone() {
    assert_eq!(uses("%d %K %s", Direction::Out), [(0, Use::Value)]);
    assert_eq!(uses("%s %", Direction::Out), [(0, Use::Text)]);
}

#[test]
fn positions_count_only_if_input_came_to_them() {
    let found = of("%d %n,%n", Direction::In);
    let known: Vec<(bool, bool)> = found
        .iter()
        .map(|conversion| (conversion.counts, conversion.after_words))
        .collect();
    assert_eq!(known, [(true, false), (false, false), (false, true)]);
}
