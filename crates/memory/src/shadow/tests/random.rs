//! Random runs, cross-checked against a list of all accesses: the order of accesses is computed the same way (clocks), everything else
//! by comparing every pair at every byte.

use crate::{Clash, Kind, Shadow};
use reweave_model::{Site, ThreadId};
use std::{vec, vec::Vec};

/// xorshift; the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// An access that was made.
struct Made {
    thread: usize,
    epoch: u32,
    range: std::ops::Range<usize>,
    kind: Kind,
    site: Site,
    /// Its bytes that were not forgotten since.
    valid: Vec<bool>,
}

impl Made {
    fn touches(&self, byte: usize) -> bool {
        self.range.contains(&byte) && self.valid[byte - self.range.start]
    }
}

/// Everything that happened in a run.
struct Naive {
    made: Vec<Made>,
    /// Bytes that a clash was reported for.
    reported: Vec<usize>,
}

fn writes(kind: Kind) -> bool {
    !matches!(kind, Kind::AtomicRead | Kind::Read)
}

fn atomic(kind: Kind) -> bool {
    matches!(kind, Kind::AtomicRead | Kind::AtomicWrite)
}

impl Naive {
    /// Whether the clock's owner clashes at this byte with that earlier access.
    fn clash(made: &Made, byte: usize, kind: Kind, clock: &[u32]) -> bool {
        let ordered = made.epoch <= clock[made.thread];
        let conflict = (writes(made.kind) || writes(kind)) && !(atomic(made.kind) && atomic(kind));
        made.touches(byte) && !ordered && conflict
    }

    /// The access that gave the byte back: the first, for no later one has a say.
    fn freed(&self, byte: usize) -> Option<&Made> {
        let frees = |made: &&Made| made.kind == Kind::Free && made.touches(byte);
        self.made.iter().find(frees)
    }

    /// Checks what was reported of an access, and writes the access down.
    fn check(&mut self, new: Made, clock: &[u32], found: &[Clash]) {
        for clash in found {
            let bytes = clash.address..clash.address + clash.bytes;
            assert!(new.range.start <= bytes.start && bytes.end <= new.range.end);
            for byte in bytes {
                let matches = |made: &&Made| {
                    (made.site, ThreadId(made.thread as u32)) == (clash.site, clash.thread)
                        && made.kind == clash.kind
                };
                if let Some(free) = self.freed(byte) {
                    assert!(matches(&free), "{clash:?}: not who freed it");
                    continue;
                }
                let real =
                    |made: &Made| matches(&made) && Naive::clash(made, byte, new.kind, clock);
                assert!(self.made.iter().any(real), "{clash:?}: no such clash");
            }
            self.reported
                .extend(clash.address..clash.address + clash.bytes);
        }
        for byte in new.range.clone() {
            let told = |clash: &Clash| (clash.address..clash.address + clash.bytes).contains(&byte);
            if self.freed(byte).is_some() {
                assert!(found.iter().any(told), "byte {byte:x} was freed");
            }
            let mut made = self.made.iter();
            if made.any(|made| Naive::clash(made, byte, new.kind, clock)) {
                assert!(self.reported.contains(&byte), "byte {byte:x} is racy");
            }
        }
        self.made.push(new);
    }

    fn forget(&mut self, range: std::ops::Range<usize>) {
        for made in &mut self.made {
            let start = made.range.start;
            for byte in made.range.clone().filter(|byte| range.contains(byte)) {
                made.valid[byte - start] = false;
            }
        }
        self.reported.retain(|byte| !range.contains(byte));
    }
}

/// How a series of runs is made.
#[derive(Clone, Copy, Debug)]
struct Shape {
    threads: usize,
    steps: usize,
    /// One in so many steps is an order between two threads.
    orders: usize,
    /// Bytes in play.
    span: usize,
    sites: usize,
    /// Whether memory is given back; without it races have more time to come up.
    frees: bool,
    /// Epochs begin here.
    epoch: u32,
    /// Threads are numbered from here.
    thread: usize,
}

/// What came up, so that a test can see that it tested something.
#[derive(Default, Debug)]
struct Seen {
    clean: usize,
    racy: usize,
    freed: usize,
    hot: usize,
}

