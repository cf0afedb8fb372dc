//! Functions of the C library that keep something in memory which all threads share: results, positions, the environment, the
//! locale. Two unordered calls race there, as the library's own documentation says (`attributes(7)`: *MT-Unsafe*), and so do the
//! use of a result and the next call.
//!
//! Only the environment and results have addresses that programs know. Variables here stand for the rest; their names appear in
//! reports, and no program can have a variable of such a name.
//!
//! *May miss* what functions read of the locale (`printf`, `isalpha`), and of time zones.

use crate::{
    core::{real::Real, trampoline::Frame},
    kernel::passed_calls,
    run::{
        accesses::{access, range, text_argument},
        call_sites, cancellation, spin, world,
    },
};
use core::ffi::{CStr, c_char};
use reweave_memory::Kind;

/// Something that is kept: where it is.
pub(crate) type Kept = fn() -> usize;

/// Defines what stands for it.
macro_rules! kept {
    ($($what:ident = $name:literal;)*) => {$(
        pub(crate) fn $what() -> usize {
            #[cfg_attr(not(test), unsafe(export_name = $name))]
            static PLACE: u64 = 0;
            &raw const PLACE as usize
        }
    )*};
}

kept! {
    broken_down_time = "gmtime.result";
    time_text = "asctime.result";
    locale = "setlocale.state";
    locale_numbers = "localeconv.result";
    options = "getopt.state";
    hash_table = "hsearch.table";
    rest_of_text = "strtok.state";
    user_by_name = "getpwnam.result";
    user_by_number = "getpwuid.result";
    users = "getpwent.state";
    group_by_name = "getgrnam.result";
    group_by_number = "getgrgid.result";
    groups = "getgrent.state";
    service_by_name = "getservbyname.result";
    service_by_port = "getservbyport.result";
    protocol_by_name = "getprotobyname.result";
    protocol_by_number = "getprotobynumber.result";
    mount = "getmntent.result";
    logins = "getutent.state";
    terminal = "ttyname.result";
    other_terminal = "ptsname.result";
    login = "getlogin.result";
    digits = "l64a.result";
    decimal = "ecvt.result";
    temporary = "tmpnam.result";
    controlling_terminal = "ctermid.result";
    secret = "crypt.result";
    length_shift = "mblen.state";
    wide_shift = "mbtowc.state";
    narrow_shift = "wctomb.state";
    restart_length = "mbrlen.state";
    restart_wide = "mbrtowc.state";
    restart_narrow = "wcrtomb.state";
    restart_wides = "mbsrtowcs.state";
    restart_narrows = "wcsrtombs.state";
}

/// The environment is where the program finds it.
pub(crate) fn environment() -> usize {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    &raw const environ as usize
}

/// When a call touches what is kept.
enum When {
    Always,
    /// If this argument is null.
    Without(usize),
    /// If it is not.
    With(usize),
    /// Nothing is kept: this argument is a text, which is read.
    Text(usize),
}

struct Touch {
    what: Kept,
    writes: bool,
    when: When,
}

impl Touch {
    const fn new(what: Kept, writes: bool, when: When) -> Touch {
        Touch { what, writes, when }
    }

    fn happens(&self, arguments: &[usize; 6]) -> bool {
        match self.when {
            When::Always => true,
            When::Without(number) => arguments[number] == 0,
            When::With(number) => arguments[number] != 0,
            When::Text(_) => true,
        }
    }
}

const fn reads(what: Kept) -> Touch {
    Touch::new(what, false, When::Always)
}

const fn writes(what: Kept) -> Touch {
    Touch::new(what, true, When::Always)
}

const fn reads_text(argument: usize) -> Touch {
    Touch::new(environment, false, When::Text(argument))
}

const fn reads_without(what: Kept, argument: usize) -> Touch {
    Touch::new(what, false, When::Without(argument))
}

const fn writes_without(what: Kept, argument: usize) -> Touch {
    Touch::new(what, true, When::Without(argument))
}

