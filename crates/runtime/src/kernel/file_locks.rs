//! Locks of files.
//!
//! Locks of `flock`, and those that `fcntl` calls a file description's own, belong to open descriptions: threads with open
//! descriptions of their own exclude each other, and `dup` shares. Taking one takes a read-write lock of the model; the operating
//! system is not asked. Closing the last descriptor releases it.
//!
//! Locks of the process (`F_SETLK`, `lockf`) never exclude its own threads: they are the operating system's.

use crate::{
    core::{cell::RunCell, objects::Sort, trampoline::Frame},
    kernel::{
        descriptor_table, file_names, file_objects,
        open_description::DescriptionId,
        ordering::alone,
        os_files::{self, FileIdentity},
    },
    run::{
        call_sites,
        operations::{failed, visible},
        world::{self, poll},
    },
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Order, Site};

/// See the module.
struct FileLocks {
    /// Files that were locked.
    locks: Vec<Lock>,
    held: Vec<HeldLock>,
    /// There are locks of the process, or of a part of a file.
    others: bool,
}

static LOCKS: RunCell<FileLocks> = RunCell::new(FileLocks {
    locks: Vec::new(),
    held: Vec::new(),
    others: false,
});

/// A new run.
pub(crate) fn begin_run() {
    let mut locks = LOCKS.borrow();
    locks.locks.clear();
    locks.held.clear();
    locks.others = false;
}

/// The function that takes a lock; locks of different ones do not exclude each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    Flock,
    Fcntl,
}

struct Lock {
    kind: LockKind,
    file: FileIdentity,
    object: ObjectId,
}

#[derive(Clone, Copy)]
struct HeldLock {
    holder: DescriptionId,
    kind: LockKind,
    object: ObjectId,
    exclusive: bool,
}

impl HeldLock {
    fn is(&self, holder: DescriptionId, kind: LockKind) -> bool {
        (self.holder, self.kind) == (holder, kind)
    }

    fn release(self, site: Site) {
        let mut locks = LOCKS.borrow();
        locks.held.retain(|held| !held.is(self.holder, self.kind));
        drop(locks);
        let release = match self.exclusive {
            true => Op::WriteUnlock(self.object),
            false => Op::ReadUnlock(self.object),
        };
        visible(release, site);
    }
}

fn held(holder: DescriptionId, kind: LockKind) -> Option<HeldLock> {
    let locks = LOCKS.borrow();
    let mut held = locks.held.iter();
    held.find(|held| held.is(holder, kind)).copied()
}

/// What a call asks for.
#[derive(Clone, Copy)]
pub(crate) struct LockRequest {
    pub(crate) kind: LockKind,
    /// `None`: to release it. Otherwise whether it excludes all others.
    pub(crate) exclusive: Option<bool>,
    pub(crate) waits: bool,
}

/// The lock of the file that a descriptor is open on; it stays the same whatever happens to the file's name.
fn lock_of(descriptor: c_int, kind: LockKind) -> Option<ObjectId> {
    let file = FileIdentity::of_open(descriptor)?;
    let known = |lock: &&Lock| (lock.kind, lock.file) == (kind, file);
    let found = LOCKS.borrow().locks.iter().find(known).map(|it| it.object);
    if found.is_some() {
        return found;
    }
    let address = file_objects::address(file_names::number_of_open(descriptor));
    let object = Object::rwlock_readers_first();
    let object = world::borrow().make_beside(address, Sort::RwLock, object);
    LOCKS.borrow().locks.push(Lock { kind, file, object });
    Some(object)
}

/// A file is another one for the operating system from now on.
pub(crate) fn moved(from: &libc::stat, to: &libc::stat) {
    let (from, to) = (FileIdentity::of(from), FileIdentity::of(to));
    for lock in &mut LOCKS.borrow().locks {
        if lock.file == from {
            lock.file = to;
        }
    }
}

/// Which lock an open description holds is known only if threads use it one after the other.
fn use_in_order(holder: DescriptionId, site: Site) {
    if !holder.use_locks() {
        let what = "locks of a file by a descriptor that several threads use";
        world::unsupported(what, site);
    }
}

