//! States of a run, for stateful search: what the future of the program depends on, as one number.
//!
//! *Decides:* what belongs to a state beside what the model and the conductor know. *Called by:* `turns`, before each turn of a run that records
//! states, when every thread has announced its operation or ended. *Owns:* which objects were looked at.
//!
//! | part | where it comes from |
//! | --- | --- |
//! | variables, thread-local memory, what libraries keep | lines of the pages written since `main` that differ from what they held there, found by content: writes of code without hooks count |
//! | heap | each thread's blocks, with the bytes between them, and which were freed |
//! | mappings | their pages |
//! | a thread | its stack above the innermost call of the runtime, with the registers and arguments that the call has saved, control words, the functions it is in |
//! | a call under way | a sum over the operations that it has done: with its arguments they determine what it does next |
//! | objects beside the model | depths of recursive mutexes, health of robust ones, what was destroyed |
//! | the end of the process | the status, and which threads had something left to do |
//!
//! What calls keep in cells of the runtime is in no state. A run in which such a cell changes leaves its states
//! ([`cell::CHANGED`]), and the program is explored by an algorithm that needs none.
//!
//! *Invariant:* padding, freed memory and what lies in unused parts of frames may make two states differ that are the same, never the
//! other way round. So that they seldom do, stacks begin cleared, and what calls of the runtime leave below the stack is cleared.

use crate::{
    core::{
        cell::{self, ASIDE, RunCell},
        families,
        objects::{Found, Known, Sort},
        restore::Line,
        switch,
        trampoline::{CALL, CallRecord, RECORDED},
    },
    run::{
        heap::Heap,
        process_end, processes, spin,
        world::{self, Thread, World},
    },
};
use reweave_conduct::Run;
use reweave_memory::Kind;
use reweave_model::{Identity, Object, ObjectId, PlainAccess, ThreadId, Unrecorded};

/// Objects that were looked at whether states can hold them.
static LOOKED_AT: RunCell<usize, ASIDE> = RunCell::new(0);

/// A program with more memory than this in use is not compared.
const MOST: usize = 64 << 20;

/// So much of a stack is cleared before its thread begins.
const CLEARED: usize = 64 << 10;

/// A run begins.
pub fn begin() {
    CALL.set(0);
    *LOOKED_AT.borrow() = 0;
    let records = world::borrow().run.records_states();
    RECORDED.set(records);
}

/// A run has ended.
pub fn end() {
    RECORDED.set(false);
    CALL.set(0);
    let mut world = world::borrow();
    if world.run.records_states() {
        let World { run, objects, .. } = &mut *world;
        run.name_objects(|object| place(&objects.known()[object.index()]));
    }
}

/// A stack is about to be used by a new thread.
///
/// # Safety
///
/// Nothing below `top` is in use, of the bytes that a stack has at least.
pub unsafe fn clear_stack(top: usize) {
    if RECORDED.get() {
        // SAFETY: by the caller.
        unsafe { core::ptr::write_bytes((top - CLEARED) as *mut u8, 0, CLEARED) };
    }
}

/// The running thread has left all functions of the program.
pub fn leave_program() {
    CALL.set(0);
    world::borrow().me().leaving = Some(0);
}

impl World {
    /// The running thread's call has done an operation.
    #[inline]
    pub(super) fn note_done(&mut self, kind: u8, ok: bool, result: u64) {
        if !RECORDED.get() {
            return;
        }
        let add = |sum: &mut u64| {
            let mut all = Identity::default();
            all.word(*sum);
            all.word(u64::from(kind) << 1 | u64::from(ok));
            all.word(result);
            *sum = all.id().0 as u64;
        };
        match (CALL.get(), &mut self.me().leaving) {
            (0, Some(sum)) => add(sum),
            (0, None) => {}
            // SAFETY: the record of the innermost call lies on the stack of the running thread, which is in that call.
            (call, _) => add(unsafe { &mut (*(call as *mut CallRecord)).done }),
        }
    }
}

