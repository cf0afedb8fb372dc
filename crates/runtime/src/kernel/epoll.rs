//! Epoll: descriptors that are watched, and the list of those that may be ready, as the operating system keeps it.
//!
//! A step on what is watched, such as a put to a pipe, is followed by a notification: the item is added to the ready list unless it
//! is there already. `epoll_wait` takes the list, looks at what each item is open on, and reports what is ready; an item that is
//! not edge-triggered goes back to the end of the list. So edges, and the order of what is reported, are those of the operating
//! system. An epoll is one object, which all changes of its ready list touch: which notification came first follows from their
//! order. A call that finds the list empty waits until that object changes.
//!
//! *Happens-before.* What a thread did before `epoll_ctl`, or before it made something ready, happens before the return of an
//! `epoll_wait` that takes the ready list after that.
//!
//! *What is watched* has an object too, which a notification looks at and `epoll_ctl` changes, so that whether there is a notification
//! follows from the order of steps. All that is there only in programs that name `epoll_ctl` for the loader ([`used`]). A lock of
//! each epoll keeps `epoll_ctl` and `epoll_wait` apart, as in the operating system.

use crate::{
    core::{cell::RunCell, objects::Sort},
    kernel::{
        descriptor_table,
        endpoints::Endpoint,
        file_objects, imported_names,
        open_description::DescriptionId,
        ordering::alone,
        readiness::{Looks, Pollable},
    },
    run::{operations::visible, world},
};
use alloc::{collections::VecDeque, vec::Vec};
use core::{
    ffi::{c_int, c_short},
    sync::atomic::{AtomicBool, Ordering},
};
use libc::{
    EPOLLET, EPOLLONESHOT, EPOLLWAKEUP, POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM,
};
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site};

/// An epoll of the run, in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EpollId(u32);

/// See the module.
struct Epoll {
    /// What all changes of the ready list touch.
    object: ObjectId,
    /// The lock of those that go through the list, and of those that change what is watched.
    lock: ObjectId,
    items: Vec<Item>,
    /// Items that may be ready, by their places in `items`.
    ready: VecDeque<usize>,
    /// While a call goes through the list: those that were notified meanwhile.
    meanwhile: Option<Vec<usize>>,
}

/// A descriptor that is watched.
#[derive(Clone, Copy)]
struct Item {
    /// The descriptor, and what it was open on.
    number: c_int,
    description: DescriptionId,
    pollable: Pollable,
    /// Events, and flags.
    wanted: u32,
    data: u64,
    /// It is not reported before `epoll_ctl` is called again.
    off: bool,
    removed: bool,
}

/// In what those that watch a pipe or a counter differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It waits for something to read.
    Reader,
    /// It waits for room.
    Writer,
}

/// Those that watch a pipe or a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WatchId(u32);

struct Watch {
    object: ObjectId,
    watchers: Vec<Watcher>,
    /// Open descriptions whose last descriptor was closed.
    closed: Vec<DescriptionId>,
}

#[derive(Clone, Copy)]
struct Watcher {
    epoll: EpollId,
    item: usize,
    role: Role,
    wanted: u32,
}

static EPOLLS: RunCell<Vec<Epoll>> = RunCell::new(Vec::new());
static WATCHES: RunCell<Vec<Watch>> = RunCell::new(Vec::new());
static USED: AtomicBool = AtomicBool::new(false);

/// Looks at what the program's modules name.
pub(crate) fn prepare() {
    USED.store(
        imported_names::names_any(&[c"epoll_ctl"]),
        Ordering::Relaxed,
    );
}

/// Whether the program may watch anything.
pub(crate) fn used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// A new run.
pub(crate) fn begin_run() {
    EPOLLS.borrow().clear();
    WATCHES.borrow().clear();
}

/// Performs a step that changes an object.
fn touch(object: ObjectId, site: Site) {
    if alone() {
        return;
    }
    let rmw = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    visible(Op::Rmw(object, rmw), site);
}

const READS: u32 = (POLLIN | POLLRDNORM) as u32;
const WRITES: u32 = (POLLOUT | POLLWRNORM) as u32;
/// What is reported whether it is asked for or not.
const ALWAYS: u32 = (POLLERR | POLLHUP) as u32;
/// Flags that say how to report.
const FLAGS: u32 = (EPOLLET | EPOLLONESHOT | EPOLLWAKEUP) as u32;

impl WatchId {
    /// What watches something new whose object goes by this address; `None`: nothing ever does.
    pub(crate) fn new(number: usize) -> Option<WatchId> {
        if !used() {
            return None;
        }
        let address = file_objects::address(number);
        let object = world::borrow().make_quiet(address, Object::Atomic(0));
        let mut all = WATCHES.borrow();
        all.push(Watch {
            object,
            watchers: Vec::new(),
            closed: Vec::new(),
        });
        Some(WatchId(all.len() as u32 - 1))
    }

    fn with<R>(self, then: impl FnOnce(&mut Watch) -> R) -> R {
        then(&mut WATCHES.borrow()[self.0 as usize])
    }

