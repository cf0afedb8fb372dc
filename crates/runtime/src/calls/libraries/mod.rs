//! Libraries that a program opens while it runs.
//!
//! Libraries that are loaded from the start can be opened and closed freely. Another one ends the run: the driver restarts the
//! program with that library loaded before the first run ([`loader`]), so that it is restored like everything else and its sites
//! have the same numbers in every run. It is *late* then: to open it is to call its constructors, to close it for the last time is
//! to call its destructors, under the loader's lock ([`initialisation`]). While it is closed, its code cannot be run
//! ([`crate::run::closed_code`]) and its symbols cannot be found ([`symbol_lookup`]).
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

mod initialisation;
mod search_path;
mod symbol_lookup;
mod thread_locals;

use crate::{
    core::{
        cell::RunValue,
        channel,
        families::Family,
        loader::{self, Late},
        modules,
        per_process::{PerProcess, ProcessChange},
        trampoline::{Frame, assembly},
    },
    kernel::{file_names, path_resolution},
    outside_run, real,
    run::{
        call_sites, closed_code,
        hidden_objects::Hidden,
        operations::visible,
        world::{self, Outcome},
    },
    trampoline,
};
use alloc::{boxed::Box, ffi::CString, vec::Vec};
use core::{
    arch::naked_asm,
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};
use initialisation::{make_global, make_ready, take_down};
use reweave_model::{Op, Site, ThreadId};
use reweave_wire::Library;
use search_path::{exists, goes_by, path_of};

pub(crate) static FAMILY: Family = Family {
    prepare: |beginning| prepare(&beginning.libraries),
    begin_run: || OPENED.borrow().clear(),
    process_ends: |_, _| initialisation::finish(),
    module_retained: |address, site| change_retained(address, site, |count| *count += 1),
    module_released: |address, site| change_retained(address, site, |count| *count -= 1),
    clean_up: closed_code::clean_up,
    process_changes,
    program_begins: || OPENED.borrow().clear(),
    ..Family::QUIET
};

trampoline! {
    __reweave_dlopen => open, "rdx";
    dlclose => close, "rsi";
}

/// Libraries that are loaded for a program; more are not under control.
const MOST: usize = 256;

/// The libraries that are there before the first run.
struct Loaded {
    /// Files, and the loader's handles of them; 0: the loader cannot load it. The program itself has no name.
    known: Vec<(CString, usize)>,
    /// Those whose constructors are called in a run.
    late: Vec<Late>,
    /// The handle of a library that has none of the symbols that are only in late ones.
    nothing: *mut c_void,
    /// How many libraries the driver has asked for.
    asked: usize,
}

impl Loaded {
    /// The loader's handle of the program itself.
    fn program(&self) -> Option<*mut c_void> {
        let program = self.known.iter().find(|(path, _)| path.is_empty());
        program.map(|(_, library)| *library as *mut c_void)
    }

    /// The number of the late library with this handle.
    fn late_with(&self, handle: *const c_void) -> Option<usize> {
        self.late.iter().position(|late| late.is(handle))
    }

    /// The number of the late library that an address lies in.
    fn late_at(&self, address: usize) -> Option<usize> {
        self.late.iter().position(|late| late.holds(address))
    }

    /// Loads a library that runs are known to open.
    fn load(&mut self, path: CString, global: bool) {
        let scope = match global {
            true => libc::RTLD_GLOBAL,
            false => libc::RTLD_LOCAL,
        };
        let before = self.late.len();
        let loaded = loader::load(&path, libc::RTLD_NOW | scope, &mut self.late);
        self.known.push((path, loaded as usize));
        for late in &self.late[before..] {
            if late.handle() != loaded {
                let handle = late.handle() as usize;
                self.known.push((late.path().into(), handle));
            }
        }
    }
}

static LOADED: RunValue<Option<&'static Loaded>> = RunValue::new(None);

/// The libraries that are there. They are listed before the first run and do not change.
fn loaded() -> &'static Loaded {
    LOADED.get().expect("listed before the first run")
}

/// What this run has open. Numbers are those of late libraries.
#[derive(Clone)]
struct Opened {
    /// How often each is open.
    open: Vec<usize>,
    /// How often each is kept, open or not: by `RTLD_NODELETE`, by a symbol that the program has found, by C++ objects of threads
    /// that are yet to be destroyed.
    kept: Vec<usize>,
    /// Libraries, and others in which they have found symbols.
    found: Vec<(usize, usize)>,
    /// Those with global scope, in the order in which they are searched.
    global: Vec<usize>,
    /// Those that are initialised, in that order.
    ready: Vec<usize>,
    /// Whether libraries are being taken down, and whether some are to be.
    taking_down: bool,
    take_down_again: bool,
    /// The thread that has the loader's lock, and how often.
    owner: Option<(ThreadId, usize)>,
}

