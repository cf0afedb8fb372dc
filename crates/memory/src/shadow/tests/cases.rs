//! Small cases, each with what must be said of it.

use crate::{Clash, Kind, Shadow};
use reweave_model::{Site, ThreadId};
use std::{vec, vec::Vec};

const DATA: usize = 0x7000_0000_1000;

/// A shadow and clocks that a test sets by hand; each thread in the epoch that its own entry says.
struct Case {
    shadow: Shadow,
    clocks: [[u32; 3]; 3],
}

impl Case {
    /// Three threads that know nothing of each other.
    fn new() -> Case {
        let mut case = Case {
            shadow: Shadow::new(crate::fresh).expect("there is address space"),
            clocks: [[0; 3]; 3],
        };
        case.restart();
        case
    }

    fn restart(&mut self) {
        self.shadow.clear();
        self.clocks = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    }

    /// One thread hands on what it knows to another.
    fn order(&mut self, from: usize, to: usize) {
        let handed = self.clocks[from];
        for (mine, theirs) in self.clocks[to].iter_mut().zip(handed) {
            *mine = theirs.max(*mine);
        }
        self.clocks[from][from] += 1;
    }

    /// Done at site `10 * thread + kind`, as a hook does it.
    fn at(&mut self, thread: usize, address: usize, bytes: usize, kind: Kind) -> Option<Clash> {
        let clock = self.clocks[thread];
        self.shadow.turn(ThreadId(thread as u32), clock[thread]);
        let site = site(thread, kind);
        self.shadow.access(&clock, address, bytes, kind, site)
    }

    fn clean(&mut self, thread: usize, kind: Kind) -> bool {
        self.at(thread, DATA, 8, kind).is_none()
    }

    fn hot(&mut self, thread: usize, address: usize, bytes: usize, kind: Kind) -> bool {
        let epoch = self.clocks[thread][thread];
        self.shadow.turn(ThreadId(thread as u32), epoch);
        self.shadow.hot(address, bytes, kind)
    }
}

fn site(thread: usize, kind: Kind) -> Site {
    Site(10 * thread as u32 + (kind as u32 >> 8))
}

fn clash(address: usize, bytes: usize, thread: usize, kind: Kind) -> Clash {
    Clash {
        address,
        bytes,
        site: site(thread, kind),
        thread: ThreadId(thread as u32),
        kind,
    }
}

const KINDS: [Kind; 5] = [
    Kind::AtomicRead,
    Kind::AtomicWrite,
    Kind::Read,
    Kind::Write,
    Kind::Free,
];

#[test]
fn one_writes_and_not_both_are_atomic() {
    use Kind::{AtomicRead, AtomicWrite, Free, Write};
    let writes = |kind| matches!(kind, AtomicWrite | Write | Free);
    let atomic = |kind| matches!(kind, AtomicRead | AtomicWrite);
    let mut case = Case::new();
    for first in KINDS {
        for second in KINDS {
            let races = (writes(first) || writes(second)) && !(atomic(first) && atomic(second));
            case.restart();
            assert!(case.clean(0, first));
            let found = case.at(1, DATA, 8, second);
            assert_eq!(found, races.then_some(clash(DATA, 8, 0, first)));
            assert_eq!(case.shadow.clashes().len(), usize::from(races));
            // Ordered, only freed memory matters.
            case.restart();
            assert!(case.clean(0, first));
            case.order(0, 1);
            let found = case.at(1, DATA, 8, second);
            assert_eq!(
                found,
                (first == Free).then_some(clash(DATA, 8, 0, first)),
                "{first:?} {second:?}"
            );
        }
    }
}

/// An atomic write after a plain access hides nothing from a later atomic access.
#[test]
fn a_weaker_access_does_not_replace_a_stronger_one() {
    use Kind::{AtomicRead, AtomicWrite, Read, Write};
    let triples = [
        (Write, AtomicWrite, AtomicRead),
        (Write, Read, Read),
        (Read, AtomicWrite, AtomicWrite),
        (Read, AtomicRead, AtomicWrite),
        (AtomicWrite, AtomicRead, Read),
        (AtomicWrite, Read, Read),
    ];
    let mut case = Case::new();
    for (first, between, last) in triples {
        case.restart();
        assert!(case.clean(0, first));
        case.order(0, 1);
        assert!(case.clean(1, between));
        assert_eq!(case.at(2, DATA, 8, last), Some(clash(DATA, 8, 0, first)));
    }
}

