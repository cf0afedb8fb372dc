//! What each policy would have done with searches that are known to their end.
//!
//! Every test is explored once, and what could be estimated on the way is kept as its *course*. A simulated suite spends time on
//! courses instead of programs, with the same queue as a real one, so that policies can be compared with each other and with the best that
//! could have been done. Time is counted in events: the same on every machine.
//!
//! The two measures are those of chapter 4 of Simsa, *Systematic and Scalable Testing of Concurrent Programs* (2013), tables 4.5 and 4.6.

use super::policy::{Outlook, Policy, Queue};
use reweave_explore::Estimate;
use std::fmt::Write;

/// A search from its beginning to its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    pub name: String,
    /// What could be told at which time, in order; from then on until the next.
    pub points: Vec<(f64, Outlook)>,
    /// How large it was said to be at these times.
    pub estimates: Vec<Estimate>,
    /// How large it was.
    pub runs: u64,
    /// How long it took.
    pub length: f64,
}

/// The part of all time that is there where it is scarce.
const SCARCE: f64 = 0.1;

/// Turns that the whole simulated suite is cut into.
const TURNS: f64 = 20_000.0;

/// Parts of a search after which its estimate is compared with the actual size.
const PARTS: [f64; 3] = [0.01, 0.05, 0.25];

/// All tables. Each search was made several times, by other dice: figures are means.
pub fn tables(turns: &[Vec<Course>]) -> String {
    let mut out = accuracies(turns);
    out.push_str("Time until so many tests are complete, as a part of what round-robin needs\n\n");
    let _ = writeln!(out, "{:>9}  finish-most   even  optimal", "complete");
    let rows = means(turns.iter().map(|courses| fractions(courses)));
    let last = mean(&rows);
    let named = (1..).map(|count: usize| count.to_string()).zip(&rows);
    for (name, [finish, even, best]) in named.chain([("mean".into(), &last)]) {
        let _ = writeln!(out, "{name:>9}  {finish:>11.2}  {even:>5.2}  {best:>7.2}");
    }
    let _ = writeln!(
        out,
        "\nCoverage error with {:.0} % of the time: how far the part of a test that was explored is off, as a factor\n",
        SCARCE * 100.0
    );
    let width = width(turns, "test");
    let _ = writeln!(
        out,
        "{:<width$}  {:>11}  round-robin  finish-most   even",
        "test", "events"
    );
    let rows = means(turns.iter().map(|courses| coverage_errors(courses)));
    let last = mean(&rows);
    for (course, [robin, finish, even]) in turns[0].iter().zip(&rows) {
        let (name, length) = (&course.name, course.length);
        let _ = writeln!(
            out,
            "{name:<width$}  {length:>11.0}  {robin:>11.2}  {finish:>11.2}  {even:>5.2}"
        );
    }
    let [robin, finish, even] = last;
    let _ = writeln!(
        out,
        "{:<width$}  {:>11}  {robin:>11.2}  {finish:>11.2}  {even:>5.2}",
        "mean", ""
    );
    out
}

/// How right estimates were, in percent (too much and too little count alike), and how often the truth was within what was said.
fn accuracies(turns: &[Vec<Course>]) -> String {
    let width = width(turns, "search");
    let mut out = String::from(
        "Accuracy of estimates after 1, 5 and 25 % of the executions, and how often the truth was within the factor that was said\n\n",
    );
    let _ = writeln!(
        out,
        "{:<width$}  {:>11}     1 %     5 %    25 %  within",
        "search", "executions"
    );
    let each = |courses: &Vec<Course>| courses.iter().map(Course::accuracies).collect();
    let rows = means(turns.iter().map(each));
    let last = mean(&rows);
    let named = |course: &Course| (course.name.clone(), course.runs.to_string());
    let names = turns[0].iter().map(named);
    let names = names.chain([("mean".into(), String::new())]);
    let lines = names.zip(rows.iter().chain([&last]));
    for ((name, runs), row) in lines {
        let [one, five, quarter, within] = row.map(figure);
        let _ = writeln!(
            out,
            "{name:<width$}  {runs:>11}  {one:>6}  {five:>6}  {quarter:>6}  {within:>6}"
        );
    }
    out.push('\n');
    out
}

