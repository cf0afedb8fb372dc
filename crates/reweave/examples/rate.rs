//! How fast one execution is run: lastzero(N) with the default plan, again and again, on one core.

use reweave::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    target::{ClosureTarget, Target, model::Plan},
    thread,
};

fn lastzero(n: usize) {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let mut threads = Vec::with_capacity(n + 1);
    let cells = array.clone();
    threads.push(thread::spawn(move || {
        let mut i = n;
        while cells[i].load(SeqCst) != 0 {
            i -= 1;
        }
    }));
    for j in 1..=n {
        let cells = array.clone();
        threads.push(thread::spawn(move || {
            let before = cells[j - 1].load(SeqCst);
            cells[j].store(before + 1, SeqCst);
        }));
    }
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

fn main() {
    let argument = |index: usize, default: usize| {
        std::env::args()
            .nth(index)
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let (n, executions) = (argument(1, 3), argument(2, 300_000));
    let mut target = ClosureTarget::new(Arc::new(move || lastzero(n)), false);
    let plan = Plan::default();
    let cpu = || {
        // SAFETY: fills in a plain structure.
        let mut time = unsafe { std::mem::zeroed::<libc::timespec>() };
        // SAFETY: as above.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let mut events = 0;
    for _ in 0..1_000 {
        target.run(&plan).expect("deterministic");
    }
    let start = cpu();
    for _ in 0..executions {
        let execution = target.run(&plan).expect("deterministic");
        assert!(execution.errors.is_empty(), "{:?}", execution.errors);
        events += execution.events.len();
    }
    let seconds = cpu() - start;
    println!(
        "lastzero({n}): {executions} executions of {} events, {:.0} executions/s, {:.0} ns/event",
        events / executions,
        executions as f64 / seconds,
        seconds * 1e9 / events as f64,
    );
}
