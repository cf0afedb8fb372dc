//! Three brokers, two workers and a coordinator, any of which is killed or stopped at any moment: executions and events are those of a check
//! without a cluster, search after search.
//!
//! `REWEAVE_FAULTS` sets the number of faults, `REWEAVE_SEED` their order.

use crate::{Worker, brokers::Trio, program, reweave, run};
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::{Duration, Instant},
};

/// Longer than the broker waits for a sign of life, so that the piece of a worker that pauses is explored by another one as well.
const PAUSE: Duration = Duration::from_millis(4500);
/// Broker nodes are killed this long after the last one came back: two of three hold everything that was written.
const QUORUM: Duration = Duration::from_secs(3);

/// Nothing goes wrong for so many times as long as the command takes to start: on a busy machine workers that die every second never explore
/// anything.
const SLOWNESS: u32 = 20;

fn starting(place: &Path) -> Duration {
    let begun = Instant::now();
    run(place, &["--version"]);
    begun.elapsed()
}

/// What happened so far.
#[derive(Default)]
struct Faults {
    brokers: AtomicUsize,
    workers: AtomicUsize,
    pauses: AtomicUsize,
    leaders: AtomicUsize,
    /// The coordinator is to be killed.
    leader_dies: AtomicBool,
}

impl Faults {
    fn count(&self) -> usize {
        let all = [&self.brokers, &self.workers, &self.pauses, &self.leaders];
        all.iter().map(|it| it.load(SeqCst)).sum()
    }
}

fn number(name: &str, usual: usize) -> usize {
    let text = std::env::var(name);
    text.map_or(usual, |text| text.parse().expect("a number"))
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn signal(worker: &Worker, name: &str) {
    let process = worker.0.id().to_string();
    let done = Command::new("kill").args([name, &process]).status();
    assert!(done.expect("kill can be started").success());
}

/// Lets things go wrong, one after the other, until the searches are over.
fn disturb(trio: &mut Trio, place: &Path, faults: &Faults, most: usize, over: &AtomicBool) {
    let mut dice = Dice(number("REWEAVE_SEED", 3) as u64);
    let url = trio.url.clone();
    let start = || Worker::of(&url, place);
    let mut workers = [start(), start()];
    let mut paused: [Option<Instant>; 2] = [None, None];
    let (mut down, mut whole): (Option<(usize, Instant)>, Instant) = (None, Instant::now());
    while !over.load(SeqCst) {
        let usual = Duration::from_millis(200 + dice.below(700));
        std::thread::sleep(usual.max(SLOWNESS * starting(place)));
        if let Some((node, _)) = down.take_if(|(_, until)| Instant::now() >= *until) {
            trio.begin(node);
            whole = Instant::now();
        }
        for (worker, since) in workers.iter().zip(&mut paused) {
            if since.take_if(|since| since.elapsed() >= PAUSE).is_some() {
                signal(worker, "-CONT");
            }
        }
        if faults.count() >= most {
            // The last search comes to its end in peace.
            continue;
        }
        let one = dice.below(2) as usize;
        match dice.below(4) {
            0 if down.is_none() && whole.elapsed() > QUORUM => {
                let node = dice.below(3) as usize;
                trio.kill(node);
                let back = Duration::from_millis(500 + dice.below(1000));
                down = Some((node, Instant::now() + back));
                faults.brokers.fetch_add(1, SeqCst);
            }
            1 => {
                let killed = std::mem::replace(&mut workers[one], start());
                killed.kill();
                paused[one] = None;
                faults.workers.fetch_add(1, SeqCst);
            }
            2 if paused[one].is_none() => {
                signal(&workers[one], "-STOP");
                paused[one] = Some(Instant::now());
                faults.pauses.fetch_add(1, SeqCst);
            }
            _ => faults.leader_dies.store(true, SeqCst),
        }
    }
}

fn begin(place: &Path, words: &[&str]) -> Child {
    let mut command = reweave(place, words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command can be started")
}

/// The only search of the cluster, if there is one.
fn search(place: &Path, url: &str) -> Option<String> {
    let seen = run(place, &["cluster", "status", "--cluster", url]);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    let line = text.lines().find(|line| line.contains(" pieces out"));
    line.and_then(|line| Some(line.split_once(':')?.0.to_owned()))
}

/// What a search reports whose coordinator is killed now and then.
fn explored(place: &Path, url: &str, file: &str, faults: &Faults) -> String {
    let new = || {
        let words = [
            "check",
            "--cluster",
            url,
            "--first",
            "5",
            "--slice",
            "100ms",
            "-DN=14",
            file,
        ];
        begin(place, &words)
    };
    let mut leader = new();
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(30));
        let late = begun.elapsed() > Duration::from_secs(600);
        assert!(
            !late,
            "a search does not end, after {} faults",
            faults.count()
        );
        if leader.try_wait().expect("it was started here").is_some() {
            let done = leader.wait_with_output().expect("it ended");
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(0), "{text}{said}");
            return text;
        }
        if faults.leader_dies.swap(false, SeqCst) {
            let _ = leader.kill();
            let _ = leader.wait();
            faults.leaders.fetch_add(1, SeqCst);
            leader = match search(place, url) {
                Some(name) => begin(place, &["cluster", "resume", &name, "--cluster", url]),
                // It died before it had begun.
                None => new(),
            };
        }
    }
}

/// (N + 3) * 2^(N - 2) executions: 69,632 for 14.
#[test]
fn nothing_is_lost_or_doubled_when_anything_dies() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let most = number("REWEAVE_FAULTS", 50);
    let file = program("papers/lastzero.c");
    let mut trio = Trio::start();
    let url = trio.url.clone();
    let (faults, over) = (Faults::default(), AtomicBool::new(false));
    let searches = std::thread::scope(|scope| {
        scope.spawn(|| disturb(&mut trio, place, &faults, most, &over));
        let explored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut searches = 0;
            while faults.count() < most {
                let text = explored(place, &url, &file, &faults);
                assert!(text.contains("complete, 69,632 executions"), "{text}");
                searches += 1;
            }
            searches
        }));
        over.store(true, SeqCst);
        explored.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let seen = run(place, &["cluster", "status", "--cluster", &url]);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(text.contains("no searches"), "{text}");
    let kinds = [
        &faults.brokers,
        &faults.workers,
        &faults.pauses,
        &faults.leaders,
    ];
    let kinds = kinds.map(|it| it.load(SeqCst));
    println!("{searches} searches; brokers, workers, pauses, coordinators: {kinds:?}");
    assert!(
        most < 50 || kinds.iter().all(|count| *count > 0),
        "{kinds:?}"
    );
}
