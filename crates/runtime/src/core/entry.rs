//! How the program begins: between libc's own start and `main`, and again for every plan.

use crate::{
    calls,
    core::{
        channel, debugger, families, faults, leaks, leftovers, os_threads,
        restore::PAGE,
        rules, slots, switch, sys,
        world::{self, Module, Outcome},
    },
    hooks::racy_units,
};
use alloc::{string::String, vec, vec::Vec};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering},
};
use reweave_model::{End, Kind};
use reweave_wire::{
    Beginning, Hello, HelloModule, Parts, Reader, Request, Restart, Threads, Writer,
    read_beginning, read_request, write_hello, write_report,
};

type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = extern "C" fn();

static MAIN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static ARGC: AtomicUsize = AtomicUsize::new(0);
static ARGV: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());
static ENVP: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the driver started this process. Asked by the first allocation, before libc has its own environment.
pub fn driven() -> bool {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let driven = named_in_environment();
            KNOWN.store(1 + u32::from(driven), Ordering::Relaxed);
            driven
        }
        known => known == 2,
    }
}

fn named_in_environment() -> bool {
    const ROOM: usize = 4 << 20;
    let Some(memory) = sys::map_own(ROOM) else {
        return false;
    };
    // SAFETY: just mapped.
    let text = unsafe { core::slice::from_raw_parts_mut(memory, ROOM) };
    let length = sys::read_file(c"/proc/self/environ", text);
    let mut entries = text[..length].split(|byte| *byte == 0);
    let found = entries.any(|entry| entry.starts_with(b"REWEAVE_CHANNEL="));
    // SAFETY: not needed any more.
    unsafe { sys::discard(memory as usize, ROOM) };
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Option<Hook>,
    fini: Option<Hook>,
    rtld_fini: Option<Hook>,
    stack_end: *mut c_void,
) -> c_int {
    let mut begin = main;
    if driven() {
        MAIN.store(main as *mut c_void, Ordering::Relaxed);
        begin = instead_of_main;
    }
    let real = crate::real!(__libc_start_main: fn(Main, c_int, *mut *mut c_char, Option<Hook>, Option<Hook>, Option<Hook>, *mut c_void) -> c_int);
    // SAFETY: libc's own arguments.
    unsafe { real(begin, argc, argv, init, fini, rtld_fini, stack_end) }
}

extern "C" fn instead_of_main(
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
) -> c_int {
    if !channel::open() {
        crate::give_up(format_args!(
            "this program's runtime and the driver are of different versions"
        ));
    }
    let seated = channel::header().threads.load(Ordering::Relaxed) == Threads::Os as u32;
    if !seated && !switch::supported() {
        crate::give_up(format_args!(
            "this kernel does not let programs set their thread-local memory (FSGSBASE); `--threads os` does without"
        ));
    }
    ARGC.store(argc as usize, Ordering::Relaxed);
    ARGV.store(argv, Ordering::Relaxed);
    ENVP.store(envp, Ordering::Relaxed);
    world::start(seated);
    let beginning = beginning();
    world::get().modules = modules();
    rules::prepare(beginning.rules);
    families::prepare(&beginning);
    world::get().modules = modules();
    racy_units::prepare(&beginning.units);
    faults::install();
    let wanted = beginning.slots.iter().map(|slot| *slot as usize);
    if !debugger::wanted() {
        (1..=4).chain(wanted).for_each(grow);
    }
    snapshot(argv);
    leftovers::note();
    hello();
    serve()
}

/// What the driver says at first.
fn beginning() -> Beginning {
    match read_beginning(&mut Reader::new(channel::plans())) {
        Ok(beginning) => beginning,
        Err(_) => crate::give_up(format_args!("what the driver says makes no sense")),
    }
}

/// How the next run begins.
fn restart() -> u32 {
    channel::header().restart.load(Ordering::Relaxed)
}

/// Plan after plan, for ever; the driver ends the process.
fn serve() -> ! {
    let mut batch = 0;
    let mut request = Request::default();
    channel::reply(1);
    let header = channel::header();
    // Batch 1 is the greeting.
    batch = channel::wait(batch.max(1));
    loop {
        let plans = header.plans.load(Ordering::Relaxed);
        let mut reader = Reader::new(channel::plans());
        header.next.store(0, Ordering::Relaxed);
        for _ in 0..plans {
            if read_request(&mut reader, &mut request).is_err() {
                crate::give_up(format_args!("a plan makes no sense"));
            }
            let whole = match restart() == Restart::Fork as u32 {
                _ if debugger::wanted() => run_debugged(&request),
                true => run_forked(&request),
                false => run(&request),
            };
            if !whole {
                break;
            }
            header.done.fetch_add(1, Ordering::Release);
            if world::get().spoilt {
                header.spoilt.store(1, Ordering::Release);
                channel::reply(batch);
                sys::exit(0);
            }
        }
        channel::reply(batch);
        batch = channel::wait(batch);
    }
}

