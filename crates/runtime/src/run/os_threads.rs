//! The program's threads as real threads (`--threads os`): the one that has the baton runs, the others sleep where they stand.
//!
//! A thread runs on the real thread whose stack a fiber would only have borrowed, so a debugger sees all of them. Everything else is as with
//! fibers: who goes next, what is saved, what a restart puts back. Between runs a real thread is in a loop on a small stack of its own
//! ([`between_runs`]), which no restart touches. It begins a thread of the program there by a switch to its stack, and
//! is back by another one when that thread has ended, or its run has.

use crate::{
    core::{switch, sys},
    run::{faults, world},
};
use core::{
    cell::Cell,
    ptr,
    sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering},
};

/// Commands for a real thread: sleep, take the baton, end because the run is over.
const SLEEP: u32 = 0;
const GO: u32 = 1;
const OVER: u32 = 2;

/// Room for the loop between runs.
const LOOP_BYTES: usize = 32 << 10;

/// A real thread and its command.
pub struct Seat {
    told: AtomicU32,
    number: i32,
    /// Where its loop between runs stands while it is not in it.
    back: Cell<*mut *mut u8>,
    resting: Cell<bool>,
    /// Who has the baton when it comes back to its loop.
    next: Cell<Option<(&'static Seat, u32)>>,
}

/// The real thread that has the baton.
static HOLDER: AtomicI32 = AtomicI32::new(0);

impl Seat {
    fn new(back: *mut *mut u8) -> &'static Seat {
        let Some(room) = sys::map_own(size_of::<Seat>()) else {
            crate::give_up(format_args!("there is no memory for another thread"));
        };
        let room = room.cast::<Seat>();
        // SAFETY: `room` is new memory of this size that is never given back, so the reference may live for
        // ever.
        unsafe {
            room.write(Seat {
                told: AtomicU32::new(SLEEP),
                number: sys::call(libc::SYS_gettid, [0; 6]) as i32,
                back: Cell::new(back),
                resting: Cell::new(false),
                next: Cell::new(None),
            });
            &*room
        }
    }

    /// The first thread's, which has the baton. Between runs it is where `back` says.
    pub fn first(back: *mut *mut u8) -> &'static Seat {
        let seat = Seat::new(back);
        HOLDER.store(seat.number, Ordering::Relaxed);
        seat
    }

    /// Its number for the kernel.
    pub fn number(&self) -> i32 {
        self.number
    }

    fn tell(&self, what: u32) {
        HOLDER.store(self.number, Ordering::Relaxed);
        self.told.store(what, Ordering::Release);
        sys::futex_wake(&self.told);
    }

    fn wait(&self) -> u32 {
        loop {
            match self.told.swap(SLEEP, Ordering::Acquire) {
                // SAFETY: `told` is a live word of a seat that is never given back.
                SLEEP => unsafe { reweave_waits(&self.told, libc::FUTEX_WAIT, SLEEP) },
                told => return told,
            }
        }
    }

    /// Hands the baton to another thread of the run, and comes back with it.
    ///
    /// # Safety
    /// The running thread is this one; `save` is where its stack is remembered.
    #[inline(never)]
    pub unsafe fn hand(&'static self, save: *mut *mut u8, to: &'static Seat) {
        // SAFETY: the caller passes on what `Safety` demands: this is the running thread's seat, and `save`
        // is where its stack is remembered.
        unsafe { stand(save, self, to) };
    }

    /// Ends the running thread of the program, or its part in a run: the baton goes to another one, from the loop.
    ///
    /// # Safety
    /// As [`Seat::hand`], and the thread is not gone on with.
    pub unsafe fn end(&self, save: *mut *mut u8, to: &'static Seat) -> ! {
        // SAFETY: the caller passes on what `Safety` demands: this is the running thread's seat, and `save`
        // is where its stack is remembered.
        unsafe { self.leave(save, to, GO) }
    }

    /// As [`Seat::end`], and ends the run: the first thread goes on where it began it.
    ///
    /// # Safety
    /// As [`Seat::end`].
    pub unsafe fn end_run(&self, save: *mut *mut u8, first: &'static Seat) -> ! {
        // SAFETY: the caller passes on what `Safety` demands: this is the running thread's seat, and `save`
        // is where its stack is remembered.
        unsafe { self.leave(save, first, OVER) }
    }

    /// # Safety
    ///
    /// `save` is where the stack of the running thread is remembered, and the seats are live.
    unsafe fn leave(&self, save: *mut *mut u8, to: &'static Seat, what: u32) -> ! {
        self.next.set(Some((to, what)));
        // SAFETY: the loop stands there, since this thread is not in it.
        unsafe { switch::switch(save, *self.back.get()) };
        unreachable!("a thread that has ended does not go on")
    }

    /// Back in the loop: passes on the baton that came with it.
    fn rest(&self) {
        self.resting.set(true);
        if let Some((next, what)) = self.next.take() {
            next.tell(what);
        }
    }

    /// The first thread has ended and its run has not: waits until it has.
    pub fn wait_for_end(&self) {
        self.rest();
        self.wait();
    }

    /// Has a thread whose run is over come back to its loop. By the first one.
    pub fn call_back(&self, first: &'static Seat) {
        if !self.resting.get() {
            self.next.set(Some((first, GO)));
            self.tell(OVER);
            first.wait();
        }
    }
}

