//! `reweave evaluate`: how right estimates would have been on recorded searches, in tables.

use crate::output::{print, usage};
use reweave_explore::{Curve, Estimator, Probing, Recorded, Strategy};
use reweave_report::{ExitCode, clean, grouped, open};
use std::{
    collections::BTreeMap,
    io::BufReader,
    path::{Path, PathBuf},
};

/// Parts of a search after which its estimate is compared with the actual size.
const PARTS: [f64; 3] = [0.01, 0.05, 0.25];

/// Probing is random: its accuracy is the mean over these seeds.
const SEEDS: std::ops::Range<u64> = 0..5;

/// Techniques with probes, compared with those that only observe the search.
const PROBED: [(&str, Probing); 2] = [
    ("probing seldom", Probing::Seldom),
    ("probing often", Probing::Often),
];

/// Accuracies of all techniques on one search: for each part, for each technique.
struct Evaluated {
    name: String,
    executions: u64,
    nodes: u64,
    accuracies: [Vec<(String, f64)>; 3],
}

impl Evaluated {
    /// Of a technique, after a part.
    fn accuracy(&self, part: usize, technique: &str) -> f64 {
        let mut row = self.accuracies[part].iter();
        let found = row.find(|(name, _)| name == technique);
        found.map_or(0.0, |(_, accuracy)| *accuracy)
    }
}

/// Runs the command and says with which code to exit.
pub fn run(logs: &[PathBuf]) -> ExitCode {
    let mut evaluated = Vec::new();
    for log in logs {
        match evaluate(log) {
            Ok(one) => evaluated.push(one),
            Err(why) => return usage(&why),
        }
    }
    print(&tables(&evaluated))
}

fn evaluate(log: &Path) -> Result<Evaluated, String> {
    let file = open(log).map_err(|error| error.to_string())?;
    let recorded = Recorded::read(BufReader::new(file))
        .map_err(|error| format!("{}: {error}", log.display()))?;
    let truth = recorded.time();
    let mut parts = recorded.replay(&PARTS).into_iter();
    let probed = PROBED.map(|(name, probing)| (name, recorded.probe(probing, &PARTS, SEEDS)));
    let accuracies = [0, 1, 2].map(|part| {
        let guesses = parts.next().unwrap_or_default();
        let named = |guess: &reweave_explore::Guess| {
            let name = name(guess.strategy, guess.estimator, guess.curve);
            (name, accuracy(truth, guess.estimate))
        };
        let mut row: Vec<(String, f64)> = guesses.iter().map(named).collect();
        let executions = recorded.executions() as f64;
        row.extend(probed.iter().map(|(name, probed)| {
            let each = probed.iter().map(|found| accuracy(executions, found[part]));
            (name.to_string(), each.sum::<f64>() / SEEDS.count() as f64)
        }));
        row
    });
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Evaluated {
        name: clean(&name),
        executions: recorded.executions(),
        nodes: recorded.nodes(),
        accuracies,
    })
}

/// In percent; too much and too little count alike.
fn accuracy(truth: f64, estimate: f64) -> f64 {
    match estimate.is_finite() {
        true => 100.0 * (truth / estimate).min(estimate / truth),
        false => 0.0,
    }
}

/// `l+w+l`: lazy, weighted, logarithmic.
fn name(strategy: Strategy, estimator: Estimator, curve: Curve) -> String {
    let strategy = match strategy {
        Strategy::Oracle => "o",
        Strategy::Lazy => "l",
        Strategy::Eager => "e",
    };
    let estimator = match estimator {
        Estimator::Weighted => "w",
        Estimator::Recursive => "r",
    };
    let curve = match curve {
        Curve::Empty => "empty",
        Curve::Constant => "constant",
        Curve::Linear => "linear",
        Curve::Logarithmic => "log",
    };
    format!("{strategy}+{estimator}+{curve}")
}

fn tables(all: &[Evaluated]) -> String {
    let mut text = format!("{:<24} {:>12} {:>12}\n", "search", "nodes", "executions");
    for one in all {
        let (nodes, executions) = (grouped(one.nodes), grouped(one.executions));
        text += &format!("{:<24} {nodes:>12} {executions:>12}\n", one.name);
    }
    for (index, part) in PARTS.iter().enumerate() {
        text += &format!(
            "\nAccuracy after {:.0}% (strategy oracle, lazy, eager; estimator weighted, recursive; fit)\n{:<14} {:>7}",
            part * 100.0,
            "technique",
            "mean"
        );
        for one in all {
            text += &format!(" {:>9.9}", one.name);
        }
        text.push('\n');
        let techniques = all.first().map_or(&[][..], |one| &one.accuracies[index]);
        for (row, (technique, _)) in techniques.iter().enumerate() {
            let values = all.iter().map(|one| one.accuracies[index][row].1);
            let mean = values.clone().sum::<f64>() / all.len() as f64;
            text += &format!("{technique:<14} {mean:>6.1}%");
            for value in values {
                text += &format!(" {value:>8.1}%");
            }
            text.push('\n');
        }
    }
    text + &by_size(all)
}

/// Means over searches of about the same size, of what does not only look on and of the default of what does.
fn by_size(all: &[Evaluated]) -> String {
    let mut sizes: BTreeMap<u32, Vec<&Evaluated>> = BTreeMap::new();
    for one in all {
        let decade = one.executions.max(1).ilog10();
        sizes.entry(decade).or_default().push(one);
    }
    let default = name(Strategy::Lazy, Estimator::Weighted, Curve::Logarithmic);
    let names = PROBED.map(|(name, _)| name);
    let mut text = format!("\n{:<24} {:>8}", "Means by size", "searches");
    for name in names.iter().chain([&default.as_str()]) {
        text += &format!("  {name:>20}");
    }
    text.push('\n');
    for (decade, those) in sizes {
        let (from, to) = (
            grouped(10u64.pow(decade)),
            grouped(10u64.saturating_pow(decade + 1)),
        );
        text += &format!("{:<24} {:>8}", format!("{from} to {to}"), those.len());
        for name in names.iter().chain([&default.as_str()]) {
            let means = [0, 1, 2].map(|part| {
                let of = |one: &&Evaluated| one.accuracy(part, name);
                those.iter().map(of).sum::<f64>() / those.len() as f64
            });
            let [one, five, quarter] = means.map(|mean| format!("{mean:.1}"));
            text += &format!("  {:>20}", format!("{one} {five} {quarter}"));
        }
        text.push('\n');
    }
    text
}