/// As [`run`], with a debugger; nothing else is run in this process.
fn run_debugged(request: &Request) -> bool {
    let header = channel::header();
    // So that all the threads are there, without a run that is broken off for that.
    if switch::supported() {
        run_forked(request);
        header.next.store(0, Ordering::Relaxed);
    }
    debugger::wait();
    let world = world::get();
    world.debugged = true;
    let whole = run(request);
    world.debugged = false;
    world.spoilt = true;
    whole
}

/// As [`run`], in a process of its own that begins with this one's memory.
fn run_forked(request: &Request) -> bool {
    /// How a forked process says that its report is written, that there was no room, that a slot is missing.
    const WHOLE: i32 = 0;
    const NO_ROOM: i32 = 1;
    const WANTS: i32 = 2;
    let header = channel::header();
    loop {
        // SAFETY: a plain fork. libc's own would touch the threads that it believes to be running.
        let child = unsafe { sys::call(libc::SYS_fork, [0; 6]) };
        if child < 0 {
            crate::give_up(format_args!("the operating system gives no more processes"));
        }
        if child == 0 {
            // SAFETY: asks for a signal.
            unsafe {
                let (option, signal) = (libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize);
                sys::call(libc::SYS_prctl, [option, signal, 0, 0, 0, 0]);
            }
            // It has no other threads than the one that forked.
            world::get().first_seat = None;
            os_threads::alone();
            header.wanted.store(0, Ordering::Relaxed);
            let whole = run_here(request, true);
            let wants = header.wanted.load(Ordering::Relaxed) != 0;
            sys::exit(match (wants, whole) {
                (true, _) => WANTS,
                (_, true) => WHOLE,
                (_, false) => NO_ROOM,
            });
        }
        header.forked.store(child as u32, Ordering::Relaxed);
        let mut status = 0_i32;
        let ended = loop {
            // SAFETY: waits for the child and writes a local.
            let ended = unsafe {
                let status = &raw mut status as usize;
                sys::call(libc::SYS_wait4, [child as usize, status, 0, 0, 0, 0])
            };
            if ended != -(libc::EINTR as isize) {
                break ended;
            }
            // The driver asks whether it loops for ever.
            // SAFETY: a signal to our own child, which has not been waited for.
            unsafe {
                let signal = faults::ENDLESS as usize;
                sys::call(libc::SYS_kill, [child as usize, signal, 0, 0, 0, 0]);
            }
        };
        header.forked.store(0, Ordering::Relaxed);
        let code = match ended == child && libc::WIFEXITED(status) {
            true => libc::WEXITSTATUS(status),
            false => -1,
        };
        match code {
            WHOLE => return true,
            NO_ROOM => return false,
            WANTS => {
                world::snapshot().thaw();
                grow(header.wanted.load(Ordering::Relaxed) as usize);
                // SAFETY: no run is going on.
                unsafe { world::snapshot().retake() };
                cover();
            }
            // Whatever happened to it happens to this one, so that the driver sees it.
            _ => {
                header.lost.store(status as u32, Ordering::Relaxed);
                sys::exit(71);
            }
        }
    }
}

/// Makes one run and writes its report; whether there was room for it.
fn run(request: &Request) -> bool {
    run_here(request, false)
}

