//! The programs of the table and how many executions each needs at least.

use std::{fmt, str::FromStr};

/// A program and its size. All accesses are sequentially consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// N threads; each locks one mutex, increments, unlocks.
    Mutex(usize),
    /// `a[0..=N]` all zero; thread j stores `a[j-1] + 1` into `a[j]`; thread 0 scans down from `a[N]` to the first zero.
    Lastzero(usize),
    /// One writer of `x`, N readers.
    Readers(usize),
    /// N senders of one message each, one receiver of N, one channel.
    Senders(usize),
}

impl Program {
    /// How many executions are enough: the number of Mazurkiewicz traces.
    pub fn ideal(self) -> u64 {
        match self {
            // The order in which the mutex is taken, or in which the messages arrive.
            Program::Mutex(n) | Program::Senders(n) => (1..=n as u64).product(),
            // The scan stops at i = N (first load is zero) or at 0 (none is): each of the N - 1 pairs "store to a[j], load of it
            // by thread j + 1" is free, 2^(N-1) twice. Stopping at any i between forces the pair at i: 2^(N-2), N - 1 times.
            Program::Lastzero(n) => (n as u64 + 3) << (n - 2),
            // Each reader before or after the store.
            Program::Readers(n) => 1 << n,
        }
    }

    /// Threads, the main thread included: it is the one that scans, writes or receives, so that tools that allow few can take
    /// part.
    pub fn threads(self) -> usize {
        match self {
            Program::Mutex(n)
            | Program::Lastzero(n)
            | Program::Readers(n)
            | Program::Senders(n) => n + 1,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::Mutex(n) => write!(f, "mutex({n})"),
            Program::Lastzero(n) => write!(f, "lastzero({n})"),
            Program::Readers(n) => write!(f, "readers({n})"),
            Program::Senders(n) => write!(f, "senders({n})"),
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("not a program: {text}");
        let (name, rest) = text.split_once('(').ok_or_else(bad)?;
        let n: usize = rest
            .strip_suffix(')')
            .and_then(|n| n.parse().ok())
            .ok_or_else(bad)?;
        match name {
            "mutex" => Ok(Program::Mutex(n)),
            // The count has a factor 2^(N-2).
            "lastzero" if n >= 2 => Ok(Program::Lastzero(n)),
            "readers" => Ok(Program::Readers(n)),
            "senders" => Ok(Program::Senders(n)),
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Program;

    #[test]
    fn names_round_trip() {
        for p in [
            Program::Mutex(3),
            Program::Lastzero(12),
            Program::Readers(4),
            Program::Senders(8),
        ] {
            assert_eq!(p.to_string().parse(), Ok(p));
        }
        assert!("lastzero(1)".parse::<Program>().is_err());
        assert!("mutex".parse::<Program>().is_err());
    }

    #[test]
    fn ideal_counts() {
        assert_eq!(Program::Mutex(4).ideal(), 24);
        assert_eq!(Program::Lastzero(12).ideal(), 15_360);
        assert_eq!(Program::Readers(12).ideal(), 4_096);
        assert_eq!(Program::Senders(8).ideal(), 40_320);
    }
}
