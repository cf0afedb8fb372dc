//! The disk as a run sees it: what it changes lies in a directory of this process's own and is gone with the run, so every run finds the same files,
//! and workers do not meet.
//!
//! A path is followed to its real place first ([`Disk::real`]): absolute, without links. A file that is about to be changed is copied to the same place below
//! the directory that the driver named, and is looked for there from then on. What a run has taken away is remembered. A directory
//! that is listed gets a blank for each entry that was not changed, so that all names are there.

mod open;

pub use open::{follow, is_open, replace as replace_open, stand_for};

use crate::core::sys;
use alloc::{format, vec::Vec};
use core::{
    ffi::{CStr, c_int},
    mem::MaybeUninit,
};

/// A path without links, with a slash before each part; the root is empty.
pub type Real = Vec<u8>;

#[derive(Default)]
pub struct Disk {
    /// Where copies lie.
    root: Vec<u8>,
    /// Whether there are any.
    used: bool,
    /// What was taken away.
    gone: Vec<Real>,
    /// What lies among the copies only to be listed.
    blanks: Vec<Real>,
    /// Something could not be copied.
    failed: bool,
}

/// Where a path is to be looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    Copy,
    Original,
    Nowhere,
}

/// A path leads no further than here.
pub struct Dead {
    pub at: Real,
    pub error: c_int,
}

const LINKS: usize = 40;

pub fn terminated(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    if path.is_empty() {
        path.push(b'/');
    }
    path.push(0);
    path
}

/// A system call about a path.
pub fn at(number: i64, path: &[u8], a: usize, b: usize) -> isize {
    let path = terminated(path);
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends with a nul; what the others are is the caller's business.
    unsafe { sys::call(number, [here, path.as_ptr() as usize, a, b, 0, 0]) }
}

/// What lies at a path, or an error number.
fn inspect(path: &[u8], flags: c_int) -> Result<libc::stat, c_int> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let into = stat.as_mut_ptr() as usize;
    match at(libc::SYS_newfstatat, path, into, flags as usize) {
        // SAFETY: all zeros are one, too.
        0 => Ok(unsafe { stat.assume_init() }),
        error => Err(-error as c_int),
    }
}

/// What lies at a path, links not followed.
pub fn look(path: &[u8]) -> Option<libc::stat> {
    inspect(path, libc::AT_SYMLINK_NOFOLLOW).ok()
}

/// What lies where a path leads, as the kernel sees it.
pub fn look_behind(path: &[u8]) -> Option<libc::stat> {
    inspect(path, 0).ok()
}

