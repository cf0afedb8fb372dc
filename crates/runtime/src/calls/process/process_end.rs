//! The end of the process: `exit` and its family, the functions that are called then, assertions and `abort`.
//!
//! A thread that ends the process takes a lock which it never gives back: of several, the first one counts, and who that is gets
//! explored. It runs the handlers as ordinary code and then stays where it is. The end takes effect when no other thread can go
//! on: what the others do meanwhile decides which races are seen.

use crate::{
    calls::{language::unwinding, process::exit_handlers},
    core::{call_sites, entry, hidden_objects::Hidden, operations::visible, sys, world},
    hooks::Frame,
    real, trampoline,
};
use alloc::{format, string::String, vec::Vec};
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_void},
};
use reweave_model::{Kind, Op, Site, ThreadId};

trampoline! {
    exit => ordinary_exit, "rsi";
    _exit => exit_at_once, "rsi";
    _Exit => exit_at_once, "rsi";
    quick_exit => exit_quickly, "rsi";
    __cxa_atexit => at_exit, "rcx";
    on_exit => at_exit_with_status, "rdx";
    __cxa_at_quick_exit => at_quick_exit, "rdx";
    __cxa_finalize => finalize, "rsi";
    abort => aborted, "rdi";
    __assert_fail => assert_fail, "r8";
    __assert_perror_fail => assert_perror_fail, "r8";
    __assert => assert, "rcx";
    __stack_chk_fail => stack_smashed, "rdi";
    __chk_fail => overflow, "rdi";
}

/// How the process comes to its end in this run.
#[derive(Default)]
pub struct State {
    end: Option<Ending>,
    /// Of this run.
    handlers: Vec<Handler>,
    quick: Vec<Handler>,
    /// How many of those from before `main` were called.
    early_done: usize,
}

struct Ending {
    thread: ThreadId,
    site: Site,
    /// Where the frames begin that are still there; `None`: `main` has returned.
    frame: Option<usize>,
    /// What happens before it.
    clock: Vec<u32>,
}

impl State {
    /// Who ends the process, and where its frames begin, if any are left.
    pub fn end(&self) -> Option<(ThreadId, Option<usize>)> {
        let end = self.end.as_ref()?;
        Some((end.thread, end.frame))
    }

    pub fn clear(&mut self) {
        self.end = None;
        self.handlers.clear();
        self.quick.clear();
        self.early_done = 0;
    }
}

/// A function to be called at the end.
#[derive(Clone, Copy)]
enum Handler {
    /// With what it is called, and the module that it is of.
    Cxa(
        unsafe extern "C" fn(*mut c_void, c_int),
        *mut c_void,
        *mut c_void,
    ),
    On(unsafe extern "C" fn(c_int, *mut c_void), *mut c_void),
}

impl Handler {
    fn call(self, status: c_int) {
        // SAFETY: registered by the program for this.
        unsafe {
            match self {
                Handler::Cxa(function, argument, _) => function(argument, status),
                Handler::On(function, argument) => function(status, argument),
            }
        }
    }
}

/// What was there before `main`.
struct Early {
    /// Oldest first: destructors of C++ globals, of the program and its libraries.
    handlers: Vec<Handler>,
    /// Functions of the program with the attribute `destructor`, in the order in which they are called.
    finishers: Vec<unsafe extern "C" fn()>,
}

struct Global(UnsafeCell<Early>);
// SAFETY: one OS thread runs what comes before `main`, and runs.
unsafe impl Sync for Global {}
static EARLY: Global = Global(UnsafeCell::new(Early {
    handlers: Vec::new(),
    finishers: Vec::new(),
}));

fn early() -> &'static mut Early {
    // SAFETY: as above; kept for a line at a time.
    unsafe { &mut *EARLY.0.get() }
}

/// Finds out what the loader would call at the end.
pub fn prepare() {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: the loader passes valid entries.
        unsafe {
            let info = &*info;
            let start = info.dlpi_addr as usize;
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let is_dynamic = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_DYNAMIC;
            let Some(dynamic) = headers.iter().find(is_dynamic) else {
                return 0;
            };
            if !world::get().is_library(start + dynamic.p_vaddr as usize) {
                finishers(
                    (start + dynamic.p_vaddr as usize) as *const [usize; 2],
                    start,
                );
            }
        }
        0
    }
    early().finishers.clear();
    // SAFETY: `add` has the type that is asked for.
    unsafe { libc::dl_iterate_phdr(Some(add), core::ptr::null_mut()) };
}

