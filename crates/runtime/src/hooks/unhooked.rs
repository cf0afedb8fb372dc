//! Hooks for accesses that compilers have none for; see the toolchain's assembler, which adds calls of them.
//!
//! The code around such a call expects everything as it was, so every register is saved. What a hook gets lies on the stack, above
//! the return address: see [`Saved`].

use super::{byte, double, fence, half, word};
use crate::{
    calls_by_assembly,
    core::{modules, trampoline::Frame},
    run::{
        accesses::{MODE, access, access_own_stack},
        racy_units, spin, world,
    },
};
use core::sync::atomic::Ordering;
use reweave_memory::Kind;
use reweave_wire::Note;

/// The address is relative to the thread's variables.
const OF_THREAD: u64 = 1 << 16;

/// Memory orders, as compilers number them: those that loads, stores and everything else have on this machine.
const ACQUIRE: i32 = 2;
const RELEASE: i32 = 3;
const SEQ_CST: i32 = 5;

/// What is on the stack when a hook is called.
#[repr(C)]
pub(crate) struct Saved {
    pub(crate) frame: Frame,
    _vectors: [u64; 32],
    _r11: usize,
    r10: usize,
    r9: usize,
    r8: usize,
    address: usize,
    rsi: usize,
    rdx: usize,
    rcx: usize,
    rax: usize,
    _flags: usize,
    _return_address: usize,
    /// Bytes, and flags.
    given: u64,
    /// The program's, or what is returned.
    value: u64,
    /// As it was before the address was put there.
    rdi: usize,
}

impl Saved {
    pub(super) fn bytes(&self) -> usize {
        (self.given & 0xffff) as usize
    }

    pub(super) fn address(&self) -> usize {
        match self.given & OF_THREAD {
            0 => self.address,
            _ => self.address.wrapping_add(thread_pointer()),
        }
    }
}

impl Saved {
    /// The number and the arguments of a system call that the program is about to make.
    pub(crate) fn system_call(&self) -> (usize, [usize; 6]) {
        let arguments = [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9];
        (self.rax, arguments)
    }

    /// Its result.
    pub(crate) fn set_result(&mut self, result: usize) {
        self.rax = result;
    }
}

fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word at `fs` is its own address, by the ABI of this machine.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly)) };
    pointer
}

calls_by_assembly! {
    __reweave_unhooked_read => read;
    __reweave_unhooked_peek => peek;
    __reweave_unhooked_write => write;
    __reweave_unhooked_change => change;
    __reweave_unhooked_move => move_one;
    __reweave_unhooked_moves => move_many;
    __reweave_unhooked_fill => fill_one;
    __reweave_unhooked_fills => fill_many;
    __reweave_unhooked_take => take_one;
    __reweave_unhooked_takes => take_many;
    __reweave_unhooked_load => load;
    __reweave_unhooked_store => store;
    __reweave_unhooked_swap => swap;
    __reweave_unhooked_add => add;
    __reweave_unhooked_sub => sub;
    __reweave_unhooked_and => and;
    __reweave_unhooked_or => or;
    __reweave_unhooked_xor => xor;
    __reweave_unhooked_compare => compare;
    __reweave_unhooked_fence => full_fence;
    __reweave_unhooked_unknown => unknown;
}

/// Hooks for the stack: nothing is saved where nobody looks.
macro_rules! stack {
    ($($name:ident $as:ident;)*) => {$(
        /// # Safety
        ///
        /// Called by assembly that has pushed what the function needs.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "pushfq",
                ".cfi_adjust_cfa_offset 8",
                "cmp byte ptr [rip + {mode}], 0",
                "jne 2f",
                "cmp byte ptr [rip + {looked_at}], 0",
                "jne 2f",
                "popfq",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_adjust_cfa_offset 8",
                "2:",
                "popfq",
                ".cfi_adjust_cfa_offset -8",
                "jmp {saving}",
                ".cfi_endproc",
                mode = sym MODE,
                looked_at = sym racy_units::LOOKED_AT,
                saving = sym $as,
            )
        }
    )*};
}

stack! {
    __reweave_unhooked_stack_peek __reweave_unhooked_peek;
    __reweave_unhooked_stack_read __reweave_unhooked_read;
    __reweave_unhooked_stack_write __reweave_unhooked_write;
    __reweave_unhooked_stack_change __reweave_unhooked_change;
}

