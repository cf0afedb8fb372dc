//! Reading and writing by descriptor, and what else is done to the contents of an open file. What a descriptor is open on decides
//! in [`crate::kernel::open_description`] how. Calls with several blocks of memory are in [`crate::calls::files::vectored_io`].

use crate::{
    core::{
        trampoline::Frame,
        variadic::{List, variadic},
    },
    kernel::{
        descriptor_arguments, file_mappings,
        open_description::{self, Access, Place, READ, WRITE, WRITE_AT, reach},
        os_files,
        program_memory::ProgramMemory,
    },
    real,
    run::{cancellation, operations::failed, world},
    shared::formats::{self, Characters},
    trampoline,
};
use core::ffi::{c_int, c_void};

trampoline! {
    read => read_some, "rcx";
    __read => read_some, "rcx";
    write => write_some, "rcx";
    __write => write_some, "rcx";
    pread => read_at, "r8";
    pread64 => read_at, "r8";
    __pread64 => read_at, "r8";
    pwrite => write_at, "r8";
    pwrite64 => write_at, "r8";
    __pwrite64 => write_at, "r8";
    vdprintf => print, "rcx";
    __vdprintf_chk => print_checked, "r8";
    __read_chk => read_checked, "r8";
    __pread_chk => read_checked_at, "r9";
    __pread64_chk => read_checked_at, "r9";
    lseek => seek, "rcx";
    __lseek => seek, "rcx";
    lseek64 => seek, "rcx";
    ftruncate => truncate, "rdx";
    ftruncate64 => truncate, "rdx";
    fallocate => allocate, "r8";
    fallocate64 => allocate, "r8";
    posix_fallocate => allocate_all, "rcx";
    posix_fallocate64 => allocate_all, "rcx";
}

/// `read`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` has room for `bytes` bytes.
unsafe extern "C" fn read_some(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let real = real!(read: fn(c_int, *mut c_void, usize) -> isize);
    let memory = ProgramMemory::block(into as usize, bytes);
    open_description::read(
        descriptor,
        ("read", Place::Offset),
        &memory,
        frame,
        // SAFETY: the memory is as large as the caller promises; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, into, bytes) },
    )
}

/// `write`.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` points to `bytes` bytes.
unsafe extern "C" fn write_some(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let real = real!(write: fn(c_int, *const c_void, usize) -> isize);
    let memory = ProgramMemory::block(from as usize, bytes);
    open_description::write(
        descriptor,
        ("write", Place::Offset),
        &memory,
        frame,
        // SAFETY: the memory is as large as the caller promises; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, from, bytes) },
    )
}

/// `pread`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` has room for `bytes` bytes.
unsafe extern "C" fn read_at(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    offset: i64,
    frame: &Frame,
) -> isize {
    let real = real!(pread64: fn(c_int, *mut c_void, usize, i64) -> isize);
    let memory = ProgramMemory::block(into as usize, bytes);
    open_description::read(
        descriptor,
        ("pread", Place::At(offset)),
        &memory,
        frame,
        // SAFETY: the memory is as large as the caller promises; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, into, bytes, offset) },
    )
}

/// `pwrite`.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` points to `bytes` bytes.
unsafe extern "C" fn write_at(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    offset: i64,
    frame: &Frame,
) -> isize {
    let real = real!(pwrite64: fn(c_int, *const c_void, usize, i64) -> isize);
    let memory = ProgramMemory::block(from as usize, bytes);
    open_description::write(
        descriptor,
        ("pwrite", Place::At(offset)),
        &memory,
        frame,
        // SAFETY: the memory is as large as the caller promises; a descriptor that is not open is an error of the call.
        |descriptor| unsafe { real(descriptor, from, bytes, offset) },
    )
}

variadic! {
    dprintf => print, "2", "rdx", "rcx";
    __dprintf_chk => print_checked, "3", "rcx", "r8";
}

/// Prints by descriptor; `real` has the C library do it.
fn printed(descriptor: c_int, frame: &Frame, real: impl FnOnce(c_int) -> c_int) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let call = "dprintf";
    let file = reach(descriptor, Access { call, ..WRITE }, frame);
    let put = real(file.descriptor);
    file.accessed(Place::Offset, put as isize);
    put
}

/// `vdprintf`.
///
/// # Safety
///
/// As the C library demands of the caller: a format, and a list of arguments that fit it.
unsafe extern "C" fn print(descriptor: c_int, format: usize, list: List, frame: &Frame) -> c_int {
    let real = real!(vdprintf: fn(c_int, usize, List) -> c_int);
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    printed(descriptor, frame, |to| unsafe {
        noted(format, list, frame);
        real(to, format, list)
    })
}

/// `__vdprintf_chk`.
///
/// # Safety
///
/// As [`print`].
unsafe extern "C" fn print_checked(
    descriptor: c_int,
    flag: c_int,
    format: usize,
    list: List,
    frame: &Frame,
) -> c_int {
    let real = real!(__vdprintf_chk: fn(c_int, c_int, usize, List) -> c_int);
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    printed(descriptor, frame, |to| unsafe {
        noted(format, list, frame);
        real(to, flag, format, list)
    })
}

