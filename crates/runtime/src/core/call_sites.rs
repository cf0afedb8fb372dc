//! Where in the program a call comes from, when a library made it for the program: `pthread_join` is called by libstdc++, whose
//! `std::thread::join` is not of interest.
//!
//! The unwinder knows; but it is slow. Within one function the caller's address lies at the same distance from the stack pointer every time, so
//! what it found is remembered by place. (Functions with frames of varying size have a frame pointer; they are not remembered.)

use crate::{
    calls::language::unwinding::{BACKTRACE, GET_CFA, GET_IP, GET_REGISTER, function},
    core::{
        entry,
        world::{self, World},
    },
    hooks,
};
use alloc::vec::Vec;
use core::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
};
use reweave_model::Site;

/// Places in libraries, and how far above the stack pointer there the return address of their function is.
struct Known(UnsafeCell<Vec<(usize, usize)>>);
// SAFETY: one OS thread.
unsafe impl Sync for Known {}
static KNOWN: Known = Known(UnsafeCell::new(Vec::new()));

/// The place in the program that this return address, where it lies on the stack, comes down to. Nobody asks where there is no driver.
pub fn site(return_address: &usize) -> Site {
    match entry::driven() {
        true => world::get().site(address(return_address)),
        false => Site(1),
    }
}

/// The frame of a call as if the program had made it itself.
pub fn frame(frame: &hooks::Frame) -> hooks::Frame {
    hooks::Frame {
        registers: frame.registers,
        return_address: address(&frame.return_address),
    }
}

/// As [`site`], the address.
pub fn address(return_address: &usize) -> usize {
    let world = world::get();
    let mut place = return_address;
    while entry::driven() && world.is_library(*place) {
        // SAFETY: as above.
        let known = unsafe { &mut *KNOWN.0.get() };
        let distance = match known.iter().find(|(address, _)| *address == *place) {
            Some((_, distance)) => *distance,
            None => match unwind(place) {
                Ok(distance) => {
                    known.push((*place, distance));
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

/// One function on the stack: where it is, the stack pointer and the frame pointer there.
#[derive(Clone, Copy)]
struct Frame {
    address: usize,
    stack: usize,
    pointer: usize,
}

/// All functions that the running thread is in, innermost first, up to the first one of the program.
fn frames() -> Vec<Frame> {
    unsafe extern "C" fn visit(context: *mut c_void, frames: *mut c_void) -> c_int {
        const FRAME_POINTER: c_int = 6;
        const STOP: c_int = 4;
        let address = function!(GET_IP: fn(*mut c_void) -> usize);
        let stack = function!(GET_CFA: fn(*mut c_void) -> usize);
        let register = function!(GET_REGISTER: fn(*mut c_void, c_int) -> usize);
        let (Some(address), Some(stack), Some(register)) = (address, stack, register) else {
            return STOP;
        };
        // SAFETY: the unwinder's own context; the list is ours.
        unsafe {
            let frame = Frame {
                address: address(context),
                stack: stack(context),
                pointer: register(context, FRAME_POINTER),
            };
            (*frames.cast::<Vec<Frame>>()).push(frame);
            match World::is_library(world::get(), frame.address) {
                true => 0,
                false => STOP,
            }
        }
    }
    let mut frames: Vec<Frame> = Vec::new();
    type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    if let Some(walk) = function!(BACKTRACE: fn(Visit, *mut c_void) -> c_int) {
        // SAFETY: `visit` has the type that is asked for.
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
    world::get().site(found.unwrap_or(1))
}

/// Whether an address is of a library whose path has this part.
pub fn library(address: usize, part: &str) -> bool {
    let mut modules = world::get().modules.iter();
    let module = modules.find(|module| (module.start..module.end).contains(&address));
    module.is_some_and(|module| module.path.contains(part))
}
