//! What is stored: round trips, files that are wrong in every way, comparison.

use proptest::prelude::*;
use reweave_model::{
    Object, ObjectId, OnceState, Op, OpKind, Operands, Policy, Rmw, RmwKind, Site, ThreadId,
};
use reweave_report::{
    Document, Operation, ReadError, ResultDocument, Shown, Sources, Style, Trace, chrome, dot,
    github, render_result, sarif,
};
use reweave_testing::script::{Script, Thread, run, trace};
use std::{fs, path::Path};

const ATOMIC: ObjectId = ObjectId(0);
const MUTEX: ObjectId = ObjectId(1);
const CONDVAR: ObjectId = ObjectId(2);
const RWLOCK: ObjectId = ObjectId(3);
const SEMAPHORE: ObjectId = ObjectId(4);
const BARRIER: ObjectId = ObjectId(5);
const ONCE: ObjectId = ObjectId(6);
const CHANNEL: ObjectId = ObjectId(7);
const PARKER: ObjectId = ObjectId(8);
const SHARED: ObjectId = ObjectId(9);
const POOL: ObjectId = ObjectId(11);
const PIPE: ObjectId = ObjectId(12);

fn render_trace(trace: &Trace, style: Style) -> String {
    reweave_report::render_trace(trace, None, &Sources::default(), style)
}

/// So many random traces, or as many as `PROPTEST_CASES` asks for.
fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}

fn objects() -> Vec<Object> {
    vec![
        Object::Atomic(3),
        Object::mutex(),
        Object::condvar(),
        Object::rwlock(),
        Object::Semaphore(1),
        Object::barrier(2),
        Object::Once(OnceState::New),
        Object::channel(Some(1)),
        Object::Parker(false),
        Object::rwlock_readers_first(),
        Object::barrier_without_leader(2),
        Object::pool(),
        Object::pipe(3),
    ]
}

fn pipe_groups() -> Vec<Vec<Op>> {
    let object = PIPE;
    let put = |least, tries| Op::Put {
        object,
        count: 2,
        least,
        tries,
    };
    let get = |most, tries| Op::Get {
        object,
        most,
        tries,
    };
    vec![
        vec![put(2, false), put(1, true)],
        vec![get(1, false), get(3, true), get(0, true)],
        vec![Op::WriterAdd(PIPE), Op::WriterDrop(PIPE, false)],
        vec![Op::ReaderAdd(PIPE), Op::ReaderDrop(PIPE, false)],
        vec![Op::Load(PIPE), Op::WriterDrop(PIPE, true)],
        vec![Op::ReaderDrop(PIPE, true)],
    ]
}

/// Groups of operations that belong together in one thread.
fn group() -> impl Strategy<Value = Vec<Op>> {
    let all = [
        atomic_groups(),
        lock_groups(),
        wait_groups(),
        message_groups(),
        pipe_groups(),
    ];
    prop::sample::select(all.concat())
}

fn atomic_groups() -> Vec<Vec<Op>> {
    let rmw = Rmw {
        kind: RmwKind::MinSigned,
        operand: u64::MAX,
        bits: 16,
    };
    let cas = |weak| Op::CompareExchange {
        object: ATOMIC,
        expected: 3,
        new: u64::MAX,
        weak,
    };
    vec![
        vec![Op::Load(ATOMIC)],
        vec![Op::Store(ATOMIC, 1 << 63)],
        vec![Op::Rmw(ATOMIC, rmw)],
        vec![cas(false), cas(true)],
        vec![Op::Await(ATOMIC, 3)],
        vec![Op::Any(3), Op::Assume(true)],
        vec![Op::Assume(false)],
        vec![Op::Free(POOL, 1 << 40), Op::Reuse(POOL, 1 << 40)],
        vec![Op::Allocate(POOL), Op::Free(POOL, 16)],
    ]
}