/// How wide a column with the names of all tests is.
fn width(turns: &[Vec<Course>], title: &str) -> usize {
    let names = turns[0].iter().map(|course| course.name.len());
    names.fold(title.len(), usize::max)
}

/// A cell of a table: `-` where there is no figure.
fn figure(value: f64) -> String {
    match value.is_nan() {
        true => "-".into(),
        false => format!("{value:.1}"),
    }
}

/// For each number of tests the time until so many are complete, as parts of round-robin's: finish-most, even, the best that can be.
fn fractions(courses: &[Course]) -> Vec<[f64; 3]> {
    let mut lengths: Vec<f64> = courses.iter().map(|course| course.length).collect();
    lengths.sort_by(f64::total_cmp);
    let best = lengths.iter().scan(0.0, |sum, length| {
        *sum += length;
        Some(*sum)
    });
    let times = [Policy::RoundRobin, Policy::FinishMost, Policy::Even]
        .map(|policy| completions(courses, policy));
    let [robin, finish, even] = &times;
    let parts = robin.iter().zip(finish).zip(even).zip(best);
    parts
        .map(|(((robin, finish), even), best)| [finish / robin, even / robin, best / robin])
        .collect()
}

/// When the first test was complete, the second, and so on.
fn completions(courses: &[Course], policy: Policy) -> Vec<f64> {
    let mut times = Vec::new();
    spend(courses, policy, f64::INFINITY, |time| times.push(time));
    times
}

/// How far each test's covered part is off from the part that all could have: round-robin, finish-most, even.
fn coverage_errors(courses: &[Course]) -> Vec<[f64; 3]> {
    let budget = SCARCE * total(courses);
    let spent = [Policy::RoundRobin, Policy::FinishMost, Policy::Even]
        .map(|policy| spend(courses, policy, budget, |_| {}));
    let errors = courses.iter().enumerate().map(|(test, course)| {
        [0, 1, 2].map(|policy| {
            let realized = spent[policy][test] / course.length;
            (realized / SCARCE).max(SCARCE / realized)
        })
    });
    errors.collect()
}

/// Spends the budget as the policy says, and hands back what each test got.
fn spend(
    courses: &[Course],
    policy: Policy,
    budget: f64,
    mut completed: impl FnMut(f64),
) -> Vec<f64> {
    let turn = total(courses) / TURNS;
    let mut queue = Queue::new(policy);
    (0..courses.len()).for_each(|test| queue.push(test, None));
    let mut spent = vec![0.0; courses.len()];
    let mut now = 0.0;
    while now < budget {
        let Some(test) = queue.pop() else { break };
        let course = &courses[test];
        let used = turn.min(course.length - spent[test]).min(budget - now);
        spent[test] += used;
        now += used;
        if spent[test] >= course.length {
            completed(now);
        } else {
            queue.push(test, course.outlook(spent[test]));
        }
    }
    spent
}

fn total(courses: &[Course]) -> f64 {
    courses.iter().map(|course| course.length).sum()
}

/// Of each column, as far as there are numbers in it.
fn mean<const COLUMNS: usize>(rows: &[[f64; COLUMNS]]) -> [f64; COLUMNS] {
    std::array::from_fn(|column| {
        let column = rows.iter().map(|row| row[column]);
        let known: Vec<f64> = column.filter(|value| !value.is_nan()).collect();
        known.iter().sum::<f64>() / known.len() as f64
    })
}

/// Of each cell, over several tables.
fn means<const COLUMNS: usize>(
    tables: impl Iterator<Item = Vec<[f64; COLUMNS]>>,
) -> Vec<[f64; COLUMNS]> {
    let tables: Vec<_> = tables.collect();
    let row = |row: usize| {
        let same: Vec<[f64; COLUMNS]> = tables.iter().map(|table| table[row]).collect();
        mean(&same)
    };
    (0..tables[0].len()).map(row).collect()
}

