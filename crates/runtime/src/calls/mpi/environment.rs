//! Beginning and end of MPI in a rank, time, error handlers, attributes.

use super::{
    call::{Answer, Call, begin, invalid, mpi},
    communicators::{self, ERR_ARG},
    messages::MOST_TAG,
    state::{Phase, state},
    waiting,
};
use crate::{
    core::trampoline::Frame,
    run::{operations, process_end, world},
    shared::deadlines,
};
use alloc::{format, vec::Vec};
use core::ffi::{CStr, c_int};
use reweave_model::{Kind, Site};
use reweave_wire::Note;

mpi! {
    MPI_Init => initialise;
    MPI_Init_thread => initialise_with_threads;
    MPI_Initialized => is_initialised;
    MPI_Finalize => finalise;
    MPI_Finalized => is_finalised;
    MPI_Abort => abort;
    MPI_Query_thread => thread_level;
    MPI_Is_thread_main => is_main_thread;
    MPI_Get_processor_name => processor_name;
    MPI_Get_version => version;
    MPI_Comm_set_errhandler => set_handler;
    MPI_Errhandler_set => set_handler_by_old_call;
    MPI_Comm_get_errhandler => get_handler;
    MPI_Errhandler_free => free_handler;
    MPI_Error_class => class_of;
    MPI_Error_string => text_of;
    MPI_Comm_set_name => set_name;
    MPI_Comm_create_keyval => create_key;
    MPI_Keyval_create => create_key_by_old_call;
    MPI_Comm_free_keyval => free_key;
    MPI_Comm_set_attr => set_attribute;
    MPI_Attr_put => set_attribute_by_old_call;
    MPI_Comm_get_attr => get_attribute;
    MPI_Attr_get => get_attribute_by_old_call;
    MPI_Comm_delete_attr => delete_attribute;
}

/// The only level of threads: calls come from the first thread of a rank.
const FUNNELED: c_int = 1;
const ERRORS_ARE_FATAL: c_int = 0x5400_0000;
const ERRORS_RETURN: c_int = 0x5400_0001;

/// Functions that may be called before MPI begins and after it has ended, from any thread.
const ANY_TIME: [&CStr; 5] = [
    c"MPI_Initialized",
    c"MPI_Finalized",
    c"MPI_Get_version",
    c"MPI_Wtime",
    c"MPI_Is_thread_main",
];

/// Whether a function only asks about MPI itself.
pub(super) fn is_query(name: &CStr) -> bool {
    ANY_TIME.contains(&name)
}

/// Calls before MPI has begun or after it has ended are errors.
pub(super) fn check_phase(call: &Call) {
    if is_query(call.name) {
        return;
    }
    let begins = matches!(call.name(), "MPI_Init" | "MPI_Init_thread");
    let phase = state().ranks[call.rank()].phase;
    match phase {
        Phase::Started if !begins => {}
        Phase::New if begins => {}
        Phase::New => wrong("mpi-invalid-argument", "is called before MPI_Init", call),
        Phase::Started => wrong("mpi-invalid-argument", "is called a second time", call),
        Phase::Finished => wrong("mpi-after-finalize", "is called after MPI_Finalize", call),
    }
}

fn wrong(rule: &str, what: &str, call: &Call) -> ! {
    operations::misuse(rule, &format!("{} {what}", call.name()), 0, call.site)
}

fn initialise(call: &Call) -> Answer {
    state().ranks[call.rank()].phase = Phase::Started;
    Ok(())
}

fn initialise_with_threads(call: &Call) -> Answer {
    call.put(3, call.int(2).min(FUNNELED));
    initialise(call)
}

fn is_initialised(call: &Call) -> Answer {
    let begun = state().ranks[call.rank()].phase != Phase::New;
    call.put(0, c_int::from(begun));
    Ok(())
}

fn is_finalised(call: &Call) -> Answer {
    let ended = state().ranks[call.rank()].phase == Phase::Finished;
    call.put(0, c_int::from(ended));
    Ok(())
}

