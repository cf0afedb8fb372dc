//! What a search covers, by `check --coverage`: exact contents for a small program.

mod bench;

use bench::{Bench, err};
use reweave_report::{Coverage, Met, ResultDocument};

const TURNS: &str = include_str!("coverage/turns.c");

/// The result of a check of `turns.c`, and its coverage.
fn covered(bench: &Bench, words: &[&str]) -> (ResultDocument, Coverage) {
    let all = [
        &["check", "--coverage", "--format", "json"],
        words,
        &["turns.c"],
    ]
    .concat();
    let output = bench.run(&all);
    let result = ResultDocument::parse("-".as_ref(), &output.stdout);
    let result = result.unwrap_or_else(|error| panic!("{error}: {}", err(&output)));
    let coverage = result.coverage.clone().expect("it was asked for");
    (result, coverage)
}

fn pairs(coverage: &Coverage) -> Vec<(Met, &str, &str, u64, u64)> {
    let pairs = coverage.pairs.iter();
    let pairs = pairs.map(|it| {
        (
            it.met,
            it.first.as_str(),
            it.second.as_str(),
            it.in_order,
            it.reversed,
        )
    });
    pairs.collect()
}

/// Either thread is first at line 10, and either is then first to store: 2 * 2 executions. In each the first one in stores in line 11
/// and the second one in line 13, so neither line meets itself. Main loads in line 36 after both joins. Nothing but the semaphore itself
/// orders its release and its acquire.
#[test]
fn pairs_of_places_have_the_orders_in_which_they_met() {
    let bench = Bench::new();
    bench.file("turns.c", TURNS);
    for algorithm in ["rf", "optimal"] {
        let (result, coverage) = covered(&bench, &["--algorithm", algorithm]);
        assert_eq!((result.executions, result.complete), (4, true));
        assert_eq!(
            pairs(&coverage),
            [
                (Met::Never, "turns.c:11", "turns.c:11", 0, 0),
                (Met::Never, "turns.c:13", "turns.c:13", 0, 0),
                (Met::OneOrder, "turns.c:18", "turns.c:24", 4, 0),
                (Met::Ordered, "turns.c:11", "turns.c:36", 4, 0),
                (Met::Ordered, "turns.c:13", "turns.c:36", 4, 0),
                (Met::Both, "turns.c:10", "turns.c:10", 2, 2),
                (Met::Both, "turns.c:11", "turns.c:13", 2, 2),
            ]
        );
        let places = coverage.places.iter();
        let places = places.map(|it| (it.location.as_str(), it.threads, it.steps, it.branches));
        // One branch where line 10 is reversed, and one for the stores of each of these two orders.
        assert_eq!(
            places.collect::<Vec<_>>(),
            [
                ("turns.c:10", 2, 8, 1),
                ("turns.c:11", 2, 4, 1),
                ("turns.c:13", 2, 4, 1),
                ("turns.c:18", 1, 4, 0),
                ("turns.c:24", 1, 4, 0),
                ("turns.c:33", 1, 4, 0),
                ("turns.c:34", 1, 4, 0),
                ("turns.c:36", 1, 4, 0),
            ]
        );
        assert_eq!(coverage.branches() + 1, result.executions);
    }
    // All orders of steps have the same pairs.
    let (every, of_every) = covered(&bench, &["--algorithm", "dfs"]);
    let (_, few) = covered(&bench, &[]);
    assert!(every.executions > 4);
    let met = |coverage: &Coverage| {
        let all = pairs(coverage).into_iter();
        let met = all.map(|(met, first, second, ..)| (met, first.to_owned(), second.to_owned()));
        met.collect::<Vec<_>>()
    };
    assert_eq!(met(&of_every), met(&few));
}

