//! Prints what a switch and a spawn cost: `cargo run --release -p reweave-fiber --example speed`.

use std::time::Instant;

use reweave_fiber::{Pool, Resumed, suspend};

fn measure(what: &str, rounds: u32, mut work: impl FnMut()) {
    let best = (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..rounds).for_each(|_| work());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
        })
        .fold(f64::INFINITY, f64::min);
    println!("{what:<52} {best:8.1} ns");
}

fn main() {
    let mut pool = Pool::new(64 << 10);
    let mut endless = || {
        let mut fiber = pool.spawn(Box::new(|| {
            loop {
                suspend();
            }
        }));
        fiber.resume();
        fiber
    };
    let mut one = endless();
    let mut many: Vec<_> = (0..16).map(|_| endless()).collect();
    measure("resume and suspend, one fiber", 1_000_000, || {
        one.resume();
    });
    let mut next = 0;
    measure("resume and suspend, 16 fibers in turn", 1_000_000, || {
        many[next & 15].resume();
        next += 1;
    });
    measure("spawn, run and finish an empty job", 1_000_000, || {
        assert_eq!(pool.spawn(Box::new(|| ())).resume(), Resumed::Finished);
    });
    let mut value = 0u64;
    measure("the same with a job that owns 8 bytes", 1_000_000, || {
        value += 1;
        let given = value;
        pool.spawn(Box::new(move || assert!(given > 0))).resume();
    });
    measure("spawn, suspend once and unwind", 20_000, || {
        let mut fiber = pool.spawn(Box::new(suspend));
        fiber.resume();
        fiber.unwind(0);
    });
    measure("a new pool with a fiber, and their end", 500, || {
        Pool::new(64 << 10).spawn(Box::new(|| ())).resume();
    });
}
