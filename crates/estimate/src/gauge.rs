//! What workers tell of their executions, and what others learn from it.

use crate::{Estimate, LogSum, probe::SoFar, series::Series};
use serde::{Deserialize, Serialize};
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// How far a search is: asked at any time, from any thread, while workers go on.
#[derive(Debug)]
pub struct Gauge {
    tally: Mutex<Tally>,
    /// What all of it weighs: the natural logarithm. A part of a search that was split weighs less than one.
    whole: f64,
    /// Workers that have something to do.
    busy: AtomicUsize,
}

impl Gauge {
    /// For a search that has done so much, and has branches of this weight left.
    pub fn new(tally: Tally, mut left: LogSum) -> Gauge {
        left.merge(&tally.weight);
        Gauge {
            tally: Mutex::new(tally),
            whole: left.ln(),
            busy: AtomicUsize::new(0),
        }
    }

    /// How large the search is; `None` before the first execution.
    pub fn estimate(&self) -> Option<Estimate> {
        self.lock().estimate(self.whole)
    }

    /// How many workers have something to do.
    pub fn busy(&self) -> usize {
        self.busy.load(Relaxed)
    }

    /// So many have.
    pub fn set_busy(&self, workers: usize) {
        self.busy.store(workers, Relaxed);
    }

    /// Takes in what a worker has counted, unless somebody else is at it: then it can wait.
    pub fn offer(&self, tally: &mut Tally) {
        if let Ok(mut mine) = self.tally.try_lock() {
            self.take_in(&mut mine, tally);
            *tally = Tally::default();
        }
    }

    /// Takes in what a worker has counted.
    pub fn merge(&self, tally: &Tally) {
        self.take_in(&mut self.lock(), tally);
    }

    fn take_in(&self, mine: &mut Tally, new: &Tally) {
        mine.merge(new);
        if mine.runs > 0 {
            let (runs, weight) = (mine.runs, mine.weight);
            let plain = || plain(runs, weight, self.whole);
            mine.series.note(runs as f64, plain);
        }
    }

    /// All that was counted.
    pub fn tally(&self) -> Tally {
        self.lock().clone()
    }

    /// Executions, those of them in passes, and passes.
    pub fn so_far(&self) -> (u64, u64, usize) {
        let tally = self.lock();
        (tally.runs, tally.probed, tally.passes.len())
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("nobody panics while counting")
    }
}

/// Executions, and what they tell.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// All of them.
    pub runs: u64,
    /// Those of them that were run in passes.
    pub probed: u64,
    /// Branches that follow from them.
    children: u64,
    weight: LogSum,
    series: Series,
    passes: Vec<Passed>,
    /// What the pass under way would come to.
    under_way: Option<Passed>,
}

/// What a pass of probing came to.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Passed {
    /// Executions before it.
    pub before: u64,
    /// How many it took on a level; fewer, for one that is not over.
    pub width: f64,
    /// How many executions there are in all; the natural logarithm.
    pub ln_runs: f64,
}

impl Passed {
    /// So many executions were done before, and so many (a natural logarithm) were below what was left.
    pub fn new(before: u64, width: usize, below: f64) -> Passed {
        let mut all = LogSum::default();
        all.add(below);
        if before > 0 {
            all.add((before as f64).ln());
        }
        Passed {
            before,
            width: width as f64,
            ln_runs: all.ln(),
        }
    }

    /// As `new`, of a pass that is not over. It counts for less.
    pub fn so_far(before: u64, width: usize, so_far: SoFar) -> Passed {
        let whole = Passed::new(before, width, so_far.below);
        Passed {
            width: whole.width * so_far.seen.sqrt(),
            ..whole
        }
    }
}

/// How sure an estimate is that no pass went into.
const UNSEEN: f64 = 50.0;

/// More passes than these are not remembered: the earliest say the least.
const PASSES: usize = 256;

