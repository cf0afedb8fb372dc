//! What came out of a simulation, and what limited it.

use super::home::Explored;

/// What a worker can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// Nothing, and it has not had a piece yet.
    Starting,
    /// Nothing: no piece is queued.
    Waiting,
    /// Getting a piece, opening the program, reporting.
    Moving,
    Exploring,
    /// It is being started once more.
    Dead,
}

/// The time of all workers, in nanoseconds, and where it went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// On executions that counted.
    pub exploring: u64,
    /// On executions that were lost, or run by two workers.
    pub vain: u64,
    /// Before the first piece.
    pub starting: u64,
    /// Between two pieces, with nothing to do.
    pub waiting: u64,
    /// After the last piece.
    pub ending: u64,
    /// Getting pieces, opening the program, reporting.
    pub moving: u64,
    /// Until dead workers were replaced.
    pub dead: u64,
}

impl Spent {
    pub(super) fn add(&mut self, doing: Doing, time_ns: u64) {
        *match doing {
            Doing::Starting => &mut self.starting,
            Doing::Waiting => &mut self.waiting,
            Doing::Moving => &mut self.moving,
            // What of it counted is known at the end.
            Doing::Exploring => &mut self.vain,
            Doing::Dead => &mut self.dead,
        } += time_ns;
    }

    /// All of it with names, what cost most first.
    pub fn losses(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![
            ("executions made in vain", self.vain),
            ("before the first piece", self.starting),
            ("waiting for a piece", self.waiting),
            ("after the last piece", self.ending),
            ("moving pieces", self.moving),
            ("being replaced", self.dead),
        ];
        all.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        all
    }
}

/// What came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Course {
    /// Pieces that could be explored at once.
    pub workers: usize,
    /// From its beginning to its end.
    pub time_ns: u64,
    /// Executions that counted.
    pub runs: u64,
    /// How long these take one after the other.
    pub alone_ns: u64,
    /// When all workers had had a piece; `None`: never.
    pub all_busy_ns: Option<u64>,
    /// Where the workers' time went.
    pub spent: Spent,
    /// Reports that were taken in.
    pub reports: u64,
    /// Reports that came again or too late.
    pub repeated: u64,
    /// Workers that died, and what they explored.
    pub deaths: u64,
    /// Workers that were silent until another one got their piece.
    pub pauses: u64,
    /// Coordinators that died.
    pub takeovers: u64,
    /// What the broker did.
    pub operations: u64,
    /// How long it was busy.
    pub broker_ns: u64,
    /// How long the coordinator was busy, waiting for the broker included.
    pub coordinator_ns: u64,
    /// Branches in the longest record.
    pub record_branches: u64,
}

impl Course {
    pub(super) fn explored(&mut self, explored: Explored) {
        self.runs = explored.runs;
        self.alone_ns = explored.time_ns;
    }

    /// How many times as fast as one worker without a cluster.
    pub fn speedup(&self) -> f64 {
        self.alone_ns as f64 / self.time_ns.max(1) as f64
    }

    /// What part of the linear speedup that is.
    pub fn efficiency(&self) -> f64 {
        self.speedup() / self.workers.max(1) as f64
    }

    /// A part of the whole time.
    pub fn part(&self, time_ns: u64) -> f64 {
        time_ns as f64 / self.time_ns.max(1) as f64
    }
}
