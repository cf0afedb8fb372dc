//! Tasks: work that some thread of the team does later, as in libgomp. A thread takes tasks where it waits: at a barrier the oldest
//! of the team, at the end of a group and at `taskwait` the youngest of those that it waits for. It does not change to another task
//! in the middle of one, which is what deadlocks of tasks come from.
//!
//! Tasks are taken under a lock of the team, which orders nothing for the race detector. Semaphores do: the creation of a task
//! happens before the task, and its end before what waits for it.

use crate::{
    calls::openmp::{
        Body, NOWHERE, answer, change_place,
        entry_points::{Call, entries},
        hidden, place, size_of_team, with_team,
    },
    core::{cell::RunValue, modules, objects::Sort},
    run::{heap, operations::visible, world},
};
use alloc::vec::Vec;
use core::{
    ffi::{c_int, c_void},
    mem, slice,
};
use reweave_model::{Object, ObjectId, Op, Site};

entries! {
    GOMP_task => create;
    GOMP_taskwait => |call: &Call| wait_for(Awaited::Children, call.site());
    GOMP_taskgroup_start => begin_group;
    GOMP_taskgroup_end => end_group;
    GOMP_taskyield => |_: &Call| 0;
    omp_in_final => |_: &Call| answer(in_final());
    omp_in_final_ => |_: &Call| answer(in_final());
}

/// Of a team. The parts of its threads in the team come first among its tasks.
pub struct Tasks {
    lock: ObjectId,
    changed: ObjectId,
    tasks: Vec<Task>,
    groups: Vec<Awaiting>,
    /// Those that no thread has taken, oldest first.
    ready: Vec<usize>,
    unfinished: u32,
    /// How many threads have come to the barrier, and how often all of them have.
    arrived: u32,
    round: u32,
}

struct Task {
    parent: usize,
    /// The group that the tasks it creates belong to.
    group: Option<usize>,
    is_final: bool,
    children: Awaiting,
    work: Option<Work>,
}

/// What a task does, if it is not a thread's part in the team.
#[derive(Clone, Copy)]
struct Work {
    body: Body,
    data: *mut c_void,
    created: ObjectId,
}

/// Tasks that something waits for: how many are unfinished, and what orders those that have ended.
struct Awaiting {
    unfinished: u32,
    any: bool,
    ended: ObjectId,
    /// The group around it.
    outer: Option<usize>,
}

impl Awaiting {
    fn new(outer: Option<usize>) -> Awaiting {
        Awaiting {
            unfinished: 0,
            any: false,
            ended: hidden(Sort::Semaphore, Object::Semaphore(0)),
            outer,
        }
    }

    fn add(&mut self) {
        self.unfinished += 1;
        self.any = true;
    }
}

/// What the running thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Children,
    Group(usize),
}

/// Whether the program has tasks.
static USED: RunValue<bool> = RunValue::new(false);

/// Finds out whether the program has tasks: threads that wait at a barrier may get some that are created later.
pub fn prepare() {
    const NAME: &[u8] = b"GOMP_task\0";
    /// # Safety
    ///
    /// `info` is a valid entry, and `used` points to a `bool`.
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, used: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry, whose segments are mapped, those that say so readable, and the pointer that it
        // was given below.
        unsafe {
            let info = &*info;
            let segments = slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let readable = |segment: &&libc::Elf64_Phdr| {
                segment.p_type == libc::PT_LOAD
                    && segment.p_flags & (libc::PF_R | libc::PF_W) == libc::PF_R
            };
            for segment in segments.iter().filter(readable) {
                let start = (info.dlpi_addr + segment.p_vaddr) as usize;
                let bytes = slice::from_raw_parts(start as *const u8, segment.p_filesz as usize);
                if !modules::is_library(start) && bytes.windows(NAME.len()).any(|text| text == NAME)
                {
                    *used.cast::<bool>() = true;
                }
            }
        }
        0
    }
    let mut used = false;
    // SAFETY: `look` has the type that `dl_iterate_phdr` calls, and `used` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut used).cast()) };
    USED.set(used);
}

impl Tasks {
    /// Of a new team of this size, if the program has any.
    pub fn new(size: u32) -> Option<Tasks> {
        if !USED.get() {
            return None;
        }
        let part = |number| Task {
            parent: number,
            group: None,
            is_final: false,
            children: Awaiting::new(None),
            work: None,
        };
        let quiet = |object| world::borrow().make_quiet(NOWHERE, object);
        Some(Tasks {
            lock: quiet(Object::mutex()),
            changed: quiet(Object::condvar()),
            tasks: (0..size as usize).map(part).collect(),
            groups: Vec::new(),
            ready: Vec::new(),
            unfinished: 0,
            arrived: 0,
            round: 0,
        })
    }

