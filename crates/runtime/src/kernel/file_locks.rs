//! Locks of files. Those of `flock`, and those that `fcntl` calls a file description's own, belong to what `open` has made: threads with descriptors of their own
//! exclude each other, and `dup` shares. To take one is to take a read-write lock of the model; the kernel is not asked. The last descriptor that is closed gives it back.
//!
//! Locks of the process (`F_SETLK`, `lockf`) never keep its own threads from anything: they are the kernel's.

use crate::{
    core::{
        call_sites,
        objects::Sort,
        operations::visible,
        world::{self, poll},
    },
    hooks::Frame,
    kernel::{
        descriptor_arguments, descriptor_table, file_names, file_objects,
        offsets::{self, Open},
        overlay as kernel,
    },
    real, trampoline,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Order, Site, ThreadId};

trampoline! {
    flock => lock_file, "rdx";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    locks: Vec<Lock>,
    held: Vec<Held>,
    /// Who locked or unlocked by what was opened, and when.
    uses: Vec<(Open, (ThreadId, u32))>,
    /// Some are the process's, or of a part of a file.
    others: bool,
}

impl State {
    pub fn clear(&mut self) {
        self.locks.clear();
        self.held.clear();
        self.uses.clear();
        self.others = false;
    }
}

/// The two kinds do not know of each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Flock,
    Fcntl,
}

/// A file that was locked.
struct Lock {
    kind: Kind,
    file: (u64, u64),
    object: ObjectId,
}

#[derive(Clone, Copy)]
struct Held {
    by: Open,
    kind: Kind,
    object: ObjectId,
    alone: bool,
}

impl Held {
    fn give_back(self, site: Site) {
        state()
            .held
            .retain(|held| (held.by, held.kind) != (self.by, self.kind));
        let back = match self.alone {
            true => Op::WriteUnlock(self.object),
            false => Op::ReadUnlock(self.object),
        };
        visible(back, site);
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.file_locks
}

fn held(by: Open, kind: Kind) -> Option<Held> {
    let mine = |held: &&Held| (held.by, held.kind) == (by, kind);
    state().held.iter().find(mine).copied()
}

/// What a call asks for.
#[derive(Clone, Copy)]
struct Wish {
    kind: Kind,
    /// `None`: to give it back. Otherwise whether nobody else is to have it.
    alone: Option<bool>,
    waits: bool,
}

/// The lock of a file; whatever happens to its name, it is the same file.
fn lock_of(descriptor: c_int, kind: Kind) -> Option<ObjectId> {
    let stat = kernel::look_at_open(descriptor)?;
    let file = (stat.st_dev, stat.st_ino);
    let known = |lock: &&Lock| (lock.kind, lock.file) == (kind, file);
    if let Some(known) = state().locks.iter().find(known) {
        return Some(known.object);
    }
    let address = file_objects::address(file_names::number_of_open(descriptor));
    let object = Object::rwlock_readers_first();
    let object = world::get().make_beside(address, Sort::RwLock, object);
    state().locks.push(Lock { kind, file, object });
    Some(object)
}

/// A file is another one for the kernel from now on.
pub(crate) fn moved(from: &libc::stat, to: &libc::stat) {
    for lock in &mut state().locks {
        if lock.file == (from.st_dev, from.st_ino) {
            lock.file = (to.st_dev, to.st_ino);
        }
    }
}

/// Which lock is held by what was opened is known only where threads come to that one after the other.
fn in_order(by: Open, site: Site) {
    let world = world::get();
    let now = (world.current, world.races.epoch(world.current));
    let uses = &mut state().uses;
    let last = match uses.iter_mut().find(|(known, _)| *known == by) {
        Some((_, last)) => core::mem::replace(last, now),
        None => {
            uses.push((by, now));
            now
        }
    };
    let unknown = by == Open::default() && !file_names::alone();
    if unknown || !descriptor_table::is_before(last) {
        let what = "locks of a file by a descriptor that several threads use";
        world.unsupported(what, site);
    }
}

/// Has a lock changed by a descriptor that was looked up; an error number, or 0.
fn change(descriptor: c_int, by: Open, wish: Wish, frame: &Frame) -> c_int {
    let site = call_sites::site(&frame.return_address);
    let Some(lock) = lock_of(descriptor, wish.kind) else {
        return libc::EBADF;
    };
    in_order(by, site);
    let before = held(by, wish.kind);
    if before.map(|held| held.alone) == wish.alone {
        return 0;
    }
    if let Some(before) = before {
        if wish.kind == Kind::Fcntl && wish.alone.is_some() {
            // The old one is kept until there is the new one.
            world::get().unsupported("fcntl that changes the kind of a lock", site);
        }
        before.give_back(site);
    }
    let Some(alone) = wish.alone else {
        return 0;
    };
    if !take(lock, alone, wish.waits, frame, site) {
        return libc::EAGAIN;
    }
    state().held.push(Held {
        by,
        kind: wish.kind,
        object: lock,
        alone,
    });
    0
}

fn take(lock: ObjectId, alone: bool, waits: bool, frame: &Frame, site: Site) -> bool {
    let poll = |op| poll(op, frame, site, Order::SeqCst, None).ok;
    match (alone, waits) {
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

unsafe extern "C" fn lock_file(descriptor: c_int, how: c_int, frame: &Frame) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(flock: fn(c_int, c_int) -> c_int)(descriptor, how) };
    }
    let alone = match how & !libc::LOCK_NB {
        libc::LOCK_SH => Some(false),
        libc::LOCK_EX => Some(true),
        libc::LOCK_UN => None,
        _ => return crate::core::operations::failed(libc::EINVAL),
    };
    descriptor_table::look_up(descriptor, call_sites::site(&frame.return_address));
    let (found, by) = descriptor_table::found_open(descriptor);
    let wish = Wish {
        kind: Kind::Flock,
        alone,
        waits: how & libc::LOCK_NB == 0,
    };
    answer(change(found, by, wish, frame))
}