/// As [`run`]. In a `forked` process, threads cannot be made.
fn run_here(request: &Request, forked: bool) -> bool {
    let header = channel::header();
    let measure = header.measure.load(Ordering::Relaxed) != 0;
    let clock = || if measure { sys::now() } else { 0 };
    let mut start;
    let outcome = loop {
        start = clock();
        let world = world::get();
        world.run.begin(&request.plan);
        world.detail = request.detail;
        world.dooms.clone_from(&request.dooms);
        match world.conduct(main_entry) {
            Outcome::Grow(number) if forked || restart() == Restart::Exec as u32 => {
                header.wanted.store(number as u32, Ordering::Relaxed);
                // Offsets of files are shared with the process that forked.
                clean_up();
                return false;
            }
            Outcome::Open => {
                clean_up();
                return false;
            }
            Outcome::Grow(number) => {
                clean_up();
                world::snapshot().thaw();
                grow(number);
                // SAFETY: no run is going on.
                unsafe { world::snapshot().retake() };
                cover();
            }
            outcome => break outcome,
        }
    };
    let ran = clock();
    let world = world::get();
    conclude(outcome);
    crate::kernel::descriptor_table::conclude();
    world.note_weak_orders();
    let detail = request.detail.then(|| world.detail());
    let parts = Parts {
        execution: world.run.execution(),
        divergence: world.run.divergence(),
        notes: &world.notes,
        detail: detail.as_ref(),
    };
    let next = header.next.load(Ordering::Relaxed) as usize;
    let room = channel::reports();
    let mut writer = Writer::new(&mut room[next..]);
    write_report(&mut writer, &parts);
    let fits = !writer.overflowed();
    if !fits && next == 0 {
        crate::give_up(format_args!("an execution is too long to be written down"));
    }
    header
        .next
        .store((next + writer.len()) as u64, Ordering::Relaxed);
    let written = clock();
    clean_up();
    if measure {
        let restored = clock();
        header.spent[0].fetch_add(ran - start, Ordering::Relaxed);
        header.spent[1].fetch_add(restored - written, Ordering::Relaxed);
        header.spent[2].fetch_add(written - ran, Ordering::Relaxed);
    }
    fits
}

/// Closes the execution: how it ended, and what is wrong with that.
fn conclude(outcome: Outcome) {
    let world = world::get();
    let end = match outcome {
        Outcome::Ended(end) => end,
        _ => End::Redundant,
    };
    // The end of the process ends threads that wait.
    let end = match end {
        End::Deadlock | End::Livelock if world.status.is_some() => End::Done,
        end => end,
    };
    families::conclude(end);
    if end == End::Done && world::get().run.execution().errors.is_empty() {
        leaks::conclude();
    }
    let kind = match end {
        End::Deadlock => Some(Kind::Deadlock),
        End::Livelock => Some(Kind::Livelock),
        _ => None,
    };
    let failed = !world.run.execution().errors.is_empty();
    world.run.end(end);
    if let Some(kind) = kind.filter(|_| !failed) {
        let threads = &world.run.execution().threads;
        let waiting = threads.iter().filter_map(|thread| thread.pending);
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by_key(reweave_model::Pending::joins);
        let sites = waiting.iter().map(|pending| pending.site).collect();
        world.run.error(reweave_model::Error {
            kind,
            rule: None,
            message: String::new(),
            sites,
            after: None,
        });
    }
}

/// Everything as it was at `main`.
fn clean_up() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    families::clean_up();
    // SAFETY: the run is over.
    unsafe { world::snapshot().restore() };
    world::heap().reset();
    if restart() == Restart::Warm as u32 {
        leftovers::look(RUNS.fetch_add(1, Ordering::Relaxed));
    }
}

