//! Loads a library before the first run, and leaves its constructors for the run in which the program opens it.
//!
//! The loader tells debuggers of what it has mapped before it calls anything there: it calls an empty function whose place is known. A breakpoint makes us the
//! debugger. There the lists of constructors and destructors are taken out of what the loader reads.

mod message;
mod symbols;
mod tables;

pub use message::{KeptMessage, clear_message};
pub use symbols::next;
use symbols::{define_one_name, thread_local};

use crate::{
    core::{
        cell::{ASIDE, RunCell},
        program_start,
        restore::PAGE,
        sys,
    },
    real,
};
use alloc::vec::Vec;
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
    ops::Range,
    ptr,
};
use tables::*;

/// A library as the loader tells of it.
#[repr(C)]
pub struct Map {
    start: usize,
    name: *const c_char,
    dynamic: *mut [usize; 2],
    next: *mut Map,
}

#[repr(C)]
struct Debug {
    _version: c_int,
    first: *mut Map,
    /// The function that is called when something has changed.
    changed: usize,
    /// 0: nothing is half done.
    state: c_int,
}

/// A library whose constructors have not been called.
pub struct Late {
    map: *const Map,
    /// Its first constructor; a list of others: where, and how many. Then the same of destructors.
    first: Option<usize>,
    list: (usize, usize),
    last: Option<usize>,
    last_list: (usize, usize),
    /// It is never unloaded.
    pub stays: bool,
    /// Those that it needs, by their place in the list of all.
    pub needs: Vec<usize>,
    /// Those that have what its names stand for.
    pub uses: Vec<usize>,
    /// Where its code lies.
    pub code: Vec<Range<usize>>,
    /// Where its variables lie.
    pub variables: Vec<Range<usize>>,
    /// Where all of it lies.
    pub whole: Vec<Range<usize>>,
    /// Variables that each thread has for itself.
    pub locals: Option<Locals>,
}

/// What variables of threads' own begin with: where that lies, how long it is, and how many bytes there are with the zeros that follow.
pub struct Locals {
    pub image: usize,
    pub set: usize,
    pub bytes: usize,
}

/// What is done while the loader works.
struct Watch {
    known: Vec<*const Map>,
    found: Vec<Late>,
}

static WATCH: RunCell<Option<Watch>, ASIDE> = RunCell::new(None);

unsafe extern "C" {
    /// What the loader tells debuggers.
    #[link_name = "_r_debug"]
    static DEBUG: Debug;
}

fn debug() -> &'static Debug {
    // SAFETY: the loader's own, which stays; it changes only while libraries are loaded.
    unsafe { &DEBUG }
}

fn maps() -> impl Iterator<Item = *const Map> {
    let there = |map: *mut Map| (!map.is_null()).then_some(map.cast_const());
    let first = there(debug().first);
    // SAFETY: the dynamic loader's list of loaded objects: entries stay valid while no library is closed, and
    // nothing closes one here.
    core::iter::successors(first, move |map| unsafe { there((**map).next) })
}

/// The library that lies there.
pub fn at(start: usize) -> Option<*const Map> {
    // SAFETY: entries of the loader's list stay valid while no library is closed, and nothing closes one here.
    maps().find(|map| unsafe { (**map).start } == start)
}

/// Loads a library with all that it needs. What the loader has for it; null: it cannot be loaded.
pub fn load(path: &CStr, flags: c_int, late: &mut Vec<Late>) -> *mut c_void {
    let (library, mut tried) = found(path, flags);
    if library.is_null() {
        return library;
    }
    // Whether it can be unloaded is known only to the loader.
    // SAFETY: `library` was returned by `dlopen` just now, and none of its code has run.
    unsafe { real!(dlclose: fn(*mut c_void) -> c_int)(library) };
    tried.retain_mut(|late| {
        late.stays = maps().any(|map| map == late.map);
        late.stays
    });
    late.extend(tried);
    let (library, again) = found(path, flags);
    late.extend(again);
    connect(late);
    library
}

/// Loads a library; what is new with it.
fn found(path: &CStr, flags: c_int) -> (*mut c_void, Vec<Late>) {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    let watch = Watch {
        known: maps().collect(),
        found: Vec::new(),
    };
    *WATCH.borrow() = Some(watch);
    // SAFETY: the path is a C string. Constructors are taken out at the breakpoint, so none of the library's code runs.
    let library = with_breakpoint(|| unsafe { real(path.as_ptr(), flags) });
    let watch = WATCH.borrow().take();
    (library, watch.map_or_else(Vec::new, |watch| watch.found))
}

/// Does something with a breakpoint where the loader tells of changes.
fn with_breakpoint<T>(work: impl FnOnce() -> T) -> T {
    const BREAKPOINT: u8 = 0xcc;
    let debug = debug();
    let place = debug.changed as *mut u8;
    let page = debug.changed & !(PAGE - 1);
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let sigaction =
        real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    // SAFETY: code of the loader's that nobody runs at this moment; the handler has the type that SA_SIGINFO asks for.
    unsafe {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        let mut new = old;
        new.sa_sigaction = changed as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO;
        if !sys::protect(page, PAGE, all) {
            crate::give_up(format_args!(
                "the operating system does not let a library be loaded without its constructors"
            ));
        }
        sigaction(libc::SIGTRAP, &new, &mut old);
        let before = place.read();
        place.write_volatile(BREAKPOINT);
        let done = work();
        place.write_volatile(before);
        sys::protect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC);
        sigaction(libc::SIGTRAP, &old, ptr::null_mut());
        done
    }
}