const fn reads_with(what: Kept, argument: usize) -> Touch {
    Touch::new(what, false, When::With(argument))
}

const fn writes_with(what: Kept, argument: usize) -> Touch {
    Touch::new(what, true, When::With(argument))
}

/// What a call goes through for its answer.
#[derive(PartialEq, Eq)]
enum Effort {
    /// Memory.
    None,
    /// It may open something for itself, or map memory.
    Loads,
    /// The same, by calls that are cancellation points.
    Asks,
}

struct Call {
    real: Real,
    effort: Effort,
    touches: &'static [Touch],
    /// How many bytes of what it returns are kept.
    result: fn(usize) -> usize,
}

/// Calls it, with its first six arguments.
extern "C" fn called(call: &Call, arguments: &[usize; 6], frame: &Frame) -> isize {
    type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;
    // SAFETY: every function of `keeps!` takes at most six integer arguments and returns an integer or a pointer; further arguments
    // in registers are ignored.
    let real: Function = unsafe { core::mem::transmute(call.real.get()) };
    let [a, b, c, d, e, f] = *arguments;
    if !world::active() {
        // SAFETY: the arguments are those of the program's own call of this function.
        return unsafe { real(a, b, c, d, e, f) };
    }
    if call.effort == Effort::Asks {
        cancellation::point(frame);
    }
    if call.effort != Effort::None {
        passed_calls::prepares();
    }
    let frame = &call_sites::frame(frame);
    for touch in call.touches.iter().filter(|touch| touch.happens(arguments)) {
        match touch.when {
            // SAFETY: the C library demands of its caller that this argument ends with a nul.
            When::Text(number) => unsafe {
                text_argument(arguments[number] as *const c_char, frame.return_address);
            },
            _ => touched(touch.what, touch.writes, frame),
        }
    }
    // SAFETY: the arguments are those of the program's own call of this function. No borrow is alive.
    let result = unsafe { real(a, b, c, d, e, f) };
    if result != 0 {
        let place = result as usize;
        match (call.result)(place) {
            0 => {}
            bytes => access(place, bytes, Kind::Write, frame.return_address),
        }
    }
    result
}

/// A call of the program touches what is kept.
pub(crate) fn touched(what: Kept, writes: bool, frame: &Frame) {
    if writes {
        spin::disturbed();
    }
    range(what(), size_of::<u64>(), writes, frame);
}

/// Nothing that it returns is kept.
fn nothing(_: usize) -> usize {
    0
}

/// So many bytes.
fn bytes<const BYTES: usize>(_: usize) -> usize {
    BYTES
}

/// A text.
fn text(place: usize) -> usize {
    // SAFETY: `place` is what a function returned that returns a C string or null, and it is not null.
    unsafe { CStr::from_ptr(place as *const c_char) }.count_bytes() + 1
}

macro_rules! keeps {
    ($effort:ident: $($name:ident => $result:expr, [$($touch:expr),*];)*) => {$(
        const _: () = {
            static CALL: Call = Call {
                // SAFETY: the text is an identifier followed by the only nul.
                real: Real::new(unsafe {
                    CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
                }),
                effort: Effort::$effort,
                touches: &[$($touch),*],
                result: $result,
            };
            passed_calls::called_with!($name, CALL, called);
        };
    )*};
}

const TIME: usize = size_of::<libc::tm>();

