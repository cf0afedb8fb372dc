//! Files and descriptors as the operating system has them: raw system calls, no state of the run.
//!
//! Nothing here touches `errno`, memory of the program or an object of the model.

use crate::{
    core::sys,
    kernel::paths::{self, entry, terminated},
};
use alloc::{format, vec::Vec};
use core::{
    ffi::{CStr, c_int, c_long},
    mem::MaybeUninit,
};

/// Which file it is, for the operating system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(crate) fn of(stat: &libc::stat) -> FileIdentity {
        FileIdentity {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }

    /// Of what a descriptor is open on.
    pub(crate) fn of_open(descriptor: c_int) -> Option<FileIdentity> {
        status(descriptor).map(|stat| FileIdentity::of(&stat))
    }
}

/// A system call with a descriptor and two further numbers that are no pointers.
fn call(number: c_long, descriptor: c_int, a: usize, b: usize) -> isize {
    // SAFETY: only called with numbers of system calls that neither read nor write memory of this process; which descriptors
    // they open, close or change is what the caller wants.
    unsafe { sys::call(number, [descriptor as usize, a, b, 0, 0, 0]) }
}

/// `fcntl` with an argument that is no pointer; negative: an error number.
pub(crate) fn control(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    call(libc::SYS_fcntl, descriptor, command as usize, argument) as c_int
}

/// Closes a descriptor; a negative one is none.
pub(crate) fn close(descriptor: c_int) {
    if descriptor >= 0 {
        call(libc::SYS_close, descriptor, 0, 0);
    }
}

/// Closes all descriptors of a range.
pub(crate) fn close_range(first: c_int, last: c_int) {
    call(libc::SYS_close_range, first, last as usize, 0);
}

pub(crate) fn is_open(descriptor: c_int) -> bool {
    control(descriptor, libc::F_GETFD, 0) >= 0
}

/// The flags of what is open; negative: the descriptor is not open.
pub(crate) fn flags(descriptor: c_int) -> c_int {
    control(descriptor, libc::F_GETFL, 0)
}

/// Whether a descriptor is closed when another program takes the place of this one.
pub(crate) fn closes_on_exec(descriptor: c_int) -> bool {
    control(descriptor, libc::F_GETFD, 0) & libc::FD_CLOEXEC != 0
}

/// The lowest free number from `least` on, as a copy of a descriptor that is closed on exec; negative: an error number.
pub(crate) fn duplicate_above(descriptor: c_int, least: c_int) -> c_int {
    control(descriptor, libc::F_DUPFD_CLOEXEC, least as usize)
}

/// Has a number be a copy of a descriptor; what it was before is closed.
pub(crate) fn duplicate_to(descriptor: c_int, number: c_int, closes_on_exec: bool) {
    let flags = match closes_on_exec {
        true => libc::O_CLOEXEC as usize,
        false => 0,
    };
    call(libc::SYS_dup3, descriptor, number as usize, flags);
}

/// The offset of what is open; negative: an error number.
pub(crate) fn offset(descriptor: c_int) -> isize {
    call(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR as usize)
}

pub(crate) fn set_offset(descriptor: c_int, offset: isize) {
    let from = libc::SEEK_SET as usize;
    call(libc::SYS_lseek, descriptor, offset as usize, from);
}

/// Goes to the directory that a descriptor is open on.
pub(crate) fn change_directory(descriptor: c_int) {
    call(libc::SYS_fchdir, descriptor, 0, 0);
}

/// Sets the mask for new files; the one before.
pub(crate) fn set_mask(mask: usize) -> usize {
    call(libc::SYS_umask, mask as c_int, 0, 0) as usize
}

/// What a descriptor is open on.
pub(crate) fn status(descriptor: c_int) -> Option<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let arguments = [descriptor as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: `fstat` writes a `stat` to the local, which has room for one; all zeros are a valid `stat`, too.
    unsafe { (sys::call(libc::SYS_fstat, arguments) == 0).then(|| stat.assume_init()) }
}

/// The type of file, one of `S_IFREG` and its like.
pub(crate) fn file_type(stat: &libc::stat) -> u32 {
    stat.st_mode & libc::S_IFMT
}

/// The same of what a descriptor is open on; 0: it is not open, or on something without a type.
pub(crate) fn file_type_of_open(descriptor: c_int) -> u32 {
    status(descriptor).map_or(0, |stat| file_type(&stat))
}

/// The link of `/proc` to what a descriptor is open on.
pub(crate) fn link_to_open(descriptor: c_int) -> Vec<u8> {
    format!("/proc/self/fd/{descriptor}").into_bytes()
}

/// The path of what a descriptor is open on, as the operating system calls it.
pub(crate) fn path_of_open(descriptor: c_int) -> Option<Vec<u8>> {
    read_link(&link_to_open(descriptor))
}

