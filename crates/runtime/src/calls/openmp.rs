//! OpenMP, as gcc compiles it: parallel regions, barriers, critical sections, single. libgomp itself takes no part in a run: it has system calls of
//! its own, which nobody sees.
//!
//! A region makes its threads anew and joins them at its end, so what `threadprivate` variables of other threads than the first hold does not
//! outlast it. A region inside of another one has one thread, as it has by default. There are two threads where neither the program nor
//! `OMP_NUM_THREADS` says otherwise.

mod locks;
mod loops;
mod questions;

use super::{Hidden, callers, visible};
use crate::{
    hooks::Frame,
    objects::Sort,
    real::Real,
    world::{self, perform},
};
use alloc::{boxed::Box, vec::Vec};
use core::ffi::{CStr, c_uint, c_void};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

/// What an entry point of OpenMP's is passed: its first arguments, and the frame, with more of them behind.
type Arguments = [usize; 6];

/// Defines entry points that have an [`Arguments`] and a [`Frame`]; outside of runs they are libgomp's own.
macro_rules! openmp {
    ($($name:ident => $target:path;)*) => {$(
        const _: () = {
            static REAL: $crate::real::Real = $crate::real::Real::new(
                // SAFETY: ends with the only nul.
                unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
            const _: extern "C" fn(&Arguments, &Frame) -> usize = $target;
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rbp",
                    "push rbx",
                    "push r12",
                    "push r13",
                    "push r14",
                    "push r15",
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "push rdi",
                    "sub rsp, 8",
                    ".cfi_adjust_cfa_offset 104",
                    "lea rdi, [rip + {real}]",
                    "call {elsewhere}",
                    "test rax, rax",
                    "jnz 2f",
                    "lea rdi, [rsp + 8]",
                    "lea rsi, [rsp + 56]",
                    "call {target}",
                    "add rsp, 104",
                    ".cfi_adjust_cfa_offset -104",
                    "ret",
                    "2:",
                    ".cfi_adjust_cfa_offset 104",
                    "mov r11, rax",
                    "add rsp, 8",
                    "pop rdi",
                    "pop rsi",
                    "pop rdx",
                    "pop rcx",
                    "pop r8",
                    "pop r9",
                    "add rsp, 48",
                    ".cfi_adjust_cfa_offset -104",
                    "jmp r11",
                    ".cfi_endproc",
                    real = sym REAL,
                    elsewhere = sym $crate::calls::openmp::elsewhere,
                    target = sym $target,
                )
            }
        };
    )*};
}

use openmp;

/// Where to go instead, outside of runs.
extern "C" fn elsewhere(real: &Real) -> *mut c_void {
    match world::active() {
        true => core::ptr::null_mut(),
        false => real.get(),
    }
}

/// The argument with this number, from 0, of those that lie on the stack.
fn on_stack(frame: &Frame, number: usize) -> usize {
    // SAFETY: the caller has put it there.
    unsafe {
        core::ptr::from_ref(frame)
            .add(1)
            .cast::<usize>()
            .add(number)
            .read()
    }
}

openmp! {
    GOMP_parallel => parallel;
    GOMP_barrier => barrier;
    GOMP_critical_start => enter;
    GOMP_critical_end => leave;
    GOMP_critical_name_start => enter_named;
    GOMP_critical_name_end => leave_named;
    GOMP_atomic_start => enter_atomic;
    GOMP_atomic_end => leave_atomic;
    GOMP_single_start => single;
    GOMP_single_copy_start => single_copy;
    GOMP_single_copy_end => copied;
}

/// Of a run.
#[derive(Default)]
pub struct State {
    teams: Vec<Team>,
}

impl State {
    pub fn clear(&mut self) {
        self.teams.clear();
    }
}

/// The threads of a region.
struct Team {
    size: u32,
    /// One for each barrier that some thread has come to: for each two of them a semaphore, from one to the other.
    rounds: Vec<Vec<ObjectId>>,
    /// What is done once or dealt out, in the order in which each thread comes to it.
    shares: Vec<loops::Share>,
    /// What the thread that did something alone has for the others.
    copy: usize,
}

/// Of a thread.
#[derive(Default, Clone)]
pub struct Own {
    /// The regions that it is in, outermost first.
    inside: Vec<Inside>,
    /// How many threads its regions have from now on.
    threads: Option<u32>,
}

/// A thread's place in a region.
#[derive(Clone, Copy)]
struct Inside {
    team: usize,
    /// It is one, and not what is outside of all.
    region: bool,
    number: u32,
    /// How many barriers it has come to.
    rounds: usize,
    /// How many shares.
    shares: usize,
}

type Body = unsafe extern "C" fn(*mut c_void);

fn own() -> &'static mut Own {
    &mut world::get().me().own_calls.openmp
}

/// The running thread's place in the region that it is in. Outside of all it is alone.
fn inside() -> &'static mut Inside {
    if own().inside.is_empty() {
        let place = Inside {
            region: false,
            ..new_team(1)
        };
        own().inside.push(place);
    }
    own().inside.last_mut().expect("just added")
}

fn team() -> &'static mut Team {
    let index = inside().team;
    &mut world::get().calls.openmp.teams[index]
}

fn new_team(size: u32) -> Inside {
    let teams = &mut world::get().calls.openmp.teams;
    teams.push(Team {
        size,
        rounds: Vec::new(),
        shares: Vec::new(),
        copy: 0,
    });
    Inside {
        team: teams.len() - 1,
        region: true,
        number: 0,
        rounds: 0,
        shares: 0,
    }
}

/// A hidden object of a team's, which orders no memory by itself.
fn hidden(object: Object) -> ObjectId {
    world::get().make_quiet(Hidden::Critical.address(), object)
}

