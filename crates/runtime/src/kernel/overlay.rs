//! The disk overlay: what a run changes lies in a directory of this process and is removed after the run. So every run finds the
//! same files, and the user's files stay untouched.
//!
//! A path is first resolved to a real path ([`Overlay::resolve`]). A file that is about to be changed is copied to the same path
//! below the directory that the driver named, and is found there from then on. Removed files are remembered. A directory that is
//! listed gets a placeholder for each entry that was not copied, so that the operating system lists all names.
//!
//! Which of both places a call is sent to is decided in [`crate::kernel::path_resolution`]; this module answers it and makes copies.

use crate::{
    core::cell::{Borrow, RunCell},
    kernel::{
        os_files::{self, FileIdentity, despite_rights, file_type, inspect, look, look_behind},
        paths::{RealPath, beneath, components, entry, parent},
    },
};
use alloc::vec::Vec;
use core::ffi::c_int;

static OVERLAY: RunCell<Overlay> = RunCell::new(Overlay::new());

/// The overlay, for a statement: it is not kept across anything that borrows it again or switches threads.
#[track_caller]
pub(crate) fn overlay() -> Borrow<'static, Overlay> {
    OVERLAY.borrow()
}

/// See the module.
pub(crate) struct Overlay {
    /// The directory of the copies.
    root: Vec<u8>,
    /// The run has changed something, so the directory may have entries.
    used: bool,
    removed: Vec<RealPath>,
    /// Entries below the root that are there only to be listed.
    placeholders: Vec<RealPath>,
    /// Something could not be copied.
    failed: bool,
}

/// Where a path is to be looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    Copy,
    Original,
    Nowhere,
}

/// A path that leads no further than here.
pub(crate) struct DeadEnd {
    pub(crate) at: RealPath,
    pub(crate) error: c_int,
}

/// Links that the operating system follows in one path.
const MOST_LINKS: usize = 40;

impl Overlay {
    pub(crate) const fn new() -> Overlay {
        Overlay {
            root: Vec::new(),
            used: false,
            removed: Vec::new(),
            placeholders: Vec::new(),
            failed: false,
        }
    }

    /// Copies go to this directory, which is made with the first one.
    pub(crate) fn set_root(&mut self, root: &str) {
        self.root = root.as_bytes().into();
    }

    /// Whether something could not be copied.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the run has changed anything.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// After a run: removes the copies.
    pub(crate) fn clear(&mut self) {
        if self.used {
            os_files::empty_directory(&self.root);
            self.used = false;
            self.removed.clear();
            self.placeholders.clear();
            self.failed = false;
        }
    }

    /// The path of the copy of a file, whether there is one or not.
    pub(crate) fn copy_of(&self, real: &[u8]) -> Vec<u8> {
        [&self.root, real].concat()
    }

    /// What the program calls a path of the operating system.
    pub(crate) fn original_of(&self, path: &[u8]) -> RealPath {
        match beneath(path, &self.root) {
            true => path[self.root.len()..].into(),
            false if path == b"/" => RealPath::new(),
            false => path.into(),
        }
    }

