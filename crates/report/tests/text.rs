//! What people read: three classic bugs, and the shapes a listing can take.

use reweave_model::{Edge, Error, Kind, Object, ObjectId, Op, Policy, Site, ThreadId};
use reweave_report::{
    AccessEntry, BlockedBy, Context, ExitCode, Finding, ResultDocument, Shortened, Sources, Style,
    Trace, record_sources, render_result, render_trace, render_untold, summary,
};
use reweave_testing::script::{Script, Thread, run, trace};
use std::fs;

const A: ObjectId = ObjectId(0);
const B: ObjectId = ObjectId(1);

fn lock_inversion() -> Trace {
    let pair = |first, second, line| {
        vec![
            (Op::Lock(first), line),
            (Op::Lock(second), line + 1),
            (Op::Unlock(second), line + 2),
            (Op::Unlock(first), line + 3),
        ]
    };
    let mut main = pair(A, B, 20);
    main.push((Op::Join(ThreadId(1)), 30));
    let script = Script {
        objects: vec![Object::mutex(), Object::mutex()],
        threads: vec![Thread(None, main), Thread(Some("transfer"), pair(B, A, 12))],
    };
    trace(
        "lock_inversion",
        &run(&script, &[0, 1], Policy::First, 1000),
    )
}

/// A consumer that looks, finds nothing, and only then begins to wait: the notification falls in between.
fn lost_wakeup() -> Trace {
    let script = Script {
        objects: vec![Object::Atomic(0), Object::mutex(), Object::condvar()],
        threads: vec![
            Thread(
                None,
                vec![
                    (Op::Load(A), 31),
                    (Op::Lock(B), 32),
                    (
                        Op::Enqueue {
                            condvar: ObjectId(2),
                            mutex: B,
                        },
                        32,
                    ),
                    (
                        Op::Wake {
                            condvar: ObjectId(2),
                            timed: false,
                        },
                        32,
                    ),
                    (Op::Lock(B), 32),
                    (Op::Unlock(B), 34),
                    (Op::Join(ThreadId(1)), 35),
                ],
            ),
            Thread(
                Some("producer"),
                vec![(Op::Store(A, 7), 24), (Op::NotifyOne(ObjectId(2)), 25)],
            ),
        ],
    };
    trace(
        "lost_wakeup",
        &run(&script, &[0, 1, 1], Policy::First, 1000),
    )
}

/// Two threads that increment with a load and a store, and an assertion on the sum.
fn assertion() -> Trace {
    let add = vec![(Op::Load(A), 12), (Op::Store(A, 1), 13)];
    let script = Script {
        objects: vec![Object::Atomic(0)],
        threads: vec![
            Thread(
                None,
                vec![
                    (Op::Join(ThreadId(1)), 17),
                    (Op::Join(ThreadId(2)), 18),
                    (Op::Load(A), 19),
                ],
            ),
            Thread(None, add.clone()),
            Thread(None, add),
        ],
    };
    let mut execution = run(&script, &[1, 2], Policy::First, 1000);
    execution.errors.push(Error {
        kind: Kind::Assertion,
        rule: None,
        message: "assertion `left == right` failed: both increments count\n  left: 1\n right: 2"
            .into(),
        sites: vec![Site(19)],
        after: None,
    });
    let known = trace("counter_adds_up", &execution);
    let blame = Edge {
        thread: ThreadId::MAIN,
        count: 3,
    };
    Trace::from_execution(
        &execution,
        Context {
            program: known.program.clone(),
            options: known.options,
            site: &reweave_testing::script::position,
            output: Some("thread main.0: counted\nthread main.1: counted\n".into()),
            blame: &[Some(blame)],
        },
    )
}