/// Changes the lock that an open description holds, by a descriptor that was looked up; an error number, or 0.
pub(crate) fn change(
    (descriptor, holder): (c_int, DescriptionId),
    request: LockRequest,
    frame: &Frame,
) -> c_int {
    let site = call_sites::site(&frame.return_address);
    let Some(lock) = lock_of(descriptor, request.kind) else {
        return libc::EBADF;
    };
    use_in_order(holder, site);
    let before = held(holder, request.kind);
    if before.map(|held| held.exclusive) == request.exclusive {
        return 0;
    }
    if let Some(before) = before {
        if request.kind == LockKind::Fcntl && request.exclusive.is_some() {
            // The old one would have to be kept until there is the new one.
            world::unsupported("fcntl that changes the kind of a lock", site);
        }
        before.release(site);
    }
    let Some(exclusive) = request.exclusive else {
        return 0;
    };
    if !take(lock, exclusive, request.waits, frame, site) {
        return libc::EAGAIN;
    }
    LOCKS.borrow().held.push(HeldLock {
        holder,
        kind: request.kind,
        object: lock,
        exclusive,
    });
    0
}

fn take(lock: ObjectId, exclusive: bool, waits: bool, frame: &Frame, site: Site) -> bool {
    let poll = |op| poll(op, frame, site, Order::SeqCst, None).ok;
    match (exclusive, waits) {
        (true, true) => {
            visible(Op::WriteBegin(lock), site);
            visible(Op::WriteAcquire(lock), site).ok
        }
        // See the model: it must not be parked.
        (true, false) => visible(Op::TryWriteLock(lock), site).ok,
        (false, true) => poll(Op::ReadLock(lock)),
        (false, false) => poll(Op::TryReadLock(lock)),
    }
}

/// Returns an error number as C functions do.
pub(crate) fn answer(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => failed(error),
    }
}

/// `fcntl` that locks, by a descriptor that was looked up; `None`: it is the operating system's.
pub(crate) fn control(
    (descriptor, holder): (c_int, DescriptionId),
    command: c_int,
    asked: &libc::flock,
    frame: &Frame,
) -> Option<c_int> {
    use libc::{F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
    let site = call_sites::site(&frame.return_address);
    let of_description = matches!(command, F_OFD_GETLK | F_OFD_SETLK | F_OFD_SETLKW);
    let whole = asked.l_whence as c_int == libc::SEEK_SET && (asked.l_start, asked.l_len) == (0, 0);
    let modelled = of_description && whole && command != F_OFD_GETLK;
    let both = {
        let locks = LOCKS.borrow();
        match modelled {
            true => locks.others,
            false => locks.locks.iter().any(|lock| lock.kind == LockKind::Fcntl),
        }
    };
    if both || of_description && !modelled && !alone() {
        let what = "fcntl that locks parts of a file, or for the process as well";
        world::unsupported(what, site);
    }
    if !modelled {
        LOCKS.borrow().others = true;
        return None;
    }
    let flags = os_files::flags(descriptor);
    let (exclusive, wrong_mode) = match asked.l_type as c_int {
        libc::F_RDLCK => (Some(false), libc::O_WRONLY),
        libc::F_WRLCK => (Some(true), libc::O_RDONLY),
        libc::F_UNLCK => (None, -1),
        _ => return Some(failed(libc::EINVAL)),
    };
    if asked.l_pid != 0 {
        return Some(failed(libc::EINVAL));
    }
    if flags < 0 || flags & libc::O_ACCMODE == wrong_mode {
        return Some(failed(libc::EBADF));
    }
    let request = LockRequest {
        kind: LockKind::Fcntl,
        exclusive,
        waits: command == F_OFD_SETLKW,
    };
    Some(answer(change((descriptor, holder), request, frame)))
}

/// The open description that holds locks and is about to lose a descriptor.
pub(crate) fn losing(descriptor: c_int) -> Option<DescriptionId> {
    let holder = descriptor_table::description(descriptor);
    let locks = LOCKS.borrow();
    let holds = locks.held.iter().any(|held| held.holder == holder);
    (holds && os_files::is_open(descriptor)).then_some(holder)
}

/// It has lost the descriptor. If that was its last one, its locks are released.
pub(crate) fn lost(holder: Option<DescriptionId>, site: Site) {
    let Some(holder) = holder.filter(|holder| !descriptor_table::has_descriptor(*holder)) else {
        return;
    };
    use_in_order(holder, site);
    for kind in [LockKind::Flock, LockKind::Fcntl] {
        if let Some(held) = held(holder, kind) {
            held.release(site);
        }
    }
}

/// Stops the thread if it closes descriptors that hold locks: many at once, or one within another call.
pub(crate) fn refuse_held(descriptors: impl IntoIterator<Item = c_int>, site: Site) {
    let any = !LOCKS.borrow().held.is_empty();
    let holds = |descriptor| losing(descriptor).is_some();
    if any && descriptors.into_iter().any(holds) {
        let what = "several descriptors closed at once, with locks of files";
        world::unsupported(what, site);
    }
}
