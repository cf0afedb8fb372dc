//! How fast lastzero(N) is explored: `cargo run --release --example lastzero -- 12 1`.

use reweave::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<usize>().expect("a number"));
    let n = arguments.next().unwrap_or(8);
    let workers = arguments.next().unwrap_or(1);
    let report = reweave::Builder::new().workers(workers).run(move || {
        let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
        let mut threads = Vec::new();
        for j in 1..=n {
            let array = array.clone();
            threads.push(thread::spawn(move || {
                let before = array[j - 1].load(SeqCst);
                array[j].store(before + 1, SeqCst);
            }));
        }
        let mut i = n;
        while i > 0 && array[i].load(SeqCst) != 0 {
            i -= 1;
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let rate = report.executions as f64 / report.elapsed.as_secs_f64();
    let events = report.events as f64 / report.executions as f64;
    println!("lastzero({n}) on {workers} workers: {}", report.summary());
    println!(
        "{rate:.0} executions a second, {events:.1} events each, {:.0} ns an event",
        1e9 / rate / events
    );
}
