//! `eventfd`, and its calls for reading and writing one: see [`crate::kernel::eventfd`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        descriptor_table,
        eventfd::Eventfd,
        open_description::{self, Modelled, Place},
        program_memory::ProgramMemory,
    },
    outside_run, real,
    run::call_sites,
    trampoline,
};
use core::ffi::{c_int, c_uint, c_void};

trampoline! {
    eventfd => make, "rdx";
    eventfd_read => read_count, "rdx";
    eventfd_write => write_count, "rdx";
}

/// `eventfd`.
extern "C" fn make(first: c_uint, flags: c_int, frame: &Frame) -> c_int {
    outside_run!(eventfd: fn(first: c_uint, flags: c_int) -> c_int);
    let real = real!(eventfd: fn(c_uint, c_int) -> c_int);
    // SAFETY: `eventfd` takes numbers; flags that it does not know are an error of the call.
    let given = unsafe { real(first, flags) };
    let site = call_sites::site(&frame.return_address);
    let number = descriptor_table::opened(given, site);
    if number >= 0 {
        let eventfd = Modelled::Eventfd(Eventfd::new(number, first, flags));
        let description = open_description::create(Some(eventfd));
        descriptor_table::note_open(number, Some(description));
    }
    number
}

/// `eventfd_read`.
///
/// # Safety
///
/// As the C library demands of the caller: `into` points to room for a number.
unsafe extern "C" fn read_count(descriptor: c_int, into: *mut u64, frame: &Frame) -> c_int {
    let real = real!(read: fn(c_int, *mut c_void, usize) -> isize);
    let memory = ProgramMemory::block(into as usize, size_of::<u64>());
    let read = open_description::read(
        descriptor,
        ("eventfd_read", Place::Offset),
        &memory,
        frame,
        // SAFETY: there is room for a number, as the caller promises; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, into.cast(), size_of::<u64>()) },
    );
    answer(read)
}

/// `eventfd_write`.
extern "C" fn write_count(descriptor: c_int, count: u64, frame: &Frame) -> c_int {
    let real = real!(write: fn(c_int, *const c_void, usize) -> isize);
    let written = open_description::write(
        descriptor,
        ("eventfd_write", Place::Offset),
        &ProgramMemory::Register(count),
        frame,
        // SAFETY: the number lies in this frame; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, (&raw const count).cast(), size_of::<u64>()) },
    );
    answer(written)
}

/// What the calls return that transfer one number.
fn answer(bytes: isize) -> c_int {
    match bytes == size_of::<u64>() as isize {
        true => 0,
        false => -1,
    }
}