/// At the breakpoint: the function that is there only returns.
///
/// # Safety
///
/// Called by the kernel as a signal handler with SA_SIGINFO, at the breakpoint.
unsafe extern "C" fn changed(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own context; its stack begins with the return address.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize];
        registers[libc::REG_RIP as usize] = *(stack as *const i64);
        registers[libc::REG_RSP as usize] = stack + 8;
    }
    let mut watch = WATCH.borrow();
    let settled = debug().state == 0;
    let Some(watch) = watch.as_mut().filter(|_| settled) else {
        return;
    };
    for map in maps().filter(|map| !watch.known.contains(map)) {
        // SAFETY: the loader has just mapped it, and has called nothing in it.
        watch.found.push(unsafe { take(map) });
    }
    watch.known.extend(watch.found.iter().map(|late| late.map));
}

/// Takes a library's constructors and destructors out.
///
/// # Safety
/// As [`entries`], and nothing in it was called.
unsafe fn take(map: *const Map) -> Late {
    extern "C" fn nothing() {}
    // SAFETY: by the caller, the library is loaded and none of its code has run, so its dynamic section may
    // be changed.
    unsafe {
        let count = entries(map).count();
        let (dynamic, start) = ((*map).dynamic as usize, (*map).start);
        let page = dynamic & !(PAGE - 1);
        let bytes = (dynamic + 16 * count - page).next_multiple_of(PAGE);
        sys::protect(page, bytes, libc::PROT_READ | libc::PROT_WRITE);
        let mut late = Late {
            map,
            first: None,
            list: (0, 0),
            last: None,
            last_list: (0, 0),
            stays: false,
            needs: Vec::new(),
            uses: Vec::new(),
            code: segments(start, EXECUTABLE),
            variables: segments(start, WRITABLE),
            whole: segments(start, READABLE),
            locals: locals(start),
        };
        let instead = (nothing as *const () as usize).wrapping_sub(start);
        for entry in entries(map) {
            let [tag, value] = *entry;
            let mut becomes = value;
            match tag {
                INIT => (late.first, becomes) = (Some(start + value), instead),
                FINI => (late.last, becomes) = (Some(start + value), instead),
                INIT_ARRAY => late.list.0 = start + value,
                FINI_ARRAY => late.last_list.0 = start + value,
                INIT_ARRAY_BYTES => (late.list.1, becomes) = (value / 8, 0),
                FINI_ARRAY_BYTES => (late.last_list.1, becomes) = (value / 8, 0),
                _ => {}
            }
            (*entry)[1] = becomes;
        }
        late
    }
}

/// Finds out what each needs.
fn connect(all: &mut [Late]) {
    for index in 0..all.len() {
        let names = texts(all[index].map, NEEDED);
        let needed = |other: &usize| names.iter().any(|name| all[*other].goes_by(name));
        let needs = (0..all.len()).filter(needed).collect();
        let places = references(all[index].map);
        let used =
            |other: &usize| *other != index && places.iter().any(|place| all[*other].holds(*place));
        let uses = (0..all.len()).filter(used).collect();
        (all[index].needs, all[index].uses) = (needs, uses);
    }
}

impl Late {
    /// Whether it is what the loader has for a library.
    pub fn is(&self, library: *const c_void) -> bool {
        self.map.cast() == library
    }

    /// What the loader has for it.
    pub fn handle(&self) -> *mut c_void {
        self.map.cast_mut().cast()
    }

    /// Its file.
    pub fn path(&self) -> &CStr {
        // SAFETY: the loader keeps a nul-terminated name for as long as the library is loaded, and this one
        // stays.
        unsafe { CStr::from_ptr((*self.map).name) }
    }

    pub fn starts_at(&self, start: usize) -> bool {
        // SAFETY: the library stays loaded, so the loader's entry for it stays valid.
        unsafe { (*self.map).start == start }
    }

    /// Whether something lies in it.
    pub fn holds(&self, address: usize) -> bool {
        self.whole.iter().any(|range| range.contains(&address))
    }

    /// Whether both define a name of which only one definition counts for others.
    pub fn defines_as(&self, other: &Late) -> bool {
        define_one_name(self.map, other.map)
    }

    fn goes_by(&self, name: &CStr) -> bool {
        let path = self.path().to_bytes();
        let file = path.rsplit(|byte| *byte == b'/').next();
        file == Some(name.to_bytes()) || texts(self.map, SONAME).contains(&name)
    }

    /// Calls its constructors, as the loader would.
    pub fn construct(&self) {
        type Function = unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char);
        let (count, arguments, environment) = program_start::arguments();
        for function in self.first.into_iter().chain(functions(self.list)) {
            // SAFETY: one of the functions that the loader would call now.
            unsafe {
                let function: Function = core::mem::transmute(function);
                function(count, arguments, environment);
            }
        }
    }

    /// Calls its destructors.
    pub fn destruct(&self) {
        let list: Vec<usize> = functions(self.last_list).collect();
        for function in list.into_iter().rev().chain(self.last) {
            // SAFETY: the library lists the function as a destructor, so it has this signature, and the library stays loaded.
            unsafe { core::mem::transmute::<usize, unsafe extern "C" fn()>(function)() };
        }
    }
}

/// The functions of a list; some have places for none.
fn functions((place, count): (usize, usize)) -> impl Iterator<Item = usize> {
    // SAFETY: `place` is an array of `count` function pointers in the library, which stays loaded.
    let function = move |index| unsafe { *(place as *const usize).add(index) };
    (0..count)
        .map(function)
        .filter(|function| *function + 1 > 1)
}