fn lock_groups() -> Vec<Vec<Op>> {
    let write = |lock| {
        vec![
            Op::WriteBegin(lock),
            Op::WriteAcquire(lock),
            Op::WriteUnlock(lock),
        ]
    };
    let acquire = |timed| Op::SemAcquire {
        object: SEMAPHORE,
        timed,
    };
    let take = |tries| Op::Take {
        object: SEMAPHORE,
        most: 2,
        tries,
    };
    let add = |tries| Op::Add {
        object: SEMAPHORE,
        count: 3,
        tries,
    };
    vec![
        vec![Op::Lock(MUTEX), Op::Unlock(MUTEX)],
        vec![Op::Lock(MUTEX), Op::UnlockClean(MUTEX)],
        vec![Op::Load(MUTEX), Op::Store(MUTEX, 0)],
        vec![Op::TryLock(MUTEX)],
        write(RWLOCK),
        write(SHARED),
        vec![Op::ReadLock(RWLOCK), Op::ReadUnlock(RWLOCK)],
        vec![Op::ReadLock(SHARED), Op::ReadUnlock(SHARED)],
        vec![Op::TryReadLock(RWLOCK)],
        vec![Op::TryWriteLock(RWLOCK)],
        vec![Op::Load(SEMAPHORE)],
        vec![acquire(false), Op::SemRelease(SEMAPHORE)],
        vec![acquire(true), Op::SemTryAcquire(SEMAPHORE)],
        vec![take(false), add(true)],
        vec![take(true), add(false)],
    ]
}

fn wait_groups() -> Vec<Vec<Op>> {
    let wait = |timed| {
        let (condvar, mutex) = (CONDVAR, MUTEX);
        vec![
            Op::Lock(mutex),
            Op::Enqueue { condvar, mutex },
            Op::Wake { condvar, timed },
            Op::Lock(mutex),
            Op::Unlock(mutex),
        ]
    };
    let park = |timed| Op::Park {
        object: PARKER,
        timed,
    };
    let enqueue = Op::EnqueueIf {
        condvar: CONDVAR,
        atomic: ATOMIC,
        expected: 0,
    };
    let once = Op::OnceBegin {
        object: ONCE,
        force: false,
    };
    vec![
        wait(false),
        wait(true),
        vec![enqueue, Op::NotifyAll(CONDVAR)],
        vec![Op::NotifyOne(CONDVAR)],
        vec![Op::NotifyAll(CONDVAR)],
        vec![Op::Arrive(BARRIER), Op::Leave(BARRIER)],
        vec![once, Op::OnceEnd(ONCE, true)],
        vec![park(false)],
        vec![park(true)],
        vec![Op::Unpark(PARKER)],
        vec![Op::Join(ThreadId(1))],
    ]
}

fn message_groups() -> Vec<Vec<Op>> {
    let receive = |timed| Op::Recv {
        object: CHANNEL,
        timed,
    };
    vec![
        vec![
            Op::SenderAdd(CHANNEL),
            Op::Send(CHANNEL),
            Op::SenderDrop(CHANNEL),
        ],
        vec![Op::TrySend(CHANNEL)],
        vec![receive(false)],
        vec![receive(true), Op::TryRecv(CHANNEL)],
        vec![Op::ReceiverDrop(CHANNEL)],
    ]
}

