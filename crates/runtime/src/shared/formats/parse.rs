//! Takes a format apart into conversions.

use alloc::vec::Vec;

/// What a format is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Out,
    In,
}

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// In an integer register, or eight bytes of the stack.
    Word,
    /// In a vector register, or eight bytes of the stack.
    Float,
    /// In sixteen bytes of the stack.
    LongDouble,
}

/// What is done with an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It is a value, or a pointer whose target does not matter.
    Value,
    /// A C string.
    Text,
    /// A text of wide characters.
    WideText,
    /// So many bytes are written.
    Place(usize),
}

/// How much of a text is read at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    None,
    Fixed(usize),
    Argument(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion {
    /// Which argument it takes; `None`: none.
    pub argument: Option<usize>,
    pub class: Class,
    pub takes: Use,
    pub limit: Limit,
    /// Arguments before it that say how wide it is and how precise.
    stars: [Option<usize>; 2],
    /// It is part of the result of formatted input.
    pub counts: bool,
    /// Between the conversion before and this one stands something that input may not match.
    pub after_words: bool,
}

/// The conversions of a format.
pub fn conversions(format: &[u32], direction: Direction) -> Vec<Conversion> {
    let mut parser = Parser {
        rest: format,
        next: 0,
        direction,
    };
    let mut found: Vec<Conversion> = Vec::new();
    let mut after_words = false;
    while let Some(character) = parser.take() {
        if character != '%' {
            after_words |= !character.is_ascii_whitespace();
            continue;
        }
        let Some(conversion) = parser.conversion(after_words) else {
            break;
        };
        after_words = conversion.argument.is_none();
        found.push(conversion);
    }
    found
}

/// The classes of the arguments that conversions take, in their order.
pub fn classes(conversions: &[Conversion]) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut set = |index: usize, class: Class| {
        if classes.len() <= index {
            classes.resize(index + 1, Class::Word);
        }
        classes[index] = class;
    };
    for conversion in conversions {
        conversion
            .stars
            .iter()
            .flatten()
            .for_each(|star| set(*star, Class::Word));
        if let Some(argument) = conversion.argument {
            set(argument, conversion.class);
        }
    }
    classes
}

/// How long a number is, by the letters before a conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Int,
    Char,
    Short,
    Long,
    /// `L`: eight bytes, or a `long double`.
    Longest,
}

impl Length {
    fn bytes(self) -> usize {
        match self {
            Length::Char => 1,
            Length::Short => 2,
            Length::Int => 4,
            Length::Long | Length::Longest => 8,
        }
    }

    fn of_float(self) -> usize {
        match self {
            Length::Longest => 16,
            Length::Long => 8,
            _ => 4,
        }
    }
}

struct Parser<'a> {
    rest: &'a [u32],
    /// The next argument that is not named by its number.
    next: usize,
    direction: Direction,
}

/// Most arguments that a format is believed to have.
const MOST: usize = 256;

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        let first = self.rest.first()?;
        Some(char::from_u32(*first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn take(&mut self) -> Option<char> {
        let first = self.peek()?;
        self.rest = &self.rest[1..];
        Some(first)
    }

    fn accept(&mut self, characters: &str) -> Option<char> {
        let next = self.peek().filter(|next| characters.contains(*next))?;
        self.take();
        Some(next)
    }

    fn number(&mut self) -> Option<usize> {
        let mut value = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            self.take();
            let before: usize = value.unwrap_or(0);
            value = Some(before.saturating_mul(10).saturating_add(digit as usize));
        }
        value
    }

    /// A number followed by `$`: an argument by its number.
    fn position(&mut self) -> Option<usize> {
        let before = self.rest;
        let number = self.number();
        match number.filter(|number| (1..=MOST).contains(number) && self.accept("$").is_some()) {
            Some(number) => Some(number - 1),
            None => {
                self.rest = before;
                None
            }
        }
    }

    fn argument(&mut self, position: Option<usize>) -> usize {
        position.unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// `*`, an argument that is a number; a number that is written down.
    fn measure(&mut self) -> (Option<usize>, Option<usize>) {
        if self.direction == Direction::Out && self.accept("*").is_some() {
            let position = self.position();
            return (Some(self.argument(position)), None);
        }
        (None, self.number())
    }

    fn length(&mut self) -> Length {
        match self.accept("hlqLjzZt") {
            Some('h') if self.accept("h").is_some() => Length::Char,
            Some('h') => Length::Short,
            Some('l') if self.accept("l").is_some() => Length::Longest,
            Some('L' | 'q') => Length::Longest,
            Some(_) => Length::Long,
            None => Length::Int,
        }
    }

    /// What follows a `%`; `None`: it is not understood.
    fn conversion(&mut self, after_words: bool) -> Option<Conversion> {
        let position = self.position();
        let mut skipped = false;
        let mut allocates = false;
        let flags = match self.direction {
            Direction::Out => "-+ #0'I",
            Direction::In => "*'I",
        };
        while let Some(flag) = self.accept(flags) {
            skipped |= flag == '*';
        }
        let (width, fixed_width) = self.measure();
        let (precision, limit) =
            match self.direction == Direction::Out && self.accept(".").is_some() {
                false => (None, Limit::None),
                true => match self.measure() {
                    (Some(argument), _) => (Some(argument), Limit::Argument(argument)),
                    (None, fixed) => (None, Limit::Fixed(fixed.unwrap_or(0))),
                },
            };
        if self.direction == Direction::In {
            allocates = self.accept("m").is_some();
        }
        let length = self.length();
        let letter = self.take()?;
        let (class, mut takes, mut counts) = match self.direction {
            Direction::Out => printing(letter, length)?,
            Direction::In => scanning(letter, length, fixed_width)?,
        };
        if letter == '[' {
            self.set();
        }
        if allocates {
            takes = Use::Place(8);
        }
        let none = letter == '%' || letter == 'm' && self.direction == Direction::Out || skipped;
        counts &= !none;
        let argument = (!none).then(|| self.argument(position));
        Some(Conversion {
            argument,
            class,
            takes,
            limit,
            stars: [width, precision],
            counts,
            after_words,
        })
    }

    /// The characters between brackets; a `]` that is the first is one of them.
    fn set(&mut self) {
        self.accept("^");
        self.accept("]");
        while self.take().is_some_and(|character| character != ']') {}
    }
}

fn printing(letter: char, length: Length) -> Option<(Class, Use, bool)> {
    let float = match length {
        Length::Longest => Class::LongDouble,
        _ => Class::Float,
    };
    let (class, takes) = match letter {
        'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'c' | 'C' | 'p' | 'm' | '%' | 'b' | 'B' => {
            (Class::Word, Use::Value)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => (float, Use::Value),
        's' if length == Length::Long => (Class::Word, Use::WideText),
        's' => (Class::Word, Use::Text),
        'S' => (Class::Word, Use::WideText),
        'n' => (Class::Word, Use::Place(length.bytes())),
        _ => return None,
    };
    Some((class, takes, false))
}

fn scanning(letter: char, length: Length, width: Option<usize>) -> Option<(Class, Use, bool)> {
    let wide = length == Length::Long;
    let takes = match letter {
        'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'n' | 'b' => Use::Place(length.bytes()),
        'p' => Use::Place(8),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => Use::Place(length.of_float()),
        's' | '[' if !wide => Use::Text,
        's' | '[' | 'S' => Use::WideText,
        'c' if !wide => Use::Place(width.unwrap_or(1)),
        'c' | 'C' => Use::Place(4 * width.unwrap_or(1)),
        '%' => Use::Value,
        _ => return None,
    };
    Some((Class::Word, takes, letter != 'n'))
}