/// All ranks meet: a rank that never comes is a deadlock.
fn finalise(call: &Call) -> Answer {
    let world = communicators::find(call, communicators::WORLD)?;
    communicators::meet(world, &[], call)?;
    if waiting::pending_guess_is_wrong(call.rank()) {
        waiting::discard(call.site);
    }
    note_leaks(call.rank());
    state().ranks[call.rank()].phase = Phase::Finished;
    Ok(())
}

/// What the program has made and not given back is a warning.
fn note_leaks(rank: usize) {
    let mut left: Vec<(&str, Site)> = Vec::new();
    {
        let state = state();
        let own = &state.ranks[rank];
        left.extend(
            own.requests
                .iter()
                .flatten()
                .map(|request| ("mpi-request", request.made)),
        );
        let types = own.types.iter().flatten();
        left.extend(types.map(|of| ("mpi-type", Site(of.made))));
        let comms = state.comms.iter().filter(|comm| comm.is_left(rank));
        left.extend(comms.map(|comm| ("mpi-communicator", comm.made)));
    }
    let notes = left.into_iter().map(|(rule, site)| Note::Warning {
        rule: rule.into(),
        site,
        address: 0,
    });
    world::borrow().notes.extend(notes);
}

/// A rank has come to the end of its process.
pub(super) fn rank_ends(rank: usize, site: Site) {
    if state().ranks[rank].phase == Phase::Started {
        let message = format!("rank {rank} ends without MPI_Finalize");
        let rule = Some("mpi-not-finalized");
        world::borrow().error(Kind::Misuse, rule, message, &[site]);
    }
}

fn abort(call: &Call) -> Answer {
    let message = format!("rank {} calls MPI_Abort with {}", call.rank(), call.int(1));
    process_end::fail(Kind::Assertion, message, call.site)
}

fn thread_level(call: &Call) -> Answer {
    call.put(0, FUNNELED);
    Ok(())
}

fn is_main_thread(call: &Call) -> Answer {
    let main = crate::run::processes::main_of_current();
    call.put(0, c_int::from(world::borrow().current == main));
    Ok(())
}

fn processor_name(call: &Call) -> Answer {
    put_text(call, 0, 1, b"localhost");
    Ok(())
}

/// Writes a text with its nul, and its length without.
fn put_text(call: &Call, text: usize, length: usize, bytes: &[u8]) {
    for (place, byte) in bytes.iter().chain(b"\0").enumerate() {
        call.put_at(call.word(text) + place, *byte);
    }
    call.put(length, bytes.len() as c_int);
}

fn version(call: &Call) -> Answer {
    call.put(0, 3 as c_int);
    call.put(1, 1 as c_int);
    Ok(())
}

fn set_handler(call: &Call) -> Answer {
    communicators::find(call, call.int(0))?;
    let returns = match call.int(1) {
        ERRORS_ARE_FATAL => false,
        ERRORS_RETURN => true,
        _ => call.unsupported(" with a handler of the program"),
    };
    state().ranks[call.rank()].returns_errors = returns;
    Ok(())
}

fn set_handler_by_old_call(call: &Call) -> Answer {
    set_handler(call)
}

fn get_handler(call: &Call) -> Answer {
    communicators::find(call, call.int(0))?;
    let returns = state().ranks[call.rank()].returns_errors;
    call.put(
        1,
        if returns {
            ERRORS_RETURN
        } else {
            ERRORS_ARE_FATAL
        },
    );
    Ok(())
}

fn free_handler(call: &Call) -> Answer {
    call.put(0, 0x1400_0000 as c_int);
    Ok(())
}

fn class_of(call: &Call) -> Answer {
    call.put(1, call.int(0));
    Ok(())
}

fn text_of(call: &Call) -> Answer {
    let text = format!("MPI error {}", call.int(0));
    put_text(call, 1, 2, text.as_bytes());
    Ok(())
}

fn set_name(call: &Call) -> Answer {
    communicators::find(call, call.int(0))?;
    Ok(())
}

/// Keys that the program makes have these numbers, from here on.
const KEYS: c_int = 0xa400_0000_u32 as c_int;
const KEY_INVALID: c_int = 0x2400_0000;
const TAG_UB: c_int = 0x6440_0001;
const IO: c_int = 0x6440_0005;
const WTIME_IS_GLOBAL: c_int = 0x6440_0007;