/// *Invariant:* not borrowed while constructors, destructors or functions of the dynamic loader run.
static OPENED: PerProcess<Opened> = PerProcess::new(Opened {
    open: Vec::new(),
    kept: Vec::new(),
    found: Vec::new(),
    global: Vec::new(),
    ready: Vec::new(),
    taking_down: false,
    take_down_again: false,
    owner: None,
});

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    OPENED.change(change);
}

impl Opened {
    fn clear(&mut self) {
        let count = loaded().late.len();
        self.open.clear();
        self.open.resize(count, 0);
        self.kept.clear();
        self.kept.resize(count, 0);
        self.found.clear();
        self.global.clear();
        self.ready.clear();
        self.taking_down = false;
        self.take_down_again = false;
        self.owner = None;
    }
}

/// Opens all that is loaded, and loads what runs are known to open.
fn prepare(wanted: &[Library]) {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    let mut paths = Vec::new();
    modules::each(|module| paths.push(module.path.clone()));
    let mut loaded = Loaded {
        known: Vec::new(),
        late: Vec::new(),
        nothing: ptr::null_mut(),
        asked: wanted.len(),
    };
    for path in paths {
        let Ok(path) = CString::new(path.as_bytes()) else {
            continue;
        };
        let name = match path.is_empty() {
            true => ptr::null(),
            false => path.as_ptr(),
        };
        // SAFETY: the name is null or a C string; with RTLD_NOLOAD no code of a library runs.
        let library = unsafe { real(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if !library.is_null() {
            loaded.known.push((path, library as usize));
        }
    }
    for library in wanted {
        if let Ok(path) = CString::new(library.path.as_bytes()) {
            loaded.load(path, library.global);
        }
    }
    // SAFETY: the name is a C string; with RTLD_NOLOAD no code of a library runs.
    loaded.nothing = unsafe { real(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    for late in &loaded.late {
        let path = late.path().to_bytes();
        closed_code::add(path, late.code.clone(), late.whole.clone());
    }
    LOADED.set(Some(Box::leak(Box::new(loaded))));
    modules::list();
}

/// Outside of runs it goes on to the loader's own, which searches where its caller has libraries.
///
/// # Safety
///
/// For the program, by the rules of `dlopen`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        assembly!(@push "rdi" "rsi"),
        assembly!(room "8"),
        "call {real}",
        assembly!(drop "8"),
        assembly!(@pop "rsi" "rdi"),
        "test rax, rax",
        "je 2f",
        "jmp rax",
        "2:",
        "jmp {open}",
        ".cfi_endproc",
        real = sym real_outside_of_runs,
        open = sym __reweave_dlopen,
    )
}

extern "C" fn real_outside_of_runs() -> *mut c_void {
    match world::active() {
        true => ptr::null_mut(),
        false => {
            path_resolution::names_file();
            real!(dlopen: fn(*const c_char, c_int) -> *mut c_void) as *mut c_void
        }
    }
}

/// # Safety
///
/// As `dlopen`: `name` is null or a C string.
unsafe extern "C" fn open(name: *const c_char, flags: c_int, frame: &Frame) -> *mut c_void {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    if flags & (libc::RTLD_LAZY | libc::RTLD_NOW) == 0 {
        // SAFETY: `name` is null or a C string, by this function's contract; the loader refuses these flags.
        return unsafe { real(name, flags) };
    }
    let name = match name.is_null() {
        true => c"",
        // SAFETY: not null, so it is a C string, by this function's contract.
        false => unsafe { CStr::from_ptr(name) },
    };
    let site = call_sites::site(&frame.return_address);
    let found = find(name, frame, site);
    // What such a call finds depends on files, unless the library is there from the start.
    if found.is_none_or(|library| library.is_null() || loaded().late_with(library).is_some()) {
        path_resolution::names_file();
    }
    let Some(library) = found else {
        if flags & libc::RTLD_NOLOAD != 0 {
            enter(site);
            leave(site);
            let path = path_of(name, frame).filter(|path| exists(path));
            let asked = path.as_deref().unwrap_or(name);
            // SAFETY: a C string of a library that is not loaded, and with RTLD_NOLOAD it is not loaded now. A missing file has a
            // message.
            return unsafe { real(asked.as_ptr(), flags) };
        }
        match path_of(name, frame) {
            Some(path) => want(&path, flags, site),
            None => world::unsupported("dlopen", site),
        }
    };
    if library.is_null() {
        // It fails with the loader's own message.
        let fails = || {
            // SAFETY: the name is a C string of a library that the loader could not load before, so no code runs. No borrow is
            // alive.
            unsafe { real(name.as_ptr(), flags) }
        };
        fails();
        let has_global = !OPENED.borrow().global.is_empty();
        let may_succeed = flags & libc::RTLD_LAZY != 0 || has_global;
        if may_succeed && lacks_symbols() {
            world::unsupported("dlopen", site);
        }
        return fails();
    }
    loader::clear_message();
    match loaded().late_with(library) {
        None => library,
        Some(late) if open_late(late, flags, site) => library,
        Some(_) => ptr::null_mut(),
    }
}

/// Whether a library could not be loaded just now because of symbols that other libraries may have, or that are never used.
fn lacks_symbols() -> bool {
    const LACKS: &[u8] = b"undefined symbol";
    // SAFETY: `dlerror` returns null or a C string that stays until the running thread's next call of the loader.
    let message = unsafe {
        let message = libc::dlerror().cast_const();
        (!message.is_null()).then(|| CStr::from_ptr(message))
    };
    let lacks = |message: &CStr| {
        let mut parts = message.to_bytes().windows(LACKS.len());
        parts.any(|part| part == LACKS)
    };
    message.is_some_and(lacks)
}

/// The loader's handle of a library that is loaded; null: it is known that the loader cannot load it.
fn find(name: &CStr, frame: &Frame, site: Site) -> Option<*mut c_void> {
    let known = |name: &CStr| {
        let mut known = loaded().known.iter();
        known.find(|(path, _)| goes_by(path, name))
    };
    let library = |(_, library): &(CString, usize)| *library as *mut c_void;
    if !name.to_bytes().contains(&b'/') {
        let found = known(name).or_else(|| known(&path_of(name, frame)?));
        return found.map(library);
    }
    // Other threads may change where the path leads.
    file_names::enter(false, site);
    let Some(path) = path_of(name, frame) else {
        file_names::refuse("dlopen", site);
    };
    file_names::leave(site);
    known(&path).map(library)
}

/// Opens a late library; whether it is open then.
fn open_late(late: usize, flags: c_int, site: Site) -> bool {
    enter(site);
    let opens = flags & libc::RTLD_NOLOAD == 0 || OPENED.borrow().ready.contains(&late);
    if opens {
        {
            let mut opened = OPENED.borrow();
            opened.open[late] += 1;
            if flags & libc::RTLD_NODELETE != 0 {
                opened.kept[late] += 1;
            }
        }
        if flags & libc::RTLD_GLOBAL != 0 {
            make_global(late, site);
        }
        make_ready(late, site);
    }
    leave(site);
    opens
}

/// Changes how often a late library, in which an address lies, is kept for an object of a thread.
fn change_retained(address: usize, site: Site, change: fn(&mut usize)) {
    if let Some(late) = loaded().late_at(address) {
        enter(site);
        change(&mut OPENED.borrow().kept[late]);
        leave(site);
    }
}

/// Ends the run, to have the library loaded.
fn want(path: &CStr, flags: c_int, site: Site) -> ! {
    let global = flags & libc::RTLD_GLOBAL != 0;
    if loaded().asked >= MOST || !channel::want(path.to_bytes(), global) {
        world::unsupported("dlopen", site);
    }
    world::leave(Outcome::Open)
}

/// # Safety
///
/// As `dlclose`: `library` was returned by `dlopen`.
unsafe extern "C" fn close(library: *mut c_void, frame: &Frame) -> c_int {
    outside_run!(dlclose: fn(library: *mut c_void) -> c_int);
    let site = call_sites::site(&frame.return_address);
    loader::clear_message();
    let Some(late) = loaded().late_with(library) else {
        let known = |(_, other): &(CString, usize)| *other == library as usize;
        if library.is_null() || !loaded().known.iter().any(known) {
            world::unsupported("dlclose", site);
        }
        return 0;
    };
    enter(site);
    let (closes, last) = {
        let mut opened = OPENED.borrow();
        let open = &mut opened.open[late];
        let closes = *open > 0;
        *open = open.saturating_sub(1);
        (closes, *open == 0)
    };
    if closes && last {
        take_down(site);
    }
    leave(site);
    if closes { 0 } else { -1 }
}

/// Takes the loader's lock, or takes it once more.
fn enter(site: Site) {
    let me = world::borrow().current;
    if let Some((owner, depth)) = &mut OPENED.borrow().owner
        && *owner == me
    {
        *depth += 1;
        return;
    }
    visible(Op::Lock(Hidden::Loader.object()), site);
    OPENED.borrow().owner = Some((me, 1));
}

/// Releases the loader's lock, if it was taken once.
fn leave(site: Site) {
    let last = {
        let mut opened = OPENED.borrow();
        let Some((_, depth)) = &mut opened.owner else {
            return;
        };
        *depth -= 1;
        let last = *depth == 0;
        if last {
            opened.owner = None;
        }
        last
    };
    if last {
        visible(Op::Unlock(Hidden::Loader.object()), site);
    }
}
