//! How the program begins: between libc's own start and `main`, and again for every plan.

use crate::{
    core::{
        cell::RunValue,
        channel, families,
        loader::KeptMessage,
        modules,
        program_start::{ARGC, ARGV, ENVP, MAIN, calls_only, driven, main_address},
        shared_memory, switch,
        trampoline::{enter_program, forget_below},
        unseen_calls,
    },
    run::{
        address_reuse, debugger, dooms, faults, foreign_code, leftovers, line_traps, process_end,
        processes, racy_units, rules, serve, snapshot, world,
    },
};
use alloc::vec::Vec;
use core::{
    ffi::{c_char, c_int, c_void},
    sync::atomic::Ordering,
};
use reweave_wire::{
    Beginning, Hello, HelloModule, Reader, Threads, Writer, read_beginning, write_hello,
};

type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = extern "C" fn();

/// # Safety
///
/// Called by the program's start code, with the arguments of libc's own function.
#[cfg_attr(not(test), unsafe(no_mangle))]
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
        if !calls_only() {
            // Before constructors can keep addresses of functions.
            unseen_calls::install();
        }
        line_traps::set();
    }
    let real = crate::real!(__libc_start_main: fn(Main, c_int, *mut *mut c_char, Option<Hook>, Option<Hook>, Option<Hook>, *mut c_void) -> c_int);
    // SAFETY: these are the arguments that the start code passed to libc's own function; only `main` may be
    // another function of the same type.
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
    ARGC.store(argc as usize, Ordering::Relaxed);
    ARGV.store(argv, Ordering::Relaxed);
    ENVP.store(envp, Ordering::Relaxed);
    let beginning = beginning();
    let message = KeptMessage::new();
    modules::list();
    rules::prepare(beginning.rules);
    // A forked process has only the thread that forked, so programs of several processes have fibers.
    let real = channel::header().threads.load(Ordering::Relaxed) == Threads::Os as u32;
    let seated = real && !processes::used();
    if !seated && !switch::supported() {
        crate::give_up(format_args!(
            "this kernel does not let programs set their thread-local memory (FSGSBASE); `--threads os` does without"
        ));
    }
    if processes::used() {
        shared_memory::share(modules::own());
    }
    world::start(seated);
    families::prepare(&beginning);
    // All code of an unmodified program is unseen: no part of it is worth a note of its own.
    if !calls_only() {
        // The libraries that were loaded for the program.
        unseen_calls::install();
        foreign_code::prepare();
    }
    modules::list();
    racy_units::prepare(&beginning.units);
    address_reuse::prepare(&beginning.units);
    faults::install();
    if processes::used() {
        processes::prepare();
    }
    let wanted = beginning.slots.iter().map(|slot| *slot as usize);
    if !debugger::wanted() {
        (1..=4).chain(wanted).for_each(serve::grow);
    }
    drop(message);
    snapshot::take(argv);
    leftovers::note();
    hello();
    serve::serve()
}

/// What the driver says at first.
fn beginning() -> Beginning {
    match read_beginning(&mut Reader::new(channel::plans())) {
        Ok(beginning) => beginning,
        Err(_) => crate::give_up(format_args!("what the driver says makes no sense")),
    }
}

/// The first thread of a run.
pub extern "C" fn main_entry() -> ! {
    dooms::meet(None, modules::site(main_address() + 1));
    families::before_main();
    let main = MAIN.load(Ordering::Relaxed) as usize;
    let end = process_end::end_process as extern "C" fn(c_int) -> !;
    let (count, arguments) = (ARGC.load(Ordering::Relaxed), ARGV.load(Ordering::Relaxed));
    let environment = ENVP.load(Ordering::Relaxed);
    forget_below();
    // SAFETY: MAIN holds the `main` that libc's start was called with; `end` takes its status.
    unsafe {
        enter_program(
            main,
            end as usize,
            count,
            arguments as usize,
            environment as usize,
        )
    }
}

/// What a process that has called `exec` hands to `main`: how many arguments, where they are, and the environment.
static AGAIN: RunValue<(usize, usize, usize)> = RunValue::new((0, 0, 0));

/// Puts arguments and environment of a process that has called `exec` below an address of its stack, as the operating system does: where
/// the stack goes on. They have their nuls.
pub fn place_texts(top: usize, texts: &processes::Texts) -> usize {
    let [arguments, environment] = texts;
    let bytes: usize = texts.iter().flatten().map(Vec::len).sum();
    let mut text = top - bytes;
    let words = arguments.len() + environment.len() + 2;
    let list = (text - 8 * words) & !15;
    let mut word = list as *mut usize;
    for list in [arguments, environment] {
        for one in list {
            // SAFETY: the bytes between `list` and `top` are of the stack, below which nothing is in use yet.
            unsafe {
                core::ptr::copy_nonoverlapping(one.as_ptr(), text as *mut u8, one.len());
                word.write(text);
                word = word.add(1);
            }
            text += one.len();
        }
        // SAFETY: there is a word for the end of each list.
        unsafe {
            word.write(0);
            word = word.add(1);
        }
    }
    AGAIN.set((arguments.len(), list, list + 8 * (arguments.len() + 1)));
    list
}

/// The first thread of a process that has called `exec`.
pub extern "C" fn begin_again() -> ! {
    let (count, arguments, environment) = AGAIN.get();
    let (arguments, environment) = (
        arguments as *mut *mut c_char,
        environment as *mut *mut c_char,
    );
    libc_variables::set(arguments, environment);
    {
        let mut world = world::borrow();
        world.refresh();
        world.mark();
    }
    // SAFETY: MAIN holds the program's `main`, stored as a pointer of the same size.
    let main: Main = unsafe { core::mem::transmute(MAIN.load(Ordering::Relaxed)) };
    process_end::end_process(main(count as c_int, arguments, environment))
}

/// Variables of the C library that its start sets from the arguments.
mod libc_variables {
    use core::ffi::c_char;

    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
        static mut program_invocation_name: *mut c_char;
        static mut program_invocation_short_name: *mut c_char;
    }

    pub fn set(arguments: *mut *mut c_char, environment: *mut *mut c_char) {
        // SAFETY: one thread runs, and memory of the C library is what it was at `main`. The lists end with a null, the texts with a nul.
        unsafe {
            environ = environment;
            let name = *arguments;
            program_invocation_name = name;
            program_invocation_short_name = name;
            let mut at = name;
            while *at != 0 {
                if *at == b'/' as c_char {
                    program_invocation_short_name = at.add(1);
                }
                at = at.add(1);
            }
        }
    }
}

/// Tells the driver what it needs to know about this process.
fn hello() {
    let mut modules = Vec::new();
    modules::each(|module| {
        modules.push(HelloModule {
            bias: module.bias as u32,
            bytes: (module.end - module.start) as u32,
            base: module.start as u64,
            path: module.path.clone(),
        });
    });
    let hello = Hello { modules };
    write_hello(&mut Writer::new(channel::reports()), &hello);
}