/// The system call by which a real thread waits: a function of its own, since a debugger shows its name for all who do.
///
/// # Safety
///
/// `save` is where the stack of the running thread is remembered, and the seats are live.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn reweave_waits(word: &AtomicU32, operation: i32, seen: u32) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov eax, {futex}",
        "xor r10d, r10d",
        "syscall",
        "ret",
        ".cfi_endproc",
        futex = const libc::SYS_futex,
    )
}

/// Sleeps until it is this thread's turn again, with all that it needs on its stack.
///
/// # Safety
///
/// `save` is where the stack of the running thread is remembered, and the seats are live.
#[unsafe(naked)]
unsafe extern "C" fn stand(save: *mut *mut u8, from: &Seat, to: &Seat) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        "mov [rdi], rsp",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {sleep}",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        sleep = sym sleep,
    )
}

extern "C" fn sleep(_: *mut *mut u8, from: &Seat, to: &Seat) {
    to.tell(GO);
    if from.wait() == OVER {
        let mut nowhere = ptr::null_mut();
        // SAFETY: `back` points to where this thread's loop saved its stack, since the thread is not in the
        // loop; nothing switches back to here.
        unsafe { switch::switch(&mut nowhere, *from.back.get()) };
    }
}

/// Handed to a new real thread.
static READY: AtomicU32 = AtomicU32::new(0);
static SEAT: AtomicPtr<Seat> = AtomicPtr::new(ptr::null_mut());

/// A new real thread goes into its loop, and does not use the stack any more that it was made with.
pub fn sit() -> ! {
    faults::alternate_stack();
    let Some(room) = sys::map_own(LOOP_BYTES) else {
        crate::give_up(format_args!("there is no memory for another thread"));
    };
    let mut nowhere = ptr::null_mut();
    // SAFETY: the room was mapped above for this loop alone, and is never given back.
    unsafe {
        let begin = switch::prepare(room.add(LOOP_BYTES), between_runs);
        switch::switch(&mut nowhere, begin);
    }
    unreachable!("the loop does not end")
}

extern "C" fn between_runs() -> ! {
    let mut place = ptr::null_mut();
    let seat = Seat::new(&raw mut place);
    seat.resting.set(true);
    SEAT.store(ptr::from_ref(seat).cast_mut(), Ordering::Relaxed);
    READY.store(1, Ordering::Release);
    sys::futex_wake(&READY);
    loop {
        seat.wait();
        seat.resting.set(false);
        let begin = world::borrow().me().saved() as *mut u8;
        // SAFETY: a thread of the program that has not begun; it comes back by `leave` or `sleep`.
        unsafe { switch::switch(seat.back.get(), begin) };
        seat.rest();
    }
}

/// Waits until the thread just made is in its loop.
pub fn seated() -> &'static Seat {
    while READY.load(Ordering::Acquire) == 0 {
        sys::futex_wait(&READY, 0);
    }
    READY.store(0, Ordering::Relaxed);
    // SAFETY: `between_runs` stored the address of a seat, which is never given back, before it set READY.
    unsafe { &*SEAT.load(Ordering::Relaxed) }
}

/// In a forked process, which has no other threads than the one that forked.
pub fn alone() {
    HOLDER.store(0, Ordering::Relaxed);
}

/// Passes a signal for the process on to the thread that has the baton; `false`: that is the running one.
pub fn pass_on(signal: i32) -> bool {
    let holder = HOLDER.load(Ordering::Relaxed);
    // SAFETY: `gettid` has no arguments and no effect.
    let here = unsafe { sys::call(libc::SYS_gettid, [0; 6]) } as i32;
    if holder == 0 || holder == here {
        return false;
    }
    // SAFETY: `tgkill` and `getpid` take numbers only; the handler for this signal is installed.
    unsafe {
        let process = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let arguments = [process, holder as usize, signal as usize, 0, 0, 0];
        sys::call(libc::SYS_tgkill, arguments);
    }
    true
}