fn grow(number: usize) {
    let world = world::get();
    for more in number..=slots::Slots::ahead(number) {
        let refused =
            more >= slots::MOST || world.slots.grow(more, world.first_seat.is_some()).is_err();
        if refused {
            world.refused |= more == number;
            return;
        }
        // It makes progress.
        channel::header().steps.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn main_entry() -> ! {
    let world = world::get();
    world.meet_doom(None, world.site(main_address() + 1));
    // SAFETY: what libc passed.
    let main: Main = unsafe { core::mem::transmute(MAIN.load(Ordering::Relaxed)) };
    let status = main(
        ARGC.load(Ordering::Relaxed) as c_int,
        ARGV.load(Ordering::Relaxed),
        ENVP.load(Ordering::Relaxed),
    );
    calls::end_process(status)
}

/// What `main` is called with.
pub fn arguments() -> (c_int, *const *mut c_char, *const *mut c_char) {
    (
        ARGC.load(Ordering::Relaxed) as c_int,
        ARGV.load(Ordering::Relaxed),
        ENVP.load(Ordering::Relaxed),
    )
}

/// Where the program's `main` is.
pub fn main_address() -> usize {
    MAIN.load(Ordering::Relaxed) as usize
}

/// Copies all writable memory that is not ours.
fn snapshot(argv: *mut *mut c_char) {
    let mut maps = vec![0_u8; 1 << 20];
    let length = sys::read_file(c"/proc/self/maps", &mut maps);
    let own = own_range();
    // SAFETY: all of these are the program's, and no other thread runs.
    unsafe {
        for line in maps[..length].split(|byte| *byte == b'\n') {
            let Some(map) = parse(line) else { continue };
            let ours = sys::RESERVED.contains(&map.start) || map.start < own.1 && own.0 < map.end;
            // Arguments and environment lie above the frames of libc's start, which are in use.
            if (map.start..map.end).contains(&(argv as usize)) {
                world::snapshot().add_part(argv as usize, map.end);
                continue;
            }
            if ours || !map.private || map.special {
                continue;
            }
            // The program's own variables are what it passes to the kernel; few of them need no protection.
            let program = &world::get().modules[0];
            let its_own = program.start <= map.start && map.start < program.end + (1 << 20);
            let small = map.end - map.start <= 8 * PAGE;
            world::snapshot().add(map.start, map.end, its_own && small);
        }
    }
    cover();
}

/// Memory that came after the first snapshot: thread-local memory of new slots, libc's blocks for them.
fn cover() {
    let world = world::get();
    let snapshot = world::snapshot();
    let fresh: Vec<_> = world
        .slots
        .all()
        .filter(|slot| !snapshot.covers(slot.top))
        .collect();
    for slot in fresh {
        // SAFETY: a parked thread's memory, which only its fiber uses.
        unsafe { snapshot.add(slot.top, slot.end, false) };
    }
    let heap = world::heap();
    heap.close_page();
    let (start, end) = heap.system();
    let mut page = start;
    while page < end && snapshot.covers(page) {
        page += PAGE;
    }
    // SAFETY: the system's arena.
    unsafe { snapshot.add(page, end, false) };
}

struct Map {
    start: usize,
    end: usize,
    private: bool,
    special: bool,
}

/// A line of the list of mappings, if it is one of writable memory.
fn parse(line: &[u8]) -> Option<Map> {
    let line = core::str::from_utf8(line).ok()?;
    let mut parts = line.split_ascii_whitespace();
    let (start, end) = parts.next()?.split_once('-')?;
    let access = parts.next()?;
    let name = parts.nth(3).unwrap_or("");
    if !access.starts_with("rw") {
        return None;
    }
    Some(Map {
        start: usize::from_str_radix(start, 16).ok()?,
        end: usize::from_str_radix(end, 16).ok()?,
        private: access.ends_with('p'),
        special: name.starts_with("[stack") || name.starts_with("[v"),
    })
}

/// Where this library lies.
fn own_range() -> (usize, usize) {
    let here = own_range as *const () as usize;
    let within = |module: &&Module| module.start <= here && here < module.end;
    let world = world::get();
    let own = world.modules.iter().find(within);
    own.map_or((0, 0), |module| (module.start, module.end))
}

/// All modules of the process, the program first.
pub fn modules() -> Vec<Module> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry, and we passed the list.
        unsafe {
            let modules = &mut *into.cast::<Vec<Module>>();
            let info = &*info;
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let loaded = headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD);
            let end = loaded.map(|header| header.p_vaddr + header.p_memsz).max();
            let start = info.dlpi_addr as usize;
            let end = (start + end.unwrap_or(0) as usize).next_multiple_of(PAGE);
            let bias = modules
                .last()
                .map_or(0, |last: &Module| last.bias + (last.end - last.start));
            let name = CStr::from_ptr(info.dlpi_name);
            let library = is_library(name.to_bytes());
            modules.push(Module {
                library,
                start,
                end,
                bias,
                path: String::from_utf8_lossy(name.to_bytes()).into_owned(),
            });
        }
        0
    }
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: `add` has the type that is asked for.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
    modules
}

/// Whether a module is part of what every program rests on, by the name of its file.
fn is_library(path: &[u8]) -> bool {
    const NAMES: [&[u8]; 12] = [
        b"libc.",
        b"libm.",
        b"ld-linux",
        b"libgcc_s.",
        b"libstdc++.",
        b"libc++",
        b"libpthread.",
        b"libgomp.",
        b"libatomic.",
        b"libgfortran.",
        b"libreweave_runtime.",
        b"linux-vdso.",
    ];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    NAMES.iter().any(|known| name.starts_with(known))
}

/// Tells the driver what it needs to know about this process.
fn hello() {
    let modules = &world::get().modules;
    let hello = Hello {
        modules: modules
            .iter()
            .map(|module| HelloModule {
                bias: module.bias as u32,
                bytes: (module.end - module.start) as u32,
                base: module.start as u64,
                path: module.path.clone(),
            })
            .collect(),
    };
    write_hello(&mut Writer::new(channel::reports()), &hello);
}
