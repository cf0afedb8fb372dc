//! What an access costs, through a hook that is called as a compiler calls it.
//!
//! `cargo run --release -p reweave-memory --example speed`

use reweave_memory::{Kind, Shadow};
use reweave_model::{Site, ThreadId};
use std::{cell::UnsafeCell, hint::black_box, time::Instant};

/// What a runtime has in one static, for its one OS thread.
struct Runtime {
    shadow: UnsafeCell<Option<Shadow>>,
    clock: UnsafeCell<[u32; 8]>,
}

// SAFETY: this program has one thread.
unsafe impl Sync for Runtime {}

static RUNTIME: Runtime = Runtime {
    shadow: UnsafeCell::new(None),
    clock: UnsafeCell::new([1; 8]),
};

fn shadow() -> &'static mut Shadow {
    // SAFETY: one thread, and no caller keeps the reference across another call.
    let shadow = unsafe { &mut *RUNTIME.shadow.get() };
    shadow.as_mut().expect("made in main")
}

#[inline(always)]
fn hook(address: usize, bytes: usize, kind: Kind, site: u32) {
    if !shadow().hot(address, bytes, kind) {
        miss(address, bytes, kind, Site(site));
    }
}

#[cold]
#[inline(never)]
fn miss(address: usize, bytes: usize, kind: Kind, site: Site) {
    // SAFETY: one thread, which changes clocks in `turn` only.
    let clock = unsafe { &*RUNTIME.clock.get() };
    let clash = shadow().record(clock, address, bytes, kind, site);
    assert_eq!(clash, None);
}

#[inline(never)]
extern "C" fn read4(address: usize) {
    hook(address, 4, Kind::Read, 1);
}

#[inline(never)]
extern "C" fn write4(address: usize) {
    hook(address, 4, Kind::Write, 2);
}

#[inline(never)]
extern "C" fn read8(address: usize) {
    hook(address, 8, Kind::Read, 3);
}

#[inline(never)]
extern "C" fn write8(address: usize) {
    hook(address, 8, Kind::Write, 4);
}

/// The second field of a struct.
#[inline(never)]
extern "C" fn upper(address: usize) {
    hook(address + 4, 4, Kind::Write, 5);
}

#[inline(never)]
extern "C" fn nothing(address: usize) {
    black_box(address);
}

/// Another thread goes on, after everything so far.
fn turn(thread: u32) {
    // SAFETY: one thread, and no reference to the clock is alive.
    let clock = unsafe { &mut *RUNTIME.clock.get() };
    clock[thread as usize] += 1;
    shadow().turn(ThreadId(thread), clock[thread as usize]);
}

/// Nanoseconds for each call, over an array.
fn pass(count: usize, step: usize, hooks: &[extern "C" fn(usize)]) -> f64 {
    const ARRAY: usize = 0x5555_0000_0000;
    let start = Instant::now();
    for index in 0..count {
        for hook in hooks {
            hook(black_box(ARRAY + index * step));
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / (count * hooks.len()) as f64
}

/// The best of some runs, with others on the machine; each thread makes one pass, after the one before it.
fn best(what: &str, runs: usize, count: usize, step: usize, passes: &[&[extern "C" fn(usize)]]) {
    let mut best = vec![f64::INFINITY; passes.len()];
    for _ in 0..runs {
        shadow().clear();
        for (thread, hooks) in passes.iter().enumerate() {
            turn(thread as u32);
            best[thread] = pass(count, step, hooks).min(best[thread]);
        }
    }
    let best: Vec<String> = best.iter().map(|each| format!("{each:6.2}")).collect();
    println!("{} ns  {what}", best.join(" "));
}

fn main() {
    // SAFETY: one thread, and no reference is alive yet.
    unsafe {
        *RUNTIME.shadow.get() =
            Some(Shadow::new(reweave_memory::fresh).expect("there is address space"))
    };
    shadow().clear();
    turn(0);
    let many = 10_000_000;
    println!("10 M elements; where there are several numbers, each is of another thread");
    println!("{:6.2} ns  an empty hook", pass(many, 4, &[nothing]));
    println!("{:6.2} ns  first write ever, int", pass(many, 4, &[write4]));
    println!("{:6.2} ns  write again, int", pass(many, 4, &[write4]));
    println!(
        "{:6.2} ns  read and write again, int",
        pass(many, 4, &[read4, write4])
    );
    best("first write in a run, int", 5, many, 4, &[&[write4]]);
    best(
        "first read and write in a run, int",
        5,
        many,
        4,
        &[&[read4, write4]],
    );
    best(
        "first write in a run, long",
        5,
        many,
        8,
        &[&[write8], &[read8], &[read8], &[write8]],
    );
    let few = 4_000;
    println!("4000 elements");
    best("read, long", 500, few, 8, &[&[read8], &[read8], &[read8]]);
    best(
        "write, long",
        500,
        few,
        8,
        &[&[write8], &[write8], &[read8]],
    );
    best(
        "read and write, int",
        500,
        few,
        4,
        &[&[read4, write4], &[read4, write4]],
    );
    best(
        "read and write, with ints at two places",
        500,
        few,
        8,
        &[&[write4, upper], &[read4, upper]],
    );
    best("twice", 500, few, 4, &[&[read4, write4, read4, write4]]);
    let each = repeat(1_000_000, || {
        shadow().clear();
        turn(0);
        write4(0x5555_0000_0000);
    });
    println!("{each:6.2} ns  a run of one access");
    let megabyte = 1 << 20;
    shadow().clear();
    let each = |what, act: fn(&mut Shadow, &[u32])| {
        turn(0);
        // SAFETY: one thread, and nothing changes the clock meanwhile.
        let clock = unsafe { &*RUNTIME.clock.get() };
        let each = repeat(1, || act(shadow(), clock)) / (megabyte / 8) as f64;
        println!("{each:6.2} ns  for 8 bytes of 1 MB: {what}");
    };
    const AT: usize = 0x5556_0000_0000;
    for _ in 0..2 {
        each("a write", |shadow, clock| {
            shadow.access(clock, AT, 1 << 20, Kind::Write, Site(6));
        });
        each("a free", |shadow, clock| {
            shadow.free(clock, AT, 1 << 20, Site(7));
        });
        each("forgotten", |shadow, _| shadow.forget(AT, 1 << 20));
    }
}

/// Nanoseconds for each time.
fn repeat(times: usize, mut act: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        act();
    }
    start.elapsed().as_secs_f64() * 1e9 / times as f64
}