impl World {
    /// The running thread accesses memory in a way that may race.
    #[inline]
    pub(super) fn note_access(&mut self, address: usize, bytes: usize, kind: Kind) {
        if !RECORDED.get() {
            return;
        }
        self.run.note_access(PlainAccess {
            position: 0,
            thread: self.current,
            threads: 0,
            address: address as u64,
            bytes: bytes as u32,
            write: !matches!(kind, Kind::Read | Kind::AtomicRead),
            atomic: matches!(kind, Kind::AtomicRead | Kind::AtomicWrite),
        });
    }
}

/// A thread comes to its next operation, or is left there.
#[inline(always)]
pub(super) fn note_control_words(thread: &mut Thread) {
    if RECORDED.get() {
        thread.control = switch::control_words();
    }
}

/// The run comes to its next turn: notes the state that it is in.
#[inline(never)]
pub fn enter(world: &mut World) {
    let me = world.me();
    me.call = CALL.get();
    note_control_words(me);
    if world.run.execution().unrecorded.is_some() {
        return;
    }
    let unrecorded = unrecorded(world).or_else(|| {
        let mut out = Identity::default();
        let result = identify(world, &mut out);
        if result.is_ok() {
            world.run.enter_state(out.id());
        }
        result.err()
    });
    if let Some(why) = unrecorded {
        world.run.leave_states(why);
    }
}

/// What has been done that states do not hold.
fn unrecorded(world: &mut World) -> Option<Unrecorded> {
    if !processes::all().is_empty() {
        return Some(Unrecorded::Processes);
    }
    if cell::CHANGED.get() || world.addresses.may_return() || world.ids_may_return() {
        return Some(Unrecorded::Calls);
    }
    let mut looked_at = LOOKED_AT.borrow();
    let known = &world.objects.known()[*looked_at..];
    *looked_at += known.len();
    known.iter().find_map(|known| match known.sort {
        Sort::File | Sort::Pipe => Some(Unrecorded::Descriptors),
        Sort::Signals => Some(Unrecorded::Signals),
        Sort::Futex | Sort::Vouched | Sort::Count | Sort::Wide => Some(Unrecorded::Calls),
        _ => None,
    })
}

fn identify(world: &mut World, out: &mut Identity) -> Result<(), Unrecorded> {
    objects(world, out);
    for index in 0..world.threads.len() {
        thread(world, index, out)?;
    }
    out.word(world.status.map_or(0, |status| status as u64 + 1));
    let flags = u64::from(world.freed) | u64::from(world.keeps_ids) << 1;
    out.word(flags | u64::from(world.short) << 2);
    // The exceptions of the x87 belong to no thread of the program where these are fibers.
    out.word(switch::control_words());
    process_end::identify(world, out);
    families::identify(out);
    world::snapshot().each_changed(&mut |line| memory(out, line));
    memory_of_heap(&world::heap(), out)?;
    families::each_mapped_page(&mut |page| page.iter().for_each(|word| out.word(*word)));
    Ok(())
}

/// A line that has changed; lines come in any order.
fn memory(out: &mut Identity, line: Line<'_>) {
    let mut one = Identity::default();
    one.word(line.address as u64);
    line.words.iter().for_each(|word| one.word(*word));
    out.add(one);
}

/// By what an object is known in all runs, unless something else lies there by now.
fn place(known: &Known) -> u64 {
    let mut name = Identity::default();
    name.word(known.address as u64);
    name.word(known.sort as u64);
    name.id().0 as u64 & !1 | u64::from(known.sort == Sort::Quiet)
}

/// Whether an object is still what lies at its address.
fn is_there(world: &World, object: ObjectId) -> bool {
    let known = &world.objects.known()[object.index()];
    let (address, bytes) = (known.address, known.bytes as usize);
    // Some lie nowhere.
    bytes == 0
        || matches!(world.objects.find(address, bytes, known.sort), Found::Object(it) if it == object)
}

fn objects(world: &World, out: &mut Identity) {
    let name = |object: ObjectId| {
        let known = &world.objects.known()[object.index()];
        match is_there(world, object) {
            true => place(known),
            false => place(known) ^ u64::from(object.0 + 1).rotate_left(40),
        }
    };
    world
        .run
        .identify(name, |object| in_memory(world, &world.run, object), out);
    for (index, known) in world.objects.known().iter().enumerate() {
        let mutex = known.mutex.map_or(0, |mutex| u64::from(mutex.0) + 1);
        let more = [
            known.depth,
            known.made,
            known.destroyed,
            known.health as u32,
            u32::from(known.guard),
        ];
        if mutex != 0 || more != [0; 5] {
            let mut one = Identity::default();
            one.word(name(ObjectId(index as u32)));
            one.word(known.mutex.map_or(0, name));
            more.iter().for_each(|word| one.word(u64::from(*word)));
            out.add(one);
        }
    }
}

