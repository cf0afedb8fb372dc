//! Hooks for calls of the C++ library on streams, which its code has none for; see the toolchain's assembler, which adds calls of them.
//!
//! A stream is what its `std::basic_ios` and its buffer hold. Input and output by one of the standard streams (`std::cout`) may be concurrent with
//! each other, by the C++ standard, so it counts as a look at the stream's format.

use super::unhooked::{Saved, plain};
use crate::calls_by_assembly;
use core::{
    ffi::CStr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use reweave_memory::Kind;

calls_by_assembly! {
    __reweave_unhooked_stream_read => read;
    __reweave_unhooked_stream_write => write;
}

/// Bytes of a `std::basic_ios`, and where in it the buffer's address is.
const IOS: usize = 264;
const BUFFER: usize = 232;
/// Bytes of a `std::basic_streambuf`.
const BUFFER_BYTES: usize = 64;
/// Before the address point of a stream's virtual table: how far behind the stream its `std::basic_ios` is.
const TO_IOS: usize = 24;
/// Of a standard stream with all its bases.
const STANDARD_BYTES: usize = 280;

static STANDARD: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
/// Virtual tables of the buffers that hand everything on to the C library's streams, and have no state.
static PASSING: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Looks up the standard streams, once.
pub fn prepare() {
    const STREAMS: [&CStr; 8] = [
        c"_ZSt4cout",
        c"_ZSt4cerr",
        c"_ZSt4clog",
        c"_ZSt3cin",
        c"_ZSt5wcout",
        c"_ZSt5wcerr",
        c"_ZSt5wclog",
        c"_ZSt4wcin",
    ];
    const TABLES: [&CStr; 2] = [
        c"_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE",
        c"_ZTVN9__gnu_cxx18stdio_sync_filebufIwSt11char_traitsIwEEE",
    ];
    let places = STANDARD.iter().chain(&PASSING);
    for (place, name) in places.zip(STREAMS.iter().chain(&TABLES)) {
        // SAFETY: the name ends with a nul; `dlsym` only looks.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        place.store(found as usize, Relaxed);
    }
}

fn is_standard(ios: usize) -> bool {
    let within = |start: usize| start != 0 && ios.wrapping_sub(start) < STANDARD_BYTES;
    STANDARD.iter().any(|start| within(start.load(Relaxed)))
}

fn is_passing(table: usize) -> bool {
    const ADDRESS_POINT: usize = 16;
    let same = |start: usize| start != 0 && start + ADDRESS_POINT == table;
    PASSING.iter().any(|start| same(start.load(Relaxed)))
}

extern "C" fn read(saved: &mut Saved) {
    note(saved, Kind::Read);
}

extern "C" fn write(saved: &mut Saved) {
    note(saved, Kind::Write);
}

fn note(saved: &Saved, kind: Kind) {
    let object = saved.address();
    if object == 0 {
        return;
    }
    let word = |address: usize| {
        // SAFETY: the program is about to call a member of the stream, which reads these words: the stream's virtual table, what lies before
        // its address point, and the buffer's address and table.
        unsafe { (address as *const usize).read() }
    };
    let ios = match saved.bytes() {
        0 => object.wrapping_add(word(word(object) - TO_IOS)),
        _ => object,
    };
    if is_standard(ios) {
        return plain(ios, IOS, Kind::Read, &saved.frame);
    }
    let buffer = word(ios + BUFFER);
    plain(ios, IOS, kind, &saved.frame);
    if buffer != 0 && !is_passing(word(buffer)) {
        plain(buffer, BUFFER_BYTES, kind, &saved.frame);
    }
}