/// Adds a module's functions. One of them is the compiler's own, which has nothing to do in a run.
///
/// # Safety
/// These are the entries of the dynamic section of a module that was loaded there.
unsafe fn finishers(mut entry: *const [usize; 2], start: usize) {
    const FINI_ARRAY: usize = 26;
    const FINI_ARRAY_BYTES: usize = 28;
    let (mut list, mut bytes) = (0, 0);
    // SAFETY: an entry with tag 0 is the last; the list holds functions.
    unsafe {
        loop {
            match *entry {
                [0, _] => break,
                [FINI_ARRAY, value] => list = start + value,
                [FINI_ARRAY_BYTES, value] => bytes = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if bytes > 8 {
            let list =
                core::slice::from_raw_parts(list as *const unsafe extern "C" fn(), bytes / 8);
            early().finishers.extend(list.iter().rev());
        }
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.process
}

fn register(handler: Handler, frame: &Frame) -> c_int {
    if world::active() {
        exit_handlers::meet(call_sites::site(&frame.return_address));
        state().handlers.push(handler);
    } else {
        early().handlers.push(handler);
    }
    0
}

unsafe extern "C" fn at_exit(
    function: unsafe extern "C" fn(*mut c_void, c_int),
    argument: *mut c_void,
    object: *mut c_void,
    frame: &Frame,
) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void, c_int);
    if !entry::driven() {
        // SAFETY: the program's own arguments.
        return unsafe {
            real!(__cxa_atexit: fn(Function, *mut c_void, *mut c_void) -> c_int)(
                function, argument, object,
            )
        };
    }
    register(Handler::Cxa(function, argument, object), frame)
}

unsafe extern "C" fn at_exit_with_status(
    function: unsafe extern "C" fn(c_int, *mut c_void),
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut c_void);
    if !entry::driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(on_exit: fn(Function, *mut c_void) -> c_int)(function, argument) };
    }
    register(Handler::On(function, argument), frame)
}

unsafe extern "C" fn at_quick_exit(
    function: unsafe extern "C" fn(*mut c_void, c_int),
    object: *mut c_void,
    frame: &Frame,
) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void, c_int);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe {
            real!(__cxa_at_quick_exit: fn(Function, *mut c_void) -> c_int)(function, object)
        };
    }
    exit_handlers::meet(call_sites::site(&frame.return_address));
    state()
        .quick
        .push(Handler::Cxa(function, core::ptr::null_mut(), object));
    0
}

/// A module's own destructor asks for this when it goes. At the end of the process its handlers were called already.
unsafe extern "C" fn finalize(object: *mut c_void, _: &Frame) {
    if !entry::driven() {
        // SAFETY: the program's own argument.
        unsafe { real!(__cxa_finalize: fn(*mut c_void))(object) };
    }
    let of_it = |handler: &Handler| matches!(handler, Handler::Cxa(.., whose) if *whose == object);
    while let Some(handler) = world::active()
        .then(|| state().handlers.iter().rposition(of_it))
        .flatten()
        .map(|index| state().handlers.remove(index))
    {
        handler.call(0);
    }
}

/// The program returned from `main`.
pub fn end_process(status: c_int) -> ! {
    let site = world::get().site(entry::main_address() + 1);
    leave(status, site, None)
}

pub(crate) unsafe extern "C" fn ordinary_exit(status: c_int, frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: the program's own argument.
        unsafe { real!(exit: fn(c_int))(status) };
    }
    leave(status, world::get().site(frame.return_address), Some(frame))
}

unsafe extern "C" fn exit_at_once(status: c_int, frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: the program's own argument.
        unsafe { real!(_exit: fn(c_int))(status) };
    }
    let site = world::get().site(frame.return_address);
    claim(status, site, Some(frame));
    stay(site)
}

unsafe extern "C" fn exit_quickly(status: c_int, frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: the program's own argument.
        unsafe { real!(quick_exit: fn(c_int))(status) };
    }
    let site = world::get().site(frame.return_address);
    claim(status, site, Some(frame));
    let next = || {
        exit_handlers::meet(site);
        state().quick.pop()
    };
    while let Some(handler) = next() {
        handler.call(status);
    }
    stay(site)
}

/// Ends the process with all that comes with it.
pub fn leave(status: c_int, site: Site, frame: Option<&Frame>) -> ! {
    claim(status, site, frame);
    crate::calls::threads::lifecycle::destroy_locals();
    while let Some(handler) = next_handler(site) {
        handler.call(status);
    }
    for function in &early().finishers {
        // SAFETY: one of the functions that the loader would call now.
        unsafe { function() };
    }
    crate::calls::libraries::finish();
    // Handlers and destructors may have waited for threads.
    let world = world::get();
    let clock = world.races.clock(world.current).into();
    if let Some(end) = &mut state().end {
        end.clock = clock;
    }
    stay(site)
}

fn next_handler(site: Site) -> Option<Handler> {
    exit_handlers::meet(site);
    let state = state();
    state.handlers.pop().or_else(|| {
        let handlers = &early().handlers;
        let handler = *handlers[..handlers.len() - state.early_done].last()?;
        state.early_done += 1;
        Some(handler)
    })
}