fn shown(trace: &Trace) -> String {
    let name = &trace.program.name;
    let again = format!("REWEAVE_REPLAY=reweave-out/{name}-1.rwt cargo test {name}");
    let text = render_trace(trace, Some(&again), &Sources::default(), Style::default());
    for line in text.lines().filter(|line| !line.contains("REWEAVE_REPLAY")) {
        assert!(line.chars().count() <= 80, "wider than the page: {line}");
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
    text
}

#[test]
fn a_lock_inversion_names_both_holders() {
    insta::assert_snapshot!(shown(&lock_inversion()));
}

#[test]
fn a_lost_wakeup_names_the_notification_that_came_too_early() {
    insta::assert_snapshot!(shown(&lost_wakeup()));
}

#[test]
fn an_assertion_stands_where_it_failed() {
    insta::assert_snapshot!(shown(&assertion()));
}

#[test]
fn a_race_names_both_places() {
    let mut trace = lock_inversion();
    trace.errors[0].kind = Kind::DataRace;
    trace.errors[0].places = [12, 21]
        .map(|line| reweave_testing::script::position(Site(line)).unwrap())
        .into();
    trace.errors[0].stacks = vec![
        vec![
            "push at src/demo.rs:12".into(),
            "work at src/demo.rs:3".into(),
        ],
        vec!["pop at src/demo.rs:21".into()],
    ];
    let text = shown(&trace);
    let one = "one access: at src/demo.rs:12:9\n    in push at src/demo.rs:12\n    in work at";
    assert!(text.contains(one), "{text}");
    let other = "the other:  at src/demo.rs:21:9\n    in pop at src/demo.rs:21\n";
    assert!(text.contains(other), "{text}");
}

/// Twelve threads do not fit side by side: they have narrow lanes, and their names stand in the lines.
#[test]
fn many_threads_have_lanes() {
    let fork = |number: u32| ObjectId(number % 12);
    let philosopher = |number: u32| {
        let meal = vec![
            (Op::Lock(fork(number)), 8),
            (Op::Lock(fork(number + 1)), 9),
            (Op::Unlock(fork(number + 1)), 10),
            (Op::Unlock(fork(number)), 11),
        ];
        Thread(None, meal)
    };
    let joins = (1..13).map(|thread| (Op::Join(ThreadId(thread)), 20));
    let mut threads = vec![Thread(None, joins.collect())];
    threads.extend((0..12).map(philosopher));
    let script = Script {
        objects: vec![Object::mutex(); 12],
        threads,
    };
    let order: Vec<u32> = (1..13).collect();
    let execution = run(&script, &order, Policy::First, 1000);
    insta::assert_snapshot!(shown(&trace("philosophers", &execution)));
}

#[test]
fn sentences_for_a_screen_reader() {
    let style = Style {
        plain: true,
        ..Style::default()
    };
    let text = render_trace(&lock_inversion(), None, &Sources::default(), style);
    insta::assert_snapshot!(text);
}

/// What a third thread does by itself is no part of the story; what it wrote that was read is.
#[test]
fn only_steps_that_matter_are_shown() {
    let mut own: Vec<_> = (0..9).map(|n| (Op::Store(ObjectId(1), n), 30)).collect();
    own.insert(4, (Op::Store(A, 7), 31));
    let mut script = Script {
        objects: vec![Object::Atomic(0), Object::Atomic(0), Object::Atomic(0)],
        threads: vec![
            Thread(None, vec![(Op::Join(ThreadId(1)), 17), (Op::Load(A), 19)]),
            Thread(None, own),
        ],
    };
    let idle = (0..5).map(|n| (Op::Store(ObjectId(2), n), 40));
    script.threads.push(Thread(None, idle.collect()));
    let mut execution = run(&script, &[], Policy::First, 1000);
    execution.errors.push(Error {
        kind: Kind::Assertion,
        rule: None,
        message: "7 is not 0".into(),
        sites: vec![Site(19)],
        after: None,
    });
    let mut trace = trace("matters", &execution);
    trace.errors[0].after = Some((0, 2));
    trace.shortened = Some(Shortened {
        steps: 41,
        switches: 7,
        preemptions: 3,
        runs: 120,
    });
    trace.preemptions = Some(0);
    insta::assert_snapshot!(shown(&trace));
}

/// A trace of the file `demo.rs` below some directory, which says on each line which one it is.
fn with_source() -> (tempfile::TempDir, Trace) {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("src")).unwrap();
    let lines = (1..40).map(|line| format!("    line_{line}();\x1b[2J\n"));
    let text: String = lines.collect();
    fs::write(directory.path().join("src/demo.rs"), text).unwrap();
    let mut trace = lock_inversion();
    trace.program.directory = Some(directory.path().display().to_string());
    record_sources(&mut trace);
    (directory, trace)
}