/// A system call about a path, from the current directory; negative: an error number.
///
/// # Safety
///
/// The system call takes a directory, a path and two more arguments, and these two are as it demands: if one is a pointer, the
/// memory behind it is as large as the call needs.
unsafe fn path_call(number: c_long, path: &[u8], a: usize, b: usize) -> isize {
    let path = terminated(path);
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends with a nul and lives until the call returns; the rest is promised by the caller.
    unsafe { sys::call(number, [here, path.as_ptr() as usize, a, b, 0, 0]) }
}

/// Opens what lies at a path; a descriptor, or a negative error number.
pub(crate) fn open(path: &[u8], flags: c_int, mode: u32) -> c_int {
    // SAFETY: beside the path, `openat` takes flags and a mode, no pointers.
    unsafe { path_call(libc::SYS_openat, path, flags as usize, mode as usize) as c_int }
}

/// Removes a file, or a directory that is empty.
pub(crate) fn remove(path: &[u8], directory: bool) {
    let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
    // SAFETY: beside the path, `unlinkat` takes flags, no pointer.
    unsafe { path_call(libc::SYS_unlinkat, path, flags as usize, 0) };
}

/// Makes a directory; negative: an error number.
pub(crate) fn make_directory(path: &[u8], mode: u32) -> isize {
    // SAFETY: beside the path, `mkdirat` takes a mode, no pointer.
    unsafe { path_call(libc::SYS_mkdirat, path, mode as usize, 0) }
}

/// Makes a file of the kind that a Unix socket is bound to; negative: an error number.
pub(crate) fn make_socket(path: &[u8]) -> isize {
    let mode = libc::S_IFSOCK | 0o777;
    // SAFETY: beside the path, `mknodat` takes a mode and a device, no pointers.
    unsafe { path_call(libc::SYS_mknodat, path, mode as usize, 0) }
}

pub(crate) fn set_mode(path: &[u8], mode: u32) {
    // SAFETY: beside the path, `fchmodat` takes a mode, no pointer.
    unsafe { path_call(libc::SYS_fchmodat, path, mode as usize, 0) };
}

/// Whether the process may write to what lies there; else an error number.
pub(crate) fn writable(path: &[u8]) -> Result<(), c_int> {
    // SAFETY: beside the path, `faccessat` takes a mode, no pointer.
    match unsafe { path_call(libc::SYS_faccessat, path, libc::W_OK as usize, 0) } {
        0 => Ok(()),
        error => Err(-error as c_int),
    }
}

/// Whether the process may run what lies there; else an error number.
pub(crate) fn executable(path: &[u8]) -> Result<(), c_int> {
    // SAFETY: beside the path, `faccessat` takes a mode, no pointer.
    match unsafe { path_call(libc::SYS_faccessat, path, libc::X_OK as usize, 0) } {
        0 => Ok(()),
        error => Err(-error as c_int),
    }
}

/// What lies at a path, with these flags; or an error number.
pub(crate) fn inspect(path: &[u8], flags: c_int) -> Result<libc::stat, c_int> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let into = stat.as_mut_ptr() as usize;
    // SAFETY: `newfstatat` writes a `stat` to the local, which has room for one.
    match unsafe { path_call(libc::SYS_newfstatat, path, into, flags as usize) } {
        // SAFETY: filled in by the call; all zeros are a valid `stat`, too.
        0 => Ok(unsafe { stat.assume_init() }),
        error => Err(-error as c_int),
    }
}

/// What lies at a path; a link is not followed.
pub(crate) fn look(path: &[u8]) -> Option<libc::stat> {
    inspect(path, libc::AT_SYMLINK_NOFOLLOW).ok()
}

/// What lies where a path leads.
pub(crate) fn look_behind(path: &[u8]) -> Option<libc::stat> {
    inspect(path, 0).ok()
}

pub(crate) fn read_link(path: &[u8]) -> Option<Vec<u8>> {
    let mut text = alloc::vec![0_u8; libc::PATH_MAX as usize];
    let (into, room) = (text.as_mut_ptr() as usize, text.len());
    // SAFETY: `readlinkat` writes at most `room` bytes to `text`.
    let length = unsafe { path_call(libc::SYS_readlinkat, path, into, room) };
    text.truncate(usize::try_from(length).ok()?);
    Some(text)
}

/// Gives a file another name; negative: an error number.
pub(crate) fn rename(from: &[u8], to: &[u8]) -> isize {
    let (from, to) = (terminated(from), terminated(to));
    let here = libc::AT_FDCWD as usize;
    let (from, to) = (from.as_ptr() as usize, to.as_ptr() as usize);
    // SAFETY: both paths end with a nul and live until the call returns.
    unsafe { sys::call(libc::SYS_renameat, [here, from, here, to, 0, 0]) }
}