/// Which file it is.
pub fn identity(stat: &libc::stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// What is open.
pub fn look_at_open(descriptor: c_int) -> Option<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let arguments = [descriptor as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: writes a local; all zeros are one, too.
    unsafe { (sys::call(libc::SYS_fstat, arguments) == 0).then(|| stat.assume_init()) }
}

pub fn kind(stat: &libc::stat) -> u32 {
    stat.st_mode & libc::S_IFMT
}

pub fn read_link(path: &[u8]) -> Option<Vec<u8>> {
    let mut text = alloc::vec![0_u8; libc::PATH_MAX as usize];
    let (into, room) = (text.as_mut_ptr() as usize, text.len());
    let length = at(libc::SYS_readlinkat, path, into, room);
    text.truncate(usize::try_from(length).ok()?);
    Some(text)
}

fn make_directory(path: &[u8], mode: u32) {
    at(libc::SYS_mkdirat, path, mode as usize, 0);
    // Whatever the mask says.
    at(libc::SYS_fchmodat, path, mode as usize, 0);
}

fn open(path: &[u8], flags: c_int, mode: u32) -> isize {
    at(
        libc::SYS_openat,
        path,
        (flags | libc::O_CLOEXEC) as usize,
        mode as usize,
    )
}

fn close(descriptor: isize) {
    // SAFETY: ours.
    unsafe { sys::call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Makes a file with nothing in it; whether that succeeds.
fn make_empty(path: &[u8], mode: u32) -> bool {
    let made = open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o600);
    at(libc::SYS_fchmodat, path, (mode & 0o7777) as usize, 0);
    close(made);
    made >= 0
}

/// Copies what is in a file; whether that succeeds.
fn copy(from: &[u8], to: &[u8], mode: u32) -> bool {
    let source = open(from, libc::O_RDONLY, 0);
    let target = open(to, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o600);
    let (all, mut sent) = (1 << 30, 1);
    while sent > 0 {
        let arguments = [target as usize, source as usize, 0, all, 0, 0];
        // SAFETY: both are ours.
        sent = unsafe { sys::call(libc::SYS_sendfile, arguments) };
    }
    at(libc::SYS_fchmodat, to, (mode & 0o7777) as usize, 0);
    close(source);
    close(target);
    sent == 0
}

/// Has a copy belong to whom its original belongs, if that is possible, and be as old.
fn dress(copied: &[u8], stat: &libc::stat) {
    let path = terminated(copied);
    let (here, flags) = (libc::AT_FDCWD as usize, libc::AT_SYMLINK_NOFOLLOW as usize);
    let (user, group) = (stat.st_uid as usize, stat.st_gid as usize);
    let times = [
        [stat.st_atime, stat.st_atime_nsec],
        [stat.st_mtime, stat.st_mtime_nsec],
    ];
    // SAFETY: the path ends with a nul.
    unsafe {
        let path = path.as_ptr() as usize;
        sys::call(libc::SYS_fchownat, [here, path, user, group, flags, 0]);
        if kind(stat) != libc::S_IFLNK {
            let mode = (stat.st_mode & 0o7777) as usize;
            sys::call(libc::SYS_fchmodat, [here, path, mode, 0, 0, 0]);
        }
        let times = times.as_ptr() as usize;
        sys::call(libc::SYS_utimensat, [here, path, times, flags, 0, 0]);
    }
}

/// The same link once more.
fn copy_link(from: &[u8], to: &[u8]) {
    let Some(target) = read_link(from) else {
        return;
    };
    let (target, to) = (terminated(&target), terminated(to));
    let here = libc::AT_FDCWD as usize;
    let (from, to) = (target.as_ptr() as usize, to.as_ptr() as usize);
    // SAFETY: both end with a nul.
    unsafe { sys::call(libc::SYS_symlinkat, [from, here, to, 0, 0, 0]) };
}

/// Makes something in a directory of the copies, whether the program may or not.
fn within<T>(directory: &[u8], make: impl FnOnce() -> T) -> T {
    let mode = look(directory).map_or(0o700, |stat| stat.st_mode & 0o7777);
    let turn = |mode: u32| at(libc::SYS_fchmodat, directory, mode as usize, 0);
    let closed = mode & 0o300 != 0o300;
    if closed {
        turn(mode | 0o700);
    }
    let made = make();
    if closed {
        turn(mode);
    }
    made
}

/// The parts of a path, the first one last.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.rsplit(|byte| *byte == b'/')
        .map(<[u8]>::to_vec)
        .collect()
}

/// The names in a directory.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    const NAME_AT: usize = 19;
    let directory = open(path, libc::O_RDONLY | libc::O_DIRECTORY, 0);
    let mut names = Vec::new();
    if directory < 0 {
        return names;
    }
    let mut room = alloc::vec![0_u8; 1 << 15];
    loop {
        let arguments = [
            directory as usize,
            room.as_mut_ptr() as usize,
            room.len(),
            0,
            0,
            0,
        ];
        // SAFETY: writes to `room`.
        let got = unsafe { sys::call(libc::SYS_getdents64, arguments) };
        let Some(mut entries) = usize::try_from(got)
            .ok()
            .filter(|got| *got > 0)
            .map(|got| &room[..got])
        else {
            break;
        };
        while entries.len() > NAME_AT {
            let length = usize::from(u16::from_le_bytes([entries[16], entries[17]]));
            let name = CStr::from_bytes_until_nul(&entries[NAME_AT..length]);
            let name = name.map_or(&[][..], CStr::to_bytes);
            if !matches!(name, b"" | b"." | b"..") {
                names.push(name.into());
            }
            entries = &entries[length..];
        }
    }
    close(directory);
    names
}