    fn touch(self, site: Site) {
        touch(self.with(|watch| watch.object), site);
    }

    /// Something was put or taken, in the step before.
    pub(crate) fn moved(self, role: Role, site: Site) {
        let events = match role {
            Role::Reader => READS,
            Role::Writer => WRITES,
        };
        self.notify(role, events, site);
    }

    /// Its other side may be gone, since the step before. Such steps are in order, so that it is known which is the last one.
    pub(crate) fn orders_ends(self, site: Site) {
        self.touch(site);
    }

    /// Its other side is gone.
    pub(crate) fn ended(self, role: Role, site: Site) {
        self.notify(role, u32::MAX, site);
    }

    fn notify(self, role: Role, events: u32, site: Site) {
        if !alone() {
            visible(Op::Load(self.with(|watch| watch.object)), site);
        }
        let watchers = self.with(|watch| watch.watchers.clone());
        for watcher in watchers {
            if watcher.role == role && (watcher.wanted | ALWAYS) & events != 0 {
                touch(watcher.epoll.with(|epoll| epoll.object), site);
                watcher.epoll.notified(watcher.item, events);
            }
        }
    }
}

/// What `epoll_ctl` does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Add,
    Modify,
    Delete,
}

/// What is to be watched.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) number: c_int,
    pub(crate) description: DescriptionId,
    pub(crate) pollable: Pollable,
}

impl EpollId {
    /// A new one, made with this descriptor.
    pub(crate) fn new(number: c_int) -> EpollId {
        let place = |first| file_objects::address(first + number as usize);
        let mut world = world::borrow();
        let object = world.make_beside(place(file_objects::EPOLLS), Sort::File, Object::Atomic(0));
        let lock = world.make_beside(
            place(file_objects::EPOLL_LOCKS),
            Sort::Quiet,
            Object::mutex(),
        );
        drop(world);
        let mut all = EPOLLS.borrow();
        all.push(Epoll {
            object,
            lock,
            items: Vec::new(),
            ready: VecDeque::new(),
            meanwhile: None,
        });
        EpollId(all.len() as u32 - 1)
    }

    fn with<R>(self, then: impl FnOnce(&mut Epoll) -> R) -> R {
        then(&mut EPOLLS.borrow()[self.0 as usize])
    }

    /// Does something while no other thread goes through the list or changes what is watched.
    fn locked<R>(self, site: Site, then: impl FnOnce() -> R) -> R {
        let lock = self.with(|epoll| epoll.lock);
        let taken = !alone();
        if taken {
            visible(Op::Lock(lock), site);
        }
        let result = then();
        if taken {
            visible(Op::Unlock(lock), site);
        }
        result
    }

    /// An item was notified, in the step before.
    fn notified(self, item: usize, events: u32) {
        self.with(|epoll| {
            let known = &epoll.items[item];
            if known.removed || known.off || (known.wanted | ALWAYS) & events == 0 {
                return;
            }
            match &mut epoll.meanwhile {
                Some(meanwhile) if !meanwhile.contains(&item) => meanwhile.push(item),
                None if !epoll.ready.contains(&item) => epoll.ready.push_back(item),
                _ => {}
            }
        });
    }

    /// `epoll_ctl`; an error number.
    pub(crate) fn control(
        self,
        control: Control,
        watched: Watched,
        (wanted, data): (u32, u64),
        looks: &mut Looks<'_>,
        site: Site,
    ) -> Result<(), c_int> {
        self.locked(site, || {
            touch(self.with(|epoll| epoll.object), site);
            let item = self.with(|epoll| {
                let same = |item: &Item| {
                    !item.removed
                        && (item.number, item.description) == (watched.number, watched.description)
                };
                epoll.items.iter().position(same)
            });
            let item = match (control, item) {
                (Control::Add, Some(_)) => return Err(libc::EEXIST),
                (Control::Add, None) => self.with(|epoll| {
                    epoll.items.push(Item {
                        number: watched.number,
                        description: watched.description,
                        pollable: watched.pollable,
                        wanted,
                        data,
                        off: false,
                        removed: false,
                    });
                    epoll.items.len() - 1
                }),
                (_, None) => return Err(libc::ENOENT),
                (Control::Modify, Some(item)) => {
                    self.with(|epoll| {
                        let known = &mut epoll.items[item];
                        (known.wanted, known.data, known.off) = (wanted, data, false);
                    });
                    item
                }
                (Control::Delete, Some(item)) => {
                    self.remove(item, site);
                    return Ok(());
                }
            };
            self.watch(item, Some(wanted), site);
            let closed = |(watch, _): (WatchId, Role)| {
                watch.with(|watch| watch.closed.contains(&watched.description))
            };
            if watches(watched.pollable).into_iter().any(closed) {
                // It was closed meanwhile.
                self.remove(item, site);
                return Ok(());
            }
            let events = looks.events(watched.pollable, (wanted & 0xffff) as c_short);
            if events != 0 {
                touch(self.with(|epoll| epoll.object), site);
                self.notified(item, u32::MAX);
            }
            Ok(())
        })
    }