/// From here on the running thread is the one that ends the process. A second one stays here for ever.
fn claim(status: c_int, site: Site, frame: Option<&Frame>) {
    let frame = frame.map(|frame| core::ptr::from_ref(frame) as usize);
    let world = world::get();
    let me = world.current;
    let again = world.calls.process.end.as_mut();
    if let Some(end) = again.filter(|end| end.thread == me) {
        // From a handler: the rest of them is called, and the status is settled.
        end.frame = frame;
        return;
    }
    // Nobody else is there: no need to be the first.
    if !world.races.alone(me) {
        visible(Op::Lock(Hidden::Exit.object()), site);
    }
    let world = world::get();
    let status = status & 0xff;
    world.status = Some(status);
    world.calls.process.end = Some(Ending {
        thread: me,
        site,
        frame,
        clock: world.races.clock(me).into(),
    });
    if status != 0 {
        let message = format!("the program ended with status {status}");
        world.error(Kind::ExitStatus, None, message, &[site]);
    }
}

/// The thread has ended the process and goes no further. It is not at its end, though: nobody can join it.
fn stay(site: Site) -> ! {
    let world = world::get();
    if world.races.alone(world.current) {
        world.finish();
    }
    visible(Op::Lock(Hidden::Exit.object()), site);
    unreachable!("a lock that is never given back")
}

/// Whether the first thread ended the process while others had something to do: operations that do not happen before that, or anything
/// at all if it never heard of them.
pub fn conclude() {
    let world = world::get();
    let Some(end) = &world.calls.process.end else {
        return;
    };
    if end.thread != ThreadId::MAIN || !world.run.execution().errors.is_empty() {
        return;
    }
    let busy = |index: &usize| {
        let thread = &world.threads[*index];
        match end.clock.get(*index).copied().unwrap_or(0) {
            0 => {
                thread.acted > 0 || world.ran(*index) || world.shadow.knows(ThreadId(*index as u32))
            }
            known => thread.acted > known,
        }
    };
    let others = (1..world.threads.len()).filter(busy);
    let path = |index: &usize| world.run.execution().threads[*index].path.clone();
    let Some(first) = others.min_by_key(path) else {
        return;
    };
    let sites = [end.site, Site(world.threads[first].created)];
    let message = format!(
        "main ends the program while {} still has something to do",
        world.name_of(ThreadId(first as u32))
    );
    world.error(Kind::Misuse, Some("main-returned-early"), message, &sites);
}

/// The running thread fails and goes no further.
pub fn fail(kind: Kind, message: String, site: Site) -> ! {
    let world = world::get();
    if world.detail {
        // As libc would say it.
        let text = format!("{message}\n");
        // SAFETY: writes a local to what the program has as standard error.
        unsafe {
            sys::call(
                libc::SYS_write,
                [2, text.as_ptr() as usize, text.len(), 0, 0, 0],
            );
        }
    }
    world.error(kind, None, message, &[site]);
    world.freeze(site)
}

unsafe extern "C" fn aborted(frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: no arguments.
        unsafe { real!(abort: fn())() };
    }
    let site = call_sites::site(&frame.return_address);
    if world::get().is_library(frame.return_address) {
        unwinding::terminate(site);
    }
    crate::calls::process::signals::before_abort(site);
    fail(Kind::Assertion, "abort was called".into(), site)
}

/// The program's text.
///
/// # Safety
/// It is null or ends with a nul.
pub unsafe fn text<'a>(text: *const c_char) -> alloc::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: as promised.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

unsafe extern "C" fn assert_fail(
    claim: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    frame: &Frame,
) -> ! {
    if !world::active() {
        type Text = *const c_char;
        // SAFETY: the program's own arguments.
        unsafe {
            real!(__assert_fail: fn(Text, Text, u32, Text))(claim, file, line, function);
        }
    }
    // SAFETY: as the call has it.
    let claim = unsafe { text(claim) };
    let site = call_sites::site(&frame.return_address);
    fail(Kind::Assertion, format!("assertion `{claim}` failed"), site)
}

unsafe extern "C" fn assert_perror_fail(
    number: c_int,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    frame: &Frame,
) -> ! {
    if !world::active() {
        type Text = *const c_char;
        // SAFETY: the program's own arguments.
        unsafe {
            real!(__assert_perror_fail: fn(c_int, Text, u32, Text))(number, file, line, function);
        }
    }
    let site = call_sites::site(&frame.return_address);
    let message = format!("assertion failed: error number {number}");
    fail(Kind::Assertion, message, site)
}

unsafe extern "C" fn assert(
    claim: *const c_char,
    file: *const c_char,
    line: c_int,
    frame: &Frame,
) -> ! {
    // SAFETY: as the call has it.
    unsafe { assert_fail(claim, file, line as u32, core::ptr::null(), frame) }
}

unsafe extern "C" fn stack_smashed(frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: no arguments.
        unsafe { real!(__stack_chk_fail: fn())() };
    }
    let site = call_sites::site(&frame.return_address);
    let message = "a function wrote past its variables on the stack";
    fail(Kind::Assertion, message.into(), site)
}

unsafe extern "C" fn overflow(frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: no arguments.
        unsafe { real!(__chk_fail: fn())() };
    }
    let site = call_sites::site(&frame.return_address);
    fail(Kind::Assertion, "buffer overflow".into(), site)
}
