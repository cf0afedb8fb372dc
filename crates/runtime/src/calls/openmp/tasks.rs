//! Tasks: work that some thread of the team does later, as libgomp has it. A thread takes tasks where it waits: at a barrier the oldest of the team, at
//! the end of a group and of `taskwait` the youngest of those that it waits for. It is not interrupted by another one in the middle of a task, which is
//! what deadlocks of tasks come from.
//!
//! Who takes what is settled under a lock of the team, which orders nothing for the race detector. What does is a semaphore for each task: its
//! creation comes before it, and its end before what waits for it.

use crate::{
    calls::{
        memory::allocation,
        openmp::{
            Body, NOWHERE, answer,
            call::{Call, entries},
            hidden, place, size_of_team, team_of,
        },
    },
    core::{heap, objects::Sort, operations::visible, world},
};
use alloc::vec::Vec;
use core::{
    ffi::{c_int, c_void},
    slice,
    sync::atomic::{AtomicBool, Ordering},
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
    /// Those that nobody has taken, oldest first.
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

static USED: AtomicBool = AtomicBool::new(false);

/// Whether the program has tasks: who waits at a barrier may get some that are created later.
pub fn prepare() {
    const NAME: &[u8] = b"GOMP_task\0";
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, used: *mut c_void) -> c_int {
        // SAFETY: the loader's own description; segments are mapped, and readable as they say.
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
                if !world::get().is_library(start)
                    && bytes.windows(NAME.len()).any(|text| text == NAME)
                {
                    *used.cast::<bool>() = true;
                }
            }
        }
        0
    }
    let mut used = false;
    // SAFETY: as libc's manual has it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut used).cast()) };
    USED.store(used, Ordering::Relaxed);
}