/// Makes a directory with exactly these rights.
pub(crate) fn make_directory_with(path: &[u8], mode: u32) {
    make_directory(path, mode);
    // Whatever the mask says.
    set_mode(path, mode);
}

/// Makes an empty file; whether that succeeds.
pub(crate) fn make_empty(path: &[u8], mode: u32) -> bool {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    let made = open(path, flags, 0o600);
    set_mode(path, mode & 0o7777);
    close(made);
    made >= 0
}

/// Copies the contents of a file; whether that succeeds.
pub(crate) fn copy_contents(from: &[u8], to: &[u8], mode: u32) -> bool {
    let source = open(from, libc::O_RDONLY | libc::O_CLOEXEC, 0);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    let target = open(to, flags, 0o600);
    let (all, mut sent) = (1 << 30, 1);
    while sent > 0 {
        let arguments = [target as usize, source as usize, 0, all, 0, 0];
        // SAFETY: `sendfile` without an offset (null) takes numbers; both descriptors were opened above.
        sent = unsafe { sys::call(libc::SYS_sendfile, arguments) };
    }
    set_mode(to, mode & 0o7777);
    close(source);
    close(target);
    sent == 0
}

/// Gives a copy the owner, the rights and the times of its original, as far as that is allowed.
pub(crate) fn copy_attributes(copied: &[u8], stat: &libc::stat) {
    let path = terminated(copied);
    let (here, flags) = (libc::AT_FDCWD as usize, libc::AT_SYMLINK_NOFOLLOW as usize);
    let (user, group) = (stat.st_uid as usize, stat.st_gid as usize);
    let times = [
        [stat.st_atime, stat.st_atime_nsec],
        [stat.st_mtime, stat.st_mtime_nsec],
    ];
    // SAFETY: the path ends with a nul; `times` are two pairs of seconds and nanoseconds, as `utimensat` reads them; both
    // live until the calls return.
    unsafe {
        let path = path.as_ptr() as usize;
        sys::call(libc::SYS_fchownat, [here, path, user, group, flags, 0]);
        if file_type(stat) != libc::S_IFLNK {
            let mode = (stat.st_mode & 0o7777) as usize;
            sys::call(libc::SYS_fchmodat, [here, path, mode, 0, 0, 0]);
        }
        let times = times.as_ptr() as usize;
        sys::call(libc::SYS_utimensat, [here, path, times, flags, 0, 0]);
    }
}

/// Makes a link that leads where another link leads.
pub(crate) fn copy_link(from: &[u8], to: &[u8]) {
    let Some(target) = read_link(from) else {
        return;
    };
    let (target, to) = (terminated(&target), terminated(to));
    let here = libc::AT_FDCWD as usize;
    let (from, to) = (target.as_ptr() as usize, to.as_ptr() as usize);
    // SAFETY: both texts end with a nul and live until the call returns.
    unsafe { sys::call(libc::SYS_symlinkat, [from, here, to, 0, 0, 0]) };
}

/// The names in a directory, but for `.` and `..`.
pub(crate) fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let directory = open(path, flags, 0);
    let mut found = Vec::new();
    if directory < 0 {
        return found;
    }
    let mut room = alloc::vec![0_u8; 1 << 15];
    loop {
        let (into, bytes) = (room.as_mut_ptr() as usize, room.len());
        let arguments = [directory as usize, into, bytes, 0, 0, 0];
        // SAFETY: `getdents64` writes at most `bytes` bytes to `room`.
        let got = unsafe { sys::call(libc::SYS_getdents64, arguments) };
        match usize::try_from(got) {
            Ok(got @ 1..) => found.extend(names_of(&room[..got])),
            _ => break,
        }
    }
    close(directory);
    found
}

/// The names in what `getdents64` has written.
fn names_of(mut entries: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    /// Before the name: inode and offset of 8 bytes each, the length of the entry of 2, the type of 1.
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 19;
    core::iter::from_fn(move || {
        while entries.len() > NAME_AT {
            let length = [entries[LENGTH_AT], entries[LENGTH_AT + 1]];
            let length = usize::from(u16::from_le_bytes(length));
            let name = CStr::from_bytes_until_nul(&entries[NAME_AT..length]);
            let name = name.map_or(&[][..], CStr::to_bytes);
            entries = &entries[length..];
            if !matches!(name, b"" | b"." | b"..") {
                return Some(name.into());
            }
        }
        None
    })
}

/// Removes everything in a directory.
pub(crate) fn empty_directory(path: &[u8]) {
    for name in names(path) {
        let entry = entry(path, &name);
        let is_directory = look(&entry).is_some_and(|stat| file_type(&stat) == libc::S_IFDIR);
        if is_directory {
            set_mode(&entry, 0o700);
            empty_directory(&entry);
        }
        remove(&entry, is_directory);
    }
}

