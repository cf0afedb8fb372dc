//! Calls that are libc's own but for a look at their arguments: files that are named, memory that the kernel is to
//! write to.
//!
//! The kernel does not trap on protected pages but fails, so they are made writable first.

use crate::{
    calls::files::{descriptor_calls, file_status},
    core::{call_sites, cancellation, leftovers, real::Real, spin, world},
    hooks::{Frame, accesses},
    kernel::{descriptor_arguments, file_names, file_objects, path_resolution},
};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
};
use reweave_model::Site;

/// A function of a library's, and what to look at first: its name, its arguments, where it returns to.
pub(crate) struct Call {
    pub(crate) name: &'static CStr,
    pub(crate) real: Real,
    pub(crate) look: fn(&'static CStr, &[usize; 6], &usize),
}

/// Looks at the arguments; where to go on.
pub(crate) extern "C" fn looked(
    call: &Call,
    arguments: &mut [usize; 6],
    return_address: &usize,
) -> *mut c_void {
    descriptor_arguments::hide(call.name, arguments);
    if world::active() {
        (call.look)(call.name, arguments, return_address);
    }
    call.real.get()
}

/// The same, where arguments are exchanged for others, and something is to be done afterwards.
pub(crate) struct Redirect {
    pub(crate) name: &'static CStr,
    pub(crate) real: Real,
    pub(crate) look: fn(&'static CStr, &mut [usize; 6], &usize),
    pub(crate) after: fn(isize, Site) -> isize,
}

/// A function with at most six arguments; more of them than it wants do no harm.
type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;

pub(crate) extern "C" fn redirected(
    call: &Redirect,
    arguments: &[usize; 6],
    frame: &Frame,
) -> isize {
    // SAFETY: every function that is passed on this way takes at most six integer arguments and returns an
    // integer or a pointer.
    let real: Function = unsafe { core::mem::transmute(call.real.get()) };
    let mut arguments = *arguments;
    descriptor_arguments::hide(call.name, &mut arguments);
    if world::active() {
        (call.look)(call.name, &mut arguments, &frame.return_address);
    }
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the arguments are those of the program's own call, with paths and descriptors exchanged for
    // valid ones.
    let result = path_resolution::make(failure(call.name), || unsafe { real(a, b, c, d, e, f) });
    if !world::active() {
        return result;
    }
    let site = call_sites::site(&frame.return_address);
    let result = (call.after)(result, site);
    file_names::leave(site);
    result
}

/// What a call returns that fails.
fn failure(name: &CStr) -> isize {
    match name.to_bytes() {
        b"opendir" => 0,
        name if name.ends_with(b"open") || name.ends_with(b"open64") => match name {
            b"open" | b"open64" | b"__open" | b"__open64" => -1,
            _ => 0,
        },
        _ => -1,
    }
}

/// Defines a function that has somebody look at its arguments and goes on.
macro_rules! passes {
    ($($name:ident => $look:expr;)*) => {$(
        const _: () = {
            // SAFETY: the text is an identifier followed by the only nul.
            const NAME: &core::ffi::CStr = unsafe {
                core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
            };
            static CALL: $crate::hooks::passed_calls::Call = $crate::hooks::passed_calls::Call {
                name: NAME,
                real: $crate::core::real::Real::new(NAME),
                look: $look,
            };
            /// # Safety
            ///
            /// For the program, by the rules of the function that it stands for.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    $crate::hooks::trampoline::assembly!(@push "rax"),
                    $crate::hooks::trampoline::assembly!(push arguments),
                    "lea rdi, [rip + {call}]",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 56]",
                    // Floating-point arguments of what takes any number of them.
                    $crate::hooks::trampoline::assembly!(room "128"),
                    $crate::hooks::trampoline::assembly!(store vectors "0"),
                    "call {looked}",
                    "mov r11, rax",
                    $crate::hooks::trampoline::assembly!(load vectors "0"),
                    $crate::hooks::trampoline::assembly!(drop "128"),
                    $crate::hooks::trampoline::assembly!(pop arguments),
                    $crate::hooks::trampoline::assembly!(@pop "rax"),
                    "jmp r11",
                    ".cfi_endproc",
                    call = sym CALL,
                    looked = sym $crate::hooks::passed_calls::looked,
                )
            }
        };
    )*};
}

