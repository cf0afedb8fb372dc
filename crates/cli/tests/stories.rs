//! Stories of classic bugs behind wrappers, as a terminal of 80 and of 120 columns shows them. A reader should be able to name the
//! cause from the text alone.

use reweave_report::{Sources, Style, Trace, render_trace};
use std::{path::Path, process::Command};

/// The story of a program's first error, at both widths.
fn story(program: &str) -> String {
    let place = tempfile::tempdir().expect("a directory can be made");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["check", "--workers", "1", "--output"])
        .arg(place.path())
        .arg(program)
        .current_dir(&sources)
        .env(
            "XDG_CACHE_HOME",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
        )
        .env_remove("CC")
        .env_remove("CXX")
        .output()
        .expect("the command can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{program}: {text}");
    let traces = std::fs::read_dir(place.path()).expect("it was written");
    let mut traces = traces.map(|entry| entry.expect("it can be listed").path());
    let trace = traces.find(|path| path.extension().is_some_and(|it| it == "rwt"));
    let mut trace = Trace::read(&trace.expect("there is a trace")).expect("it can be read");
    trace.program.replay = None;
    let mut stories = String::new();
    for width in [80, 120] {
        let style = Style {
            width,
            ..Style::default()
        };
        let told = render_trace(&trace, None, &Sources::of(&trace), style);
        assert!(
            told.lines().all(|line| line.chars().count() <= width),
            "{told}"
        );
        stories += &format!("{width} columns\n\n{told}\n");
    }
    // Where the compiler keeps its headers.
    let lines = stories
        .lines()
        .map(|line| match line.find("/usr/include/") {
            Some(at) => format!("{}...", &line[..at]),
            None => line.to_owned(),
        });
    lines.map(|line| line + "\n").collect()
}

macro_rules! stories {
    ($($name:ident: $file:literal says $($cause:literal),+;)*) => {
        $(
            #[test]
            fn $name() {
                let story = story($file);
                let words: Vec<&str> = story.split_whitespace().collect();
                let plain = words.join(" ");
                for cause in [$($cause),+] {
                    assert!(plain.contains(cause), "{cause}: {story}");
                }
                insta::assert_snapshot!(stringify!($name), story);
            }
        )*
    };
}

stories! {
    locks_in_opposite_order: "bank.c"
        says "pay holds savings->guard", "they take the two locks in opposite order";
    notification_before_the_wait: "event.cc"
        says "loader notified loaded.changed_", "the notification was lost";
    woken_for_nothing: "queue.cc"
        says "count_ = 0", "between the notify of queue.filled_ by producer";
    looked_and_acted_apart: "account.cc"
        says "balance_ = -20", "what shop.1 had found out was no longer true";
    kept_by_an_early_return: "early.c"
        says "table_lock", "without giving it back";
    one_side_without_the_lock: "statistics.cc"
        says "statistics.requests", "no lock protects both accesses";
    freed_beside_its_user: "session.c"
        says "session", "reaper";
    both_saw_it_idle: "state.cc"
        says "reads Idle", "read machine.state_ as Idle";
    waited_by_sleeping: "pause.c"
        says "result = -1", "It depends on the sleep of main at pause.c";
    asleep_with_the_lock: "buffer.c"
        says "consumer", "buffer.filled";
    forks_on_the_heap: "table.cc"
        says "holds table.forks_[0]->lock", "table.forks_[1]->lock allocated at table.cc:18";
    blocks_without_a_variable: "ring.c"
        says "holds node#1.lock", "node#2.lock allocated at ring.c:15";
    a_pointer_came_back: "stack.cc"
        says "compare-exchange stack.head_: &nodes[2] -> &nodes[1]", "left <= 1";
    a_semaphore_kept: "slots.c"
        says "producer waits for buffer.room and keeps buffer.guard";
    looked_and_set_apart: "visits.cc"
        says "visits.lock_", "was no longer true";
    one_notification_too_few: "jobs.cc"
        says "pool.filled_", "no other follows";
}