/// Removes all that is in a directory.
fn empty(path: &[u8]) {
    for name in names(path) {
        let entry = [path, b"/", &name].concat();
        if look(&entry).is_some_and(|stat| kind(&stat) == libc::S_IFDIR) {
            at(libc::SYS_fchmodat, &entry, 0o700, 0);
            empty(&entry);
            at(libc::SYS_unlinkat, &entry, libc::AT_REMOVEDIR as usize, 0);
        } else {
            at(libc::SYS_unlinkat, &entry, 0, 0);
        }
    }
}

pub fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// Whether a path is another one, or lies beneath it.
pub fn beneath(path: &[u8], other: &[u8]) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

impl Disk {
    /// Copies go there, once there are some.
    pub fn at(&mut self, root: &str) {
        self.root = root.as_bytes().into();
    }

    /// Whether something could not be copied.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the run has changed anything.
    pub fn used(&self) -> bool {
        self.used
    }

    /// After a run: everything is as it was.
    pub fn forget(&mut self) {
        if self.used {
            empty(&self.root);
            self.used = false;
            self.gone.clear();
            self.blanks.clear();
            self.failed = false;
        }
    }

    /// Where the copy of a file is, or would be.
    pub fn copy_of(&self, real: &[u8]) -> Vec<u8> {
        [&self.root, real].concat()
    }

    /// What the program calls a place among the copies.
    pub fn original_of(&self, path: &[u8]) -> Real {
        match beneath(path, &self.root) {
            true => path[self.root.len()..].into(),
            false if path == b"/" => Real::new(),
            false => path.into(),
        }
    }

    pub fn find(&self, real: &[u8]) -> Where {
        if self.used
            && !self.blanks.iter().any(|blank| blank == real)
            && look(&self.copy_of(real)).is_some()
        {
            return Where::Copy;
        }
        match self.gone.iter().any(|gone| beneath(real, gone)) {
            true => Where::Nowhere,
            false => Where::Original,
        }
    }

    /// Where to look.
    pub fn place(&self, real: &[u8]) -> Vec<u8> {
        match self.find(real) {
            Where::Original => real.into(),
            Where::Copy | Where::Nowhere => self.copy_of(real),
        }
    }

    /// What lies there as the program sees it.
    pub fn stat(&self, real: &[u8]) -> Option<libc::stat> {
        look(&self.place(real))
    }

    /// The directory that a descriptor stands for.
    pub fn directory(&self, descriptor: c_int) -> Option<Real> {
        let link = match descriptor {
            libc::AT_FDCWD => b"/proc/self/cwd".to_vec(),
            _ => format!("/proc/self/fd/{descriptor}").into_bytes(),
        };
        Some(self.original_of(&read_link(&link)?))
    }

