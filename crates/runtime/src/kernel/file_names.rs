//! Files as objects of the model, and the lock of all names.
//!
//! A file is one object, whether a call reaches it by path, descriptor or stream, under whichever of its names, and whether it
//! exists or not: its number is a hash of the first name that it had in the run ([`Renames`]).
//!
//! An operation touches one object, but directories, links, renames and a change of the current directory change where many paths
//! lead. So there is a read-write lock of all names ([`Rule::Names`]): a call that changes or lists names holds it exclusively; a
//! call that names a file holds it together with others, and also touches the file.

use crate::{
    core::{cell::RunCell, families::Birth, per_thread::PerThread},
    kernel::{
        file_objects, nameless_files, os_files,
        overlay::overlay,
        paths::{RealPath, beneath, hash},
    },
    run::{hidden_objects::Hidden, operations::visible, rules, world},
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_model::{Op, Site};
use reweave_wire::Rule;

pub(crate) use crate::kernel::ordering::alone;

static RENAMES: RunCell<Renames> = RunCell::new(Renames::new());

/// How many temporary names each thread has asked for, by slot.
static TEMPORARIES: RunCell<Vec<(usize, u64)>> = RunCell::new(Vec::new());

/// What releases the lock of all names, for a thread that holds it.
static HELD: PerThread<Option<Op>> = PerThread::new();

/// A new run.
pub(crate) fn begin_run() {
    HELD.clear();
}

pub(crate) fn thread_begins(birth: &Birth) {
    HELD.take_over(birth);
}

/// After a run.
pub(crate) fn clean_up() {
    overlay().clear();
    TEMPORARIES.borrow().clear();
    RENAMES.borrow().all.clear();
}

/// Takes the lock of all names until [`leave`]: exclusively for a call that changes some, or together with others.
pub(crate) fn enter(changes: bool, site: Site) {
    let me = world::borrow().current;
    let holds = HELD.with(me, |held| held.is_some());
    if alone() || holds || changes && !rules::needs(Rule::Names) {
        return;
    }
    if !rules::holds(Rule::Names) {
        return;
    }
    let lock = Hidden::Disk.object();
    let (steps, release) = match changes {
        true => (
            &[Op::WriteBegin(lock), Op::WriteAcquire(lock)][..],
            Op::WriteUnlock(lock),
        ),
        false => (&[Op::ReadLock(lock)][..], Op::ReadUnlock(lock)),
    };
    for step in steps {
        visible(*step, site);
    }
    HELD.with(me, |held| *held = Some(release));
}

/// Releases the lock of all names, if the running thread holds it.
pub(crate) fn leave(site: Site) {
    let me = world::borrow().current;
    if let Some(release) = HELD.with(me, Option::take) {
        visible(release, site);
    }
}

/// Stops the thread at a call that is not under control. Other threads can go on to name files.
pub(crate) fn refuse(what: &str, site: Site) -> ! {
    leave(site);
    world::unsupported(what, site)
}

/// The current directory, for calls that take a directory.
pub(crate) const HERE: c_int = libc::AT_FDCWD;

/// Names that files got in this run, in order.
struct Renames {
    all: Vec<Rename>,
}

/// A file got another name.
struct Rename {
    old: RealPath,
    new: RealPath,
    /// It lost the old one.
    moved: bool,
}

impl Renames {
    const fn new() -> Renames {
        Renames { all: Vec::new() }
    }

    /// The first name of what is called so now.
    fn first_name(&self, real: &[u8]) -> RealPath {
        let mut name: RealPath = real.into();
        for (index, rename) in self.all.iter().enumerate().rev() {
            if beneath(&name, &rename.new) {
                name = [&rename.old, &name[rename.new.len()..]].concat();
            } else if rename.moved && beneath(&name, &rename.old) {
                // Another file has got the name since.
                name = [format!("//{index}").as_bytes(), &name].concat();
            }
        }
        name
    }
}

/// A file got another name; whether it lost the old one.
pub(crate) fn note_rename(old: &[u8], new: &[u8], moved: bool) {
    RENAMES.borrow().all.push(Rename {
        old: old.into(),
        new: new.into(),
        moved,
    });
}

/// How many temporary names the running thread has asked for, with this one.
pub(crate) fn next_temporary() -> u64 {
    let slot = world::borrow().slot();
    let mut counts = TEMPORARIES.borrow();
    let index = counts.iter().position(|(known, _)| *known == slot);
    let index = index.unwrap_or_else(|| {
        counts.push((slot, 0));
        counts.len() - 1
    });
    counts[index].1 += 1;
    counts[index].1
}

/// The number of the file's object.
pub(crate) fn number(real: &[u8]) -> usize {
    let number = hash(&RENAMES.borrow().first_name(real));
    file_objects::note_path(number, real);
    number
}

/// The number of the object of the file that a descriptor is open on: the same as by path.
pub(crate) fn number_of_open(descriptor: c_int) -> usize {
    if let Some(number) = nameless_files::number_of(descriptor) {
        return number;
    }
    let path = os_files::path_of_open(descriptor).unwrap_or_default();
    // The operating system says so of a file whose name was removed; a file may also be called so.
    let path = match path.strip_suffix(b" (deleted)") {
        Some(name) if !os_files::is_open_at(descriptor, &path) => name,
        _ => &path,
    };
    let real = overlay().original_of(path);
    number(&real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renames(all: &[(&str, &str, bool)]) -> Renames {
        let rename = |(old, new, moved): &(&str, &str, bool)| Rename {
            old: old.as_bytes().into(),
            new: new.as_bytes().into(),
            moved: *moved,
        };
        Renames {
            all: all.iter().map(rename).collect(),
        }
    }

    #[test]
    fn a_file_keeps_its_first_name() {
        let renames = renames(&[("/a", "/b", true), ("/b", "/c", true)]);
        assert_eq!(renames.first_name(b"/c"), b"/a");
        assert_eq!(renames.first_name(b"/d"), b"/d");
    }

    #[test]
    fn what_lies_beneath_moves_along() {
        let renames = renames(&[("/a", "/b", true)]);
        assert_eq!(renames.first_name(b"/b/x"), b"/a/x");
        assert_eq!(renames.first_name(b"/bx"), b"/bx");
    }

    #[test]
    fn a_name_that_is_free_again_is_another_file() {
        let renames = renames(&[("/a", "/b", true)]);
        assert_eq!(renames.first_name(b"/a"), b"//0/a");
    }

    #[test]
    fn a_second_name_leaves_the_first() {
        let renames = renames(&[("/a", "/b", false)]);
        assert_eq!(renames.first_name(b"/a"), b"/a");
        assert_eq!(renames.first_name(b"/b"), b"/a");
    }
}