fn run(shadow: &mut Shadow, random: &mut Random, shape: Shape, seen: &mut Seen) {
    shadow.clear();
    let width = shape.thread + shape.threads;
    let mut clocks = vec![vec![0; width]; shape.threads];
    for thread in 0..shape.threads {
        clocks[thread][shape.thread + thread] = shape.epoch;
    }
    // Around the end of a chunk, at one of many.
    let base = (0x5000_0000_0000 + (random.below(4) << 16)) - shape.span / 2;
    let mut naive = Naive {
        made: Vec::new(),
        reported: Vec::new(),
    };
    for _ in 0..shape.steps {
        let thread = random.below(shape.threads);
        let own = shape.thread + thread;
        if random.one_in(shape.orders) {
            let other = random.below(shape.threads);
            let handed = clocks[thread].clone();
            for (mine, theirs) in clocks[other].iter_mut().zip(handed) {
                *mine = theirs.max(*mine);
            }
            clocks[thread][own] += 1;
            continue;
        }
        let address = base + random.below(shape.span);
        let mut bytes = 1 + random.below(16);
        if random.one_in(2) {
            bytes = 1 << random.below(4);
        }
        if random.one_in(40) {
            bytes = 1 + random.below(100);
        }
        let address = if random.one_in(2) {
            address / bytes * bytes
        } else {
            address
        };
        if random.one_in(25) {
            shadow.forget(address, bytes);
            naive.forget(address..address + bytes);
            continue;
        }
        let kind = match random.below(20) {
            0 => Kind::Free,
            1..5 => Kind::AtomicRead,
            5..9 => Kind::AtomicWrite,
            9..15 => Kind::Read,
            _ => Kind::Write,
        };
        let kind = match kind {
            Kind::Free if !shape.frees => Kind::Read,
            kind => kind,
        };
        let site = Site(match random.below(shape.sites) {
            0 => u32::MAX,
            site => site as u32,
        });
        let clock = &clocks[thread];
        let new = Made {
            thread: own,
            epoch: clock[own],
            range: address..address + bytes,
            kind,
            site,
            valid: vec![true; bytes],
        };
        shadow.turn(ThreadId(own as u32), clock[own]);
        let freed = shadow.freed(address, bytes);
        let free = (address..address + bytes).find_map(|byte| naive.freed(byte));
        assert_eq!(freed.is_some(), free.is_some());
        let hot = shadow.hot(address, bytes, kind);
        let found = if hot {
            None
        } else {
            shadow.record(clock, address, bytes, kind, site)
        };
        let all = if found.is_some() {
            shadow.clashes()
        } else {
            &[]
        };
        assert_eq!(found, all.first().copied());
        seen.hot += usize::from(hot);
        match found {
            None => seen.clean += 1,
            Some(clash) if clash.kind == Kind::Free => seen.freed += 1,
            Some(_) => seen.racy += 1,
        }
        naive.check(new, clock, all);
    }
}

/// Prints the seed if a run fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::eprintln!("seed {}", self.0);
        }
    }
}

/// Runs of all shapes from one seed, all with one shadow.
fn series(runs: usize, limit: Option<(u64, usize)>) -> Seen {
    let given = std::env::var("REWEAVE_SEED").ok();
    let given = given.map(|seed| seed.parse().expect("REWEAVE_SEED is a number"));
    let seed = Seed(given.unwrap_or(0x5eed));
    let mut random = Random(seed.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut shadow = Shadow::new(crate::fresh).expect("there is address space");
    if let Some((numbers, crowd)) = limit {
        shadow.limit(numbers, crowd);
    }
    let mut seen = Seen::default();
    for _ in 0..runs {
        let shape = Shape {
            threads: 1 + random.below(6),
            steps: 1 + random.below(150),
            orders: 1 + random.below(8),
            span: 1 + random.below(64),
            sites: 1 + random.below(5),
            frees: random.one_in(2),
            epoch: [1, 1 << 20, u32::MAX - 1000][random.below(3)],
            thread: [0, 0, 0, 5000][random.below(4)],
        };
        run(&mut shadow, &mut random, shape, &mut seen);
    }
    assert!(
        [seen.clean, seen.racy, seen.freed, seen.hot]
            .iter()
            .all(|count| *count > runs / 2),
        "every case comes up: {seen:?}"
    );
    seen
}

#[test]
fn agrees_with_a_list_of_all_accesses() {
    series(6000, None);
}

/// The same when numbers of segments run out in every run or two, and when segments must be thrown out all the time.
#[test]
fn agrees_when_numbers_are_scarce() {
    series(2000, Some((300, usize::MAX)));
    series(2000, Some((1 << 20, 5)));
}
