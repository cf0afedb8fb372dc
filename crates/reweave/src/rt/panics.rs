//! Panics of a check's threads.
//!
//! *Decides:* that a panic on a fiber of a check is silent, and what of it is kept. *Called by:* std, through a hook that is installed
//! once for the process and passes on panics of everybody else to the hook before it. *Owns:* the hook.
//!
//! A second panic out of a destructor that runs for a first one makes std abort the process, right after the hook. The thread counts as
//! crashed; the SIGABRT that follows ends its fiber by touching the guard page below its stack, as an overflow would, and the others
//! go on. (Staying in the hook for ever would be simpler, but std holds the hook's lock meanwhile, and libtest wants it at its end.)

use super::{Task, explain, site, task, world::Began};
use reweave_model::{Edge, Error, Kind, Site, ThreadId};
use std::{
    any::Any,
    panic::{self, PanicHookInfo},
    sync::Once,
};

/// A thread that ended by a panic.
pub(crate) struct Panic {
    pub(crate) thread: ThreadId,
    pub(crate) message: String,
    pub(crate) site: Option<Site>,
    /// When it began.
    pub(crate) after: Option<Edge>,
    /// How many events were done before.
    pub(crate) at: usize,
}

/// Installs the hook, the first time.
pub(crate) fn install() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| match task() {
            Some(task) => record(task, info),
            None => previous(info),
        }));
        // SAFETY: a handler with the signature that SA_SIGINFO is not set for; the structure is plain data.
        unsafe {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            action.sa_sigaction = on_abort as *const () as usize;
            // Not blocked meanwhile: the handler is left by a fault and never returns.
            action.sa_flags = libc::SA_NODEFER;
            libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut());
            libc::atexit(on_exit);
        }
    });
}

/// The running thread calls `process::abort`.
fn aborted(task: &Task) {
    let world = task.world();
    let error = Error {
        kind: Kind::Assertion,
        rule: Some("abort".into()),
        message: format!("{} aborted the process", explain::name(world, task.thread)),
        sites: Vec::new(),
        after: None,
    };
    world.crash_told.set(true);
    world.error(task.thread, error);
}

/// The program calls `process::exit` in a check, which ends all tests of the process, with any status. It must not look like success.
extern "C" fn on_exit() {
    let Some(task) = task() else { return };
    let name = match task.world().run.try_borrow() {
        Ok(_) => explain::name(task.world(), task.thread),
        Err(_) => "a thread".into(),
    };
    let text = format!(
        "reweave: {name} of a check called process::exit, which ends this test program and all its tests\n"
    );
    // SAFETY: writes these bytes to standard error, and ends the process without further handlers.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len());
        libc::_exit(101);
    }
}

extern "C" fn on_abort(signal: libc::c_int) {
    match task() {
        Some(task) if task.aborting.get() => task.end_by_fault(),
        // The program calls abort. In the middle of the runtime's own work it is the allocator that does, for a broken heap.
        Some(task) if !task.world().busy() => {
            if !task.world().ending.get() {
                aborted(task);
            }
            task.end_by_fault();
        }
        // SAFETY: both may be called in a signal handler.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        },
    }
}

/// The text of a panic, as std finds it.
pub(crate) fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).into()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic with a value that is no text".into()
    }
}

fn record(task: &Task, info: &PanicHookInfo<'_>) {
    let message = text(info.payload());
    let world = task.world();
    if aborts(&message) {
        if !world.ending.get() {
            crash(
                task,
                "panicked where it cannot unwind, which aborts the process",
            );
        }
        task.aborting.set(true);
        return;
    }
    if world.ending.get() {
        return;
    }
    if task.silent_falls.get() > 0 && world.run.try_borrow_mut().is_ok() {
        super::arcs::visible(task);
    }
    let site = info.location().map_or(Site::ANY, |location| {
        // SAFETY: a panic's location comes from `Location::caller()`, whose answer is static; std hands it on under a shorter lifetime.
        site::site(unsafe {
            std::mem::transmute::<&panic::Location<'_>, &'static panic::Location<'static>>(location)
        })
    });
    // The run is in use when it is the model that panics.
    let after = world.run.try_borrow().ok();
    let after = after.map(|run| run.moment(task.thread));
    *task.panic.borrow_mut() = Some(Began {
        message,
        site,
        after,
    });
}

/// Whether std ends the process after the hook: there is no stable way to ask.
fn aborts(message: &str) -> bool {
    matches!(
        message,
        "panic in a destructor during cleanup" | "panic in a function that cannot unwind"
    )
}

/// A panic has left a thread-local variable's destructor, or that of a panic's payload. Std ends the process then.
pub(crate) fn aborts_at_end(task: &Task) {
    crash(
        task,
        "panicked in a destructor at its end, which aborts the process",
    );
    task.world().crash_told.set(false);
}

fn crash(task: &Task, how: &str) {
    let world = task.world();
    let last = task.panic.borrow_mut().take();
    let message = last.as_ref().map_or("", |last| &last.message);
    let error = Error {
        kind: Kind::Crash,
        rule: Some("panic-while-unwinding".into()),
        message: format!("{} {how}: {message}", explain::name(world, task.thread)),
        sites: last.iter().map(|last| last.site).collect(),
        after: None,
    };
    world.crash_told.set(true);
    world.error(task.thread, error);
}