    /// A path followed to its real place, whether something lies there or not.
    pub fn real(&self, directory: c_int, path: &[u8], follow: bool) -> Result<Real, Dead> {
        let dead = |at: &[u8], error| Dead {
            at: at.into(),
            error,
        };
        let mut real = match path.first() {
            None => return Err(dead(b"", libc::ENOENT)),
            Some(b'/') => Real::new(),
            Some(_) => self
                .directory(directory)
                .ok_or_else(|| dead(b"", libc::EBADF))?,
        };
        let mut rest = parts(path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    real.truncate(parent(&real).len());
                    continue;
                }
                _ => {}
            }
            let next = [&real[..], b"/", &part].concat();
            let last = rest.iter().all(Vec::is_empty);
            let there = inspect(&self.place(&next), libc::AT_SYMLINK_NOFOLLOW);
            let target = match there.as_ref().map(kind) {
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
            if links > LINKS {
                return Err(dead(&next, libc::ELOOP));
            }
            if target.first() == Some(&b'/') {
                real.clear();
            }
            rest.extend(parts(&target));
        }
        Ok(real)
    }

    /// Where a link leads; `None`: to something that is open and has no path.
    fn target(&self, link: &[u8]) -> Option<Vec<u8>> {
        let target = read_link(&self.place(link))?;
        if !beneath(link, b"/proc") {
            return Some(target);
        }
        if target.first() != Some(&b'/') {
            // Another name, or a kind with a number.
            return Some(target).filter(|target| !target.contains(&b':'));
        }
        let real = self.original_of(&target);
        // What is open is the original still, if that was copied since.
        let open = identity(&look_behind(link)?);
        let mut named = [look(&self.place(&real)), look(&real)]
            .into_iter()
            .flatten();
        let same = named.any(|named| identity(&named) == open);
        let target = if real.is_empty() { target } else { real };
        same.then_some(target)
    }

    /// Makes the directory in which something is about to be made or changed.
    pub fn prepare(&mut self, real: &[u8]) {
        if !self.used {
            self.used = true;
            make_directory(&self.root.clone(), 0o700);
        }
        let above = parent(real);
        if !above.is_empty() {
            self.copy(above, true);
        }
    }

    /// Has something lie among the copies, as it is; of a file, with what is in it unless nobody needs that.
    pub fn copy(&mut self, real: &[u8], whole: bool) {
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
        if self.blanks.iter().any(|blank| blank == real) && kind(&stat) != libc::S_IFDIR {
            at(libc::SYS_unlinkat, &copied, 0, 0);
        }
        self.blanks.retain(|blank| blank != real);
        let copied_whole = within(parent(&copied), || match kind(&stat) {
            libc::S_IFDIR => {
                make_directory(&copied, 0o700);
                true
            }
            libc::S_IFLNK => {
                copy_link(real, &copied);
                true
            }
            libc::S_IFREG if whole => copy(real, &copied, stat.st_mode),
            libc::S_IFREG => make_empty(&copied, stat.st_mode),
            _ => false,
        });
        self.failed |= !copied_whole;
        dress(&copied, &stat);
    }

    /// As [`Disk::copy`], with all that is beneath.
    pub fn copy_all(&mut self, real: &[u8]) {
        self.copy(real, true);
        if self
            .stat(real)
            .is_some_and(|stat| kind(&stat) == libc::S_IFDIR)
        {
            for name in names(real) {
                let entry = [real, b"/", &name].concat();
                if self.find(&entry) == Where::Original {
                    self.copy_all(&entry);
                }
            }
        }
    }

    /// Has a directory among the copies list everything that is in it.
    pub fn list(&mut self, real: &[u8]) {
        if !self.used || self.find(real) != Where::Copy {
            return;
        }
        for name in names(real) {
            let entry = [real, b"/", &name].concat();
            let copied = self.copy_of(&entry);
            if self.find(&entry) != Where::Original || look(&copied).is_some() {
                continue;
            }
            let Some(stat) = look(&entry) else { continue };
            within(parent(&copied), || match kind(&stat) {
                libc::S_IFDIR => make_directory(&copied, 0o700),
                libc::S_IFLNK => copy_link(&entry, &copied),
                _ => _ = make_empty(&copied, 0o600),
            });
            self.blanks.push(entry);
        }
    }

    /// It was taken away.
    pub fn took(&mut self, real: &[u8]) {
        self.blanks.retain(|blank| !beneath(blank, real));
        if !self.gone.iter().any(|gone| gone == real) {
            self.gone.push(real.into());
        }
    }

    /// Something else was put in its place.
    pub fn put(&mut self, real: &[u8]) {
        self.blanks.retain(|blank| !beneath(blank, real));
    }

    /// Whether a directory has no entries.
    pub fn is_empty(&mut self, real: &[u8]) -> bool {
        self.list(real);
        names(&self.place(real)).is_empty()
    }

    /// Whether the program may change what lies there, or what is in that directory; else an error number.
    pub fn writable(&self, real: &[u8]) -> Result<(), c_int> {
        // A copy is the program's own, whosever the original is.
        let place = match self.is_unchanged(real) {
            true => real.into(),
            false => self.place(real),
        };
        match at(libc::SYS_faccessat, &place, libc::W_OK as usize, 0) {
            0 => Ok(()),
            error => Err(-error as c_int),
        }
    }

    /// Whether something has the rights that its original has.
    fn is_unchanged(&self, real: &[u8]) -> bool {
        let gone = self.gone.iter().any(|gone| beneath(real, gone));
        let modes = (look(real), self.stat(real));
        !gone && matches!(modes, (Some(old), Some(new)) if old.st_mode == new.st_mode)
    }
}