#[test]
fn source_lines_stand_beside_their_steps() {
    let (_directory, trace) = with_source();
    let style = Style {
        width: 120,
        ..Style::default()
    };
    let text = render_trace(&trace, None, &Sources::of(&trace), style);
    assert!(!text.contains('\x1b'), "{text}");
    let first = text
        .lines()
        .find(|line| line.starts_with("   1  "))
        .unwrap();
    assert!(first.contains("lock mutex#1"), "{text}");
    assert!(first.contains("  line_20();"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120));
}

#[test]
fn sources_that_changed_or_moved_are_noticed() {
    let (directory, trace) = with_source();
    let shown = || render_trace(&trace, None, &Sources::of(&trace), Style::default());
    assert!(!shown().contains("src/demo.rs has changed"));
    let file = directory.path().join("src/demo.rs");
    fs::write(&file, "another_line();\n".repeat(40)).unwrap();
    let text = shown();
    assert!(
        text.contains("src/demo.rs has changed since this was recorded"),
        "{text}"
    );
    assert!(
        Sources::of(&trace).line(trace.events[0].at.as_ref().unwrap()) == Some("another_line();")
    );
    fs::remove_file(&file).unwrap();
    let text = shown();
    assert!(text.contains("src/demo.rs is not where it was"), "{text}");
    assert!(
        text.contains("lock mutex#1"),
        "all the rest is shown: {text}"
    );
    // A directory, or something endless, is no source.
    fs::create_dir(&file).unwrap();
    assert!(shown().contains("is not where it was"));
}

/// What was told above is not told again.
#[test]
fn a_result_leaves_out_what_was_told() {
    let mut result = searched();
    result.errors.push(deadlock());
    result.errors.push(deadlock());
    let all = render_result(&result, Style::default());
    let rest = render_untold(&result, 1, Style::default());
    assert_eq!(all.matches("error: deadlock").count(), 2);
    assert_eq!(rest.matches("error: deadlock").count(), 1);
    assert!(rest.contains("2 errors found"), "{rest}");
}

/// A writer that waits for itself as a reader, where readers go first.
#[test]
fn a_foretold_writer_holds_nothing() {
    let main = vec![
        (Op::ReadLock(A), 5),
        (Op::WriteBegin(A), 6),
        (Op::WriteAcquire(A), 6),
    ];
    let script = Script {
        objects: vec![Object::rwlock_readers_first()],
        threads: vec![
            Thread(None, main),
            Thread(Some("writer"), vec![(Op::WriteBegin(A), 9)]),
        ],
    };
    let text = shown(&trace("upgrade", &run(&script, &[], Policy::First, 1000)));
    assert!(text.contains("write-next rwlock#1"), "{text}");
    let waits =
        "main waits for the readers of rwlock#1 at src/demo.rs:6:9,\n  |     held since step 1";
    assert!(text.contains(waits), "{text}");
    let waits = "waits for rwlock#1, held by main since step 1 (src/demo.rs:5)\n";
    assert!(text.contains(waits), "{text}");
}

fn long() -> Trace {
    let mut main = vec![(Op::Lock(B), 5)];
    main.extend((0..200).map(|n| (Op::Store(A, n), 6)));
    main.push((Op::Join(ThreadId(1)), 7));
    let worker = vec![(Op::Lock(B), 9)];
    let script = Script {
        objects: vec![Object::Atomic(0), Object::mutex()],
        threads: vec![Thread(None, main), Thread(None, worker)],
    };
    trace("long", &run(&script, &[], Policy::First, 1000))
}

/// 200 stores that nobody reads.
#[test]
fn a_long_listing_is_folded_and_unfolds() {
    let trace = long();
    let text = shown(&trace);
    assert!(text.contains("...  200 steps\n"), "{text}");
    assert!(
        text.contains("in which no threads meet are folded"),
        "{text}"
    );
    let full = Style {
        full: true,
        ..Style::default()
    };
    let text = render_trace(&trace, None, &Sources::default(), full);
    assert!(!text.contains("...  ") && !text.contains("folded"));
    assert_eq!(text.matches("store atomic#1").count(), 200);
}

/// 300 threads that wait for a lock: the page stays a page.
#[test]
fn hundreds_of_threads_are_folded_too() {
    let main = vec![(Op::Lock(A), 5), (Op::Join(ThreadId(1)), 6)];
    let mut threads = vec![Thread(None, main)];
    threads.extend((0..300).map(|_| Thread(None, vec![(Op::Lock(A), 9)])));
    let script = Script {
        objects: vec![Object::mutex()],
        threads,
    };
    let text = shown(&trace("many", &run(&script, &[], Policy::First, 1000)));
    assert!(text.lines().count() < 100, "{text}");
    assert!(text.contains("287 more threads"), "{text}");
    assert!(text.contains("held by main since step 1"), "{text}");
}