impl Tally {
    /// Counts an execution that weighs so much, the natural logarithm of it, and has so many children.
    pub fn add(&mut self, ln_weight: f64, children: usize) {
        self.runs += 1;
        self.children += children as u64;
        self.weight.add(ln_weight);
    }

    /// Which part of the whole search the executions weigh.
    pub fn covered(&self) -> f64 {
        self.weight.ln().exp()
    }

    /// Counts branches that followed from an execution which was counted elsewhere.
    pub fn adopt(&mut self, branches: usize) {
        self.children += branches as u64;
    }

    /// Counts a pass.
    pub fn pass(&mut self, pass: Passed) {
        self.under_way = None;
        self.passes.push(pass);
        if self.passes.len() > PASSES {
            self.passes.remove(0);
        }
    }

    /// Notes how far a pass is.
    pub fn pass_so_far(&mut self, pass: Passed) {
        self.under_way = Some(pass);
    }

    /// Takes in what another one has counted.
    pub fn merge(&mut self, other: &Tally) {
        self.runs += other.runs;
        self.probed += other.probed;
        self.children += other.children;
        self.weight.merge(&other.weight);
        other.passes.iter().for_each(|pass| self.pass(*pass));
        self.under_way = other.under_way.or(self.under_way);
    }

    /// What passes found holds for the search as a whole.
    pub fn forget_passes(&mut self) {
        self.passes.clear();
        self.under_way = None;
    }

    fn estimate(&self, whole: f64) -> Option<Estimate> {
        if self.runs == 0 {
            return None;
        }
        // Nothing rounded: all of it was seen.
        let all = self.runs == self.children + 1;
        let (ln_runs, within) = match passed(&self.passes, self.under_way, self.runs) {
            _ if all => ((self.runs as f64).ln(), 1.0),
            Some(found) => found,
            None => {
                let plain = plain(self.runs, self.weight, whole);
                (self.series.fit(plain), UNSEEN)
            }
        };
        // What is known to be there is there.
        let known = (self.runs.max(self.children + 1) as f64).ln();
        Some(Estimate {
            ln_runs: ln_runs.max(known),
            done: self.runs,
            within,
        })
    }
}

/// How many runs there are by weights alone, if so many weigh so much; the natural logarithm.
fn plain(runs: u64, weight: LogSum, whole: f64) -> f64 {
    (runs as f64).ln() - (weight.ln() - whole).min(0.0)
}

/// What is rare is missed by most samples, and found too large by some: a pass of width `w` that is right on average is mostly too small,
/// by a factor of about `exp(SKEW / w)`. Found by trying on recorded searches.
const SKEW: f64 = 2.0;

/// What passes say together, and how sure; the natural logarithm. Each is right on average; it scatters the less the wider it was, the
/// more it could learn from others before it (which were narrower), and the more was done before it. They scatter by factors, so it is
/// their logarithms that have a mean.
pub(crate) fn passed(
    passes: &[Passed],
    under_way: Option<Passed>,
    runs: u64,
) -> Option<(f64, f64)> {
    let all = || passes.iter().copied().chain(under_way);
    all().next()?;
    let mut found = f64::INFINITY;
    let mut scatter = 0.0;
    for _ in 0..4 {
        let (mut sum, mut weights, mut squares) = (0.0, 0.0, 0.0);
        for pass in all() {
            // The part of the search that was left for it.
            let left = (1.0 - ((pass.before as f64).ln() - found).exp()).max(1e-3);
            let weight = (pass.width / left).powi(2);
            let ln_runs = pass.ln_runs + SKEW * left / pass.width;
            sum += weight * ln_runs;
            weights += weight;
            squares += (weight * (ln_runs - found)).powi(2);
        }
        found = sum / weights;
        scatter = squares.sqrt() / weights;
    }
    // Few passes do not know how much they scatter. The truth is not farther off in four of five cases, on recorded searches.
    let part = ((runs as f64).ln() - found).exp().min(1.0);
    let off = (1.5 * scatter + 2.0 / passes.len().max(1) as f64) * (1.0 - part);
    Some((found, off.exp().max(1.01)))
}