/// Notes what printing reads.
///
/// # Safety
///
/// `format` is a C string, and `list` has the arguments that it names.
unsafe fn noted(format: usize, list: List, frame: &Frame) {
    if world::active() {
        // SAFETY: format and list fit each other, by this function's contract.
        unsafe { formats::printed(format, Characters::Bytes, list, frame) };
    }
}

/// `__read_chk`: the C library ends the program if more is asked for than there is room.
///
/// # Safety
///
/// As `read`, or `room` is less than `bytes`.
unsafe extern "C" fn read_checked(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    room: usize,
    frame: &Frame,
) -> isize {
    let real = real!(__read_chk: fn(c_int, *mut c_void, usize, usize) -> isize);
    // SAFETY: passed on unchanged; if `bytes` fit, the caller's promise is the one that `read` needs.
    unsafe {
        match bytes > room {
            true => real(descriptor, into, bytes, room),
            false => read_some(descriptor, into, bytes, frame),
        }
    }
}

/// `__pread_chk`: see [`read_checked`].
///
/// # Safety
///
/// As `pread`, or `room` is less than `bytes`.
unsafe extern "C" fn read_checked_at(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    offset: i64,
    room: usize,
    frame: &Frame,
) -> isize {
    let real = real!(__pread_chk: fn(c_int, *mut c_void, usize, i64, usize) -> isize);
    // SAFETY: passed on unchanged; if `bytes` fit, the caller's promise is the one that `pread` needs.
    unsafe {
        match bytes > room {
            true => real(descriptor, into, bytes, offset, room),
            false => read_at(descriptor, into, bytes, offset, frame),
        }
    }
}

/// `lseek`.
extern "C" fn seek(descriptor: c_int, offset: i64, whence: c_int, frame: &Frame) -> i64 {
    let real = real!(lseek64: fn(c_int, i64, c_int) -> i64);
    let mut descriptor = descriptor_arguments::own(descriptor);
    if world::active() {
        let access = Access {
            call: "lseek",
            looks: !matches!(whence, libc::SEEK_SET | libc::SEEK_CUR),
            ..READ
        };
        let file = reach(descriptor, access, frame);
        if file.is_output() {
            return failed(libc::ESPIPE).into();
        }
        descriptor = file.descriptor;
    }
    // SAFETY: `lseek` takes numbers, no pointers; a descriptor that is not open is an error of the call.
    unsafe { real(descriptor, offset, whence) }
}

/// `ftruncate`.
extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    let real = real!(ftruncate64: fn(c_int, i64) -> c_int);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: `ftruncate` takes numbers, no pointers; a descriptor that is not open is an error of the call.
        return unsafe { real(descriptor, bytes) };
    }
    let call = "ftruncate";
    let file = reach(descriptor, Access { call, ..WRITE_AT }, frame);
    if file.is_output() {
        return failed(libc::EINVAL);
    }
    let before = os_files::status(file.descriptor).map_or(0, |stat| stat.st_size);
    // SAFETY: `ftruncate` takes numbers, no pointers; a descriptor that is not open is an error of the call.
    let result = unsafe { real(file.descriptor, bytes) };
    if result == 0 {
        file_mappings::resized(file.descriptor, [before, bytes], &file.by);
    }
    result
}

/// Allocates room of a file, or gives it back; `real` has the C library do it, `refuse` returns an error number as the call does.
fn allocated(
    descriptor: c_int,
    frame: &Frame,
    refuse: fn(c_int) -> c_int,
    real: impl FnOnce(c_int) -> c_int,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let call = "fallocate";
    let file = reach(descriptor, Access { call, ..WRITE_AT }, frame);
    if file.is_output() {
        return refuse(libc::ESPIPE);
    }
    file_mappings::anywhere(file.descriptor, true, call, file.by.site);
    real(file.descriptor)
}

/// `fallocate`.
extern "C" fn allocate(
    descriptor: c_int,
    mode: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    cancellation::point(frame);
    let real = real!(fallocate64: fn(c_int, c_int, i64, i64) -> c_int);
    // SAFETY: `fallocate` takes numbers, no pointers; a descriptor that is not open is an error of the call.
    allocated(descriptor, frame, failed, |file| unsafe {
        real(file, mode, offset, bytes)
    })
}

/// `posix_fallocate`, which returns its error number.
extern "C" fn allocate_all(descriptor: c_int, offset: i64, bytes: i64, frame: &Frame) -> c_int {
    let real = real!(posix_fallocate64: fn(c_int, i64, i64) -> c_int);
    allocated(
        descriptor,
        frame,
        |error| error,
        // SAFETY: `posix_fallocate` takes numbers, no pointers; a descriptor that is not open is an error of the call.
        |file| unsafe { real(file, offset, bytes) },
    )
}
