//! Names that a program looks for in all that it has open, and the list of that.
//!
//! What another thread opens or closes changes the answer: where it does, who asks takes the loader's lock ([`Rule::Libraries`]).

use crate::{
    calls::libraries::{all, enter, leave, state},
    core::{call_sites, real::Real, rules, world},
    hooks::Frame,
    real, trampoline,
};
use core::{
    arch::naked_asm,
    ffi::{c_char, c_int, c_void},
    ptr,
};
use reweave_wire::Rule;

static REAL: Real = Real::new(c"dlsym");

/// Where to go on, and with what instead of the first argument.
#[repr(C)]
struct Answer {
    real: *mut c_void,
    library: *mut c_void,
}

/// Goes on to the loader's own, which asks who calls it.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym() {
    naked_asm!(
        ".cfi_startproc",
        "push rsi",
        "lea rdx, [rsp + 8]",
        "sub rsp, 16",
        ".cfi_adjust_cfa_offset 24",
        "call {look}",
        "add rsp, 16",
        "pop rsi",
        ".cfi_adjust_cfa_offset -24",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        look = sym look,
    )
}

extern "C" fn look(library: *mut c_void, name: *const c_char, from: &usize) -> Answer {
    let everywhere = library == libc::RTLD_DEFAULT || Some(library) == all().program();
    let library = match world::active() && everywhere {
        true => holder(library, name, from),
        false => library,
    };
    Answer {
        real: REAL.get(),
        library,
    }
}

type Look = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// In which library a name is that was looked for in all.
fn holder(everywhere: *mut c_void, name: *const c_char, from: &usize) -> *mut c_void {
    let locked = rules::holds(Rule::Libraries);
    if locked {
        enter(call_sites::site(from));
    }
    // SAFETY: the loader's own, with what the program passes.
    let real = unsafe { core::mem::transmute::<*mut c_void, Look>(REAL.get()) };
    // SAFETY: as above.
    let find = |library| unsafe { real(library, name) } as usize;
    let place = find(libc::RTLD_DEFAULT);
    let early = place != 0 && !all().late.iter().any(|late| late.holds(place));
    let has = |late: usize| all().late[late].holds(find(all().late[late].handle()));
    let library = match early || !(0..all().late.len()).any(has) {
        true => everywhere,
        false => {
            rules::needs(Rule::Libraries);
            match state().global.iter().copied().find(|late| has(*late)) {
                Some(late) => {
                    if everywhere == libc::RTLD_DEFAULT {
                        keep_for(*from, late);
                    }
                    all().late[late].handle()
                }
                // The program, or the library that asks, may have it for itself.
                None if all().late.iter().any(|late| late.holds(*from)) => everywhere,
                // What has no such name has the loader say so.
                None => all().nothing,
            }
        }
    };
    if locked {
        leave(call_sites::site(from));
    }
    library
}

/// Who has found a name in a library has it stay: the program for ever, another library as long as that is there.
fn keep_for(from: usize, late: usize) {
    match all().late.iter().position(|late| late.holds(from)) {
        Some(by) => state().found.push((by, late)),
        None => state().kept[late] += 1,
    }
}

trampoline! {
    dl_iterate_phdr => list, "rdx";
}

type Each = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

struct Listing {
    each: Each,
    argument: *mut c_void,
}

/// Lists what is open; to those whose business it is to unwind, all that is loaded.
unsafe extern "C" fn list(each: Each, argument: *mut c_void, frame: &Frame) -> c_int {
    unsafe extern "C" fn open(
        info: *mut libc::dl_phdr_info,
        size: usize,
        to: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid entry, and `list` its own.
        unsafe {
            let start = (*info).dlpi_addr as usize;
            let late = all().late.iter().position(|late| late.starts_at(start));
            if late.is_some() {
                rules::needs(Rule::Libraries);
            }
            if late.is_some_and(|late| !state().ready.contains(&late)) {
                return 0;
            }
            let listing = &*to.cast::<Listing>();
            (listing.each)(info, size, listing.argument)
        }
    }
    let real = real!(dl_iterate_phdr: fn(Each, *mut c_void) -> c_int);
    if !world::active() || world::get().is_library(frame.return_address) {
        // SAFETY: the caller's own arguments.
        return unsafe { real(each, argument) };
    }
    let locked = rules::holds(Rule::Libraries);
    let site = call_sites::site(&frame.return_address);
    if locked {
        enter(site);
    }
    let mut listing = Listing { each, argument };
    // SAFETY: `open` has the type that is asked for.
    let result = unsafe { real(open, ptr::from_mut(&mut listing).cast()) };
    if locked {
        leave(site);
    }
    result
}