impl Course {
    /// In percent: how right it was after each part, and how often the truth was within what was said. No numbers: there is nothing to
    /// hold against the truth.
    fn accuracies(&self) -> [f64; 4] {
        if self.runs == 0 {
            return [f64::NAN; 4];
        }
        let truth = (self.runs as f64).ln();
        let off = |estimate: &Estimate| (estimate.ln_runs - truth).abs();
        let [one, five, quarter] = PARTS.map(|part| {
            let until = part * self.runs as f64;
            let known = self.estimates.partition_point(|it| it.done as f64 <= until);
            let last = self.estimates[..known].last();
            last.map_or(0.0, |estimate| 100.0 * (-off(estimate)).exp())
        });
        // While it matters: afterwards all is said.
        let early = |it: &&Estimate| (0.01..0.5).contains(&(it.done as f64 / self.runs as f64));
        let early: Vec<&Estimate> = self.estimates.iter().filter(early).collect();
        let held = early.iter().filter(|it| off(it) <= it.within.ln()).count();
        let within = 100.0 * held as f64 / early.len() as f64;
        [one, five, quarter, within]
    }

    /// What can be told after so much time.
    fn outlook(&self, time: f64) -> Option<Outlook> {
        let known = self.points.partition_point(|(at, _)| *at <= time);
        let (_, outlook) = self.points.get(known.checked_sub(1)?)?;
        Some(*outlook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search whose length is known from the beginning.
    fn known(name: &str, length: f64) -> Course {
        let points = (1..1000).map(|point| {
            let part = f64::from(point) / 1000.0;
            let outlook = Outlook {
                ln_seconds: (length * (1.0 - part)).ln(),
                ln_covered: part.ln(),
            };
            (length * part, outlook)
        });
        Course {
            name: name.into(),
            points: points.collect(),
            estimates: Vec::new(),
            runs: 0,
            length,
        }
    }

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 0.02 * right
    }

    /// Lengths 1, 2 and 7. Round-robin completes them at 3, 5 and 10; shortest first at 1, 3 and 10.
    #[test]
    fn perfect_estimates_complete_as_early_as_can_be() {
        let courses = [known("c", 7.0), known("a", 1.0), known("b", 2.0)];
        let robin = completions(&courses, Policy::RoundRobin);
        for (time, wanted) in robin.iter().zip([3.0, 5.0, 10.0]) {
            assert!(near(*time, wanted), "{robin:?}");
        }
        let finish = completions(&courses, Policy::FinishMost);
        for (time, wanted) in finish.iter().zip([1.0, 3.0, 10.0]) {
            assert!(near(*time, wanted), "{finish:?}");
        }
        for [finish, _, best] in fractions(&courses) {
            assert!(near(finish, best));
        }
    }

    /// A tenth of 10 is 1. Round-robin gives each a third: 0.33 of 1, 0.17 of 2, 0.048 of 7, instead of a tenth of each.
    #[test]
    fn perfect_estimates_cover_evenly() {
        let courses = [known("a", 1.0), known("b", 2.0), known("c", 7.0)];
        let errors = coverage_errors(&courses);
        for ([robin, _, even], wanted) in errors.iter().zip([10.0 / 3.0, 10.0 / 6.0, 2.1]) {
            assert!(near(*even, 1.0) && near(*robin, wanted), "{errors:?}");
        }
    }

    #[test]
    fn estimates_that_are_wrong_show() {
        let mut courses = [known("a", 1.0), known("b", 2.0), known("c", 7.0)];
        // The longest one always looks as if it were nearly done.
        for (_, outlook) in &mut courses[2].points {
            outlook.ln_seconds = -20.0;
        }
        let finish = completions(&courses, Policy::FinishMost);
        assert!(near(finish[0], 7.0), "{finish:?}");
    }

    #[test]
    fn tables_have_a_line_for_each_test() {
        let courses = [known("a", 1.0), known("b", 2.0), known("c", 7.0)];
        let text = tables(&[courses.to_vec(), courses.to_vec()]);
        assert!(
            text.contains("\n        3         1.00   1.00     1.00\n"),
            "{text}"
        );
        assert!(text.contains("\nmean"), "{text}");
        assert_eq!(text.lines().count(), 23, "{text}");
        // Of searches without executions there is nothing to say.
        let none = "\na                 0       -       -       -       -\n";
        assert!(text.contains(none) && !text.contains("NaN"), "{text}");
    }
}
