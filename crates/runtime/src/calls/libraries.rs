//! Libraries that a program opens while it runs.
//!
//! Those that are loaded from the start it may open and close as it likes. One that is not ends the run: the driver starts the program anew, with that
//! library loaded before the first run ([`loader`]), so that it is put back like everything else and its places have the same numbers in
//! every run. To open it is then to call its constructors, to close it for the last time its destructors, under the loader's lock. Its
//! code cannot be run while it is closed; its names, though, can be found before it is opened.

use super::{Hidden, callers, disk, visible};
use crate::{
    accesses, channel, entry,
    hooks::Frame,
    loader::{self, Late},
    real, sys, trampoline,
    world::{self, Outcome},
};
use alloc::{
    ffi::CString,
    vec::{self, Vec},
};
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
    ptr,
};
use reweave_model::{Op, Site, ThreadId};
use reweave_wire::Library;

trampoline! {
    dlopen => open, "rdx";
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
    asked: usize,
}

struct Global(UnsafeCell<All>);
// SAFETY: one OS thread, and written before the first run.
unsafe impl Sync for Global {}
static ALL: Global = Global(UnsafeCell::new(All {
    known: Vec::new(),
    late: Vec::new(),
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
    /// Those that are ready, in the order in which they became so.
    ready: Vec<usize>,
    /// Those that were closed at some time, and have no access to their code unless they are ready again.
    closed: Vec<usize>,
    /// Who holds the lock, and how often.
    owner: Option<(ThreadId, usize)>,
}

impl State {
    pub fn clear(&mut self) {
        self.open.clear();
        self.open.resize(all().late.len(), 0);
        self.ready.clear();
        self.owner = None;
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.libraries
}

/// Opens all that is loaded, and loads what runs are known to open.
pub fn prepare(wanted: &[Library]) {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    for module in &world::get().modules {
        let Ok(path) = CString::new(module.path.as_bytes()) else {
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
        let global = match library.global {
            true => libc::RTLD_GLOBAL,
            false => libc::RTLD_LOCAL,
        };
        let loaded = loader::load(&path, libc::RTLD_NOW | global, &mut all().late);
        all().known.push((path, loaded as usize));
    }
    all().asked = wanted.len();
    world::get().modules = entry::modules();
}

/// Whether a library goes by a name: that of its file without a directory, or a path that leads there.
fn goes_by(path: &CStr, name: &CStr) -> bool {
    if path == name {
        return true;
    }
    if name.to_bytes().contains(&b'/') {
        return identity(name).is_some_and(|file| identity(path) == Some(file));
    }
    let file = path.to_bytes().rsplit(|byte| *byte == b'/').next();
    file == Some(name.to_bytes())
}

/// What tells files apart.
fn identity(path: &CStr) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let arguments = [
        path.as_ptr() as usize,
        stat.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: writes a local.
    unsafe {
        let found = sys::call(libc::SYS_stat, arguments) == 0;
        let stat = stat.assume_init();
        found.then_some((stat.st_dev, stat.st_ino))
    }
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, frame: &Frame) -> *mut c_void {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(name, flags) };
    }
    let name = match name.is_null() {
        true => c"",
        // SAFETY: the program's own text.
        false => unsafe { CStr::from_ptr(name) },
    };
    let site = callers::site(&frame.return_address);
    let known = |name: &CStr| all().known.iter().find(|(path, _)| goes_by(path, name));
    let changed = changed_on_disk(name);
    let found = known(name).filter(|_| !changed);
    let Some((_, library)) = found.or_else(|| known(&path_of(name, frame))) else {
        if flags & libc::RTLD_NOLOAD != 0 {
            return ptr::null_mut();
        }
        want(&path_of(name, frame), flags, changed, site)
    };
    let library = *library as *mut c_void;
    if library.is_null() {
        // It fails with the loader's own words.
        // SAFETY: a valid name.
        return unsafe { real(name.as_ptr(), flags) };
    }
    match all().late.iter().position(|late| late.is(library)) {
        None => library,
        Some(late) if flags & libc::RTLD_NOLOAD != 0 && !state().ready.contains(&late) => {
            ptr::null_mut()
        }
        Some(late) => {
            enter(site);
            state().open[late] += 1;
            make_ready(late);
            leave(site);
            library
        }
    }
}

/// Ends the run, to have the library loaded.
fn want(path: &CStr, flags: c_int, changed: bool, site: Site) -> ! {
    let global = flags & libc::RTLD_GLOBAL != 0;
    let world = world::get();
    if changed || all().asked >= MOST || !channel::want(path.to_bytes(), global) {
        world.unsupported("dlopen", site);
    }
    world.leave(Outcome::Open)
}

/// Whether this run has written or removed a file: what it would open is known to this run alone.
fn changed_on_disk(name: &CStr) -> bool {
    let disk = &disk::state().disk;
    if !disk.used() || !name.to_bytes().contains(&b'/') {
        return false;
    }
    let real = disk.real(libc::AT_FDCWD, name.to_bytes(), true);
    real.is_none_or(|real| !matches!(disk.find(&real), crate::disk::Where::Original))
}

/// Where the loader finds a library for whoever opens it: the directories that it looks through differ from caller to caller.
fn path_of(name: &CStr, frame: &Frame) -> CString {
    let name = name.to_bytes();
    let directories = match name {
        [b'/', ..] => Vec::new(),
        _ if name.contains(&b'/') => crate::disk::read_link(b"/proc/self/cwd")
            .into_iter()
            .collect(),
        _ => directories(frame.return_address),
    };
    let paths = directories
        .iter()
        .filter_map(|directory| CString::new([directory, &b"/"[..], name].concat()).ok());
    let mut there = paths.filter(|path| identity(path).is_some());
    there
        .next()
        .unwrap_or_else(|| CString::new(name).unwrap_or_default())
}

/// The loader's answer about where it looks.
#[repr(C)]
struct Search {
    bytes: usize,
    count: u32,
    paths: [(*const c_char, u32); 0],
}

/// Directories in which the loader looks for libraries that some place opens.
fn directories(address: usize) -> Vec<Vec<u8>> {
    const SEARCH: c_int = 4;
    const SEARCH_BYTES: c_int = 5;
    let within = |module: &&world::Module| (module.start..module.end).contains(&address);
    let module = world::get().modules.iter().find(within);
    let Some(map) = module.and_then(|module| loader::at(module.start)) else {
        return Vec::new();
    };
    let about = real!(dlinfo: fn(*const c_void, c_int, *mut Search) -> c_int);
    let mut size = MaybeUninit::<Search>::zeroed();
    // SAFETY: a library that is loaded; the second answer has the room that the first asked for.
    unsafe {
        if about(map.cast(), SEARCH_BYTES, size.as_mut_ptr()) != 0 {
            return Vec::new();
        }
        let bytes = size.assume_init_ref().bytes;
        let mut room = vec::from_elem(0_u64, bytes.div_ceil(8));
        let search = room.as_mut_ptr().cast::<Search>();
        if about(map.cast(), SEARCH_BYTES, search) != 0 || about(map.cast(), SEARCH, search) != 0 {
            return Vec::new();
        }
        let paths = (&raw const (*search).paths).cast::<(*const c_char, u32)>();
        let path = |index| CStr::from_ptr((*paths.add(index)).0).to_bytes().to_vec();
        (0..(*search).count as usize).map(path).collect()
    }
}

unsafe extern "C" fn close(library: *mut c_void, frame: &Frame) -> c_int {
    let real = real!(dlclose: fn(*mut c_void) -> c_int);
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real(library) };
    }
    let site = callers::site(&frame.return_address);
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
        take_down(frame);
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

/// Calls the constructors of a library, after those of what it needs.
fn make_ready(late: usize) {
    if state().ready.contains(&late) {
        return;
    }
    state().ready.push(late);
    let library = &all().late[late];
    for needed in &library.needs {
        make_ready(*needed);
    }
    if state().closed.contains(&late) {
        guard(library, RUNS);
    }
    // Those that it needs come first.
    state().ready.retain(|other| *other != late);
    state().ready.push(late);
    library.construct();
}

/// Calls the destructors of those that nobody has open any more.
fn take_down(frame: &Frame) {
    let mut kept: Vec<usize> = Vec::new();
    let is_open = |late: &usize| state().open[*late] > 0 || all().late[*late].stays;
    let mut next: Vec<usize> = state().ready.iter().copied().filter(is_open).collect();
    while let Some(late) = next.pop() {
        if !kept.contains(&late) {
            kept.push(late);
            next.extend(&all().late[late].needs);
        }
    }
    let gone = state().ready.iter().rev().copied();
    let gone: Vec<usize> = gone.filter(|late| !kept.contains(late)).collect();
    for late in &gone {
        all().late[*late].destruct();
    }
    for late in gone {
        state().ready.retain(|other| *other != late);
        let library = &all().late[late];
        for range in &library.variables {
            accesses::range(range.start, range.len(), true, frame);
            // SAFETY: it is closed.
            unsafe { world::snapshot().restore_range(range) };
        }
        guard(library, libc::PROT_NONE);
        state().closed.push(late);
    }
}

/// Takes the access to a library's code, or gives it back.
fn guard(library: &Late, access: c_int) {
    for range in &library.code {
        // SAFETY: nobody is to run it, or as it was.
        unsafe { sys::protect(range.start, range.len(), access) };
    }
}

const RUNS: c_int = libc::PROT_READ | libc::PROT_EXEC;

/// After a run: what was closed is as it was.
pub fn clean_up() {
    for late in state().closed.drain(..) {
        guard(&all().late[late], RUNS);
    }
}

/// At the end of the process.
pub fn finish() {
    while let Some(late) = state().ready.pop() {
        all().late[late].destruct();
    }
}