/// Defines a function that hands its first six arguments to another one, with `$call`.
macro_rules! called_with {
    ($name:ident, $call:path, $target:path) => {
        /// # Safety
        ///
        /// For the program, by the rules of the function that it stands for.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::hooks::trampoline::assembly!(push frame),
                "mov r11, rsp",
                $crate::hooks::trampoline::assembly!(push arguments),
                "mov rdx, r11",
                "mov rsi, rsp",
                "lea rdi, [rip + {call}]",
                $crate::hooks::trampoline::assembly!(room "8"),
                "call {target}",
                $crate::hooks::trampoline::assembly!(drop "104"),
                "ret",
                ".cfi_endproc",
                call = sym $call,
                target = sym $target,
            )
        }
    };
}

/// Defines functions that are called with other arguments; what is to be done afterwards comes last.
macro_rules! redirects {
    (@or $default:expr) => { $default };
    (@or $default:expr, $given:expr) => { $given };
    ($($name:ident => $look:expr $(, $after:expr)?;)*) => {$(
        const _: () = {
            // SAFETY: the text is an identifier followed by the only nul.
            const NAME: &core::ffi::CStr = unsafe {
                core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
            };
            static CALL: $crate::hooks::passed_calls::Redirect = $crate::hooks::passed_calls::Redirect {
                name: NAME,
                real: $crate::core::real::Real::new(NAME),
                look: $look,
                after: $crate::hooks::passed_calls::redirects!(@or $crate::hooks::passed_calls::unchanged $(, $after)?),
            };
            $crate::hooks::passed_calls::called_with!($name, CALL, $crate::hooks::passed_calls::redirected);
        };
    )*};
}

pub(crate) fn unchanged(result: isize, _: Site) -> isize {
    result
}

pub(crate) use {called_with, passes, redirects};

/// Something that has no end or no order cannot be opened.
pub(crate) fn openable(path: &CStr, call: &CStr, from: &usize) {
    let name = call.to_bytes();
    let name = name.strip_prefix(b"__").unwrap_or(name);
    let opens: [&[u8]; 4] = [b"open", b"creat", b"fopen", b"freopen"];
    if opens.iter().any(|start| name.starts_with(start)) && name != b"opendir" {
        cancellation::point_at(from);
    }
    crate::kernel::file_objects::changing();
    let what = match path.to_bytes() {
        b"/dev/random" | b"/dev/urandom" => "a file of random numbers",
        _ if is_pipe(path) => "a pipe",
        _ => return,
    };
    let call = call.to_str().unwrap_or("open");
    let site = call_sites::site(from);
    let reason = alloc::format!("{call} of {what}");
    world::unsupported(&reason, site);
}

fn is_pipe(path: &CStr) -> bool {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel reads `path`, a C string, and writes `stat`, a live local; zeros are a valid `stat`.
    unsafe {
        let arguments = [
            path.as_ptr() as usize,
            stat.as_mut_ptr() as usize,
            0,
            0,
            0,
            0,
        ];
        let found = crate::core::sys::call(libc::SYS_stat, arguments) == 0;
        let kind = stat.assume_init().st_mode & libc::S_IFMT;
        found && matches!(kind, libc::S_IFIFO | libc::S_IFSOCK)
    }
}

/// It may open a descriptor for itself, map memory or load libraries.
pub(crate) fn prepares() {
    spin::disturbed();
    crate::kernel::file_objects::changing();
    leftovers::suspect();
}

fn prepares_itself(_: &'static CStr, _: &[usize; 6], _: &usize) {
    prepares();
}

/// It changes the process itself.
pub(crate) fn leaves() {
    spin::disturbed();
    leftovers::leaves();
}

fn changes_process(_: &'static CStr, _: &[usize; 6], _: &usize) {
    leaves();
}

passes! {
    arch_prctl => changes_process;
    personality => changes_process;
    setuid => changes_process;
    seteuid => changes_process;
    setreuid => changes_process;
    setresuid => changes_process;
    setgid => changes_process;
    setegid => changes_process;
    setregid => changes_process;
    setresgid => changes_process;
    setgroups => changes_process;
    setsid => changes_process;
    setpgid => changes_process;
    setpgrp => changes_process;
    mlock => changes_process;
    mlockall => changes_process;
    munlockall => changes_process;
    openlog => prepares_itself;
    syslog => prepares_itself;
    newlocale => prepares_itself;
    iconv_open => prepares_itself;
    bindtextdomain => prepares_itself;
    getgrouplist => prepares_itself;
}

