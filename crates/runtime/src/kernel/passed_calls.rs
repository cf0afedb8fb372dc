//! Calls that are libc's own but for a look at their arguments: files that are named, memory that the kernel is to
//! write to.
//!
//! The kernel does not trap on protected pages but fails, so they are made writable first.

use crate::{
    core::{real::Real, trampoline::Frame},
    kernel::{descriptor_arguments, file_names, path_resolution, start_state},
    run::{accesses, call_sites, leftovers, spin, world},
};
use core::ffi::{CStr, c_int, c_void};
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
    path_resolution::names_file();
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
            static CALL: $crate::kernel::passed_calls::Call = $crate::kernel::passed_calls::Call {
                name: NAME,
                real: $crate::core::real::Real::new(NAME),
                look: $look,
            };
            /// # Safety
            ///
            /// For the program, by the rules of the function that it stands for.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    $crate::core::trampoline::assembly!(@push "rax"),
                    $crate::core::trampoline::assembly!(push arguments),
                    "lea rdi, [rip + {call}]",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 56]",
                    // Floating-point arguments of what takes any number of them.
                    $crate::core::trampoline::assembly!(room "128"),
                    $crate::core::trampoline::assembly!(store vectors "0"),
                    "call {looked}",
                    "mov r11, rax",
                    $crate::core::trampoline::assembly!(load vectors "0"),
                    $crate::core::trampoline::assembly!(drop "128"),
                    $crate::core::trampoline::assembly!(pop arguments),
                    $crate::core::trampoline::assembly!(@pop "rax"),
                    "jmp r11",
                    ".cfi_endproc",
                    call = sym CALL,
                    looked = sym $crate::kernel::passed_calls::looked,
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
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::core::trampoline::assembly!(push frame),
                "mov r11, rsp",
                $crate::core::trampoline::assembly!(push arguments),
                "mov rdx, r11",
                "mov rsi, rsp",
                "lea rdi, [rip + {call}]",
                $crate::core::trampoline::assembly!(room "8"),
                "call {target}",
                $crate::core::trampoline::assembly!(drop "104"),
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
            static CALL: $crate::kernel::passed_calls::Redirect = $crate::kernel::passed_calls::Redirect {
                name: NAME,
                real: $crate::core::real::Real::new(NAME),
                look: $look,
                after: $crate::kernel::passed_calls::redirects!(@or $crate::kernel::passed_calls::unchanged $(, $after)?),
            };
            $crate::kernel::passed_calls::called_with!($name, CALL, $crate::kernel::passed_calls::redirected);
        };
    )*};
}

pub(crate) fn unchanged(result: isize, _: Site) -> isize {
    result
}

pub(crate) use {called_with, passes, redirects};

/// It may open a descriptor for itself, map memory or load libraries.
pub(crate) fn prepares() {
    spin::disturbed();
    start_state::descriptors_change();
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
    pub(crate) real: Real,
    pub(crate) place: usize,
    pub(crate) bytes: fn(&[usize; 6], Option<isize>) -> usize,
    /// Exchanges a path for where it is to be looked for.
    pub(crate) route: fn(&mut [usize; 6], &usize),
    /// Afterwards, for what is different in every run; what it returns.
    pub(crate) smooth: fn(&[usize; 6], isize) -> isize,
}

pub(crate) fn stays(_: &mut [usize; 6], _: &usize) {}

pub(crate) fn untouched(_: &[usize; 6], result: isize) -> isize {
    result
}

/// Calls it, with its first six arguments.
pub(crate) extern "C" fn filled(call: &Fill, arguments: &[usize; 6], frame: &Frame) -> isize {
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

/// Defines functions through which the kernel writes to memory: see [`Fill`].
macro_rules! fills {
    (@or $default:expr) => { $default };
    (@or $default:expr, $given:expr) => { $given };
    ($($name:ident => $place:literal, $bytes:expr $(, $route:expr $(, $smooth:expr)?)?;)*) => {$(
        const _: () = {
            static CALL: $crate::kernel::passed_calls::Fill = $crate::kernel::passed_calls::Fill {
                // SAFETY: the text is an identifier followed by the only nul.
                real: $crate::core::real::Real::new(unsafe {
                    core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
                }),
                place: $place,
                bytes: $bytes,
                route: $crate::kernel::passed_calls::fills!(@or $crate::kernel::passed_calls::stays $(, $route)?),
                smooth: $crate::kernel::passed_calls::fills!(@or $crate::kernel::passed_calls::untouched $($(, $smooth)?)?),
            };
            $crate::kernel::passed_calls::called_with!($name, CALL, $crate::kernel::passed_calls::filled);
        };
    )*};
}

pub(crate) use fills;

/// So many, unless it fails.
pub(crate) fn all<const BYTES: usize>(_: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(result) if (result as c_int) < 0 => 0,
        _ => BYTES,
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

fills! {
    uname => 0, all::<{ size_of::<libc::utsname>() }>;
    getgroups => 1, groups;
}