#[test]
fn bytes_are_told_apart() {
    let mut case = Case::new();
    for byte in 0..16 {
        let thread = byte % 3;
        assert_eq!(case.at(thread, DATA + byte, 1, Kind::Write), None);
    }
    // Thread 0 has 0, 3, 6, 9, 12, 15.
    case.at(0, DATA, 16, Kind::Read);
    let found: Vec<_> = case.shadow.clashes().iter().collect();
    let others: Vec<_> = (0..16).filter(|byte| byte % 3 != 0).collect();
    assert_eq!(found.len(), others.len());
    for byte in others {
        assert!(found.contains(&&clash(DATA + byte, 1, byte % 3, Kind::Write)));
    }
}

/// One earlier access is one clash, also across granules and chunks.
#[test]
fn neighbouring_bytes_make_one_clash() {
    let mut case = Case::new();
    let start = (DATA | 0xffff) - 20;
    assert_eq!(case.at(0, start, 50, Kind::Write), None);
    let found = case.at(1, start - 3, 30, Kind::Read);
    assert_eq!(found, Some(clash(start, 27, 0, Kind::Write)));
    assert_eq!(case.shadow.clashes().len(), 1);
}

#[test]
fn freed_memory_stays_freed_until_forgotten() {
    let mut case = Case::new();
    let [one, other] = [DATA + 3, DATA + 21];
    assert_eq!(case.at(0, DATA, 32, Kind::Write), None);
    let clock = case.clocks[0];
    let freed = |case: &mut Case| {
        case.shadow.turn(ThreadId(0), clock[0]);
        let site = site(0, Kind::Free);
        case.shadow.free(&clock, one, other - one, site)
    };
    assert_eq!(freed(&mut case), None);
    let whole = Some(clash(one, other - one, 0, Kind::Free));
    assert_eq!(freed(&mut case), whole, "freed twice");
    for thread in [0, 0, 1, 2] {
        for kind in KINDS {
            let found = case.at(thread, one - 1, 3, kind);
            let first = case
                .shadow
                .clashes()
                .iter()
                .find(|clash| clash.address == one);
            assert_eq!(first, Some(&clash(one, 2, 0, Kind::Free)), "{kind:?}");
            assert!(found.is_some());
            case.shadow.forget(one - 1, 1);
        }
    }
    assert_eq!(case.shadow.freed(DATA, 3), None);
    let part = case.shadow.freed(DATA, 5);
    assert_eq!(part, Some(clash(one, 2, 0, Kind::Free)));
    assert_eq!(case.shadow.freed(other, 50), None);
    case.shadow.forget(one, other - one);
    assert_eq!(case.shadow.freed(DATA, 64), None);
    assert_eq!(case.at(1, one, other - one, Kind::Write), None);
    // What lay beside it is still known.
    let beside = case.at(1, other, 1, Kind::Read);
    assert_eq!(beside, Some(clash(other, 1, 0, Kind::Write)));
}

#[test]
fn what_was_just_done_is_hot() {
    use Kind::{AtomicRead, AtomicWrite, Read, Write};
    let mut case = Case::new();
    assert!(!case.hot(0, DATA, 4, Read));
    case.at(0, DATA, 4, Write);
    for kind in [AtomicRead, AtomicWrite, Read, Write] {
        assert!(case.hot(0, DATA, 4, kind) && case.hot(0, DATA + 1, 2, kind));
        assert!(!case.hot(0, DATA, 8, kind) && !case.hot(0, DATA + 2, 4, kind));
        assert!(!case.hot(1, DATA, 4, kind));
    }
    assert!(!case.hot(0, DATA, 4, Kind::Free));
    // The next element of the array, in the same granule.
    case.at(0, DATA + 4, 4, Write);
    assert!(case.hot(0, DATA, 8, Read));
    case.at(0, DATA + 8, 4, Read);
    assert!(case.hot(0, DATA + 8, 4, AtomicRead) && !case.hot(0, DATA + 8, 4, AtomicWrite));
    case.order(0, 1);
    assert!(!case.hot(0, DATA, 4, Read), "another epoch");
    case.at(1, DATA, 4, Read);
    assert!(case.hot(1, DATA, 4, Read) && !case.hot(1, DATA, 4, Write));
    case.restart();
    assert!(!case.hot(0, DATA, 4, Read), "another run");
    // Never across granules, never beyond the address space.
    case.at(0, DATA, 16, Write);
    assert!(case.hot(0, DATA + 4, 4, Read) && !case.hot(0, DATA + 5, 4, Read));
    case.at(1, DATA + 64, 8, Write);
    for beyond in [usize::MAX - 1, 1 << 47, DATA + (1 << 47)] {
        assert_eq!(case.at(0, beyond, 8, Write), None);
        assert_eq!(case.at(1, beyond, 8, Write), None);
    }
}