#[test]
fn folding_keeps_the_steps_that_the_end_refers_to() {
    let mut main: Vec<_> = (0..50).map(|n| (Op::Store(A, n), 6)).collect();
    main.push((Op::Lock(B), 7));
    main.extend((0..50).map(|n| (Op::Store(A, n), 8)));
    main.push((Op::Join(ThreadId(1)), 9));
    let script = Script {
        objects: vec![Object::Atomic(0), Object::mutex()],
        threads: vec![Thread(None, main), Thread(None, vec![(Op::Lock(B), 9)])],
    };
    let text = shown(&trace("kept", &run(&script, &[], Policy::First, 1000)));
    assert!(
        text.contains("...  50 steps\n  51  src/demo.rs:7"),
        "{text}"
    );
    assert!(
        text.contains("held since step 51 (src/demo.rs:7) by"),
        "{text}"
    );
}

#[test]
fn colour_only_when_asked() {
    let trace = lost_wakeup();
    let plain = render_trace(&trace, None, &Sources::default(), Style::default());
    let style = Style {
        colour: true,
        ..Style::default()
    };
    let coloured = render_trace(&trace, None, &Sources::default(), style);
    assert!(!plain.contains('\x1b'));
    let mut bare = String::new();
    for (index, part) in coloured.split('\x1b').enumerate() {
        bare += if index == 0 {
            part
        } else {
            part.split_once('m').unwrap().1
        };
    }
    assert_eq!(bare, plain);
}

#[test]
fn a_program_cannot_write_to_the_terminal() {
    let mut trace = lost_wakeup();
    trace.threads[1].name = Some("\x1b[2Jgone".into());
    trace.errors[0].message = "\x07\x1b]0;title".into();
    trace.output = Some("\x1b[31mred\r\n".into());
    let text = render_trace(&trace, None, &Sources::default(), Style::default());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

/// A character that turns the direction of text would show words in another order than they have.
#[test]
fn a_program_cannot_turn_the_text_around() {
    let evil = "safe\u{202e}evas\u{2066}\u{200b}\u{feff}";
    let shown = r"safe\u{202e}evas\u{2066}\u{200b}\u{feff}";
    let mut trace = lost_wakeup();
    trace.threads[1].name = Some(evil.into());
    trace.errors[0].kind = Kind::Assertion;
    trace.errors[0].message = evil.into();
    trace.output = Some(evil.into());
    let turns = |text: &str| text.chars().any(reweave_report::is_unseen);
    let text = render_trace(&trace, Some(evil), &Sources::default(), Style::default());
    assert!(text.contains(shown) && !turns(&text), "{text}");
    // A document says the same, in other characters.
    let document = trace.to_json();
    assert!(!turns(&document));
    let again = Trace::parse(std::path::Path::new("it"), document.as_bytes()).unwrap();
    assert_eq!(again, trace);
    let mut result = searched();
    result.program = evil.into();
    result.incomplete = vec![format!("unsupported: {evil}")];
    let text = render_result(&result, Style::default());
    assert!(text.contains(shown) && !turns(&text), "{text}");
    assert!(!turns(&result.to_json()));
    assert!(!turns(&reweave_report::junit_result(&result)));
}

/// The write of `main` is done before the other thread fails, after no step of its own.
#[test]
fn an_earlier_access_has_a_row_in_its_own_thread() {
    let mut trace = lock_inversion();
    let error = &mut trace.errors[0];
    error.kind = Kind::Memory;
    error.rule = Some("use-after-free".into());
    error.message = "transfer reads data after main freed it".into();
    error.places = [12, 21]
        .map(|line| reweave_testing::script::position(Site(line)).unwrap())
        .into();
    let access = |access: &str, thread, after| AccessEntry {
        value: None,
        access: access.into(),
        thread,
        after: Some(after),
    };
    error.accesses = vec![access("free", 0, 1), access("read", 1, 1)];
    error.after = Some((1, 1));
    let text = shown(&trace);
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.trim_start().starts_with(['*', '!']))
        .collect();
    let [earlier, failing] = rows[..] else {
        panic!("two rows: {text}");
    };
    assert!(earlier.contains("src/demo.rs:12"), "{earlier}");
    assert!(
        earlier.contains("free: use-after-free in transfer"),
        "{earlier}"
    );
    assert!(failing.contains("src/demo.rs:21"), "{failing}");
    assert!(failing.contains("memory here: read"), "{failing}");
    assert!(text.contains("free by main: at src/demo.rs:12"), "{text}");
    assert!(
        text.contains("read by transfer: at src/demo.rs:21"),
        "{text}"
    );
}

