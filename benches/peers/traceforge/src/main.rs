//! TraceForge, by `verify` with its defaults (one thread, FIFO channels). Its mutex and atomics are threads that answer messages;
//! its counts are those of its statistics.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use reweave_bench_cell::{Outcome, Program, Search, count_execution, measure};
use traceforge::{
    Config, channel,
    sync::{atomic::AtomicUsize, mutex::Mutex},
    thread, verify,
};

fn main() {
    reweave_bench_cell::fill(run);
}

fn run(program: Program) -> Outcome {
    measure(|| {
        let stats = verify(Config::default(), move || body(program));
        Search {
            executions: stats.execs as u64,
            blocked: stats.block as u64,
        }
    })
}

fn body(program: Program) {
    count_execution();
    match program {
        Program::Mutex(n) => mutex(n),
        Program::Lastzero(n) => lastzero(n),
        Program::Readers(n) => readers(n),
        Program::Senders(n) => senders(n),
    }
}

fn mutex(n: usize) {
    let counter = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || *counter.blocking_lock() += 1)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn lastzero(n: usize) {
    let a: Arc<Vec<_>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let threads: Vec<_> = (1..=n)
        .map(|j| {
            let a = a.clone();
            thread::spawn(move || a[j].store(a[j - 1].load(SeqCst) + 1, SeqCst))
        })
        .collect();
    let mut i = n;
    while i > 0 && a[i].load(SeqCst) != 0 {
        i -= 1;
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                x.load(SeqCst);
            })
        })
        .collect();
    x.store(1, SeqCst);
    for thread in threads {
        thread.join().unwrap();
    }
}

fn senders(n: usize) {
    let (sender, receiver) = channel::Builder::<usize>::new().build();
    let threads: Vec<_> = (0..n)
        .map(|i| {
            let sender = sender.clone();
            thread::spawn(move || sender.send_msg(i))
        })
        .collect();
    for _ in 0..n {
        receiver.recv_msg_block();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}
