//! Attributes of threads: what `pthread_create` makes of them, and what a thread answers when it is asked for its own.
//!
//! Every attribute is honoured or refused. Detached threads, scheduling, processors and signal masks are honoured. A thread has the stack of its
//! slot: at least as large as asked for, or the call is refused; and so is a stack of the program's own. Clocks of threads are here as well.

use crate::{
    calls::threads::scheduling::{self, Settings},
    core::{cell::ASIDE, families::Birth, per_thread::PerThread, trampoline::Frame},
    outside_run, real,
    run::{accesses, call_sites, slots::STACK_BYTES, thread_end::find, world},
    trampoline,
};
use core::{ffi::c_int, mem::MaybeUninit};
use libc::{clockid_t as Clock, pthread_attr_t as Attributes, pthread_t as Handle};
use reweave_model::{Identity, Site, ThreadId};

trampoline! {
    pthread_getcpuclockid => clock_of, "rdx";
    pthread_getattr_np => attributes_of, "rdx";
}

/// How glibc lays attributes out.
#[repr(C)]
struct Layout {
    priority: c_int,
    policy: c_int,
    flags: c_int,
    guard_bytes: usize,
    stack_end: usize,
    stack_bytes: usize,
    /// Null, or an [`Extension`].
    extension: *const Extension,
}

/// Attributes that few programs set.
#[repr(C)]
struct Extension {
    /// Null, or a set of so many bytes.
    processors: *const u8,
    processors_bytes: usize,
    mask: [u64; 16],
    has_mask: bool,
}

const EXPLICIT_SCHEDULING: c_int = 0x2;
const OWN_STACK: c_int = 0x8;
const HAS_PRIORITY: c_int = 0x20;
const HAS_POLICY: c_int = 0x40;

/// What a new thread is to be like.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    pub detached: bool,
    pub settings: Settings,
    /// The signals that it blocks at first; `None`: as its creator.
    pub mask: Option<u64>,
    stack: Stack,
}

/// What was asked for as a stack. Zero: nothing.
#[derive(Clone, Copy, Default)]
struct Stack {
    bytes: usize,
    guard_bytes: usize,
}

/// The stacks that were asked for.
static STACKS: PerThread<Option<Stack>, ASIDE> = PerThread::new();

/// A new run.
pub fn clear() {
    STACKS.clear();
}

pub fn thread_begins(birth: &Birth) {
    STACKS.take_over_or_copy(birth);
}

pub fn identify(out: &mut Identity) {
    STACKS.identify(out);
}

impl Wanted {
    /// What attributes ask for; an error number if there can be no such thread. The running thread stops at what is not supported.
    ///
    /// # Safety
    ///
    /// `attributes` is null or points to attributes.
    pub unsafe fn by(attributes: *const Attributes, site: Site) -> Result<Wanted, c_int> {
        if attributes.is_null() {
            return Ok(Wanted::default());
        }
        // SAFETY: not null, so it points to attributes, by this function's contract; the C library has laid them out so.
        let layout = unsafe { &*attributes.cast::<Layout>() };
        if layout.flags & OWN_STACK != 0 {
            world::unsupported("pthread_create with a stack of the program's own", site);
        }
        if layout.stack_bytes > STACK_BYTES {
            world::unsupported("pthread_create with a stack of more than 8 MiB", site);
        }
        let explicit = layout.flags & EXPLICIT_SCHEDULING != 0;
        let has = |flag| explicit && layout.flags & flag != 0;
        // SAFETY: null, or the C library has put an extension there, which lives as long as the attributes.
        let extension = unsafe { layout.extension.as_ref() };
        let settings = Settings {
            policy: has(HAS_POLICY).then_some(layout.policy),
            priority: has(HAS_PRIORITY).then_some(layout.priority),
            // SAFETY: the C library's own extension.
            processors: extension.and_then(|extension| unsafe { extension.processors() }),
        };
        scheduling::check(settings)?;
        let mut state = libc::PTHREAD_CREATE_JOINABLE;
        let real = real!(pthread_attr_getdetachstate: fn(*const Attributes, *mut c_int) -> c_int);
        // SAFETY: not null, so it points to attributes, by this function's contract; the answer goes to a local.
        unsafe { real(attributes, &mut state) };
        Ok(Wanted {
            detached: state == libc::PTHREAD_CREATE_DETACHED,
            settings,
            mask: extension.and_then(|extension| extension.has_mask.then_some(extension.mask[0])),
            stack: Stack {
                bytes: layout.stack_bytes,
                guard_bytes: layout.guard_bytes,
            },
        })
    }