/// Whether memory holds what the model knows of an atomic.
fn in_memory(world: &World, run: &Run, object: ObjectId) -> bool {
    let known = &world.objects.known()[object.index()];
    let Object::Atomic(value) = run.state().objects()[object.index()] else {
        return false;
    };
    if known.sort != Sort::Atomic || !is_there(world, object) {
        return false;
    }
    let at = known.address;
    // SAFETY: the program has made an atomic operation of this size there, and memory that it gives back stays mapped or ends the
    // recording of states.
    let now = unsafe {
        match known.bytes {
            1 => u64::from((at as *const u8).read_volatile()),
            2 => u64::from((at as *const u16).read_volatile()),
            4 => u64::from((at as *const u32).read_volatile()),
            8 => (at as *const u64).read_volatile(),
            _ => return false,
        }
    };
    now == value
}

/// A thread of the program: where it is, and what it has on its stack.
fn thread(world: &World, index: usize, out: &mut Identity) -> Result<(), Unrecorded> {
    let thread = &world.threads[index];
    let id = ThreadId(index as u32);
    let flags = [
        thread.finished,
        thread.detached,
        thread.joined,
        world.races.alone(id),
        thread.leaving.is_some(),
    ];
    let flags = flags
        .iter()
        .fold(0, |all, flag| all << 1 | u64::from(*flag));
    out.word(flags);
    out.word(thread.result as u64);
    if thread.finished {
        return Ok(());
    }
    out.word(thread.control);
    match (thread.call, thread.leaving) {
        (0, Some(done)) => out.word(done),
        (0, None) => return Err(Unrecorded::Stacks),
        (call, _) if !spin::on_stack(thread.top, call) => return Err(Unrecorded::Stacks),
        (call, _) => {
            let from = CallRecord::live(call);
            out.word(from as u64);
            // SAFETY: the words lie between the record of a call under way and the top of its thread's stack.
            let words = unsafe { words(from, thread.top) };
            let canary = canary();
            for word in words {
                // The same for all threads, and another one in each process.
                out.word(if *word == canary { !0 } else { *word });
            }
        }
    }
    for caller in world.callers(id) {
        out.word(*caller as u64);
    }
    out.word(0);
    Ok(())
}

/// # Safety
///
/// The range is readable, and nothing changes it meanwhile.
unsafe fn words<'a>(from: usize, upto: usize) -> &'a [u64] {
    // SAFETY: by the caller.
    unsafe { core::slice::from_raw_parts(from as *const u64, upto.saturating_sub(from) / 8) }
}

/// What compiled code puts on the stack to see whether it was overwritten.
fn canary() -> u64 {
    let canary;
    // SAFETY: the word belongs to the thread descriptor of glibc.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x28]", out(reg) canary, options(nostack, readonly, preserves_flags));
    }
    canary
}

/// The blocks of all threads.
fn memory_of_heap(heap: &Heap, out: &mut Identity) -> Result<(), Unrecorded> {
    let mut left = MOST;
    for arena in heap.in_use() {
        left = left
            .checked_sub(arena.memory.len())
            .ok_or(Unrecorded::Calls)?;
        out.word(arena.memory.start as u64);
        out.word(arena.memory.end as u64);
        for block in arena.blocks {
            let (freed, used) = (block.freed != 0, block.used);
            if freed && used {
                // Its address may come back, which is found out from what was done before.
                return Err(Unrecorded::Calls);
            }
            out.word(u64::from(block.site) << 2 | u64::from(freed) << 1 | u64::from(used));
            out.word(block.start as u64 ^ (block.bytes as u64) << 32);
        }
        // SAFETY: an arena is mapped as far as it is used, and no code of the program runs.
        let words = unsafe { words(arena.memory.start, arena.memory.end) };
        words.iter().for_each(|word| out.word(*word));
    }
    for index in heap.freed_before() {
        out.word(*index as u64);
    }
    Ok(())
}