/// After one execution no pair has both orders, and the text says so. (That a line could meet itself is not known yet: one thread was there.)
#[test]
fn a_search_that_is_cut_says_what_it_did_not_meet() {
    let bench = Bench::new();
    bench.file("turns.c", TURNS);
    let (result, coverage) = covered(&bench, &["--max-executions", "1", "--workers", "1"]);
    assert!(!result.complete);
    assert_eq!(
        (coverage.count(Met::Both), coverage.count(Met::OneOrder)),
        (0, 3)
    );
    let words = ["check", "--coverage", "--max-executions", "1", "turns.c"];
    let output = bench.run(&words);
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "8 places with visible operations; 5 pairs of them on the same objects: 3 in one order only",
        "in this order only, so far: turns.c:10 in two threads; turns.c:11 before turns.c:13",
        "reweave report reweave-out/turns.result.json --html covered.html",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = [
        "report",
        "reweave-out/turns.result.json",
        "--html",
        "it.html",
    ];
    assert!(bench.run(&page).status.success());
    let page = std::fs::read_to_string(bench.path("it.html")).unwrap();
    assert!(page.contains("<h2>What turns.c covers</h2>"), "{page}");
}

/// Line 37 is behind a condition that never holds. All other lines with code are reached, however the program is run again.
#[test]
fn lines_that_no_execution_reaches_are_named() {
    let bench = Bench::new();
    bench.file("turns.c", TURNS);
    for how in [
        &["--restart", "warm"][..],
        &["--restart", "fork"],
        &["--restart", "exec"],
        &["--threads", "os"],
        &["--workers", "2"],
    ] {
        let (result, coverage) = covered(&bench, how);
        assert_eq!((result.executions, result.complete), (4, true), "{how:?}");
        let lines = coverage.lines.expect("it has debug information");
        let unreached: Vec<String> = lines.unreached.iter().map(|it| it.spelled()).collect();
        assert_eq!(unreached, ["turns.c:37"], "{how:?}");
        assert_eq!(lines.reached + 1, lines.known);
    }
}

/// A constructor runs before `main`; a trap of the program's own stays an error, with and without coverage.
#[test]
fn lines_before_main_count_and_own_traps_stay() {
    let bench = Bench::new();
    let source = r#"
struct Before {
  int value;
  Before() { value = helper(); }
  static int helper();
};
static int zero;
int Before::helper() {
  return zero + 1;
}
static Before before;
static void never() {
  zero = 2;
}
int main() {
  if (before.value == 2)
    never();
  __asm__ volatile("int3");
  return 0;
}
"#;
    bench.file("before.cc", source);
    let plain = bench.run(&["check", "--format", "json", "before.cc"]);
    let covering = ["check", "--coverage", "--format", "json", "before.cc"];
    let covering = bench.run(&covering);
    let read = |bytes: &[u8]| ResultDocument::parse("-".as_ref(), bytes).unwrap();
    let (plain, covering) = (read(&plain.stdout), read(&covering.stdout));
    let error =
        |result: &ResultDocument| (result.errors[0].kind, result.errors[0].location.clone());
    assert_eq!(error(&plain), error(&covering));
    let lines = covering.coverage.and_then(|it| it.lines).unwrap();
    let stretches = lines.unreached.iter().flat_map(|it| &it.lines);
    let unreached: Vec<u32> = stretches.flat_map(|(first, last)| *first..=*last).collect();
    // Of `never`, of its call, and what comes after the trap.
    assert!(
        [13, 17, 19].iter().all(|it| unreached.contains(it)),
        "{unreached:?}"
    );
    // The constructor and what it calls, the condition and the trap.
    assert!(
        [4, 9, 16, 18].iter().all(|it| !unreached.contains(it)),
        "{unreached:?}"
    );
}

/// What it would not be whole with is refused.
#[test]
fn a_continued_search_has_no_coverage() {
    let bench = Bench::new();
    bench.file("turns.c", TURNS);
    let output = bench.run(&["check", "--coverage", "--resume", "turns.c"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}
