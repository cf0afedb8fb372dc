//! Calls that are libc's own but for a look at their arguments: files that are opened, streams that are read, memory that the kernel is to
//! write to.
//!
//! The kernel does not trap on protected pages but fails, so they are made writable first.

use super::callers;
use crate::{real::Real, world};
use core::{
    ffi::{CStr, c_char, c_void},
    mem::MaybeUninit,
};

/// A function of a library's, and what to look at first: its name, its arguments, where it returns to.
pub(super) struct Call {
    pub(super) name: &'static CStr,
    pub(super) real: Real,
    pub(super) look: fn(&'static CStr, &[usize; 6], &usize),
}

/// Looks at the arguments (the last of the six is the first); where to go on.
pub(super) extern "C" fn looked(
    call: &Call,
    arguments: &mut [usize; 6],
    return_address: &usize,
) -> *mut c_void {
    if world::active() {
        let mut in_order = *arguments;
        in_order.reverse();
        (call.look)(call.name, &in_order, return_address);
    }
    call.real.get()
}

macro_rules! passes {
    ($($name:ident => $look:expr;)*) => {$(
        const _: () = {
            // SAFETY: ends with the only nul.
            const NAME: &core::ffi::CStr = unsafe {
                core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
            };
            static CALL: $crate::calls::paths::Call = $crate::calls::paths::Call {
                name: NAME,
                real: $crate::real::Real::new(NAME),
                look: $look,
            };
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rax",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    ".cfi_adjust_cfa_offset 56",
                    "lea rdi, [rip + {call}]",
                    "mov rsi, rsp",
                    "lea rdx, [rsp + 56]",
                    "call {looked}",
                    "mov r11, rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "pop rax",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp r11",
                    ".cfi_endproc",
                    call = sym CALL,
                    looked = sym $crate::calls::paths::looked,
                )
            }
        };
    )*};
}

pub(super) use passes;

/// The path is this argument.
fn path<const ARGUMENT: usize>(call: &'static CStr, arguments: &[usize; 6], from: &usize) {
    super::files::changing();
    let path = arguments[ARGUMENT] as *const c_char;
    if path.is_null() {
        return;
    }
    // SAFETY: the program's own text.
    let name = unsafe { CStr::from_ptr(path) };
    let what = match name.to_bytes() {
        b"/dev/random" | b"/dev/urandom" => "a file of random numbers",
        _ if is_pipe(name) => "a pipe",
        _ => return,
    };
    let call = call.to_str().unwrap_or("open");
    let site = callers::site(from);
    let reason = alloc::format!("{call} of {what}");
    world::get().unsupported(&reason, site);
}

fn is_pipe(path: &CStr) -> bool {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: writes a local.
    unsafe {
        let arguments = [
            path.as_ptr() as usize,
            stat.as_mut_ptr() as usize,
            0,
            0,
            0,
            0,
        ];
        let found = crate::sys::call(libc::SYS_stat, arguments) == 0;
        let kind = stat.assume_init().st_mode & libc::S_IFMT;
        found && matches!(kind, libc::S_IFIFO | libc::S_IFSOCK)
    }
}

/// It may open a descriptor, whatever it is for.
fn opens(_: &'static CStr, _: &[usize; 6], _: &usize) {
    super::files::changing();
}

passes! {
    open => path::<0>;
    open64 => path::<0>;
    creat => path::<0>;
    creat64 => path::<0>;
    openat => path::<1>;
    openat64 => path::<1>;
    fopen => path::<0>;
    fopen64 => path::<0>;
    freopen => path::<0>;
    freopen64 => path::<0>;
    opendir => path::<0>;
    fdopen => opens;
    fdopendir => opens;
    scandir => opens;
    dup => opens;
    fcntl => opens;
    fcntl64 => opens;
    mkstemp => opens;
    mkstemp64 => opens;
    mkostemp => opens;
    mkostemp64 => opens;
    mkstemps => opens;
    mkostemps => opens;
    tmpfile => opens;
    tmpfile64 => opens;
    posix_openpt => opens;
    openpty => opens;
    open_by_handle_at => opens;
    openlog => opens;
    syslog => opens;
    setmntent => opens;
    getpwnam => opens;
    getpwuid => opens;
    getgrnam => opens;
    getgrgid => opens;
    setlocale => opens;
    nftw => opens;
    fts_open => opens;
    glob => opens;
}