fn searched() -> ResultDocument {
    let mut result = ResultDocument::new("handoff_is_never_lost", "optimal", "mazurkiewicz");
    result.executions = 6;
    result.events = 84;
    result.threads_max = 2;
    result.elapsed_s = 0.0021;
    result.workers = 2;
    result
}

#[test]
fn a_search_in_one_line() {
    let mut result = searched();
    let line = "complete, 6 executions, no error under sequential consistency";
    assert_eq!(summary(&result), line);
    assert_eq!(result.exit_code(false), ExitCode::Clean);
    result.complete = false;
    result.incomplete = vec!["budget".into(), "preemptions".into()];
    result.executions = 1_234_567;
    let line = "incomplete (budget, preemptions), 1,234,567 executions, \
                no error so far under sequential consistency";
    assert_eq!(summary(&result), line);
    assert_eq!(result.exit_code(false), ExitCode::Incomplete);
    result.errors.push(deadlock());
    result.incomplete = vec!["stopped-at-error".into()];
    result.executions = 1;
    assert_eq!(
        summary(&result),
        "1 error found in 1 execution; stopped there"
    );
    assert_eq!(result.exit_code(false), ExitCode::Found);
    assert_eq!(result.exit_code(false).code(), 1);
}

#[test]
fn races_are_doubtful_beside_code_that_was_not_observed() {
    let mut result = searched();
    result.complete = false;
    result.incomplete = vec!["races".into()];
    result.errors.push(deadlock());
    result.errors.push(Finding {
        kind: Kind::DataRace,
        ..deadlock()
    });
    result.doubt();
    assert_eq!(result.certain(), 2);
    result.incomplete.push("uninstrumented: libz.so.1".into());
    result.doubt();
    assert_eq!(result.certain(), 1, "a deadlock stays one");
    assert_eq!(result.exit_code(false), ExitCode::Found);
    assert!(summary(&result).starts_with("1 error and 1 doubtful found in"));
    result.errors.remove(0);
    assert_eq!(result.exit_code(false), ExitCode::Incomplete);
    assert!(summary(&result).starts_with("1 doubtful error found in"));
    let text = render_result(&result, Style::default());
    assert!(text.contains("doubtful: the data-race at src/lib.rs:42:9: libz.so.1"));
}

#[test]
fn warnings_count_only_when_strict() {
    let mut result = searched();
    result.warnings.push(deadlock());
    assert_eq!(result.exit_code(false).code(), 0);
    assert_eq!(result.exit_code(true).code(), 1);
}

fn deadlock() -> Finding {
    Finding {
        kind: Kind::Deadlock,
        rule: None,
        message: "no thread can go on".into(),
        location: Some("src/lib.rs:42:9".into()),
        events: 17,
        trace: Some("reweave-out/queue-1.rwt".into()),
        seen: 1,
        doubtful: false,
        because: None,
    }
}

#[test]
fn a_search_as_a_page() {
    let mut result = searched();
    result.complete = false;
    result.incomplete = vec!["budget".into()];
    result.blocked = 3;
    result.blocked_by = BlockedBy {
        assume: 2,
        redundant: 1,
    };
    result.weak_orders = 4;
    result.errors.push(deadlock());
    insta::assert_snapshot!(render_result(&result, Style::default()));
}

/// The contract's own example, field by field and in its order.
#[test]
fn the_result_document_has_the_fields_of_its_schema() {
    let mut result = searched();
    result.complete = false;
    result.incomplete = vec!["stopped-at-error".into()];
    result.errors.push(deadlock());
    insta::assert_snapshot!(result.to_json());
}

/// A change here is a change of the stored format: it needs a new schema number.
#[test]
fn the_trace_file_has_the_fields_of_its_schema() {
    insta::assert_snapshot!(lost_wakeup().to_json());
}
