//! The modules of the program: its executable, its libraries, and the number under which each of their addresses is a site.

use crate::core::{
    cell::{ASIDE, RunCell, RunValue},
    restore::PAGE,
};
use alloc::{string::String, vec::Vec};
use core::{
    ffi::{CStr, c_int, c_void},
    ops::Range,
};
use reweave_model::Site;

/// Where a module lies, and the number its addresses begin with as sites.
#[derive(Clone)]
pub struct Module {
    pub start: usize,
    pub end: usize,
    pub bias: usize,
    pub path: String,
    /// Not the program's own: the C library and the like.
    pub library: bool,
}

static MODULES: RunCell<Vec<Module>, ASIDE> = RunCell::new(Vec::new());
/// Where the executable lies: nearly all sites are there.
static PROGRAM: RunValue<(usize, usize)> = RunValue::new((0, 0));

/// The site of an address that no module has.
const UNKNOWN: Site = Site(1);

/// Lists what is loaded now.
pub fn list() {
    let modules = loaded();
    PROGRAM.set((modules[0].start, modules[0].end));
    *MODULES.borrow() = modules;
}

/// Where the executable was loaded, also before anything is listed.
pub fn loaded_at() -> usize {
    loaded()[0].start
}

/// Looks at the module that an address is in. The closure must not ask for modules itself.
pub fn with<R>(address: usize, what: impl FnOnce(Option<&Module>) -> R) -> R {
    let modules = MODULES.borrow();
    let within = |module: &&Module| module.start <= address && address < module.end;
    what(modules.iter().find(within))
}

/// Goes through all modules. The closure must not ask for modules itself.
pub fn each(mut what: impl FnMut(&Module)) {
    MODULES.borrow().iter().for_each(&mut what);
}

/// Where the executable lies.
pub fn program() -> Range<usize> {
    let (start, end) = PROGRAM.get();
    start..end
}

/// Where this library lies.
pub fn own() -> Range<usize> {
    let here = own as *const () as usize;
    with(here, |own| {
        own.map_or(0..0, |module| module.start..module.end)
    })
}

/// A return address as a site.
#[inline]
pub fn site(address: usize) -> Site {
    let (start, end) = PROGRAM.get();
    let offset = address.wrapping_sub(start);
    if offset < end - start {
        return Site(offset as u32);
    }
    library_site(address)
}

#[cold]
fn library_site(address: usize) -> Site {
    with(address, |module| {
        module.map_or(UNKNOWN, |module| {
            Site((module.bias + address - module.start) as u32)
        })
    })
}

/// The address of a static that is known by its number as a site.
pub fn address_of(number: usize) -> Option<usize> {
    let modules = MODULES.borrow();
    let module = modules.iter().find(|module| {
        module.bias <= number && number < module.bias + (module.end - module.start)
    })?;
    Some(module.start + number - module.bias)
}

/// Whether a site is in the program itself.
pub fn is_program(site: Site) -> bool {
    (site.0 as usize) < program().len()
}

/// Whether a site is in the C library or the loader. They may hold locks there.
pub fn is_c_library(site: Site) -> bool {
    let address = address_of(site.0 as usize);
    address.is_some_and(|address| {
        with(address, |module| {
            let name = module.and_then(|module| module.path.rsplit('/').next());
            name.is_some_and(|name| name.starts_with("libc.so") || name.starts_with("ld-linux"))
        })
    })
}

/// Whether an address is of a library, and not of the program itself.
pub fn is_library(address: usize) -> bool {
    with(address, |module| module.is_none_or(|module| module.library))
}

/// All modules of the process, the program first.
fn loaded() -> Vec<Module> {
    /// # Safety
    ///
    /// `info` is a valid entry, and `into` points to a live list of modules.
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry and the pointer it was given below: a live list that
        // nothing else uses meanwhile.
        unsafe {
            let modules = &mut *into.cast::<Vec<Module>>();
            let info = &*info;
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let loaded = headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD);
            let end = loaded.map(|header| header.p_vaddr + header.p_memsz).max();
            let start = info.dlpi_addr as usize;
            let end = (start + end.unwrap_or(0) as usize).next_multiple_of(PAGE);
            let bias = modules
                .last()
                .map_or(0, |last: &Module| last.bias + (last.end - last.start));
            let name = CStr::from_ptr(info.dlpi_name);
            let library = is_system_library(name.to_bytes());
            modules.push(Module {
                library,
                start,
                end,
                bias,
                path: String::from_utf8_lossy(name.to_bytes()).into_owned(),
            });
        }
        0
    }
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: `add` has the signature that `dl_iterate_phdr` calls, and `modules` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
    modules
}

/// Whether a module is part of what every program rests on, by the name of its file.
pub fn is_system_library(path: &[u8]) -> bool {
    const NAMES: [&[u8]; 18] = [
        b"libc.",
        b"libm.",
        b"libmvec.",
        b"libdl.",
        b"librt.",
        b"libresolv.",
        b"libnss_",
        b"libquadmath.",
        b"ld-linux",
        b"libgcc_s.",
        b"libstdc++.",
        b"libc++",
        b"libpthread.",
        b"libgomp.",
        b"libatomic.",
        b"libgfortran.",
        b"libreweave_runtime.",
        b"linux-vdso.",
    ];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    NAMES.iter().any(|known| name.starts_with(known))
}