keeps! { None:
    getenv => nothing, [reads(environment), reads_text(0)];
    secure_getenv => nothing, [reads(environment), reads_text(0)];
    setenv => nothing, [writes(environment), reads_text(0), reads_text(1)];
    unsetenv => nothing, [writes(environment), reads_text(0)];
    putenv => nothing, [writes(environment), reads_text(0)];
    clearenv => nothing, [writes(environment)];
    gmtime => bytes::<TIME>, [writes(broken_down_time)];
    localtime => bytes::<TIME>, [reads(environment), writes(broken_down_time)];
    asctime => text, [writes(time_text)];
    ctime => text, [reads(environment), writes(broken_down_time), writes(time_text)];
    mktime => nothing, [reads(environment)];
    timelocal => nothing, [reads(environment)];
    tzset => nothing, [reads(environment)];
    localeconv => bytes::<{ size_of::<libc::lconv>() }>, [reads(locale), writes(locale_numbers)];
    nl_langinfo => nothing, [reads(locale)];
    getopt => nothing, [reads(environment), writes(options)];
    getopt_long => nothing, [reads(environment), writes(options)];
    getopt_long_only => nothing, [reads(environment), writes(options)];
    hcreate => nothing, [writes(hash_table)];
    hdestroy => nothing, [writes(hash_table)];
    // An entry takes two registers; what is to be done with it comes behind that, and zero is to look for it.
    hsearch => nothing, [reads_without(hash_table, 2), writes_with(hash_table, 2)];
    getmntent => bytes::<{ size_of::<libc::mntent>() }>, [writes(mount)];
    setutent => nothing, [writes(logins)];
    endutent => nothing, [writes(logins)];
    getutent => bytes::<{ size_of::<libc::utmpx>() }>, [writes(logins)];
    getutid => nothing, [writes(logins)];
    getutline => nothing, [writes(logins)];
    pututline => nothing, [writes(logins)];
    ttyname => text, [writes(terminal)];
    ptsname => text, [writes(other_terminal)];
    getlogin => text, [writes(login)];
    l64a => text, [writes(digits)];
    tmpnam => nothing, [writes_without(temporary, 0)];
    ctermid => nothing, [writes_without(controlling_terminal, 0)];
    crypt => text, [writes(secret)];
    mblen => nothing, [writes(length_shift)];
    mbtowc => nothing, [writes(wide_shift)];
    wctomb => nothing, [writes(narrow_shift)];
    mbrlen => nothing, [writes_without(restart_length, 2)];
    mbrtowc => nothing, [writes_without(restart_wide, 3)];
    wcrtomb => nothing, [writes_without(restart_narrow, 2)];
    mbsrtowcs => nothing, [writes_without(restart_wides, 3)];
    wcsrtombs => nothing, [writes_without(restart_narrows, 3)];
}

const USER: usize = size_of::<libc::passwd>();
const GROUP: usize = size_of::<libc::group>();
const SERVICE: usize = size_of::<libc::servent>();
const PROTOCOL: usize = size_of::<libc::protoent>();

keeps! { Loads:
    setlocale => nothing, [reads_without(locale, 1), reads_with(environment, 1), writes_with(locale, 1)];
}

keeps! { Asks:
    getpwnam => bytes::<USER>, [writes(user_by_name)];
    getpwuid => bytes::<USER>, [writes(user_by_number)];
    getpwent => bytes::<USER>, [writes(users)];
    setpwent => nothing, [writes(users)];
    endpwent => nothing, [writes(users)];
    getgrnam => bytes::<GROUP>, [writes(group_by_name)];
    getgrgid => bytes::<GROUP>, [writes(group_by_number)];
    getgrent => bytes::<GROUP>, [writes(groups)];
    setgrent => nothing, [writes(groups)];
    endgrent => nothing, [writes(groups)];
    getservbyname => bytes::<SERVICE>, [writes(service_by_name)];
    getservbyport => bytes::<SERVICE>, [writes(service_by_port)];
    getprotobyname => bytes::<PROTOCOL>, [writes(protocol_by_name)];
    getprotobynumber => bytes::<PROTOCOL>, [writes(protocol_by_number)];
}

passed_calls::passes! {
    ecvt => prints_digits;
    fcvt => prints_digits;
}

/// Those that take fractions.
fn prints_digits(_: &'static CStr, _: &[usize; 6], from: &usize) {
    let frame = Frame {
        registers: [0; 6],
        return_address: call_sites::address(from),
    };
    touched(decimal, true, &frame);
}
