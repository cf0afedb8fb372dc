//! Where in the program a call comes from, when a library made it for the program: `pthread_join` is called by libstdc++, whose
//! `std::thread::join` is not of interest.
//!
//! The unwinder knows; but it is slow. Within one function the caller's address lies at the same distance from the stack pointer every time, so
//! what it found is remembered by place. (Functions with frames of varying size have a frame pointer; they are not remembered.)

use crate::{
    core::trampoline,
    core::{
        cell::{ASIDE, RunCell},
        modules, program_start,
    },
    run::unwinding::{BACKTRACE, GET_CFA, GET_IP, GET_REGISTER, function},
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use reweave_model::Site;

/// Places in libraries, and how far above the stack pointer there the return address of their function is.
static KNOWN: RunCell<Vec<(usize, usize)>, ASIDE> = RunCell::new(Vec::new());

/// The place in the program that this return address, where it lies on the stack, comes down to. Nobody asks where there is no driver.
pub fn site(return_address: &usize) -> Site {
    match program_start::driven() {
        true => modules::site(address(return_address)),
        false => Site(1),
    }
}

/// The frame of a call as if the program had made it itself.
pub fn frame(frame: &trampoline::Frame) -> trampoline::Frame {
    trampoline::Frame {
        registers: frame.registers,
        return_address: address(&frame.return_address),
    }
}

/// As [`site`], the address.
pub fn address(return_address: &usize) -> usize {
    let mut place = return_address;
    while program_start::driven() && modules::is_library(*place) {
        let distance = match known_distance(*place) {
            Some(distance) => distance,
            None => match unwind(place) {
                Ok(distance) => {
                    KNOWN.borrow().push((*place, distance));
                    distance
                }
                Err(address) => return address.unwrap_or(*return_address),
            },
        };
        // SAFETY: the return address of a function that is still there.
        place = unsafe { &*core::ptr::from_ref(place).byte_add(8 + distance) };
    }
    *place
}

fn known_distance(place: usize) -> Option<usize> {
    let known = KNOWN.borrow();
    let found = known.iter().find(|(address, _)| *address == place);
    found.map(|(_, distance)| *distance)
}

/// One function on the stack: where it is, the stack pointer and the frame pointer there.
#[derive(Clone, Copy)]
struct Frame {
    address: usize,
    stack: usize,
    pointer: usize,
}

/// All functions that the running thread is in, innermost first, up to the first one of the program.
fn frames() -> Vec<Frame> {
    /// # Safety
    ///
    /// `context` is the unwinder's, and `frames` points to a live list of frames.
    unsafe extern "C" fn visit(context: *mut c_void, frames: *mut c_void) -> c_int {
        const FRAME_POINTER: c_int = 6;
        const STOP: c_int = 4;
        let address = function!(GET_IP: fn(*mut c_void) -> usize);
        let stack = function!(GET_CFA: fn(*mut c_void) -> usize);
        let register = function!(GET_REGISTER: fn(*mut c_void, c_int) -> usize);
        let (Some(address), Some(stack), Some(register)) = (address, stack, register) else {
            return STOP;
        };
        // SAFETY: the unwinder calls `visit` with its own context, for which its accessors are made, and with
        // the pointer that `frames` passed: a live list that nothing else uses meanwhile.
        unsafe {
            let frame = Frame {
                address: address(context),
                stack: stack(context),
                pointer: register(context, FRAME_POINTER),
            };
            (*frames.cast::<Vec<Frame>>()).push(frame);
            match modules::is_library(frame.address) {
                true => 0,
                false => STOP,
            }
        }
    }
    let mut frames: Vec<Frame> = Vec::new();
    type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    if let Some(walk) = function!(BACKTRACE: fn(Visit, *mut c_void) -> c_int) {
        // SAFETY: `visit` has the signature that `_Unwind_Backtrace` calls, and `frames` outlives the walk.
        unsafe { walk(visit, (&raw mut frames).cast()) };
    }
    frames
}

/// The distance for the function that this return address goes back to; or where the program is, if that function's frame varies in size.
#[cold]
fn unwind(place: &usize) -> Result<usize, Option<usize>> {
    let frames = frames();
    let stack = core::ptr::from_ref(place) as usize + 8;
    let here = frames
        .windows(2)
        .find(|pair| (pair[0].address, pair[0].stack) == (*place, stack));
    match here {
        // The caller's stack pointer is behind the return address.
        Some([here, caller]) if here.pointer != caller.stack.wrapping_sub(16) => {
            Ok(caller.stack - 8 - here.stack)
        }
        _ => Err(outermost(&frames)),
    }
}

fn outermost(frames: &[Frame]) -> Option<usize> {
    let last = frames.last().filter(|frame| frame.address != 0)?;
    Some(last.address)
}

/// As [`site`], from here.
pub fn here() -> Site {
    let found = outermost(&frames());
    modules::site(found.unwrap_or(1))
}

/// Whether an address is of a library whose path has this part.
pub fn library(address: usize, part: &str) -> bool {
    modules::with(address, |module| {
        module.is_some_and(|module| module.path.contains(part))
    })
}