/// Freed memory is never hot, even for who freed it just after using it.
#[test]
fn freed_memory_is_not_hot() {
    let mut case = Case::new();
    for crowd in [1, 3] {
        case.restart();
        for thread in 0..crowd {
            assert!(case.clean(thread, Kind::AtomicWrite));
        }
        case.order(1, 0);
        case.order(2, 0);
        assert!(case.clean(0, Kind::AtomicRead));
        assert!(case.hot(0, DATA, 8, Kind::AtomicRead));
        assert!(case.clean(0, Kind::Free));
        assert!(!case.hot(0, DATA, 8, Kind::AtomicRead));
        assert!(!case.clean(0, Kind::AtomicRead));
    }
}

/// With more than two accesses in a granule the last ones are hot all the same.
#[test]
fn crowded_granules_are_hot_too() {
    let mut case = Case::new();
    for thread in 0..3 {
        assert_eq!(case.at(thread, DATA, 4, Kind::Read), None);
        assert_eq!(case.at(thread, DATA + 4, 4, Kind::AtomicRead), None);
    }
    assert!(!case.hot(2, DATA, 4, Kind::Read));
    case.at(2, DATA, 4, Kind::Read);
    assert!(case.hot(2, DATA, 4, Kind::Read) && !case.hot(2, DATA + 4, 4, Kind::Read));
    case.at(2, DATA + 4, 4, Kind::Read);
    assert!(case.hot(2, DATA, 4, Kind::Read) && case.hot(2, DATA + 4, 4, Kind::Read));
    assert!(!case.hot(1, DATA, 4, Kind::Read));
    case.shadow.forget(DATA, 1);
    assert!(!case.hot(2, DATA, 1, Kind::Read));
    assert_eq!(case.at(2, DATA, 1, Kind::Write), None);
    let found = case.at(2, DATA + 1, 1, Kind::Write);
    assert!(found.is_some_and(|clash| clash.kind == Kind::Read));
}

/// Places and epochs that do not fit in a word, and thread numbers like those.
#[test]
fn large_numbers() {
    let mut shadow = Shadow::new(crate::fresh).expect("there is address space");
    shadow.clear();
    let sites = [Site(u32::MAX), Site(1 << 24), Site((1 << 24) - 1), Site(7)];
    let mut clock = vec![0; 1_000_001];
    clock[1_000_000] = u32::MAX;
    // Twice: a far place is found again.
    for _ in 0..2 {
        for (index, site) in sites.into_iter().enumerate() {
            let address = DATA + 8 * index;
            shadow.turn(ThreadId(1_000_000), u32::MAX);
            assert_eq!(shadow.access(&clock, address, 8, Kind::Write, site), None);
            shadow.turn(ThreadId(0), 1);
            let found = shadow.access(&[1], address, 8, Kind::Read, Site(1));
            let found = found.expect("not ordered");
            assert_eq!((found.site, found.thread), (site, ThreadId(1_000_000)));
            shadow.forget(address, 8);
        }
    }
    // The epoch before is known, the last one is not.
    shadow.turn(ThreadId(1_000_000), u32::MAX);
    shadow.access(&clock, DATA, 8, Kind::Write, Site(1));
    clock[1_000_000] -= 1;
    clock[0] = 1;
    shadow.turn(ThreadId(0), 1);
    assert!(
        shadow
            .access(&clock, DATA, 8, Kind::Read, Site(1))
            .is_some()
    );
}

#[test]
fn knows_who_accessed_anything_in_this_run() {
    let mut case = Case::new();
    case.at(1, DATA, 4, Kind::Read);
    let knows = |case: &Case| [0, 1, 2].map(|thread| case.shadow.knows(ThreadId(thread)));
    assert_eq!(knows(&case), [false, true, false]);
    case.restart();
    assert_eq!(knows(&case), [false; 3]);
}
