//! Descriptors among the arguments of calls. The runtime's own ([`RUNTIME_DESCRIPTORS`]) stand for nothing in the program.

use crate::{core::program_start, kernel::start_state::RUNTIME_DESCRIPTORS};
use core::ffi::{CStr, c_int, c_long};

/// What the program means by a descriptor: a number of the runtime stands for nothing.
pub(crate) fn own(descriptor: c_int) -> c_int {
    match is_runtimes(descriptor) {
        true => -1,
        false => descriptor,
    }
}

/// Whether a descriptor belongs to the runtime, in a program that is driven.
pub(crate) fn is_runtimes(descriptor: c_int) -> bool {
    descriptor >= RUNTIME_DESCRIPTORS && program_start::driven()
}

/// Calls that are passed on with their arguments: which of these are descriptors. Other calls use [`own`].
const ARGUMENTS: &[(&[usize], &[&str])] = &[
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

/// Takes descriptors of the runtime out of the arguments of a call.
pub(crate) fn hide(call: &CStr, arguments: &mut [usize; 6]) {
    let numbers = RUNTIME_DESCRIPTORS as usize..c_int::MAX as usize;
    if !arguments.iter().any(|argument| numbers.contains(argument)) {
        return;
    }
    for place in descriptors_of(call) {
        arguments[*place] = own(arguments[*place] as c_int) as usize;
    }
}

/// The places of descriptors among the arguments of a call.
fn descriptors_of(call: &CStr) -> &'static [usize] {
    let is_listed = |(_, names): &&(_, &[&str])| {
        let mut names = names.iter();
        names.any(|name| name.as_bytes() == call.to_bytes())
    };
    let found = ARGUMENTS.iter().find(is_listed);
    found.map_or(&[], |found| found.0)
}

/// System calls whose first argument is a descriptor.
const FIRST_IS_DESCRIPTOR: &[c_long] = &[
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

/// Whether a system call is given a descriptor of the runtime.
pub(crate) fn to_kernel(number: c_long, arguments: &[usize; 6]) -> bool {
    let runtimes = |place: usize| is_runtimes(arguments[place] as c_int);
    let copies = number == libc::SYS_dup2 || number == libc::SYS_dup3;
    FIRST_IS_DESCRIPTOR.contains(&number) && runtimes(0)
        || copies && runtimes(1)
        || number == libc::SYS_mmap && runtimes(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_listed_once() {
        let all = || ARGUMENTS.iter().flat_map(|(_, names)| names.iter());
        for name in all() {
            assert_eq!(all().filter(|other| *other == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn descriptors_are_found_by_the_name_of_the_call() {
        assert_eq!(descriptors_of(c"fstat"), [0]);
        assert_eq!(descriptors_of(c"__fxstat"), [1]);
        assert_eq!(descriptors_of(c"renameat"), [0, 2]);
        assert!(descriptors_of(c"stat").is_empty());
    }
}