prop_compose! {
    fn any_trace()(
        programs in prop::collection::vec(prop::collection::vec(group(), 0..5), 2..6),
        seed: u64,
        max_steps in 1..40u32,
    ) -> (Trace, Script) {
        let thread = |groups: Vec<Vec<Op>>| {
            let ops = groups.into_iter().flatten();
            Thread(None, ops.enumerate().map(|(i, op)| (op, i as u32)).collect())
        };
        let script = Script {
            objects: objects(),
            threads: programs.into_iter().map(thread).collect(),
        };
        let execution = run(&script, &[], Policy::Random(seed), max_steps);
        let mut trace = trace("any", &execution);
        trace.options.max_steps = max_steps;
        (trace, script)
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_trace_comes_back_as_it_was((trace, _) in any_trace()) {
        let text = trace.to_json();
        let back = Trace::parse(Path::new("any.rwt"), text.as_bytes()).unwrap();
        prop_assert_eq!(&back, &trace);
        prop_assert_eq!(back.to_json(), text);
        prop_assert_eq!(trace.differs(&back), None);
    }

    /// The plan of a stored trace makes the model run the same events again.
    #[test]
    fn a_trace_runs_again((trace, script) in any_trace()) {
        let text = trace.to_json();
        let plan = Trace::parse(Path::new("any.rwt"), text.as_bytes()).unwrap().plan();
        prop_assert!(plan.steps.iter().all(|step| step.site == Site::ANY));
        let execution = reweave_testing::script::follow(&script, &plan);
        let mut second = reweave_testing::script::trace("any", &execution);
        second.options.max_steps = plan.max_steps;
        prop_assert_eq!(trace.differs(&second), None);
    }

    #[test]
    fn every_trace_can_be_shown(
        (trace, _) in any_trace(), width in 20..120usize, full: bool, plain: bool,
    ) {
        let style = Style { colour: false, width, full, plain };
        let text = render_trace(&trace, style);
        prop_assert!(text.lines().all(|line| line == line.trim_end()));
        if full && !plain {
            let steps = text.lines().filter(|line| {
                let first = line.split_whitespace().next();
                first.is_some_and(|word| word.parse::<usize>().is_ok())
            });
            prop_assert!(steps.count() >= trace.events.len());
        }
    }
}

/// Every row of the table, with operands that all differ, and every function of a read-modify-write.
#[test]
fn every_operation_comes_back_as_it_was() {
    let rmw = |kind| Rmw {
        kind,
        operand: 5,
        bits: 8,
    };
    let operands = |flag| Operands {
        object: Some(ObjectId(1)),
        mutex: Some(ObjectId(2)),
        atomic: Some(ObjectId(3)),
        thread: Some(ThreadId(4)),
        count: Some(u32::MAX),
        value: Some(u64::MAX),
        expected: Some(6),
        rmw: Some(rmw(RmwKind::Add)),
        timed: Some(flag),
        flag: Some(!flag),
    };
    let kinds = || (0..OpKind::COUNT).map(OpKind);
    let mut ops: Vec<Op> = [false, true]
        .iter()
        .flat_map(|flag| kinds().map(|kind| kind.with(&operands(*flag)).expect("all operands")))
        .collect();
    assert_eq!(ops.len(), 2 * usize::from(OpKind::COUNT));
    ops.extend(
        [
            RmwKind::Swap,
            RmwKind::Add,
            RmwKind::Sub,
            RmwKind::And,
            RmwKind::Nand,
            RmwKind::Or,
            RmwKind::Xor,
            RmwKind::Max,
            RmwKind::Min,
            RmwKind::MaxSigned,
            RmwKind::MinSigned,
        ]
        .map(|kind| Op::Rmw(ATOMIC, rmw(kind))),
    );
    for op in ops {
        assert_eq!(Operation::from(op).to_op(), Some(op));
    }
}

fn sample() -> Trace {
    let script = Script {
        objects: objects(),
        threads: vec![
            Thread(
                None,
                vec![
                    (Op::Lock(MUTEX), 3),
                    (
                        Op::Enqueue {
                            condvar: CONDVAR,
                            mutex: MUTEX,
                        },
                        4,
                    ),
                    (
                        Op::Wake {
                            condvar: CONDVAR,
                            timed: false,
                        },
                        4,
                    ),
                ],
            ),
            Thread(
                Some("other"),
                vec![
                    (Op::NotifyAll(CONDVAR), 9),
                    (Op::Arrive(BARRIER), 10),
                    (Op::Leave(BARRIER), 10),
                ],
            ),
        ],
    };
    let mut trace = trace("sample", &run(&script, &[1], Policy::First, 1000));
    trace.output = Some("hello\n".into());
    trace
}

fn parse(text: &str) -> Result<Trace, ReadError> {
    Trace::parse(Path::new("bug.rwt"), text.as_bytes())
}

fn refusal(text: &str) -> (ReadError, String) {
    let error = parse(text).expect_err("must not be read");
    let sentence = error.to_string();
    assert!(sentence.starts_with("bug.rwt: "), "{sentence}");
    (error, sentence)
}

#[test]
fn what_has_no_end_is_not_read() {
    for device in ["/dev/zero", "/dev/null"] {
        let error = Trace::read(Path::new(device)).unwrap_err();
        assert!(matches!(error, ReadError::NoFile(_)));
        let said = format!("{device}: neither a file nor a pipe");
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Trace::read(Path::new("nowhere/bug.rwt")).unwrap_err();
    assert!(matches!(error, ReadError::NotFound(_)));
    assert_eq!(error.to_string(), "nowhere/bug.rwt: no such file");
}

#[test]
fn a_directory_is_no_trace() {
    assert!(matches!(
        Trace::read(Path::new("src")),
        Err(ReadError::Io(..))
    ));
}

#[test]
fn a_cut_file_says_so() {
    let text = sample().to_json();
    for end in 1..text.trim_end().len() {
        let (error, sentence) = refusal(&text[..end]);
        assert!(
            matches!(error, ReadError::Cut { offset, .. } if offset == end),
            "{sentence}"
        );
    }
}

#[test]
fn what_is_no_json_is_told_with_its_offset() {
    assert!(matches!(
        parse(""),
        Err(ReadError::NotJson { offset: 0, .. })
    ));
    let (error, sentence) = refusal("{\n  \"schema\": !}");
    assert!(
        matches!(error, ReadError::NotJson { offset: 14, .. }),
        "{sentence}"
    );
    let binary = Trace::parse(Path::new("a.out"), b"\x7fELF\x02\x01\x01\x00");
    assert!(matches!(binary, Err(ReadError::NotJson { offset: 0, .. })));
}

#[test]
fn other_documents_are_told_apart() {
    for text in ["{}", "[]", "7", "{\"schema\": 1}", "{\"schema\": \"else\"}"] {
        let (error, sentence) = refusal(text);
        assert!(matches!(error, ReadError::Other { .. }), "{sentence}");
        assert!(
            sentence.contains("not a reweave.trace/1 document"),
            "{sentence}"
        );
    }
    let result = ResultDocument::new("p", "dfs", "none").to_json();
    let (error, sentence) = refusal(&result);
    assert!(matches!(error, ReadError::Other { .. }), "{sentence}");
    assert!(
        sentence.ends_with("its schema is `reweave.result/1`"),
        "{sentence}"
    );
}

#[test]
fn a_newer_schema_is_no_puzzle() {
    for found in ["reweave.trace/2", "reweave.result/17"] {
        let (error, sentence) = refusal(&format!("{{\"schema\": \"{found}\", \"more\": [1]}}"));
        assert!(matches!(error, ReadError::Newer { .. }), "{sentence}");
        assert!(
            sentence.contains("written by a newer reweave"),
            "{sentence}"
        );
        assert!(sentence.contains(found), "{sentence}");
    }
}

#[test]
fn contradictions_are_named() {
    let text = sample().to_json();
    let cases = [
        (
            "\"op\": \"lock\", \"object\": 1",
            "\"op\": \"lock\", \"object\": 0",
            "`lock` on a atomic",
        ),
        (
            "\"op\": \"lock\", \"object\": 1",
            "\"op\": \"lock\", \"object\": 99",
            "object 99 is not there",
        ),
        (
            "\"op\": \"lock\", \"object\": 1",
            "\"op\": \"lock\"",
            "is no operation",
        ),
        (
            "[0, 0, \"lock\"]",
            "[1, 0, \"lock\"]",
            "of the plan is not event",
        ),
        ("[0, 0, \"lock\"],", "", "steps for"),
        (
            "\"end\": \"deadlock\"",
            "\"end\": \"sometime\"",
            "no execution ends with `sometime`",
        ),
        (
            "\"path\": \"main.0\"",
            "\"path\": \"0.main\"",
            "impossible parent",
        ),
        (
            "\"path\": \"main\"",
            "\"path\": \"main.7\"",
            "first thread is not `main`",
        ),
        ("\"max_steps\": 1000", "\"max_steps\": -1", "invalid value"),
        ("\"src/demo.rs:3:9\"", "\"src\"", "is not file:line:column"),
    ];
    for (from, to, says) in cases {
        assert!(text.contains(from), "{from} is not in {text}");
        let (error, sentence) = refusal(&text.replacen(from, to, 1));
        assert!(
            matches!(error, ReadError::Inconsistent { .. }),
            "{sentence}"
        );
        assert!(sentence.contains(says), "{sentence}");
    }
    let mut result = ResultDocument::new("p", "dfs", "none");
    result.complete = false;
    let parsed = ResultDocument::parse(Path::new("r.json"), result.to_json().as_bytes());
    assert!(matches!(parsed, Err(ReadError::Inconsistent { .. })));
}

/// A reader or a page that panics on a damaged file would hide the damage.
#[test]
fn damaged_bytes_never_panic() {
    let text = sample().to_json().into_bytes();
    let result = ResultDocument::new("p", "dfs", "none")
        .to_json()
        .into_bytes();
    let mut shown = 0;
    for original in [&text, &result] {
        for place in 0..original.len() {
            for byte in [
                b'0',
                b'1',
                b'9',
                b'"',
                b'}',
                b' ',
                b'm',
                original[place] ^ 0x80,
            ] {
                let mut bytes = original.clone();
                bytes[place] = byte;
                match Document::parse(Path::new("bug.rwt"), &bytes) {
                    Ok(Document::Trace(trace)) => {
                        shown += render_trace(&trace, Style::default()).len().min(1);
                        trace.plan();
                    }
                    Ok(Document::Result(result)) => {
                        render_result(&result, Style::default());
                    }
                    Ok(Document::Suite(_)) => unreachable!("it says what it is"),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
    assert!(
        shown > 100,
        "most damage to names and numbers still makes a trace"
    );
}

proptest! {
    #![proptest_config(cases(100))]

    /// Numbers exchanged for others make traces that no program can have; they are shown as far as they make sense.
    #[test]
    fn impossible_traces_never_panic(
        (trace, _) in any_trace(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u32), 1..8),
    ) {
        let mut trace = trace;
        for (place, number) in changes {
            if trace.events.is_empty() {
                break;
            }
            let index = place.index(trace.events.len());
            match number {
                0 => trace.plan[index].1 = 7,
                1 => {
                    let thread = (trace.events[index].thread + 1) % trace.threads.len() as u32;
                    trace.events[index].thread = thread;
                    trace.plan[index].0 = thread;
                }
                2 => {
                    trace.events.remove(index);
                    trace.plan.remove(index);
                }
                _ => {
                    let (event, step) = (trace.events[index].clone(), trace.plan[index].clone());
                    trace.events.push(event);
                    trace.plan.push(step);
                }
            }
        }
        let text = trace.to_json();
        let back = Trace::parse(Path::new("any.rwt"), text.as_bytes()).unwrap();
        render_trace(&back, Style::default());
        dot(&back);
        chrome(&back);
        let told = Shown::of_trace(&back, Path::new("any.rwt"));
        sarif(&told);
        github(&told);
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bug.rwt");
    sample().write(&path).unwrap();
    sample().write(&path).unwrap();
    assert_eq!(Trace::read(&path).unwrap(), sample());
    assert!(matches!(Document::read(&path).unwrap(), Document::Trace(_)));
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
    let error = sample()
        .write(&dir.path().join("missing/bug.rwt"))
        .unwrap_err();
    assert!(
        error.to_string().contains("the directory does not exist"),
        "{error}"
    );
    let error = sample().write(dir.path()).unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[test]
fn a_full_disk_is_told() {
    let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let error = reweave_report::WriteError {
        path: "bug.rwt".into(),
        source,
    };
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn the_first_difference_is_named() {
    let trace = sample();
    assert_eq!(trace.differs(&trace.clone()), None);
    let mut other = trace.clone();
    other.events[2].result = 5;
    let difference = trace.differs(&other).unwrap();
    assert_eq!(difference.step, Some(3));
    let text = difference.to_string();
    let says = "step 3: recorded main: wait condvar#1 mutex#1 = 0 at src/demo.rs:4:9, \
                now main: wait condvar#1 mutex#1 = 5 at src/demo.rs:4:9";
    assert_eq!(text, says);
    other.events.truncate(2);
    let text = trace.differs(&other).unwrap().to_string();
    assert!(
        text.contains("now nothing: the execution is over"),
        "{text}"
    );
    let mut other = trace.clone();
    other.errors.clear();
    let text = trace.differs(&other).unwrap().to_string();
    let says = "after the last step: \
                recorded end `deadlock`, deadlock, main at wake condvar#1, main.0 at leave barrier#1, \
                now end `deadlock`, main at wake condvar#1, main.0 at leave barrier#1";
    assert_eq!(text, says);
}