fn create_key(call: &Call) -> Answer {
    // Functions that copy nothing and delete nothing are null.
    if call.word(0) > 1 || call.word(1) > 1 {
        call.unsupported(" with functions of the program");
    }
    let key = {
        let mut state = state();
        let rank = &mut state.ranks[call.rank()];
        rank.keys += 1;
        KEYS + rank.keys
    };
    call.put(2, key);
    Ok(())
}

fn create_key_by_old_call(call: &Call) -> Answer {
    create_key(call)
}

fn free_key(call: &Call) -> Answer {
    call.put(0, KEY_INVALID);
    Ok(())
}

fn set_attribute(call: &Call) -> Answer {
    let comm = communicators::find(call, call.int(0))?.comm;
    let (key, value) = (call.int(1), call.word(2));
    let known = KEYS + state().ranks[call.rank()].keys;
    if !(KEYS + 1..=known).contains(&key) {
        return invalid(ERR_ARG, format!("there is no key {key:#x}"));
    }
    let mut state = state();
    let attributes = &mut state.ranks[call.rank()].attributes;
    attributes.retain(|(at, known, _)| (*at, *known) != (comm, key));
    attributes.push((comm, key, value));
    Ok(())
}

fn set_attribute_by_old_call(call: &Call) -> Answer {
    set_attribute(call)
}

/// Values that are built in: the address of one is asked for.
static BUILT_IN: [c_int; 3] = [MOST_TAG, super::messages::ANY_SOURCE, 0];

fn get_attribute(call: &Call) -> Answer {
    let comm = communicators::find(call, call.int(0))?.comm;
    let key = call.int(1);
    let built_in = match key {
        TAG_UB => Some(0),
        IO => Some(1),
        WTIME_IS_GLOBAL => Some(2),
        _ => None,
    };
    let value = match built_in {
        Some(place) => Some(&raw const BUILT_IN[place] as usize),
        None => {
            let state = state();
            let mut known = state.ranks[call.rank()].attributes.iter();
            known
                .find(|(at, known, _)| (*at, *known) == (comm, key))
                .map(|(.., value)| *value)
        }
    };
    if let Some(value) = value {
        call.put(2, value);
    }
    call.put(3, c_int::from(value.is_some()));
    Ok(())
}

fn get_attribute_by_old_call(call: &Call) -> Answer {
    get_attribute(call)
}

fn delete_attribute(call: &Call) -> Answer {
    let comm = communicators::find(call, call.int(0))?.comm;
    let key = call.int(1);
    let mut state = state();
    let attributes = &mut state.ranks[call.rank()].attributes;
    attributes.retain(|(at, known, _)| (*at, *known) != (comm, key));
    Ok(())
}

/// A communicator is gone.
pub(super) fn delete_attributes(call: &Call, comm: usize) {
    let mut state = state();
    state.ranks[call.rank()]
        .attributes
        .retain(|(at, ..)| *at != comm);
}

/// MPI's clocks: virtual time.
macro_rules! clocks {
    ($($name:ident => $target:path;)*) => {$(
        /// # Safety
        ///
        /// For the program.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::core::trampoline::assembly!(push frame),
                "mov r11, rsp",
                $crate::core::trampoline::assembly!(push arguments),
                "mov rdi, rsp",
                "mov rsi, r11",
                $crate::core::trampoline::assembly!(room "8"),
                "call {target}",
                $crate::core::trampoline::assembly!(drop "104"),
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    )*};
}

clocks! {
    MPI_Wtime => time;
    MPI_Wtick => tick;
}

extern "C" fn time(registers: &[usize; 6], frame: &Frame) -> f64 {
    begin(registers, frame, c"MPI_Wtime");
    // The clocks of ranks are not synchronised: each rank looks at its own, in no order with the others.
    let now = world::borrow().look_at_own_clock();
    now as f64 / deadlines::SECOND as f64
}

extern "C" fn tick(_: &[usize; 6], _: &Frame) -> f64 {
    1e-9
}
