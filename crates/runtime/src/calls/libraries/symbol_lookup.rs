//! Symbols that a program looks up in all that it has open (`dlsym`), and the list of that (`dl_iterate_phdr`).
//!
//! The answer depends on what other threads open and close: where it does, the call takes the loader's lock ([`Rule::Libraries`]).

use crate::{
    calls::libraries::{OPENED, enter, leave, loaded},
    core::{
        modules,
        real::Real,
        trampoline::{Frame, assembly},
    },
    real,
    run::{call_sites, rules, world},
    trampoline,
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

/// Goes on to the loader's own, which looks at its return address.
///
/// # Safety
///
/// For the program, by the rules of `dlsym`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym() {
    naked_asm!(
        ".cfi_startproc",
        assembly!(@push "rsi"),
        "lea rdx, [rsp + 8]",
        assembly!(room "16"),
        "call {look}",
        assembly!(drop "16"),
        assembly!(@pop "rsi"),
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        look = sym look,
    )
}

extern "C" fn look(library: *mut c_void, name: *const c_char, from: &usize) -> Answer {
    let everywhere =
        world::active() && (library == libc::RTLD_DEFAULT || Some(library) == loaded().program());
    let library = match everywhere {
        true => holder(library, name, from),
        false => library,
    };
    Answer {
        real: REAL.get(),
        library,
    }
}

type Look = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The library that has a symbol which was looked up in all of them.
fn holder(everywhere: *mut c_void, name: *const c_char, from: &usize) -> *mut c_void {
    let locked = rules::holds(Rule::Libraries);
    if locked {
        enter(call_sites::site(from));
    }
    // SAFETY: libc's own `dlsym` has this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, Look>(REAL.get()) };
    // SAFETY: `name` is a C string, by the contract of `dlsym`, and the handle is that of a loaded library. No borrow is alive.
    let find = |library| unsafe { real(library, name) } as usize;
    let place = find(libc::RTLD_DEFAULT);
    let late = &loaded().late;
    let early = place != 0 && loaded().late_at(place).is_none();
    let has = |number: usize| late[number].holds(find(late[number].handle()));
    let library = match early || !(0..late.len()).any(has) {
        true => everywhere,
        false => {
            rules::needs(Rule::Libraries);
            let global = OPENED.borrow().global.clone();
            match global.into_iter().find(|number| has(*number)) {
                Some(number) => {
                    if everywhere == libc::RTLD_DEFAULT {
                        keep_for(*from, number);
                    }
                    late[number].handle()
                }
                // The program, or the library that asks, may have it for itself.
                None if loaded().late_at(*from).is_some() => everywhere,
                // The loader reports that this library has no such symbol.
                None => loaded().nothing,
            }
        }
    };
    if locked {
        leave(call_sites::site(from));
    }
    library
}

/// A library stays while code that found a symbol in it may use the symbol: for ever if that is the program's, as long as the
/// other library is there if it is a library's.
fn keep_for(from: usize, late: usize) {
    let by = loaded().late_at(from);
    let mut opened = OPENED.borrow();
    match by {
        Some(by) => opened.found.push((by, late)),
        None => opened.kept[late] += 1,
    }
}

trampoline! {
    dl_iterate_phdr => list, "rdx";
}

type Each = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The program's callback and its argument.
struct Listing {
    each: Each,
    argument: *mut c_void,
}

/// Lists what is open; to unwinders, all that is loaded.
///
/// # Safety
///
/// As `dl_iterate_phdr`: `each` can be called with `argument`.
unsafe extern "C" fn list(each: Each, argument: *mut c_void, frame: &Frame) -> c_int {
    let real = real!(dl_iterate_phdr: fn(Each, *mut c_void) -> c_int);
    if !world::active() || modules::is_library(frame.return_address) {
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(each, argument) };
    }
    let locked = rules::holds(Rule::Libraries);
    let site = call_sites::site(&frame.return_address);
    if locked {
        enter(site);
    }
    let mut listing = Listing { each, argument };
    // SAFETY: `pass_open` has the type that the loader calls, and `listing` outlives the call. No borrow is alive.
    let result = unsafe { real(pass_open, ptr::from_mut(&mut listing).cast()) };
    if locked {
        leave(site);
    }
    result
}

/// Passes an entry on to the program's callback, unless it is of a library that is not open.
///
/// # Safety
///
/// `info` is a valid entry, and `listing` points to a [`Listing`].
unsafe extern "C" fn pass_open(
    info: *mut libc::dl_phdr_info,
    size: usize,
    listing: *mut c_void,
) -> c_int {
    // SAFETY: `info` is a valid entry, by this function's contract.
    let start = unsafe { (*info).dlpi_addr } as usize;
    let late = loaded().late.iter().position(|late| late.starts_at(start));
    if let Some(late) = late {
        rules::needs(Rule::Libraries);
        if !OPENED.borrow().ready.contains(&late) {
            return 0;
        }
    }
    // SAFETY: `listing` points to a listing, whose callback takes an entry and its argument. No borrow is alive.
    unsafe {
        let listing = &*listing.cast::<Listing>();
        (listing.each)(info, size, listing.argument)
    }
}