pub(super) fn plain(address: usize, bytes: usize, kind: Kind, frame: &Frame) {
    if bytes == 0 {
        return;
    }
    match racy_units::LOOKED_AT.load(Ordering::Relaxed) {
        // Most of these are what the compiler keeps on the stack for itself.
        0 if spin::on_own_stack(address) => {
            access_own_stack(address, bytes, kind, frame.return_address);
        }
        0 => access(address, bytes, kind, frame.return_address),
        _ => racy_units::visible(address, bytes, kind, frame),
    }
}

extern "C" fn read(saved: &mut Saved) {
    plain(saved.address(), saved.bytes(), Kind::Read, &saved.frame);
}

/// A read that may be what is left of an atomic one.
extern "C" fn peek(saved: &mut Saved) {
    let (address, bytes) = (saved.address(), saved.bytes());
    plain(address, bytes, Kind::AtomicRead, &saved.frame);
}

extern "C" fn write(saved: &mut Saved) {
    plain(saved.address(), saved.bytes(), Kind::Write, &saved.frame);
}

extern "C" fn change(saved: &mut Saved) {
    read(saved);
    write(saved);
}

/// `movs`, `stos` and `lods`.
fn blocks(saved: &Saved, count: usize, reads: bool, writes: bool) {
    let bytes = saved.bytes().saturating_mul(count);
    if reads {
        plain(saved.rsi, bytes, Kind::Read, &saved.frame);
    }
    if writes {
        plain(saved.rdi, bytes, Kind::Write, &saved.frame);
    }
}

extern "C" fn move_one(saved: &mut Saved) {
    blocks(saved, 1, true, true);
}

extern "C" fn move_many(saved: &mut Saved) {
    blocks(saved, saved.rcx, true, true);
}

extern "C" fn fill_one(saved: &mut Saved) {
    blocks(saved, 1, false, true);
}

extern "C" fn fill_many(saved: &mut Saved) {
    blocks(saved, saved.rcx, false, true);
}

extern "C" fn take_one(saved: &mut Saved) {
    blocks(saved, 1, true, false);
}

extern "C" fn take_many(saved: &mut Saved) {
    blocks(saved, saved.rcx, true, false);
}

/// Calls the function of this name for as many bytes as the access has.
macro_rules! sized {
    ($saved:ident, $name:ident, $value:ident $(, $more:expr)*) => {{
        let (address, frame) = ($saved.address(), &$saved.frame);
        let $value = $saved.value;
        // SAFETY: the program is about to perform an atomic instruction of this many bytes there, as its assembly says.
        unsafe {
            match $saved.bytes() {
                1 => u64::from(byte::$name(address as *mut u8, $($more as _,)* frame)),
                2 => u64::from(half::$name(address as *mut u16, $($more as _,)* frame)),
                4 => u64::from(word::$name(address as *mut u32, $($more as _,)* frame)),
                _ => double::$name(address as *mut u64, $($more as _,)* frame),
            }
        }
    }};
}

extern "C" fn load(saved: &mut Saved) {
    // The instruction reads it again.
    sized!(saved, load, _value, ACQUIRE);
}

extern "C" fn store(saved: &mut Saved) {
    let (address, value, frame) = (saved.address(), saved.value, &saved.frame);
    // SAFETY: the program is about to store this many bytes there, as its assembly says.
    unsafe {
        match saved.bytes() {
            1 => byte::store(address as *mut u8, value as u8, RELEASE, frame),
            2 => half::store(address as *mut u16, value as u16, RELEASE, frame),
            4 => word::store(address as *mut u32, value as u32, RELEASE, frame),
            _ => double::store(address as *mut u64, value, RELEASE, frame),
        }
    }
}

macro_rules! modifies {
    ($($name:ident $by:ident;)*) => {$(
        extern "C" fn $name(saved: &mut Saved) {
            saved.value = sized!(saved, $by, value, value, SEQ_CST);
        }
    )*};
}

modifies! {
    swap exchange;
    add fetch_add;
    sub fetch_sub;
    and fetch_and;
    or fetch_or;
    xor fetch_xor;
}

extern "C" fn compare(saved: &mut Saved) {
    let expected = saved.rax;
    saved.value = sized!(saved, value, new, expected, new, SEQ_CST, SEQ_CST);
}

extern "C" fn full_fence(saved: &mut Saved) {
    // SAFETY: it takes an order and a frame, and touches no memory of the program.
    unsafe { fence(SEQ_CST, &saved.frame) };
}

/// An instruction that is not understood.
extern "C" fn unknown(saved: &mut Saved) {
    if world::active() {
        let site = modules::site(saved.frame.return_address);
        let mut world = world::borrow();
        world.note(Note::Unseen(site));
        world.synchronised_unseen();
        drop(world);
        spin::disturbed();
    }
}
