//! Libraries that a program opens while it runs.
//!
//! Those that are loaded from the start it may open and close as it likes. One that is not ends the run: the driver starts the program anew, with that
//! library loaded before the first run ([`loader`]), so that it is put back like everything else and its places have the same numbers in
//! every run. To open it is then to call its constructors, to close it for the last time its destructors, under the loader's lock. Its
//! code cannot be run while it is closed ([`guard`]), its names cannot be found ([`names`]).

mod guard;
mod locals;
mod names;
mod places;
mod ready;

pub use guard::{Trap, ran, refresh};

use crate::{
    core::{
        call_sites, channel,
        families::Family,
        hidden_objects::Hidden,
        loader::{self, Late},
        operations::visible,
        world::{self, Outcome},
    },
    hooks::Frame,
    kernel::file_names,
    real, trampoline,
};
use alloc::{ffi::CString, vec::Vec};
use core::{
    arch::naked_asm,
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};
use places::{goes_by, path_of};
use ready::{make_ready, show, take_down};
use reweave_model::{Op, Site, ThreadId};
use reweave_wire::Library;

pub(crate) static FAMILY: Family = Family {
    prepare: |beginning| prepare(&beginning.libraries),
    process_ends: |_, _| ready::finish(),
    module_retained: keep,
    module_released: let_go,
    clean_up: guard::clean_up,
    ..Family::QUIET
};

trampoline! {
    __reweave_dlopen => open, "rdx";
    dlclose => close, "rsi";
}

/// Libraries that are loaded for a program; more are not under control.
const MOST: usize = 256;

/// What there is before the first run.
struct All {
    /// Files, and what the loader knows them by; 0: it cannot load them. The program itself has no name.
    known: Vec<(CString, usize)>,
    /// Those whose constructors are called in a run.
    late: Vec<Late>,
    /// What has none of the names that are only in late ones.
    nothing: *mut c_void,
    asked: usize,
}

impl All {
    /// What the loader knows the program itself by.
    fn program(&self) -> Option<*mut c_void> {
        let program = self.known.iter().find(|(path, _)| path.is_empty());
        program.map(|(_, library)| *library as *mut c_void)
    }
}

struct Global(UnsafeCell<All>);
// SAFETY: one OS thread, and written before the first run.
unsafe impl Sync for Global {}
static ALL: Global = Global(UnsafeCell::new(All {
    known: Vec::new(),
    late: Vec::new(),
    nothing: ptr::null_mut(),
    asked: 0,
}));

fn all() -> &'static mut All {
    // SAFETY: as above.
    unsafe { &mut *ALL.0.get() }
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// How often each of the late ones is open.
    open: Vec<usize>,
    /// How often each is kept, open or not: by who wants it never to be unloaded, by C++ objects of threads that are yet to be destroyed.
    kept: Vec<usize>,
    /// Libraries, and others in which they have found names.
    found: Vec<(usize, usize)>,
    /// Those whose names all see, in the order in which they are searched.
    global: Vec<usize>,
    /// Those that are ready, in the order in which they became so.
    ready: Vec<usize>,
    /// Those that were closed, and whose code cannot be run.
    closed: Vec<usize>,
    /// Those whose code can be run without a trap, for now.
    bare: Vec<usize>,
    /// Whether libraries are being taken down, and whether some are to be.
    going: bool,
    goes: bool,
    /// Who holds the lock, and how often.
    owner: Option<(ThreadId, usize)>,
}

