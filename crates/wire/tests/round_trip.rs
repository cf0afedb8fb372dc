//! What is written comes back: every operation that a native program can do, every object, every field of an event.

use reweave_model::{
    Access, Class, Edge, End, Event, Execution, Gate, Object, ObjectId, OnceState, Op, OpKind,
    Operands, Order, Orders, Pending, PlainAccess, Rmw, RmwKind, Site, StateId, ThreadId,
    ThreadRecord, Unrecorded, Watch,
};
use reweave_wire::{
    Beginning, Detail, Library, Malformed, MemoryImage, MemoryWrite, Note, Parts, Place, PlaceKind,
    Reader, Region, Report, Rule, Slept, StackFrame, Unit, Writer, read_beginning, read_report,
    write_beginning, write_report,
};

const A: ObjectId = ObjectId(0);
const B: ObjectId = ObjectId(1);

/// Every row of the table of operations, with every operand that it can have.
fn operations() -> Vec<Op> {
    let big = u64::MAX - 3;
    let mut ops = Vec::new();
    for flag in [false, true] {
        let operands = Operands {
            object: Some(B),
            mutex: Some(A),
            atomic: Some(A),
            thread: Some(ThreadId(1)),
            count: Some(7),
            value: Some(big),
            expected: Some(big - 1),
            rmw: Some(Rmw {
                kind: RmwKind::MinSigned,
                operand: big,
                bits: 16,
            }),
            timed: Some(flag),
            flag: Some(flag),
        };
        let kinds = (0..OpKind::COUNT).map(OpKind);
        ops.extend(kinds.map(|kind| kind.with(&operands).expect("it has all operands")));
    }
    ops
}

fn event((index, op): (usize, &Op)) -> Event {
    let orders = [
        Orders::IMPLIED,
        Orders::from(Order::Relaxed),
        Orders::from(Order::Acquire),
        Orders::from(Order::Release),
        Orders::new(Order::AcqRel, Some(Order::Relaxed)),
        Orders::new(Order::SeqCst, Some(Order::Acquire)),
    ];
    let gates = [Gate::Open, Gate::Late, Gate::Word(u64::MAX)];
    let touch = |object, class| Some(Access { object, class });
    let accesses = [
        [None, None],
        [touch(A, Class::Write), None],
        [touch(B, Class::Read), touch(A, Class::WriteProbe)],
    ];
    Event {
        thread: ThreadId((index % 2) as u32),
        op: *op,
        gate: gates[index % 3],
        outcome: index as u16,
        outcomes: index as u16 + 1,
        ok: index % 4 != 0,
        result: index as u64 * u64::from(u32::MAX),
        after: (index % 5 == 0).then_some(Edge {
            thread: ThreadId(1),
            count: index as u32 / 2,
        }),
        access: accesses[index % 3],
        site: Site(index as u32 * 1000),
        order: orders[index % orders.len()],
    }
}

fn objects() -> Vec<Object> {
    vec![
        Object::Atomic(u64::MAX),
        Object::condvar(),
        Object::mutex(),
        Object::rwlock(),
        Object::rwlock_readers_first(),
        Object::Semaphore(3),
        Object::barrier(2),
        Object::barrier_without_leader(3),
        Object::Once(OnceState::New),
        Object::Once(OnceState::Done),
        Object::Parker(true),
        Object::Parker(false),
        Object::pool(),
        Object::pipe(9),
        Object::channel(None),
        Object::channel(Some(3)),
    ]
}

fn execution(ops: &[Op]) -> Execution {
    let edge = Edge {
        thread: ThreadId(1),
        count: 9,
    };
    let thread = |path: &[u32], pending| ThreadRecord {
        born: Edge {
            thread: ThreadId(0),
            count: path.len() as u32,
        },
        path: path.into(),
        name: (path.len() == 1).then(|| "worker".into()),
        pending,
    };
    let pending = Pending {
        op: Op::EnqueueIf {
            condvar: B,
            atomic: A,
            expected: 3,
        },
        gate: Gate::Word(5),
        site: Site(77),
        order: Orders::new(Order::Release, Some(Order::Acquire)),
    };
    Execution {
        events: ops.iter().enumerate().map(event).collect(),
        threads: vec![thread(&[], None), thread(&[4], Some(pending))],
        objects: objects(),
        watches: vec![Watch {
            since: edge,
            words: vec![(A, 1), (B, u64::MAX)],
        }],
        epochs: vec![1, ops.len() as u32],
        spurious: true,
        peeked: true,
        timeouts_cut: true,
        clocks_cut: true,
        max_steps: 1000,
        states: (0..=ops.len() as u128)
            .map(|state| StateId(state << 64 | 7))
            .collect(),
        names: vec![u64::MAX, 5],
        accesses: vec![PlainAccess {
            position: 1,
            thread: ThreadId(1),
            threads: 2,
            address: 77,
            bytes: 16,
            write: true,
            atomic: false,
        }],
        unrecorded: Some(Unrecorded::Calls),
        end: End::Livelock,
        ..Execution::default()
    }
}

