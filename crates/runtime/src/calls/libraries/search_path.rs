//! Which file a program means when it opens a library.

use crate::{
    core::{loader, modules, sys, trampoline::Frame},
    kernel::overlay::{Where, overlay},
    real,
};
use alloc::{
    ffi::CString,
    vec::{self, Vec},
};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
};

/// Whether a library goes by a name: that of its file without a directory, or a path that leads there.
pub fn goes_by(path: &CStr, name: &CStr) -> bool {
    if path == name {
        return true;
    }
    if name.to_bytes().contains(&b'/') {
        return identity(name).is_some_and(|file| identity(path) == Some(file));
    }
    let file = path.to_bytes().rsplit(|byte| *byte == b'/').next();
    file == Some(name.to_bytes())
}

pub fn exists(path: &CStr) -> bool {
    identity(path).is_some()
}

/// Device and inode of a file.
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
    // SAFETY: the path is a C string, and the answer goes to a local; all zeros are a valid `stat` too.
    unsafe {
        let found = sys::call(libc::SYS_stat, arguments) == 0;
        let stat = stat.assume_init();
        found.then_some((stat.st_dev, stat.st_ino))
    }
}

/// The file that a name means, whether it exists or not; `None`: the run itself has written or removed the file, which only this
/// run knows.
pub fn path_of(name: &CStr, frame: &Frame) -> Option<CString> {
    let name = &expanded(name.to_bytes(), frame)?[..];
    if name.contains(&b'/') {
        let disk = overlay();
        let real = disk.resolve(libc::AT_FDCWD, name, true).ok()?;
        let original = disk.find(&real) == Where::Original;
        return CString::new(real).ok().filter(|_| original);
    }
    let directories = directories(frame.return_address);
    let paths = directories
        .iter()
        .filter_map(|directory| CString::new([directory, &b"/"[..], name].concat()).ok());
    let mut there = paths.filter(|path| identity(path).is_some());
    there.next().or_else(|| CString::new(name).ok())
}

/// A name with the caller's own directory for `$ORIGIN`; `None`: with another variable, which only the loader knows.
fn expanded(name: &[u8], frame: &Frame) -> Option<Vec<u8>> {
    const ORIGINS: [&[u8]; 2] = [b"$ORIGIN", b"${ORIGIN}"];
    let Some(at) = name.iter().position(|byte| *byte == b'$') else {
        return Some(name.to_vec());
    };
    let (before, rest) = name.split_at(at);
    let rest = ORIGINS
        .iter()
        .find_map(|origin| rest.strip_prefix(*origin))?;
    let whole = [before, &origin(frame.return_address)?, rest].concat();
    (!rest.contains(&b'$')).then_some(whole)
}

/// The directory of the module that an address lies in.
fn origin(address: usize) -> Option<Vec<u8>> {
    const ORIGIN: c_int = 6;
    let about = real!(dlinfo: fn(*const c_void, c_int, *mut c_char) -> c_int);
    let mut path = [0; libc::PATH_MAX as usize];
    // SAFETY: the handle is that of a loaded library, and `path` has room for any path. No borrow is alive.
    unsafe {
        let found = about(map_of(address)?.cast(), ORIGIN, path.as_mut_ptr()) == 0;
        found.then(|| CStr::from_ptr(path.as_ptr()).to_bytes().to_vec())
    }
}

/// The loader's handle of the module that an address lies in.
fn map_of(address: usize) -> Option<*const loader::Map> {
    let start = modules::with(address, |module| module.map(|module| module.start))?;
    loader::at(start)
}

/// The loader's answer about the directories that it searches.
#[repr(C)]
struct Search {
    bytes: usize,
    count: u32,
    paths: [(*const c_char, u32); 0],
}

/// The directories that the loader searches for libraries that the module at an address opens.
fn directories(address: usize) -> Vec<Vec<u8>> {
    const SEARCH: c_int = 4;
    const SEARCH_BYTES: c_int = 5;
    let Some(map) = map_of(address) else {
        return Vec::new();
    };
    let about = real!(dlinfo: fn(*const c_void, c_int, *mut Search) -> c_int);
    let mut size = MaybeUninit::<Search>::zeroed();
    // SAFETY: the handle is that of a loaded library; the second answer has the room that the first asked for, and its paths are C
    // strings within it. No borrow is alive.
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