/// How many threads a region has that does not say so.
fn usual_threads() -> u32 {
    const USUAL: u32 = 2;
    own().threads.or_else(from_environment).unwrap_or(USUAL)
}

fn from_environment() -> Option<u32> {
    // SAFETY: a valid name; the text stays for as long as it is read.
    let text = unsafe {
        let text = libc::getenv(c"OMP_NUM_THREADS".as_ptr());
        (!text.is_null()).then(|| CStr::from_ptr(text))?
    };
    // A list is for regions inside of regions.
    let first = text.to_str().ok()?.split(',').next()?;
    first.trim().parse().ok().filter(|threads| *threads > 0)
}

extern "C" fn parallel(&[body, data, threads, ..]: &Arguments, frame: &Frame) -> usize {
    region(body, data, threads, None, frame)
}

/// What a thread of a region begins with.
struct Start {
    body: Body,
    data: *mut c_void,
    own: Own,
}

extern "C" fn start(argument: *mut c_void) -> *mut c_void {
    // SAFETY: made for this thread alone.
    let start = *unsafe { Box::from_raw(argument.cast::<Start>()) };
    *own() = start.own;
    // SAFETY: the program's own function.
    unsafe { (start.body)(start.data) };
    core::ptr::null_mut()
}

/// A parallel region, whose threads may have something dealt out from the beginning.
fn region(
    body: usize,
    data: usize,
    threads: usize,
    share: Option<loops::Share>,
    frame: &Frame,
) -> usize {
    // SAFETY: the program's own function, of this type.
    let body: Body = unsafe { core::mem::transmute(body) };
    let data = data as *mut c_void;
    let site = callers::site(&frame.return_address);
    let size = match threads as c_uint {
        _ if questions::level() > 0 => 1,
        0 => usual_threads(),
        threads => threads,
    };
    let mut place = new_team(size);
    if let Some(share) = share {
        world::get().calls.openmp.teams[place.team]
            .shares
            .push(share);
        place.shares = 1;
    }
    let before = own().inside.len();
    let mut others = Vec::new();
    for number in 1..size {
        let mut own = own().clone();
        own.inside.push(Inside { number, ..place });
        let argument = Box::into_raw(Box::new(Start { body, data, own }));
        others.push(world::get().spawn(start, argument.cast(), site, |_| {}));
    }
    own().inside.push(place);
    // SAFETY: the program's own function.
    unsafe { body(data) };
    own().inside.truncate(before);
    for other in others {
        visible(Op::Join(other), site);
        world::get().threads[other.index()].joined = true;
    }
    0
}

extern "C" fn barrier(_: &Arguments, frame: &Frame) -> usize {
    meet(callers::site(&frame.return_address))
}

/// All threads of the team wait for each other: each tells each, so that nobody can know who was the last.
fn meet(site: Site) -> usize {
    let size = team().size as usize;
    let Inside { number, rounds, .. } = *inside();
    inside().rounds += 1;
    if team().rounds.len() == rounds {
        let semaphores = (0..size * size).map(|_| {
            let address = Hidden::Critical.address();
            world::get().make_beside(address, Sort::Semaphore, Object::Semaphore(0))
        });
        let semaphores = semaphores.collect();
        team().rounds.push(semaphores);
    }
    let number = number as usize;
    let between = |from: usize, to: usize| team().rounds[rounds][from * size + to];
    let others = (0..size).filter(|other| *other != number);
    for other in others.clone() {
        visible(Op::SemRelease(between(number, other)), site);
    }
    for other in others {
        let object = between(other, number);
        let timed = false;
        visible(Op::SemAcquire { object, timed }, site);
    }
    0
}

fn lock(object: ObjectId, frame: &Frame) -> usize {
    visible(Op::Lock(object), callers::site(&frame.return_address));
    0
}

fn unlock(object: ObjectId, frame: &Frame) -> usize {
    visible(Op::Unlock(object), callers::site(&frame.return_address));
    0
}

/// The mutex of a critical section with a name.
fn named(name: usize) -> ObjectId {
    world::get().object(name, 8, Sort::Mutex, Object::mutex)
}

extern "C" fn enter(_: &Arguments, frame: &Frame) -> usize {
    lock(Hidden::Critical.object(), frame)
}

extern "C" fn leave(_: &Arguments, frame: &Frame) -> usize {
    unlock(Hidden::Critical.object(), frame)
}

extern "C" fn enter_named(arguments: &Arguments, frame: &Frame) -> usize {
    lock(named(arguments[0]), frame)
}

extern "C" fn leave_named(arguments: &Arguments, frame: &Frame) -> usize {
    unlock(named(arguments[0]), frame)
}

extern "C" fn enter_atomic(_: &Arguments, frame: &Frame) -> usize {
    lock(Hidden::OpenMpAtomic.object(), frame)
}

extern "C" fn leave_atomic(_: &Arguments, frame: &Frame) -> usize {
    unlock(Hidden::OpenMpAtomic.object(), frame)
}

extern "C" fn single(_: &Arguments, frame: &Frame) -> usize {
    first(callers::site(&frame.return_address)).into()
}

/// Whether the running thread is the first of its team to come to this place.
fn first(site: Site) -> bool {
    let op = Op::CompareExchange {
        object: loops::next_share(|| loops::Share::sections(0)),
        expected: 0,
        new: 1,
        weak: false,
    };
    perform(op, Gate::Open, site, Order::SeqCst, None).ok
}

extern "C" fn single_copy(_: &Arguments, frame: &Frame) -> usize {
    let site = callers::site(&frame.return_address);
    if first(site) {
        return 0;
    }
    meet(site);
    team().copy
}

extern "C" fn copied(arguments: &Arguments, frame: &Frame) -> usize {
    team().copy = arguments[0];
    meet(callers::site(&frame.return_address))
}