/// Something of everything.
fn detail() -> Detail {
    Detail {
        objects: vec![Place {
            address: 1,
            kind: PlaceKind::Named("descriptor 3".into()),
        }],
        subjects: vec![Some(Place {
            address: 2,
            kind: PlaceKind::Stack {
                thread: 1,
                below: 40,
                site: Site(7),
                offset: -24,
            },
        })],
        pointers: vec![Place {
            address: 80,
            kind: PlaceKind::Heap {
                thread: vec![0, 2],
                number: 4,
                site: Site(6),
                bytes: 24,
                offset: 8,
            },
        }],
        sleeps: vec![Slept {
            thread: ThreadId(1),
            count: 2,
            stack: vec![Site(3), Site(4)],
        }],
        memory: MemoryImage {
            regions: vec![Region {
                start: 4096,
                site: Some(Site(9)),
                bytes: vec![1, 2, 3],
            }],
            frames: vec![StackFrame {
                thread: ThreadId(1),
                site: Site(8),
                end: 1 << 40,
            }],
            writes: vec![MemoryWrite {
                address: 4097,
                bytes: 2,
                thread: ThreadId(1),
                count: 6,
                site: Site(5),
                values: Some((7, u64::MAX)),
            }],
        },
        ..Detail::default()
    }
}

#[test]
fn a_report_comes_back() {
    let execution = execution(&operations());
    let notes = vec![
        Note::Warning {
            rule: "not-destroyed".into(),
            site: Site(5),
            address: u64::MAX,
        },
        Note::Racy(Unit {
            place: Unit::STATIC + 8,
            bytes: 8,
        }),
        Note::Needs(Rule::Names),
    ];
    let detail = detail();
    let mut words = vec![0; 1 << 16];
    let mut writer = Writer::new(&mut words);
    let parts = Parts {
        execution: &execution,
        divergence: None,
        notes: &notes,
        detail: Some(&detail),
    };
    write_report(&mut writer, &parts);
    assert!(!writer.overflowed());
    let length = writer.len();
    let mut report = Report::default();
    // Twice: a report is read over the one before.
    for _ in 0..2 {
        read_report(&mut Reader::new(&words[..length]), &mut report).expect("well-formed");
        assert_eq!(report.execution, execution);
        assert_eq!(report.notes, notes);
        assert_eq!(report.detail.as_ref(), Some(&detail));
    }
    // A report that is cut off is noticed, wherever that is.
    for cut in 0..length {
        assert!(read_report(&mut Reader::new(&words[..cut]), &mut report).is_err());
    }
}

#[test]
fn a_beginning_comes_back() {
    let beginning = Beginning {
        units: vec![Unit {
            place: Unit::STATIC + 8,
            bytes: 8,
        }],
        rules: [Rule::Table, Rule::Handlers].into_iter().collect(),
        slots: vec![3],
        disk: "/tmp/copies".into(),
        libraries: vec![Library {
            path: "libz.so".into(),
            global: true,
        }],
    };
    let mut words = vec![0; 100];
    let mut writer = Writer::new(&mut words);
    write_beginning(&mut writer, &beginning);
    let length = writer.len();
    let read = |words: &[u64]| read_beginning(&mut Reader::new(words));
    assert_eq!(read(&words[..length]), Ok(beginning));
    for cut in 0..length {
        assert!(read(&words[..cut]).is_err());
    }
}

#[test]
fn one_is_read_over_another_that_begins_like_it() {
    let ops = operations();
    let mut report = Report::default();
    for length in 1..ops.len() {
        for changed in 0..=length {
            let mut execution = execution(&ops[..length]);
            if let Some(event) = execution.events.get_mut(changed) {
                event.result ^= 1;
            }
            if changed % 3 == 0 {
                execution.objects.push(Object::mutex());
            }
            read_over(&execution, &mut report).expect("it is sound");
            assert_eq!(report.execution, execution);
        }
    }
    // What the same words name may be gone.
    let mut touches_b = execution(&[Op::Load(A); 3]);
    touches_b.threads[1].pending = None;
    touches_b.watches.clear();
    assert!(read_over(&touches_b, &mut report).is_ok());
    touches_b.objects.truncate(1);
    assert!(read_over(&touches_b, &mut report).is_err());
}

/// What the driver makes of it.
fn read(execution: &Execution) -> Result<(), Malformed> {
    read_over(execution, &mut Report::default())
}

fn read_over(execution: &Execution, report: &mut Report) -> Result<(), Malformed> {
    let mut words = vec![0; 1 << 12];
    let mut writer = Writer::new(&mut words);
    let parts = Parts {
        execution,
        divergence: None,
        notes: &[],
        detail: None,
    };
    write_report(&mut writer, &parts);
    read_report(&mut Reader::new(&words), report)
}

#[test]
fn numbers_that_name_nothing_are_refused() {
    let wait = |atomic| Op::EnqueueIf {
        condvar: B,
        atomic,
        expected: 0,
    };
    let nowhere = ObjectId(99);
    for (op, sound) in [
        (Op::Lock(B), true),
        (Op::Lock(nowhere), false),
        (Op::Join(ThreadId(1)), true),
        (Op::Join(ThreadId(99)), false),
        (wait(A), true),
        (wait(nowhere), false),
    ] {
        assert_eq!(read(&execution(&[op])).is_ok(), sound, "{op:?}");
    }
}

#[test]
fn what_has_not_happened_is_refused() {
    let edge = Edge {
        thread: ThreadId(1),
        count: 9,
    };
    let mut early = execution(&[Op::Lock(B)]);
    early.events[0].after = Some(edge);
    assert!(read(&early).is_err());
    let mut unborn = execution(&[Op::Lock(B), Op::Unlock(B)]);
    unborn.threads[1].born.count = 2;
    assert!(read(&unborn).is_err());
}
