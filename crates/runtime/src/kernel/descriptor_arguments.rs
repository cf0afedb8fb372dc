//! Descriptors that calls are given. Those from [`OURS`] on are the runtime's own, and stand for nothing in a program.

use crate::{core::entry, kernel::file_objects::OURS};
use core::ffi::{CStr, c_int, c_long};

/// What a program means by this number: one of the runtime's stands for nothing.
pub fn own(descriptor: c_int) -> c_int {
    match descriptor >= OURS && entry::driven() {
        true => -1,
        false => descriptor,
    }
}

/// Which arguments of calls are descriptors, and calls that are passed on with their arguments. Others see to it themselves.
const GIVEN: &[(&[usize], &[&str])] = &[
    (
        &[0],
        &[
            "__openat64_2",
            "__openat_2",
            "__readlinkat_chk",
            "faccessat",
            "fchdir",
            "fchmod",
            "fchmodat",
            "fchown",
            "fchownat",
            "fdatasync",
            "fdopendir",
            "fgetxattr",
            "flistxattr",
            "fpathconf",
            "fremovexattr",
            "fsetxattr",
            "fstat",
            "fstat64",
            "fstatat",
            "fstatat64",
            "fstatfs",
            "fstatfs64",
            "fstatvfs",
            "fstatvfs64",
            "fsync",
            "futimens",
            "futimes",
            "futimesat",
            "getdents64",
            "ioctl",
            "isatty",
            "lockf",
            "lockf64",
            "mkdirat",
            "openat",
            "openat64",
            "posix_fadvise",
            "posix_fadvise64",
            "readahead",
            "readlinkat",
            "scandirat",
            "scandirat64",
            "statx",
            "sync_file_range",
            "syncfs",
            "tcdrain",
            "tcgetattr",
            "tcsetattr",
            "ttyname",
            "unlinkat",
            "utimensat",
        ],
    ),
    (
        &[1],
        &[
            "__fxstat",
            "__fxstat64",
            "__fxstatat",
            "__fxstatat64",
            "symlinkat",
        ],
    ),
    (&[0, 1], &["sendfile", "sendfile64"]),
    (
        &[0, 2],
        &["copy_file_range", "linkat", "renameat", "renameat2"],
    ),
];

/// Takes the runtime's own out of the arguments of a call.
pub fn hide(call: &CStr, arguments: &mut [usize; 6]) {
    let numbers = OURS as usize..c_int::MAX as usize;
    if !arguments.iter().any(|argument| numbers.contains(argument)) {
        return;
    }
    let is_it = |(_, names): &&(_, &[&str])| {
        let mut names = names.iter();
        names.any(|name| name.as_bytes() == call.to_bytes())
    };
    let places = GIVEN.iter().find(is_it).map_or(&[][..], |found| found.0);
    for place in places {
        arguments[*place] = own(arguments[*place] as c_int) as usize;
    }
}

/// System calls whose first argument is a descriptor.
const BY_FIRST: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
];

/// Whether a system call is given one of the runtime's own.
pub fn to_kernel(number: c_long, arguments: &[usize; 6]) -> bool {
    let ours = |place: usize| own(arguments[place] as c_int) != arguments[place] as c_int;
    let copies = number == libc::SYS_dup2 || number == libc::SYS_dup3;
    BY_FIRST.contains(&number) && ours(0)
        || copies && ours(1)
        || number == libc::SYS_mmap && ours(4)
}