fn answer(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => crate::core::operations::failed(error),
    }
}

/// `fcntl` that locks, by a descriptor that was looked up; `None`: it is the kernel's.
pub(crate) unsafe fn controlled(
    (descriptor, by): (c_int, Open),
    what: c_int,
    argument: usize,
    frame: &Frame,
) -> Option<c_int> {
    use libc::{F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
    let site = call_sites::site(&frame.return_address);
    let own = matches!(what, F_OFD_GETLK | F_OFD_SETLK | F_OFD_SETLKW);
    // SAFETY: the program's own argument.
    let asked = unsafe { &mut *(argument as *mut libc::flock) };
    let whole = asked.l_whence as c_int == libc::SEEK_SET && (asked.l_start, asked.l_len) == (0, 0);
    let modelled = own && whole && what != F_OFD_GETLK;
    let both = match modelled {
        true => state().others,
        false => state().locks.iter().any(|lock| lock.kind == Kind::Fcntl),
    };
    if both || own && !modelled && !file_names::alone() {
        world::get().unsupported(
            "fcntl that locks parts of a file, or for the process as well",
            site,
        );
    }
    if !modelled {
        state().others = true;
        return None;
    }
    let flags = descriptor_table::flags(descriptor);
    let (alone, needs) = match asked.l_type as c_int {
        libc::F_RDLCK => (Some(false), libc::O_WRONLY),
        libc::F_WRLCK => (Some(true), libc::O_RDONLY),
        libc::F_UNLCK => (None, -1),
        _ => return Some(crate::core::operations::failed(libc::EINVAL)),
    };
    if asked.l_pid != 0 {
        return Some(crate::core::operations::failed(libc::EINVAL));
    }
    if flags < 0 || flags & libc::O_ACCMODE == needs {
        return Some(crate::core::operations::failed(libc::EBADF));
    }
    let wish = Wish {
        kind: Kind::Fcntl,
        alone,
        waits: what == F_OFD_SETLKW,
    };
    Some(answer(change(descriptor, by, wish, frame)))
}

/// What holds locks and is about to lose a descriptor.
pub(crate) fn losing(descriptor: c_int) -> Option<Open> {
    let by = offsets::of(descriptor);
    let holds = !state().held.is_empty() && descriptor_table::is_open(descriptor);
    let holds = holds && state().held.iter().any(|held| held.by == by);
    holds.then_some(by)
}

/// It has lost it, and may have no other.
pub(crate) fn lost(by: Option<Open>, site: Site) {
    let Some(by) = by.filter(|by| !offsets::is_open(*by)) else {
        return;
    };
    in_order(by, site);
    for kind in [Kind::Flock, Kind::Fcntl] {
        if let Some(held) = held(by, kind) {
            held.give_back(site);
        }
    }
}

/// Many descriptors are about to be closed at once, or one in the midst of something else.
pub(crate) fn refuse_held(descriptors: impl IntoIterator<Item = c_int>, site: Site) {
    let holds = |descriptor| losing(descriptor).is_some();
    if !state().held.is_empty() && descriptors.into_iter().any(holds) {
        let what = "several descriptors closed at once, with locks of files";
        world::get().unsupported(what, site);
    }
}