/// A function through which the kernel writes to where an argument points. How many bytes that can be; afterwards, with the result, how
/// many it was.
pub(crate) struct Fill {
    real: Real,
    place: usize,
    bytes: fn(&[usize; 6], Option<isize>) -> usize,
    /// Exchanges a path for where it is to be looked for.
    route: fn(&mut [usize; 6], &usize),
    /// Afterwards, for what is different in every run; what it returns.
    smooth: fn(&[usize; 6], isize) -> isize,
}

fn stays(_: &mut [usize; 6], _: &usize) {}

fn untouched(_: &[usize; 6], result: isize) -> isize {
    result
}

/// Calls it, with its first six arguments.
extern "C" fn filled(call: &Fill, arguments: &[usize; 6], frame: &Frame) -> isize {
    // SAFETY: every function that is passed on this way takes at most six integer arguments and returns an
    // integer or a pointer.
    let real: Function = unsafe { core::mem::transmute(call.real.get()) };
    let mut arguments = *arguments;
    descriptor_arguments::hide(call.real.name(), &mut arguments);
    if world::active() {
        (call.route)(&mut arguments, &frame.return_address);
    }
    let arguments = &arguments;
    let [a, b, c, d, e, f] = *arguments;
    let place = arguments[call.place];
    let looks = world::active() && place != 0;
    if looks {
        world::snapshot().touch_range(place, (call.bytes)(arguments, None));
    }
    // SAFETY: the arguments are those of the program's own call, with paths and descriptors exchanged for
    // valid ones.
    let mut result = path_resolution::make(-1, || unsafe { real(a, b, c, d, e, f) });
    if looks {
        // What is asked may have changed.
        spin::disturbed();
        if (call.bytes)(arguments, Some(result)) > 0 {
            result = (call.smooth)(arguments, result);
        }
        let bytes = (call.bytes)(arguments, Some(result));
        accesses::range(place, bytes, true, frame);
    }
    if world::active() {
        // What it makes itself, it returns.
        if place == 0 && call.place == 0 && result > 0 {
            (call.smooth)(&[result as usize, 0, 0, 0, 0, 0], result);
        }
        file_names::leave(call_sites::site(&frame.return_address));
    }
    result
}

macro_rules! fills {
    (@or $default:expr) => { $default };
    (@or $default:expr, $given:expr) => { $given };
    ($($name:ident => $place:literal, $bytes:expr $(, $route:expr $(, $smooth:expr)?)?;)*) => {$(
        const _: () = {
            static CALL: Fill = Fill {
                // SAFETY: the text is an identifier followed by the only nul.
                real: Real::new(unsafe {
                    CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
                }),
                place: $place,
                bytes: $bytes,
                route: fills!(@or stays $(, $route)?),
                smooth: fills!(@or untouched $($(, $smooth)?)?),
            };
            called_with!($name, CALL, filled);
        };
    )*};
}

/// So many, unless it fails.
fn all<const BYTES: usize>(_: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(result) if (result as c_int) < 0 => 0,
        _ => BYTES,
    }
}

/// As many as it says, at most what this argument says.
fn counted<const LENGTH: usize>(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(result) => arguments[LENGTH].min(result.max(0) as usize),
        None => arguments[LENGTH],
    }
}

/// A text, of at most so many bytes as this argument says; the result is null or where it lies.
fn text<const LENGTH: usize>(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(0) => 0,
        // SAFETY: the function returned a C string.
        Some(text) => unsafe { CStr::from_ptr(text as *const c_char) }.count_bytes() + 1,
        None => arguments[LENGTH],
    }
}

/// A text, of at most as many bytes as a path has.
fn longest(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        None => libc::PATH_MAX as usize,
        result => text::<1>(arguments, result),
    }
}

/// Numbers of four bytes, as many as it says.
fn groups(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        _ if arguments[0] as c_int <= 0 => 0,
        Some(result) => 4 * (result as c_int).max(0) as usize,
        None => 4 * arguments[0] as c_int as usize,
    }
}

const STAT: usize = size_of::<libc::stat>();
const STATFS: usize = size_of::<libc::statfs>();
const STATVFS: usize = size_of::<libc::statvfs>();