    /// Takes the youngest one that is waited for.
    fn take(&mut self, current: usize, awaited: Awaited) -> Option<usize> {
        let wanted = |task: &usize| match awaited {
            Awaited::Children => self.tasks[*task].parent == current,
            Awaited::Group(group) => self.tasks[*task].group == Some(group),
        };
        let index = self.ready.iter().rposition(wanted)?;
        Some(self.ready.remove(index))
    }

    fn awaiting(&mut self, current: usize, awaited: Awaited) -> &mut Awaiting {
        match awaited {
            Awaited::Children => &mut self.tasks[current].children,
            Awaited::Group(group) => &mut self.groups[group],
        }
    }

    /// A task has ended; whether something may have waited for that.
    fn end(&mut self, parent: usize, group: Option<usize>) -> bool {
        self.unfinished -= 1;
        let children = &mut self.tasks[parent].children.unfinished;
        *children -= 1;
        let mut last = *children == 0 || self.unfinished == 0;
        if let Some(group) = group {
            let unfinished = &mut self.groups[group].unfinished;
            *unfinished -= 1;
            last |= *unfinished == 0;
        }
        last
    }

    /// What a thread does at a barrier of a team of this size.
    fn next_at_barrier(&mut self, size: u32) -> Next {
        if !self.ready.is_empty() {
            return Next::Run(self.ready.remove(0));
        }
        if self.arrived != size || self.unfinished > 0 {
            return Next::Wait;
        }
        self.arrived = 0;
        self.round += 1;
        Next::GoOn
    }
}

/// Uses the tasks of the running thread's team; `None`: it is in none, or the program has no tasks. The closure must not switch
/// threads.
fn with_tasks<R>(what: impl FnOnce(&mut Tasks) -> R) -> Option<R> {
    with_team(&place(), |team| team.tasks.as_mut().map(what)).flatten()
}

/// As [`with_tasks`], where there are some.
fn with_own_tasks<R>(what: impl FnOnce(&mut Tasks) -> R) -> R {
    with_tasks(what).expect("called for a task of the team")
}

/// The task that the running thread is in.
fn current() -> usize {
    let place = place();
    place.task.unwrap_or(place.number as usize)
}

fn in_final() -> bool {
    let current = current();
    with_tasks(|tasks| tasks.tasks[current].is_final).unwrap_or(false)
}

fn lock(site: Site) {
    visible(Op::Lock(with_own_tasks(|tasks| tasks.lock)), site);
}

fn unlock(site: Site) {
    visible(Op::Unlock(with_own_tasks(|tasks| tasks.lock)), site);
}

/// Waits for a change, with the lock.
fn wait(site: Site) {
    let (condvar, mutex) = with_own_tasks(|tasks| (tasks.changed, tasks.lock));
    visible(Op::Enqueue { condvar, mutex }, site);
    let timed = false;
    visible(Op::Wake { condvar, timed }, site);
    lock(site);
}

fn notify(site: Site) {
    visible(Op::NotifyAll(with_own_tasks(|tasks| tasks.changed)), site);
}

/// The function, its argument, the function that copies the argument, its size and alignment, whether it may be deferred, and the
/// kind of task.
fn create(call: &Call) -> usize {
    const FINAL: usize = 2;
    const DEPENDS: usize = 8;
    const DETACHED: usize = 1 << 13;
    let (site, kind) = (call.site(), call.argument(6));
    if kind & (DEPENDS | DETACHED) != 0 {
        world::unsupported("GOMP_task with dependences", site);
    }
    // SAFETY: the compiler passes functions of these types; the second may be null.
    let (body, copy) = unsafe {
        let copy = call.argument(2);
        let body = mem::transmute::<usize, Body>(call.argument(0));
        (body, mem::transmute::<usize, Option<Copy>>(copy))
    };
    let is_final = in_final() || kind & FINAL != 0;
    let may_defer = call.argument(5) as u8 != 0 && !in_final();
    let data = copied(call, copy, site);
    let parent = current();
    let task = with_tasks(|tasks| {
        tasks.tasks.push(Task {
            parent,
            group: tasks.tasks[parent].group,
            is_final,
            children: Awaiting::new(None),
            work: None,
        });
        tasks.tasks.len() - 1
    });
    if !task.is_some_and(|task| may_defer && defer(task, body, data, site)) {
        run_inside(task, body, data);
        heap::release(data as usize, site.0);
    }
    0
}

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A copy of the argument, which may not live as long as the task.
fn copied(call: &Call, copy: Option<Copy>, site: Site) -> *mut c_void {
    let (from, bytes) = (call.argument(1) as *mut c_void, call.argument(3));
    let data = heap::allocate(bytes, call.argument(4).max(16), site.0);
    // SAFETY: the compiler passes an argument of `bytes` bytes and the function that copies it, if bytes are not enough; `data` has
    // room for it. No borrow is alive.
    unsafe {
        match copy {
            Some(copy) => copy(data, from),
            None => core::ptr::copy_nonoverlapping(from.cast::<u8>(), data.cast(), bytes),
        }
    }
    data
}