impl State {
    pub fn clear(&mut self) {
        self.open.clear();
        self.open.resize(all().late.len(), 0);
        self.kept.clear();
        self.kept.resize(all().late.len(), 0);
        self.found.clear();
        self.global.clear();
        self.bare.clear();
        self.ready.clear();
        self.going = false;
        self.goes = false;
        self.owner = None;
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.libraries
}

/// Opens all that is loaded, and loads what runs are known to open.
pub fn prepare(wanted: &[Library]) {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    let mut paths = Vec::new();
    crate::core::modules::each(|module| paths.push(module.path.clone()));
    for path in paths {
        let Ok(path) = CString::new(path.as_bytes()) else {
            continue;
        };
        let name = match path.is_empty() {
            true => ptr::null(),
            false => path.as_ptr(),
        };
        // SAFETY: a valid name.
        let library = unsafe { real(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if !library.is_null() {
            all().known.push((path, library as usize));
        }
    }
    for library in wanted {
        let Ok(path) = CString::new(library.path.as_bytes()) else {
            continue;
        };
        load(path, library.global);
    }
    // SAFETY: a valid name.
    all().nothing = unsafe { real(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    all().asked = wanted.len();
    crate::core::modules::list();
}

/// Loads a library that runs are known to open.
fn load(path: CString, global: bool) {
    let scope = match global {
        true => libc::RTLD_GLOBAL,
        false => libc::RTLD_LOCAL,
    };
    let before = all().late.len();
    let loaded = loader::load(&path, libc::RTLD_NOW | scope, &mut all().late);
    all().known.push((path, loaded as usize));
    for late in &all().late[before..] {
        if late.handle() != loaded {
            all()
                .known
                .push((late.path().into(), late.handle() as usize));
        }
    }
}

/// Outside of runs it goes on to the loader's own, which looks where its caller has libraries.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 24",
        "call {real}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -24",
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
        false => real!(dlopen: fn(*const c_char, c_int) -> *mut c_void) as *mut c_void,
    }
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, frame: &Frame) -> *mut c_void {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    if flags & (libc::RTLD_LAZY | libc::RTLD_NOW) == 0 {
        // SAFETY: the program's own arguments, which the loader refuses.
        return unsafe { real(name, flags) };
    }
    let name = match name.is_null() {
        true => c"",
        // SAFETY: the program's own text.
        false => unsafe { CStr::from_ptr(name) },
    };
    let site = call_sites::site(&frame.return_address);
    let Some(library) = find(name, frame, site) else {
        if flags & libc::RTLD_NOLOAD != 0 {
            enter(site);
            leave(site);
            return ptr::null_mut();
        }
        match path_of(name, frame) {
            Some(path) => want(&path, flags, site),
            None => world::get().unsupported("dlopen", site),
        }
    };
    if library.is_null() {
        // It fails with the loader's own words.
        let fails = || {
            // SAFETY: a valid name.
            unsafe { real(name.as_ptr(), flags) }
        };
        fails();
        let may_do = flags & libc::RTLD_LAZY != 0 || !state().global.is_empty();
        if may_do && lacks_names() {
            world::get().unsupported("dlopen", site);
        }
        return fails();
    }
    // A call that goes well takes away what an earlier one has left to be said.
    // SAFETY: the running thread's own.
    unsafe { libc::dlerror() };
    match all().late.iter().position(|late| late.is(library)) {
        None => library,
        Some(late) if open_late(late, flags, site) => library,
        Some(_) => ptr::null_mut(),
    }
}

/// Whether a library could not be loaded just now because of names that others may have, or that nobody may come to use.
fn lacks_names() -> bool {
    const LACKS: &[u8] = b"undefined symbol";
    // SAFETY: the loader's own text.
    let said = unsafe { libc::dlerror().cast_const() };
    // SAFETY: as above.
    let said = (!said.is_null()).then(|| unsafe { CStr::from_ptr(said) });
    let lacks = |said: &CStr| {
        said.to_bytes()
            .windows(LACKS.len())
            .any(|part| part == LACKS)
    };
    said.is_some_and(lacks)
}

/// What the loader has for a library that is loaded; null: it is known that it cannot be.
fn find(name: &CStr, frame: &Frame, site: Site) -> Option<*mut c_void> {
    let known = |name: &CStr| all().known.iter().find(|(path, _)| goes_by(path, name));
    let library = |(_, library): &(CString, usize)| *library as *mut c_void;
    if !name.to_bytes().contains(&b'/') {
        let found = known(name).or_else(|| known(&path_of(name, frame)?));
        return found.map(library);
    }
    // Where the path leads may be changed by others.
    file_names::enter(false, site);
    let Some(path) = path_of(name, frame) else {
        file_names::refuse("dlopen", site);
    };
    file_names::leave(site);
    known(&path).map(library)
}

/// Opens one of the late ones, or says that it is not open.
fn open_late(late: usize, flags: c_int, site: Site) -> bool {
    enter(site);
    let opens = flags & libc::RTLD_NOLOAD == 0 || state().ready.contains(&late);
    if opens {
        state().open[late] += 1;
        if flags & libc::RTLD_NODELETE != 0 {
            state().kept[late] += 1;
        }
        if flags & libc::RTLD_GLOBAL != 0 {
            show(late);
        }
        make_ready(late, site);
    }
    leave(site);
    opens
}

/// The library that an object of a thread's belongs to is kept until that is destroyed.
pub fn keep(module: usize, site: Site) {
    count(module, site, |kept| *kept += 1);
}

/// It was destroyed.
pub fn let_go(module: usize, site: Site) {
    count(module, site, |kept| *kept -= 1);
}

fn count(module: usize, site: Site, change: fn(&mut usize)) {
    if let Some(late) = all().late.iter().position(|late| late.holds(module)) {
        enter(site);
        change(&mut state().kept[late]);
        leave(site);
    }
}

/// Ends the run, to have the library loaded.
fn want(path: &CStr, flags: c_int, site: Site) -> ! {
    let global = flags & libc::RTLD_GLOBAL != 0;
    let world = world::get();
    if all().asked >= MOST || !channel::want(path.to_bytes(), global) {
        world.unsupported("dlopen", site);
    }
    world.leave(Outcome::Open)
}

unsafe extern "C" fn close(library: *mut c_void, frame: &Frame) -> c_int {
    let real = real!(dlclose: fn(*mut c_void) -> c_int);
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real(library) };
    }
    let site = call_sites::site(&frame.return_address);
    let Some(late) = all().late.iter().position(|late| late.is(library)) else {
        let known = |(_, other): &(CString, usize)| *other == library as usize;
        if library.is_null() || !all().known.iter().any(known) {
            world::get().unsupported("dlclose", site);
        }
        return 0;
    };
    enter(site);
    let open = &mut state().open[late];
    let closes = *open > 0;
    *open = open.saturating_sub(1);
    if closes && *open == 0 {
        take_down(site);
    }
    leave(site);
    if closes { 0 } else { -1 }
}

fn enter(site: Site) {
    let me = world::get().current;
    if let Some((owner, depth)) = &mut state().owner
        && *owner == me
    {
        *depth += 1;
        return;
    }
    visible(Op::Lock(Hidden::Loader.object()), site);
    state().owner = Some((me, 1));
}

fn leave(site: Site) {
    let Some((_, depth)) = &mut state().owner else {
        return;
    };
    *depth -= 1;
    if *depth == 0 {
        state().owner = None;
        visible(Op::Unlock(Hidden::Loader.object()), site);
    }
}

/// What the program opened as a library that lies there: the name of its file.
pub fn name_at(address: usize) -> Option<&'static str> {
    let late = all().late.iter().find(|late| late.holds(address))?;
    let path = late.path().to_bytes().rsplit(|byte| *byte == b'/');
    path.map(core::str::from_utf8).next()?.ok()
}