    /// An item is not watched any more.
    fn remove(self, item: usize, site: Site) {
        self.with(|epoll| {
            epoll.items[item].removed = true;
            epoll.ready.retain(|ready| *ready != item);
        });
        self.watch(item, None, site);
    }

    /// What an item is open on is watched for these events from now on, or not any more.
    fn watch(self, item: usize, wanted: Option<u32>, site: Site) {
        let pollable = self.with(|epoll| epoll.items[item].pollable);
        for (watch, role) in watches(pollable) {
            watch.touch(site);
            watch.with(|watch| {
                let other = |watcher: &Watcher| {
                    (watcher.epoll, watcher.item, watcher.role) != (self, item, role)
                };
                watch.watchers.retain(other);
                watch.watchers.extend(wanted.map(|wanted| Watcher {
                    epoll: self,
                    item,
                    role,
                    wanted,
                }));
            });
        }
    }

    /// A look of `epoll_wait`: what is ready, at most so many.
    pub(crate) fn look(self, most: usize, looks: &mut Looks<'_>, site: Site) -> Vec<(u32, u64)> {
        let object = self.with(|epoll| epoll.object);
        loop {
            looks.only_at(object);
            if self.with(|epoll| epoll.ready.is_empty()) {
                return Vec::new();
            }
            let found = self.locked(site, || self.go_through(most, looks, site));
            if !found.is_empty() {
                return found;
            }
        }
    }

    /// Goes through the ready list.
    fn go_through(self, most: usize, looks: &mut Looks<'_>, site: Site) -> Vec<(u32, u64)> {
        let object = self.with(|epoll| epoll.object);
        touch(object, site);
        let mut taken = self.with(|epoll| {
            epoll.meanwhile = Some(Vec::new());
            core::mem::take(&mut epoll.ready)
        });
        let (mut found, mut again) = (Vec::new(), Vec::new());
        while let Some(index) = (found.len() < most).then(|| taken.pop_front()).flatten() {
            let item = self.with(|epoll| epoll.items[index]);
            if item.off || item.removed {
                continue;
            }
            let wanted = (item.wanted & !FLAGS) as c_short;
            let events = looks.events(item.pollable, wanted);
            if events == 0 {
                continue;
            }
            found.push((u32::from(events as u16), item.data));
            if item.wanted & EPOLLONESHOT as u32 != 0 {
                self.with(|epoll| epoll.items[index].off = true);
            } else if item.wanted & EPOLLET as u32 == 0 {
                again.push(index);
            }
        }
        touch(object, site);
        self.with(|epoll| {
            // What was left first, then what was notified meanwhile.
            let meanwhile = epoll.meanwhile.take().unwrap_or_default();
            for index in meanwhile.into_iter().chain(again) {
                if !taken.contains(&index) {
                    taken.push_back(index);
                }
            }
            taken.retain(|index| !epoll.items[*index].removed);
            epoll.ready = taken;
        });
        found
    }
}

/// What watches that to which a descriptor is open.
fn watches(pollable: Pollable) -> Vec<(WatchId, Role)> {
    let of_end = |end: Endpoint| {
        let reader = end
            .input
            .and_then(|pipe| Some((pipe.watch()?, Role::Reader)));
        let writer = end
            .output
            .and_then(|pipe| Some((pipe.watch()?, Role::Writer)));
        reader.into_iter().chain(writer).collect()
    };
    match pollable {
        Pollable::Counter(eventfd) => {
            let watch = eventfd.watch().into_iter();
            watch
                .flat_map(|watch| [(watch, Role::Reader), (watch, Role::Writer)])
                .collect()
        }
        Pollable::Endpoint(end) => of_end(end),
        Pollable::Socket(socket) => socket.end_now().map(of_end).unwrap_or_default(),
        Pollable::Closed | Pollable::Ready => Vec::new(),
    }
}

/// A descriptor of an open description was closed: nothing watches it any more.
pub(crate) fn closed(description: DescriptionId, pollable: Pollable, site: Site) {
    let mut watching: Vec<EpollId> = Vec::new();
    for (watch, _) in watches(pollable) {
        watch.touch(site);
        let watchers = watch.with(|watch| watch.watchers.clone());
        let of_it = |watcher: &Watcher| {
            watcher
                .epoll
                .with(|epoll| epoll.items[watcher.item].description)
                == description
        };
        for watcher in watchers.into_iter().filter(of_it) {
            if !watching.contains(&watcher.epoll) {
                watching.push(watcher.epoll);
            }
        }
        let is_last = !descriptor_table::has_descriptor(description);
        if !is_last && !watching.is_empty() {
            world::unsupported(
                "close of one of several descriptors of what epoll watches",
                site,
            );
        }
        watch.with(|watch| watch.closed.extend(is_last.then_some(description)));
    }
    for epoll in watching {
        epoll.locked(site, || {
            touch(epoll.with(|epoll| epoll.object), site);
            while let Some(item) = epoll.with(|epoll| {
                let mut items = epoll.items.iter();
                items.position(|item| !item.removed && item.description == description)
            }) {
                epoll.remove(item, site);
            }
        });
    }
}