/// Leaves a task to the thread that takes it, unless there are too many already.
fn defer(number: usize, body: Body, data: *mut c_void, site: Site) -> bool {
    /// For each thread of the team.
    const MOST: u32 = 64;
    let created = hidden(Sort::Semaphore, Object::Semaphore(0));
    visible(Op::SemRelease(created), site);
    lock(site);
    let most = MOST * size_of_team(&place());
    let deferred = with_own_tasks(|tasks| {
        if tasks.unfinished > most {
            return false;
        }
        let task = &mut tasks.tasks[number];
        task.work = Some(Work {
            body,
            data,
            created,
        });
        let (parent, group) = (task.parent, task.group);
        tasks.tasks[parent].children.add();
        if let Some(group) = group {
            tasks.groups[group].add();
        }
        tasks.ready.push(number);
        tasks.unfinished += 1;
        true
    });
    if deferred {
        notify(site);
    }
    unlock(site);
    deferred
}

/// Runs a task in the running thread, which is in the task before again afterwards.
fn run_inside(task: Option<usize>, body: Body, data: *mut c_void) {
    let before = change_place(|place| mem::replace(&mut place.task, task));
    // SAFETY: the compiler passed the function, and `data` is a copy of its argument. No borrow is alive.
    unsafe { body(data) };
    change_place(|place| place.task = before);
}

/// Runs a task that was taken under the lock, which the running thread has before and afterwards.
fn run(number: usize, site: Site) {
    unlock(site);
    let (parent, group, work) = with_own_tasks(|tasks| {
        let task = &tasks.tasks[number];
        (task.parent, task.group, task.work.expect("it was deferred"))
    });
    acquire(work.created, site);
    run_inside(Some(number), work.body, work.data);
    heap::release(work.data as usize, site.0);
    let ended = with_own_tasks(|tasks| tasks.tasks[parent].children.ended);
    visible(Op::SemRelease(ended), site);
    if let Some(group) = group {
        let ended = with_own_tasks(|tasks| tasks.groups[group].ended);
        visible(Op::SemRelease(ended), site);
    }
    lock(site);
    let last = with_own_tasks(|tasks| tasks.end(parent, group));
    if last {
        notify(site);
    }
}

fn acquire(object: ObjectId, site: Site) {
    let timed = false;
    visible(Op::SemAcquire { object, timed }, site);
}

/// Waits until these tasks are done, and does those of them that no thread has taken.
fn wait_for(awaited: Awaited, site: Site) -> usize {
    let task = current();
    if !with_tasks(|tasks| tasks.awaiting(task, awaited).any).unwrap_or(false) {
        return 0;
    }
    lock(site);
    while with_own_tasks(|tasks| tasks.awaiting(task, awaited).unfinished) > 0 {
        let taken = with_own_tasks(|tasks| tasks.take(task, awaited));
        match taken {
            Some(task) => run(task, site),
            None => wait(site),
        }
    }
    unlock(site);
    let ended = with_own_tasks(|tasks| {
        let awaiting = tasks.awaiting(task, awaited);
        awaiting.any = false;
        awaiting.ended
    });
    acquire(ended, site);
    0
}

fn begin_group(_: &Call) -> usize {
    let current = current();
    with_tasks(|tasks| {
        let group = tasks.groups.len();
        let task = &mut tasks.tasks[current];
        tasks.groups.push(Awaiting::new(task.group));
        task.group = Some(group);
    });
    0
}

fn end_group(call: &Call) -> usize {
    let task = current();
    let group = with_tasks(|tasks| tasks.tasks[task].group).flatten();
    if let Some(group) = group {
        wait_for(Awaited::Group(group), call.site());
        with_own_tasks(|tasks| tasks.tasks[task].group = tasks.groups[group].outer);
    }
    0
}

/// What a thread does next at a barrier.
enum Next {
    Run(usize),
    GoOn,
    Wait,
}

/// All threads of a team come to a barrier: none goes on before all tasks are done.
pub fn finish(site: Site) {
    if with_tasks(|_| ()).is_none() {
        return;
    }
    let size = size_of_team(&place());
    lock(site);
    let round = with_own_tasks(|tasks| {
        tasks.arrived += 1;
        tasks.round
    });
    while with_own_tasks(|tasks| tasks.round) == round {
        let next = with_own_tasks(|tasks| tasks.next_at_barrier(size));
        match next {
            Next::Run(task) => run(task, site),
            Next::GoOn => notify(site),
            Next::Wait => wait(site),
        }
    }
    unlock(site);
}