    /// The next thread that begins is to be like that. It is not known to the program yet.
    pub fn prepare(self, child: ThreadId) {
        scheduling::prepare(self.settings);
        STACKS.with(child, |stack| *stack = Some(self.stack));
    }
}

impl Extension {
    /// The first processors of the set, if there is one.
    ///
    /// # Safety
    ///
    /// The extension is the C library's own.
    unsafe fn processors(&self) -> Option<u64> {
        if self.processors.is_null() {
            return None;
        }
        let mut word = [0; 8];
        let bytes = self.processors_bytes.min(word.len());
        // SAFETY: the set has as many bytes as the extension says, which the C library has copied there.
        unsafe { core::ptr::copy_nonoverlapping(self.processors, word.as_mut_ptr(), bytes) };
        Some(u64::from_le_bytes(word))
    }
}

/// The C library answers for the thread whose stack is borrowed. What the program has asked for is put in its place.
///
/// # Safety
///
/// As `pthread_getattr_np`: `into` points to room for attributes.
unsafe extern "C" fn attributes_of(handle: Handle, into: *mut Attributes, frame: &Frame) -> c_int {
    let real = real!(pthread_getattr_np: fn(Handle, *mut Attributes) -> c_int);
    let thread = match world::active() {
        true => find(handle),
        false => None,
    };
    let mut answer = MaybeUninit::<Attributes>::zeroed();
    let place = match thread {
        Some(_) => answer.as_mut_ptr(),
        None => into,
    };
    // SAFETY: a handle of the program's, and room for attributes: a local, or the caller's by this function's contract.
    let error = unsafe { real(handle, place) };
    let Some(thread) = thread.filter(|_| error == 0) else {
        return error;
    };
    let settings = scheduling::look_at(thread, frame);
    let detached = world::borrow().threads[thread.index()].detached;
    let stack = STACKS.with(thread, |stack| stack.unwrap_or_default());
    accesses::range(into as usize, size_of::<Attributes>(), true, frame);
    // SAFETY: the C library has filled the answer in, so all of its fields are set; `into` has room for it, by this function's contract.
    unsafe {
        let layout = &mut *place.cast::<Layout>();
        (layout.policy, layout.priority) = (settings.policy, settings.priority);
        let detached = c_int::from(detached);
        layout.flags = layout.flags & !1 | detached;
        if stack.bytes != 0 {
            layout.stack_bytes = stack.bytes;
            layout.guard_bytes = stack.guard_bytes;
        }
        into.write(answer.assume_init());
    }
    0
}

/// The time that a thread has used is its own virtual time, which no other thread can look at.
///
/// # Safety
///
/// As `pthread_getcpuclockid`: `clock` points to room for the id of a clock.
unsafe extern "C" fn clock_of(handle: Handle, clock: *mut Clock, frame: &Frame) -> c_int {
    outside_run!(pthread_getcpuclockid: fn(handle: Handle, clock: *mut Clock) -> c_int);
    let own_handle = world::borrow().me().handle;
    if own_handle != handle as usize {
        let site = call_sites::site(&frame.return_address);
        world::unsupported("pthread_getcpuclockid of another thread", site);
    }
    accesses::range(clock as usize, size_of::<Clock>(), true, frame);
    // SAFETY: `clock` points to room for the id of a clock, by this function's contract.
    unsafe { *clock = libc::CLOCK_THREAD_CPUTIME_ID };
    0
}