    /// Whether a path of the operating system is that of a copy.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        self.used && beneath(path, &self.root)
    }

    fn is_placeholder(&self, real: &[u8]) -> bool {
        self.placeholders.iter().any(|entry| entry == real)
    }

    fn is_removed(&self, real: &[u8]) -> bool {
        self.removed.iter().any(|removed| beneath(real, removed))
    }

    /// Where a file is to be looked for.
    pub(crate) fn find(&self, real: &[u8]) -> Where {
        if self.used && !self.is_placeholder(real) && look(&self.copy_of(real)).is_some() {
            return Where::Copy;
        }
        match self.is_removed(real) {
            true => Where::Nowhere,
            false => Where::Original,
        }
    }

    /// The path that the operating system is given for a file.
    pub(crate) fn place(&self, real: &[u8]) -> Vec<u8> {
        match self.find(real) {
            Where::Original => real.into(),
            Where::Copy | Where::Nowhere => self.copy_of(real),
        }
    }

    /// What lies there, as the program sees it; a link is not followed.
    pub(crate) fn stat(&self, real: &[u8]) -> Option<libc::stat> {
        look(&self.place(real))
    }

    /// The type of what lies there; `None`: nothing.
    pub(crate) fn file_type(&self, real: &[u8]) -> Option<u32> {
        self.stat(real).map(|stat| file_type(&stat))
    }

    /// The directory that a descriptor, or `AT_FDCWD`, stands for.
    pub(crate) fn directory(&self, descriptor: c_int) -> Option<RealPath> {
        Some(self.original_of(&os_files::directory_path(descriptor)?))
    }

    /// The real path of a path, whether something lies there or not.
    pub(crate) fn resolve(
        &self,
        directory: c_int,
        path: &[u8],
        follow: bool,
    ) -> Result<RealPath, DeadEnd> {
        let dead = |at: &[u8], error| DeadEnd {
            at: at.into(),
            error,
        };
        let mut real = match path.first() {
            None => return Err(dead(b"", libc::ENOENT)),
            Some(b'/') => RealPath::new(),
            Some(_) => self
                .directory(directory)
                .ok_or_else(|| dead(b"", libc::EBADF))?,
        };
        let mut rest = components(path);
        let mut links = 0;
        while let Some(component) = rest.pop() {
            match component.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    real.truncate(parent(&real).len());
                    continue;
                }
                _ => {}
            }
            let next = entry(&real, &component);
            let last = rest.iter().all(Vec::is_empty);
            let there = inspect(&self.place(&next), libc::AT_SYMLINK_NOFOLLOW);
            let target = match there.as_ref().map(file_type) {
                Ok(libc::S_IFLNK) if !last || follow => self.target(&next),
                Ok(libc::S_IFDIR | libc::S_IFLNK) => None,
                Ok(_) if !rest.is_empty() => return Err(dead(&next, libc::ENOTDIR)),
                // It is yet to be made; slashes may follow.
                Err(&libc::ENOENT) if last => None,
                Err(error) => return Err(dead(&next, *error)),
                Ok(_) => None,
            };
            let Some(target) = target else {
                real = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return Err(dead(&next, libc::ELOOP));
            }
            if target.first() == Some(&b'/') {
                real.clear();
            }
            rest.extend(components(&target));
        }
        Ok(real)
    }

    /// Where a link leads; `None`: to something that is open and has no path.
    fn target(&self, link: &[u8]) -> Option<Vec<u8>> {
        let target = os_files::read_link(&self.place(link))?;
        if !beneath(link, b"/proc") {
            return Some(target);
        }
        if target.first() != Some(&b'/') {
            // Another name, or a kind with a number such as `pipe:[7]`.
            return Some(target).filter(|target| !target.contains(&b':'));
        }
        let real = self.original_of(&target);
        // What was open before it was copied is the original still.
        let open = FileIdentity::of(&look_behind(link)?);
        let mut named = [look(&self.place(&real)), look(&real)]
            .into_iter()
            .flatten();
        let same = named.any(|named| FileIdentity::of(&named) == open);
        let target = if real.is_empty() { target } else { real };
        same.then_some(target)
    }

    /// Makes the directory of the copies in which something is about to be made or changed.
    pub(crate) fn prepare(&mut self, real: &[u8]) {
        if !self.used {
            self.used = true;
            os_files::make_directory_with(&self.root, 0o700);
        }
        let above = parent(real);
        if !above.is_empty() {
            self.copy(above, true);
        }
    }

    /// Makes a copy unless there is one. A file is copied with its contents, or stays empty if nobody needs them.
    pub(crate) fn copy(&mut self, real: &[u8], contents: bool) {
        if self.used && self.find(real) == Where::Copy {
            return;
        }
        self.prepare(real);
        let copied = self.copy_of(real);
        if self.find(real) == Where::Nowhere {
            return;
        }
        let Some(stat) = look(real) else {
            return;
        };
        if self.is_placeholder(real) && file_type(&stat) != libc::S_IFDIR {
            os_files::remove(&copied, false);
        }
        self.placeholders.retain(|entry| entry != real);
        let succeeded = despite_rights(parent(&copied), || match file_type(&stat) {
            libc::S_IFDIR => {
                os_files::make_directory_with(&copied, 0o700);
                true
            }
            libc::S_IFLNK => {
                os_files::copy_link(real, &copied);
                true
            }
            libc::S_IFREG if contents => os_files::copy_contents(real, &copied, stat.st_mode),
            libc::S_IFREG => os_files::make_empty(&copied, stat.st_mode),
            _ => false,
        });
        self.failed |= !succeeded;
        os_files::copy_attributes(&copied, &stat);
    }

    /// As [`Overlay::copy`], with everything beneath.
    pub(crate) fn copy_tree(&mut self, real: &[u8]) {
        self.copy(real, true);
        if self.file_type(real) == Some(libc::S_IFDIR) {
            for name in os_files::names(real) {
                let entry = entry(real, &name);
                if self.find(&entry) == Where::Original {
                    self.copy_tree(&entry);
                }
            }
        }
    }

    /// Makes placeholders in the copy of a directory, so that it lists everything that is in it.
    pub(crate) fn complete_listing(&mut self, real: &[u8]) {
        if !self.used || self.find(real) != Where::Copy {
            return;
        }
        for name in os_files::names(real) {
            let entry = entry(real, &name);
            let copied = self.copy_of(&entry);
            if self.find(&entry) != Where::Original || look(&copied).is_some() {
                continue;
            }
            let Some(stat) = look(&entry) else { continue };
            despite_rights(parent(&copied), || match file_type(&stat) {
                libc::S_IFDIR => os_files::make_directory_with(&copied, 0o700),
                libc::S_IFLNK => os_files::copy_link(&entry, &copied),
                _ => _ = os_files::make_empty(&copied, 0o600),
            });
            self.placeholders.push(entry);
        }
    }

    /// A file was removed.
    pub(crate) fn note_removed(&mut self, real: &[u8]) {
        self.placeholders.retain(|entry| !beneath(entry, real));
        if !self.removed.iter().any(|removed| removed == real) {
            self.removed.push(real.into());
        }
    }

    /// Another file took this name.
    pub(crate) fn note_replaced(&mut self, real: &[u8]) {
        self.placeholders.retain(|entry| !beneath(entry, real));
    }

    /// Whether a directory has no entries.
    pub(crate) fn is_empty(&mut self, real: &[u8]) -> bool {
        self.complete_listing(real);
        os_files::names(&self.place(real)).is_empty()
    }

    /// Whether the program may change what lies there, or the entries of that directory; else an error number.
    pub(crate) fn writable(&self, real: &[u8]) -> Result<(), c_int> {
        // A copy belongs to the process, whoever owns the original.
        match self.has_original_rights(real) {
            true => os_files::writable(real),
            false => os_files::writable(&self.place(real)),
        }
    }

    /// Whether a file has the rights that its original has.
    fn has_original_rights(&self, real: &[u8]) -> bool {
        let modes = (look(real), self.stat(real));
        let same = matches!(modes, (Some(old), Some(new)) if old.st_mode == new.st_mode);
        same && !self.is_removed(real)
    }
}

#[cfg(test)]
mod tests;
