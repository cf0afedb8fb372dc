//! The disk as a run sees it: what it changes lies in a directory of this process's own and is gone with the run, so every run finds the same files,
//! and workers do not meet.
//!
//! A path is followed to its real place first ([`Disk::real`]): absolute, without links. A file that is about to be changed is copied to the same place below
//! the directory that the driver named, and is looked for there from then on. What a run has taken away is remembered. A directory
//! that is listed gets a blank for each entry that was not changed, so that all names are there.

use crate::sys;
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
}

/// Where a path is to be looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    Copy,
    Original,
    Nowhere,
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

/// What lies at a path, links not followed.
pub fn look(path: &[u8]) -> Option<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let flags = libc::AT_SYMLINK_NOFOLLOW as usize;
    let into = stat.as_mut_ptr() as usize;
    let found = at(libc::SYS_newfstatat, path, into, flags) == 0;
    // SAFETY: all zeros are one, too.
    found.then(|| unsafe { stat.assume_init() })
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

/// Copies what is in a file.
fn copy(from: &[u8], to: &[u8], mode: u32) {
    let source = open(from, libc::O_RDONLY, 0);
    let target = open(to, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, mode);
    // SAFETY: both are ours.
    unsafe {
        let all = 1 << 30;
        while sys::call(
            libc::SYS_sendfile,
            [target as usize, source as usize, 0, all, 0, 0],
        ) > 0
        {}
    }
    at(libc::SYS_fchmodat, to, (mode & 0o7777) as usize, 0);
    close(source);
    close(target);
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

    /// A path followed to its real place; `None`: there is no such place.
    pub fn real(&self, directory: c_int, path: &[u8], follow: bool) -> Option<Real> {
        let mut real = match path.first()? {
            b'/' => Real::new(),
            _ => self.directory(directory)?,
        };
        let parts = |path: &[u8]| -> Vec<Vec<u8>> {
            path.rsplit(|byte| *byte == b'/')
                .map(<[u8]>::to_vec)
                .collect()
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
            let last = rest.iter().all(|part| part.is_empty());
            let link = (!last || follow)
                .then(|| read_link(&self.place(&next)))
                .flatten();
            let Some(target) = link else {
                real = next;
                continue;
            };
            links += 1;
            if links > LINKS {
                return None;
            }
            if target.first() == Some(&b'/') {
                real.clear();
            }
            rest.extend(parts(&target));
        }
        Some(real)
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
        match kind(&stat) {
            libc::S_IFDIR => make_directory(&copied, stat.st_mode & 0o7777),
            libc::S_IFLNK => {
                if let Some(target) = read_link(real) {
                    let target = terminated(&target);
                    let copied = terminated(&copied);
                    let here = libc::AT_FDCWD as usize;
                    let (from, to) = (target.as_ptr() as usize, copied.as_ptr() as usize);
                    // SAFETY: both end with a nul.
                    unsafe { sys::call(libc::SYS_symlinkat, [from, here, to, 0, 0, 0]) };
                }
            }
            _ if whole => copy(real, &copied, stat.st_mode),
            _ => copy(b"/dev/null", &copied, stat.st_mode),
        }
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
            match kind(&stat) {
                libc::S_IFDIR => make_directory(&copied, 0o700),
                _ => copy(b"/dev/null", &copied, 0o600),
            }
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

    /// Whether the program may change what lies there, or what is in that directory.
    pub fn writable(&self, real: &[u8]) -> bool {
        at(
            libc::SYS_faccessat,
            &self.place(real),
            libc::W_OK as usize,
            0,
        ) == 0
    }
}

/// The descriptors below this one that stand for a file.
fn open_for(file: &libc::stat, below: c_int) -> impl Iterator<Item = c_int> {
    let identity = (file.st_dev, file.st_ino);
    let open = names(b"/proc/self/fd").into_iter();
    let open = open.filter_map(|name| core::str::from_utf8(&name).ok()?.parse().ok());
    open.filter(move |descriptor: &c_int| {
        let mut stat = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: writes a local, for which all zeros are fine, too.
        let stat = unsafe {
            let into = stat.as_mut_ptr() as usize;
            sys::call(libc::SYS_fstat, [*descriptor as usize, into, 0, 0, 0, 0]);
            stat.assume_init()
        };
        *descriptor < below && (stat.st_dev, stat.st_ino) == identity
    })
}

/// Whether some descriptor below this one stands for the same file.
pub fn is_open(file: &libc::stat, below: c_int) -> bool {
    open_for(file, below).next().is_some()
}

/// Has the descriptors of a file stand for its copy from now on, each where it stood; those that are the same stay the same.
pub fn follow(
    file: &libc::stat,
    copy: &[u8],
    below: c_int,
    are_same: impl Fn(c_int, c_int) -> bool,
) {
    let mut done: Vec<c_int> = Vec::new();
    for descriptor in open_for(file, below) {
        let same = done.iter().find(|known| are_same(**known, descriptor));
        exchange(descriptor, same.copied(), copy);
        done.push(descriptor);
    }
}

/// Exchanges a descriptor for another one, or for one of a copy.
fn exchange(descriptor: c_int, other: Option<c_int>, copy: &[u8]) {
    let descriptor = descriptor as usize;
    // SAFETY: exchanges a descriptor of the program's for one that reads the same.
    unsafe {
        let ask = |what: c_int| {
            sys::call(libc::SYS_fcntl, [descriptor, what as usize, 0, 0, 0, 0]) as usize
        };
        let close = match ask(libc::F_GETFD) {
            0 => 0,
            _ => libc::O_CLOEXEC as usize,
        };
        if let Some(other) = other {
            sys::call(libc::SYS_dup3, [other as usize, descriptor, close, 0, 0, 0]);
            return;
        }
        let from = libc::SEEK_CUR as usize;
        let offset = sys::call(libc::SYS_lseek, [descriptor, 0, from, 0, 0, 0]) as usize;
        let new = at(libc::SYS_openat, copy, ask(libc::F_GETFL), 0);
        if let Ok(new) = usize::try_from(new) {
            let from = libc::SEEK_SET as usize;
            sys::call(libc::SYS_lseek, [new, offset, from, 0, 0, 0]);
            sys::call(libc::SYS_dup3, [new, descriptor, close, 0, 0, 0]);
            sys::call(libc::SYS_close, [new, 0, 0, 0, 0, 0]);
        }
    }
}