/// Something is read from the stream that is this argument, or from standard input.
fn reads<const ARGUMENT: usize>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    super::files::touch_stream(arguments[ARGUMENT], from);
}

fn reads_input(_: &'static CStr, _: &[usize; 6], from: &usize) {
    super::files::touch_stream(super::files::input(), from);
}

passes! {
    fgetc => reads::<0>;
    getc => reads::<0>;
    ungetc => reads::<1>;
    getline => reads::<2>;
    getdelim => reads::<3>;
    __getdelim => reads::<3>;
    fscanf => reads::<0>;
    __isoc99_fscanf => reads::<0>;
    vfscanf => reads::<0>;
    __isoc99_vfscanf => reads::<0>;
    fseek => reads::<0>;
    fseeko => reads::<0>;
    fseeko64 => reads::<0>;
    rewind => reads::<0>;
    getchar => reads_input;
    scanf => reads_input;
    __isoc99_scanf => reads_input;
    vscanf => reads_input;
    __isoc99_vscanf => reads_input;
}

/// A mutex that outlives its holder is not under control.
fn robust(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    if arguments[1] as i32 == libc::PTHREAD_MUTEX_ROBUST {
        let site = callers::site(from);
        world::get().unsupported("pthread_mutexattr_setrobust", site);
    }
}

passes! { pthread_mutexattr_setrobust => robust; }

/// The process goes elsewhere, until the run is over.
fn moves(_: &'static CStr, _: &[usize; 6], _: &usize) {
    super::files::moving();
}

passes! {
    chdir => moves;
    fchdir => moves;
    umask => moves;
}

/// The kernel writes so many bytes to where this argument points.
fn writes<const ARGUMENT: usize, const BYTES: usize>(
    _: &'static CStr,
    arguments: &[usize; 6],
    _: &usize,
) {
    if arguments[ARGUMENT] != 0 {
        world::snapshot().touch_range(arguments[ARGUMENT], BYTES);
    }
}

/// As many bytes as another argument says.
fn fills<const ARGUMENT: usize, const LENGTH: usize>(
    _: &'static CStr,
    arguments: &[usize; 6],
    _: &usize,
) {
    if arguments[ARGUMENT] != 0 {
        world::snapshot().touch_range(arguments[ARGUMENT], arguments[LENGTH]);
    }
}

const STAT: usize = size_of::<libc::stat>();

passes! {
    stat => writes::<1, STAT>;
    stat64 => writes::<1, STAT>;
    lstat => writes::<1, STAT>;
    lstat64 => writes::<1, STAT>;
    fstat => writes::<1, STAT>;
    fstat64 => writes::<1, STAT>;
    fstatat => writes::<2, STAT>;
    fstatat64 => writes::<2, STAT>;
    __xstat => writes::<2, STAT>;
    __lxstat => writes::<2, STAT>;
    __fxstat => writes::<2, STAT>;
    statx => writes::<4, 256>;
    statfs => writes::<1, 128>;
    statfs64 => writes::<1, 128>;
    fstatfs => writes::<1, 128>;
    fstatfs64 => writes::<1, 128>;
    uname => writes::<0, 512>;
    sysinfo => writes::<0, 128>;
    times => writes::<0, 64>;
    getrusage => writes::<1, 256>;
    getrlimit => writes::<1, 16>;
    getrlimit64 => writes::<1, 16>;
    prlimit => writes::<3, 16>;
    ioctl => writes::<2, 256>;
    getcwd => fills::<0, 1>;
    readlink => fills::<1, 2>;
    readlinkat => fills::<2, 3>;
    sched_getparam => writes::<1, 64>;
    getgroups => writes::<1, 4096>;
}
