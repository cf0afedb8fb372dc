//! Files that are open and have no name: another file took it, or they never had one.
//!
//! Such a file is known by its identity for the operating system. A descriptor of the runtime keeps it open, so that no other file
//! can get the same identity in this run.

use crate::{
    core::cell::RunCell,
    kernel::{
        descriptor_table, file_names, file_objects,
        os_files::{self, FileIdentity},
        overlay::overlay,
        path_resolution,
        paths::{RealPath, hash},
    },
    run::world,
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_model::Site;

struct NamelessFile {
    file: FileIdentity,
    /// The number of its object.
    number: usize,
    /// What goes for a name, if it never had one.
    name: Option<RealPath>,
    /// The descriptor that keeps it.
    keeper: c_int,
}

static FILES: RunCell<Vec<NamelessFile>> = RunCell::new(Vec::new());

/// After a run.
pub(crate) fn clean_up() {
    for file in FILES.borrow().drain(..) {
        os_files::close(file.keeper);
    }
}

/// The call at hand has opened something. If that has no name it is known by the thread that made it, since its inode differs from
/// run to run.
pub(crate) fn opened(descriptor: c_int, site: Site) {
    let output = path_resolution::take_output();
    if let Some(output) = output
        && descriptor >= 0
    {
        os_files::replace(descriptor, output);
    }
    if !path_resolution::take_makes_nameless() || descriptor < 0 {
        return;
    }
    let Some(file) = FileIdentity::of_open(descriptor) else {
        return;
    };
    let slot = world::borrow().slot();
    let count = file_names::next_temporary();
    let name = format!("(temporary {slot}.{count})").into_bytes();
    let number = hash(&name);
    file_objects::note_path(number, &name);
    let link = os_files::link_to_open(descriptor);
    let keeper = keeper(&link, 0, site);
    FILES.borrow().push(NamelessFile {
        file,
        number,
        name: Some(name),
        keeper,
    });
}

/// An open file is about to lose its name to another one. It stays the same object.
pub(crate) fn keep(real: &[u8], stat: &libc::stat, site: Site) {
    let place = overlay().place(real);
    let number = file_names::number(real);
    let keeper = keeper(&place, libc::O_NOFOLLOW, site);
    FILES.borrow().push(NamelessFile {
        file: FileIdentity::of(stat),
        number,
        name: None,
        keeper,
    });
}

/// A descriptor of the runtime for what lies at a place.
fn keeper(place: &[u8], flags: c_int, site: Site) -> c_int {
    let low = os_files::open(place, libc::O_PATH | libc::O_CLOEXEC | flags, 0);
    let keeper = descriptor_table::copy(low, site);
    os_files::close(low);
    if keeper < 0 {
        file_names::refuse("a file without a name", site);
    }
    keeper
}

/// Whether an open file has no name.
pub(crate) fn is_nameless(descriptor: c_int) -> bool {
    number_of(descriptor).is_some()
}

/// A file without a name gets one.
pub(crate) fn name(descriptor: c_int, new: &[u8]) {
    let number = number_of(descriptor);
    let known = {
        let files = FILES.borrow();
        let mut known = files.iter().filter(|file| Some(file.number) == number);
        known.find_map(|file| file.name.clone())
    };
    if let Some(name) = known {
        file_names::note_rename(&name, new, false);
    }
}

/// The object of an open file that has no name.
pub(crate) fn number_of(descriptor: c_int) -> Option<usize> {
    let files = FILES.borrow();
    if files.is_empty() {
        return None;
    }
    let identity = FileIdentity::of_open(descriptor)?;
    let found = files.iter().find(|file| file.file == identity);
    found.map(|file| file.number)
}