impl Tasks {
    /// Of a new team of this size, if the program has any.
    pub fn new(size: u32) -> Option<Tasks> {
        if !USED.load(Ordering::Relaxed) {
            return None;
        }
        let world = world::get();
        let part = |number| Task {
            parent: number,
            group: None,
            is_final: false,
            children: Awaiting::new(None),
            work: None,
        };
        Some(Tasks {
            lock: world.make_quiet(NOWHERE, Object::mutex()),
            changed: world.make_quiet(NOWHERE, Object::condvar()),
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
}

/// The tasks of the running thread's team; `None`: it is in none, or the program has no tasks.
fn tasks() -> Option<&'static mut Tasks> {
    team_of(place())?.tasks.as_mut()
}

/// The same where there are some.
fn there() -> &'static mut Tasks {
    tasks().expect("asked for by one of them")
}

/// The task that the running thread is in.
fn current() -> usize {
    let place = place();
    place.task.unwrap_or(place.number as usize)
}

fn in_final() -> bool {
    tasks().is_some_and(|tasks| tasks.tasks[current()].is_final)
}

fn lock(site: Site) {
    visible(Op::Lock(there().lock), site);
}

fn unlock(site: Site) {
    visible(Op::Unlock(there().lock), site);
}

/// Waits for a change, with the lock.
fn wait(site: Site) {
    let (condvar, mutex) = (there().changed, there().lock);
    visible(Op::Enqueue { condvar, mutex }, site);
    let timed = false;
    visible(Op::Wake { condvar, timed }, site);
    lock(site);
}

fn notify(site: Site) {
    visible(Op::NotifyAll(there().changed), site);
}

/// The function, its argument, how to copy that, its size and alignment, whether it may be done later, and what kind of task it is.
fn create(call: &Call) -> usize {
    const FINAL: usize = 2;
    const DEPENDS: usize = 8;
    const DETACHED: usize = 1 << 13;
    let (site, kind) = (call.site(), call.argument(6));
    if kind & (DEPENDS | DETACHED) != 0 {
        world::get().unsupported("GOMP_task with dependences", site);
    }
    // SAFETY: the compiler passes functions of these types.
    let (body, copy) = unsafe {
        let copy = call.argument(2);
        let body = core::mem::transmute::<usize, Body>(call.argument(0));
        (body, core::mem::transmute::<usize, Option<Copy>>(copy))
    };
    let is_final = in_final() || kind & FINAL != 0;
    let later = call.argument(5) as u8 != 0 && !in_final();
    let data = copied(call, copy, site);
    let task = tasks().map(|tasks| {
        let parent = current();
        tasks.tasks.push(Task {
            parent,
            group: tasks.tasks[parent].group,
            is_final,
            children: Awaiting::new(None),
            work: None,
        });
        tasks.tasks.len() - 1
    });
    if !task.is_some_and(|task| later && defer(task, body, data, site)) {
        inside(task, body, data);
        allocation::give_back(data as usize, site.0);
    }
    0
}

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A copy of the argument, which the creator's may not outlive.
fn copied(call: &Call, copy: Option<Copy>, site: Site) -> *mut c_void {
    let (from, bytes) = (call.argument(1) as *mut c_void, call.argument(3));
    let data = heap::allocate(bytes, call.argument(4).max(16), site.0);
    // SAFETY: the compiler's own function, or as many bytes as it says.
    unsafe {
        match copy {
            Some(copy) => copy(data, from),
            None => core::ptr::copy_nonoverlapping(from.cast::<u8>(), data.cast(), bytes),
        }
    }
    data
}

/// Leaves a task to whoever comes for it, unless there are too many already.
fn defer(number: usize, body: Body, data: *mut c_void, site: Site) -> bool {
    /// For each thread of the team.
    const MOST: u32 = 64;
    let created = hidden(Sort::Semaphore, Object::Semaphore(0));
    visible(Op::SemRelease(created), site);
    lock(site);
    let tasks = there();
    if tasks.unfinished > MOST * size_of_team(place()) {
        unlock(site);
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
    notify(site);
    unlock(site);
    true
}

/// The running thread is in a task, and then in the one before again.
fn inside(task: Option<usize>, body: Body, data: *mut c_void) {
    let before = core::mem::replace(&mut place().task, task);
    // SAFETY: the compiler's own function and argument.
    unsafe { body(data) };
    place().task = before;
}

/// Does a task that was taken under the lock, which the running thread has before and afterwards.
fn run(number: usize, site: Site) {
    unlock(site);
    let tasks = there();
    let (parent, group) = (tasks.tasks[number].parent, tasks.tasks[number].group);
    let work = tasks.tasks[number].work.expect("it was deferred");
    acquire(work.created, site);
    inside(Some(number), work.body, work.data);
    allocation::give_back(work.data as usize, site.0);
    let ended = there().tasks[parent].children.ended;
    visible(Op::SemRelease(ended), site);
    if let Some(group) = group {
        visible(Op::SemRelease(there().groups[group].ended), site);
    }
    lock(site);
    let tasks = there();
    tasks.unfinished -= 1;
    let children = &mut tasks.tasks[parent].children.unfinished;
    *children -= 1;
    let mut last = *children == 0 || tasks.unfinished == 0;
    if let Some(group) = group {
        let unfinished = &mut tasks.groups[group].unfinished;
        *unfinished -= 1;
        last |= *unfinished == 0;
    }
    if last {
        notify(site);
    }
}

fn acquire(object: ObjectId, site: Site) {
    let timed = false;
    visible(Op::SemAcquire { object, timed }, site);
}

/// Waits until these are done, and does those of them that nobody has taken.
fn wait_for(awaited: Awaited, site: Site) -> usize {
    let task = current();
    let any = |tasks: &mut Tasks| tasks.awaiting(task, awaited).any;
    if !tasks().is_some_and(any) {
        return 0;
    }
    lock(site);
    while there().awaiting(task, awaited).unfinished > 0 {
        match there().take(task, awaited) {
            Some(task) => run(task, site),
            None => wait(site),
        }
    }
    unlock(site);
    let awaiting = there().awaiting(task, awaited);
    awaiting.any = false;
    acquire(awaiting.ended, site);
    0
}

fn begin_group(_: &Call) -> usize {
    if let Some(tasks) = tasks() {
        let task = &mut tasks.tasks[current()];
        let group = tasks.groups.len();
        tasks.groups.push(Awaiting::new(task.group));
        task.group = Some(group);
    }
    0
}

fn end_group(call: &Call) -> usize {
    let group = tasks().and_then(|tasks| tasks.tasks[current()].group);
    if let Some(group) = group {
        wait_for(Awaited::Group(group), call.site());
        let tasks = there();
        tasks.tasks[current()].group = tasks.groups[group].outer;
    }
    0
}

/// All of a team come to a barrier: nobody goes on before all tasks are done.
pub fn finish(site: Site) {
    if tasks().is_none() {
        return;
    }
    let size = size_of_team(place());
    lock(site);
    let round = there().round;
    there().arrived += 1;
    while there().round == round {
        let tasks = there();
        if !tasks.ready.is_empty() {
            let task = tasks.ready.remove(0);
            run(task, site);
        } else if tasks.arrived == size && tasks.unfinished == 0 {
            tasks.arrived = 0;
            tasks.round += 1;
            notify(site);
        } else {
            wait(site);
        }
    }
    unlock(site);
}