/// Makes something in a directory, whether its rights allow that or not.
pub(crate) fn despite_rights<T>(directory: &[u8], make: impl FnOnce() -> T) -> T {
    let mode = look(directory).map_or(0o700, |stat| stat.st_mode & 0o7777);
    let closed = mode & 0o300 != 0o300;
    if closed {
        set_mode(directory, mode | 0o700);
    }
    let made = make();
    if closed {
        set_mode(directory, mode);
    }
    made
}

/// The descriptors of this process that are open on a file, of those that the caller wants.
fn open_on(file: &libc::stat, wanted: impl Fn(c_int) -> bool) -> impl Iterator<Item = c_int> {
    let file = FileIdentity::of(file);
    let all = names(b"/proc/self/fd").into_iter();
    let all = all.filter_map(|name| core::str::from_utf8(&name).ok()?.parse().ok());
    all.filter(move |descriptor: &c_int| {
        wanted(*descriptor) && FileIdentity::of_open(*descriptor) == Some(file)
    })
}

/// Whether one of these descriptors is open on a file.
pub(crate) fn is_open_somewhere(file: &libc::stat, wanted: impl Fn(c_int) -> bool) -> bool {
    open_on(file, wanted).next().is_some()
}

/// Whether two descriptors share one open description: the offset of one moves with the other's.
fn share_offset(one: c_int, other: c_int) -> bool {
    let before = offset(one);
    if before < 0 || offset(other) != before {
        return false;
    }
    set_offset(one, before + 1);
    let shared = offset(other) == before + 1;
    set_offset(one, before);
    shared
}

/// Has these descriptors of a file be open on its copy from now on, each at its old offset.
pub(crate) fn move_to_copy(file: &libc::stat, copy: &[u8], wanted: impl Fn(c_int) -> bool) {
    let mut open: Vec<c_int> = open_on(file, wanted).collect();
    while let Some(first) = open.pop() {
        let before = offset(first);
        let sharing = open.extract_if(.., |other| share_offset(first, *other));
        let sharing: Vec<c_int> = sharing.collect();
        if !reopen(first, copy) {
            continue;
        }
        set_offset(first, before);
        for other in sharing {
            replace(other, first);
        }
    }
}

/// Has a descriptor be open on what lies at a path; whether that succeeds.
pub(crate) fn reopen(descriptor: c_int, path: &[u8]) -> bool {
    let new = open(path, flags(descriptor), 0);
    if new >= 0 {
        replace(descriptor, new);
        close(new);
    }
    new >= 0
}

/// Has a descriptor be a copy of another one, and keep whether it is closed on exec.
pub(crate) fn replace(descriptor: c_int, other: c_int) {
    let closes = control(descriptor, libc::F_GETFD, 0) != 0;
    duplicate_to(other, descriptor, closes);
}

/// The number of this process.
pub(crate) fn process_id() -> isize {
    // SAFETY: `getpid` takes nothing and changes nothing.
    unsafe { sys::call(libc::SYS_getpid, [0; 6]) }
}

/// Whether the process may do what only the owner of a file may do.
pub(crate) fn owns(stat: &libc::stat) -> bool {
    // SAFETY: `geteuid` takes nothing and changes nothing.
    let user = unsafe { sys::call(libc::SYS_geteuid, [0; 6]) } as u32;
    user == 0 || user == stat.st_uid
}

/// Seconds of the calendar.
pub(crate) fn seconds() -> i64 {
    let mut now = [0_i64; 2];
    let clock = libc::CLOCK_REALTIME as usize;
    let arguments = [clock, now.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: `clock_gettime` writes two words to the local.
    unsafe { sys::call(libc::SYS_clock_gettime, arguments) };
    now[0]
}

/// The directory that a descriptor, or `AT_FDCWD`, stands for.
pub(crate) fn directory_path(descriptor: c_int) -> Option<Vec<u8>> {
    match descriptor {
        libc::AT_FDCWD => read_link(b"/proc/self/cwd"),
        _ => path_of_open(descriptor),
    }
}

/// Whether two paths lead to files on one device.
pub(crate) fn same_device(one: &[u8], other: &[u8]) -> bool {
    let device = |path: &[u8]| Some(look_behind(path)?.st_dev);
    device(one) == device(other)
}

/// Whether a path and a descriptor are of one file.
pub(crate) fn is_open_at(descriptor: c_int, path: &[u8]) -> bool {
    let named = look(path).map(|stat| FileIdentity::of(&stat));
    named.is_some() && named == FileIdentity::of_open(descriptor)
}

/// The nearest ancestor of a path, or the path itself, where something lies.
pub(crate) fn nearest(path: &[u8]) -> &[u8] {
    let mut path = path;
    while look(path).is_none() {
        path = paths::parent(path);
    }
    path
}