fills! {
    stat => 1, all::<STAT>, file_status::path::<0>, file_status::smooth::<1>;
    stat64 => 1, all::<STAT>, file_status::path::<0>, file_status::smooth::<1>;
    lstat => 1, all::<STAT>, file_status::link::<0>, file_status::smooth::<1>;
    lstat64 => 1, all::<STAT>, file_status::link::<0>, file_status::smooth::<1>;
    fstat => 1, all::<STAT>, file_status::open_file::<0>, file_status::smooth::<1>;
    fstat64 => 1, all::<STAT>, file_status::open_file::<0>, file_status::smooth::<1>;
    fstatat => 2, all::<STAT>, file_status::path_at::<0, 1, 3>, file_status::smooth::<2>;
    fstatat64 => 2, all::<STAT>, file_status::path_at::<0, 1, 3>, file_status::smooth::<2>;
    __xstat => 2, all::<STAT>, file_status::path::<1>, file_status::smooth::<2>;
    __lxstat => 2, all::<STAT>, file_status::link::<1>, file_status::smooth::<2>;
    __fxstat => 2, all::<STAT>, file_status::open_file::<1>, file_status::smooth::<2>;
    __xstat64 => 2, all::<STAT>, file_status::path::<1>, file_status::smooth::<2>;
    __lxstat64 => 2, all::<STAT>, file_status::link::<1>, file_status::smooth::<2>;
    __fxstat64 => 2, all::<STAT>, file_status::open_file::<1>, file_status::smooth::<2>;
    __fxstatat => 3, all::<STAT>, file_status::path_at::<1, 2, 4>, file_status::smooth::<3>;
    __fxstatat64 => 3, all::<STAT>, file_status::path_at::<1, 2, 4>, file_status::smooth::<3>;
    statx => 4, all::<{ size_of::<libc::statx>() }>, file_status::path_at::<0, 1, 2>, file_status::smooth_extended;
    statfs => 1, all::<STATFS>, file_status::original;
    statfs64 => 1, all::<STATFS>, file_status::original;
    statvfs => 1, all::<STATVFS>, file_status::original;
    statvfs64 => 1, all::<STATVFS>, file_status::original;
    fstatvfs => 1, all::<STATVFS>, file_status::open_file::<0>;
    fstatvfs64 => 1, all::<STATVFS>, file_status::open_file::<0>;
    getxattr => 2, counted::<3>, file_status::path::<0>;
    lgetxattr => 2, counted::<3>, file_status::link::<0>;
    fgetxattr => 2, counted::<3>, file_status::open_file::<0>;
    listxattr => 1, counted::<2>, file_status::path::<0>;
    llistxattr => 1, counted::<2>, file_status::link::<0>;
    flistxattr => 1, counted::<2>, file_status::open_file::<0>;
    fstatfs => 1, all::<STATFS>, file_status::open_file::<0>;
    fstatfs64 => 1, all::<STATFS>, file_status::open_file::<0>;
    uname => 0, all::<{ size_of::<libc::utsname>() }>;
    getcwd => 0, text::<1>, file_status::here, file_status::smooth_directory;
    __getcwd_chk => 0, text::<1>, file_status::here, file_status::smooth_directory;
    getwd => 0, longest, file_status::here, file_status::smooth_directory;
    getdents64 => 1, counted::<2>, file_status::entries;
    readlink => 1, counted::<2>, file_status::link::<0>, file_status::smooth_link::<1, 2>;
    __readlink_chk => 1, counted::<2>, file_status::link::<0>, file_status::smooth_link::<1, 2>;
    __readlinkat_chk => 2, counted::<3>, file_status::link_at, file_status::smooth_link::<2, 3>;
    readlinkat => 2, counted::<3>, file_status::link_at, file_status::smooth_link::<2, 3>;
    getgroups => 1, groups;
}

/// What the kernel writes depends on the request: no more than this. Files are only asked.
fn requests(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    spin::disturbed();
    let (descriptor, site) = (arguments[0] as c_int, call_sites::site(from));
    descriptor_calls::asked(descriptor, site);
    let asks = [
        libc::FIONREAD,
        libc::FIOCLEX,
        libc::FIONCLEX,
        libc::FIONBIO,
        libc::TCGETS,
        libc::TIOCGWINSZ,
    ];
    let file = matches!(
        file_objects::kind(descriptor),
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK
    );
    if file && !asks.contains(&(arguments[1] as libc::c_ulong)) {
        world::unsupported("ioctl of a file", site);
    }
    if arguments[2] != 0 {
        world::snapshot().touch_range(arguments[2], 256);
    }
}

passes! {
    ioctl => requests;
}
