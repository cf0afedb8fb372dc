//! How fast a program is explored: `cargo run --release -p reweave --example rate -- lastzero 12 1` (program, size,
//! workers).

use reweave::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

/// Scans for the last zero of an array while N threads each fill a place from the one before.
fn lastzero(n: usize) {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let threads = Vec::from_iter((1..=n).map(|j| {
        let array = array.clone();
        thread::spawn(move || {
            let before = array[j - 1].load(SeqCst);
            array[j].store(before + 1, SeqCst);
        })
    }));
    let mut i = n;
    while i > 0 && array[i].load(SeqCst) != 0 {
        i -= 1;
    }
    join(threads);
}

/// One writer, N readers.
fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let threads = Vec::from_iter((0..n).map(|_| {
        let x = x.clone();
        thread::spawn(move || {
            x.load(SeqCst);
        })
    }));
    x.store(1, SeqCst);
    join(threads);
}

/// N threads on one mutex.
fn mutex(n: usize) {
    let total = Arc::new(Mutex::new(0));
    let threads = Vec::from_iter((0..n).map(|_| {
        let total = total.clone();
        thread::spawn(move || *total.lock().unwrap() += 1)
    }));
    join(threads);
}

/// N senders, one receiver.
fn senders(n: usize) {
    let (sender, receiver) = mpsc::channel();
    let threads = Vec::from_iter((0..n).map(|i| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(i).unwrap())
    }));
    for _ in 0..n {
        receiver.recv().unwrap();
    }
    join(threads);
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn main() {
    let arguments = Vec::from_iter(std::env::args().skip(1));
    let number = |index: usize, default: usize| {
        let text = arguments.get(index);
        text.map_or(default, |text| text.parse().expect("a number is expected"))
    };
    let (size, workers) = (number(1, 8), number(2, 1));
    let program = match arguments.first().map_or("lastzero", String::as_str) {
        "lastzero" => lastzero,
        "readers" => readers,
        "mutex" => mutex,
        "senders" => senders,
        other => panic!("no program is called {other}: lastzero, readers, mutex or senders"),
    };
    let report = reweave::Builder::new()
        .workers(workers)
        .run(move || program(size));
    let rate = report.executions as f64 / report.elapsed.as_secs_f64();
    let events = report.events as f64 / report.executions as f64;
    println!("{}", report.summary());
    println!(
        "{rate:.0} executions a second on {workers} workers, {events:.1} events each, {:.0} ns an event",
        1e9 / rate / events
    );
}
