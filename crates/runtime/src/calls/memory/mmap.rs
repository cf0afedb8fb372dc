//! Memory that a program maps itself: `mmap` and its relatives, and the program break.
//!
//! A mapping lies in a range of its thread's own, so that addresses do not depend on the order of the run. Nothing is mapped twice
//! at one address within a run, and all of it is gone afterwards.

use crate::{
    core::{
        cell::RunValue,
        families::PageVisitor,
        per_process::{PerProcess, ProcessChange},
        program_start,
        restore::PAGE,
        sys,
        trampoline::{Frame, assembly},
    },
    kernel::{
        descriptor_arguments, descriptor_table,
        file_mappings::{self, Mapping},
        file_objects, start_state,
    },
    outside_run, real,
    run::{
        accesses, address_reuse::MAPPED_AT, call_sites, operations::failed, processes, slots, world,
    },
    shared::resource_limits,
    trampoline,
};
use alloc::vec::Vec;
use core::{
    arch::naked_asm,
    ffi::{c_int, c_void},
    ops::Range,
};
use reweave_memory::SHARED_UNIT;
use reweave_model::Site;

trampoline! {
    munmap => unmap, "rdx";
    mremap => remap, "r9";
    mprotect => protect, "rcx";
    madvise => advise, "rcx";
    brk => set_break, "rsi";
    sbrk => move_break, "rsi";
}

/// What this run has mapped.
#[derive(Clone)]
struct Mappings {
    maps: Vec<Range<usize>>,
    /// Heap memory whose protection was changed.
    protected: Vec<Range<usize>>,
    /// Bytes that threads have used of their ranges, small and large, by slot.
    used: Vec<(usize, [usize; 2])>,
    /// Bytes that threads can write to, by slot.
    writable: Vec<(usize, usize)>,
    /// Mappings that are counted there.
    counted: Vec<(usize, Range<usize>)>,
    moved_break: bool,
}

static MAPPINGS: PerProcess<Mappings> = PerProcess::new(Mappings {
    maps: Vec::new(),
    protected: Vec::new(),
    used: Vec::new(),
    writable: Vec::new(),
    counted: Vec::new(),
    moved_break: false,
});

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    MAPPINGS.change(change);
}

/// Ranges of threads: of this size for each slot, and larger ones for the first few.
const SMALL_AT: usize = 0x3100_0000_0000;
const SMALL: usize = 256 << 20;
const LARGE_AT: usize = 0x3500_0000_0000;
const LARGE: usize = 64 << 30;
const LARGE_SLOTS: usize = 48;
const _: () = assert!(SMALL_AT + slots::MOST * SMALL <= LARGE_AT);
const _: () = assert!(
    MAPPED_AT.start <= SMALL_AT && LARGE_AT + LARGE_SLOTS * LARGE <= MAPPED_AT.end,
    "used addresses are looked for there"
);

/// The program break at `main`.
static BREAK: RunValue<usize> = RunValue::new(0);

/// The program break as it is now.
fn program_break() -> usize {
    // SAFETY: `brk` with 0 changes nothing and returns the present break.
    (unsafe { sys::call(libc::SYS_brk, [0; 6]) }) as usize
}

pub fn prepare() {
    BREAK.set(program_break());
}

/// After a run: everything is gone.
pub fn clean_up() {
    let mut mappings = MAPPINGS.borrow();
    for map in mappings.maps.drain(..) {
        // SAFETY: the program mapped this range in the run that is over, in a part of the address space where the runtime has
        // nothing.
        unsafe { sys::call(libc::SYS_munmap, [map.start, map.len(), 0, 0, 0, 0]) };
    }
    unprotect(mappings.protected.drain(..));
    if mappings.moved_break {
        // SAFETY: the break goes back to where it was at `main`: what the run had above it is not used any more.
        unsafe { sys::call(libc::SYS_brk, [BREAK.get(), 0, 0, 0, 0, 0]) };
        mappings.moved_break = false;
    }
    mappings.used.clear();
    mappings.writable.clear();
    mappings.counted.clear();
}

/// Heap memory can be read and written again.
fn unprotect(ranges: impl Iterator<Item = Range<usize>>) {
    for range in ranges {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is memory of the program's heap, which has this access unless the program changed it; the run is
        // over.
        unsafe { sys::protect(range.start, range.len(), access) };
    }
}

/// What is counted for a slot, made if there is nothing yet.
fn of_slot<T: Default>(all: &mut Vec<(usize, T)>, slot: usize) -> &mut T {
    let index = match all.iter().position(|(known, _)| *known == slot) {
        Some(index) => index,
        None => {
            all.push((slot, T::default()));
            all.len() - 1
        }
    };
    &mut all[index].1
}

impl Mappings {
    /// A place for so many bytes in the range of a thread.
    fn place(&mut self, slot: usize, bytes: usize) -> Option<usize> {
        let small = bytes <= SMALL / 4;
        let place = small.then(|| self.place_in(slot, bytes, true)).flatten();
        place.or_else(|| self.place_in(slot, bytes, false))
    }

    /// The same, in its small range or in its large one, if it has that.
    fn place_in(&mut self, slot: usize, bytes: usize, small: bool) -> Option<usize> {
        if !small && slot >= LARGE_SLOTS {
            return None;
        }
        let (start, room) = match small {
            true => (SMALL_AT + slot * SMALL, SMALL),
            false => (LARGE_AT + slot * LARGE, LARGE),
        };
        let used = &mut of_slot(&mut self.used, slot)[usize::from(!small)];
        // A page that cannot be accessed comes after each.
        let next = used.checked_add(bytes)?.checked_add(PAGE)?;
        if next > room {
            return None;
        }
        let address = start + *used;
        *used = next;
        Some(address)
    }
}

/// Whether the running thread may have so many bytes more.
fn affords(bytes: usize) -> bool {
    let slot = world::borrow().slot();
    let most = resource_limits::memory();
    let mut mappings = MAPPINGS.borrow();
    let writable = of_slot(&mut mappings.writable, slot);
    let all = writable.saturating_add(bytes);
    if all > most {
        return false;
    }
    *writable = all;
    true
}

/// Memory that the running thread mapped and now unmaps counts as its own again. Memory that others unmap does not: the count
/// would depend on when they do.
fn give_back(range: &Range<usize>) {
    let slot = world::borrow().slot();
    let mut mappings = MAPPINGS.borrow();
    let given = |(owner, map): &mut (usize, Range<usize>)| {
        *owner == slot && range.start <= map.start && map.end <= range.end
    };
    let bytes = mappings
        .counted
        .extract_if(.., given)
        .map(|(_, map)| map.len());
    let bytes: usize = bytes.sum();
    let mut writable = mappings.writable.iter_mut();
    if let Some((_, all)) = writable.find(|(known, _)| *known == slot) {
        *all = all.saturating_sub(bytes);
    }
}

/// Passes each page that the program has mapped and written to. After a run heap memory that it has protected can be read again.
pub fn each_page(each: &mut PageVisitor<'_>) {
    /// Asked about at a time.
    const PAGES: usize = 4096;
    /// In memory, or where the kernel puts pages that are not used for long.
    const THERE: u64 = 3 << 62;
    let mut all = {
        let mappings = MAPPINGS.borrow();
        if !world::active() {
            unprotect(mappings.protected.iter().cloned());
        }
        let mut all = mappings.maps.clone();
        if mappings.moved_break {
            let start = BREAK.get() & !(PAGE - 1);
            all.push(start..program_break().next_multiple_of(PAGE));
        }
        all
    };
    if all.is_empty() {
        return;
    }
    let memory = sys::Places::open(c"/proc/self/mem");
    let known = sys::Places::open(c"/proc/self/pagemap");
    let mut pages = alloc::vec![0_u64; PAGES];
    let mut page = alloc::vec![0_u64; PAGE / 8];
    for map in all.drain(..) {
        for part in map.clone().step_by(PAGES * PAGE) {
            let pages = &mut pages[..(map.end - part).div_ceil(PAGE).min(PAGES)];
            if !known.read(part / PAGE * 8, pages) {
                pages.fill(THERE);
            }
            let there = pages
                .iter()
                .enumerate()
                .filter(|(_, page)| **page & THERE != 0);
            for (index, _) in there {
                if memory.read(part + index * PAGE, &mut page) {
                    each(&page);
                }
            }
        }
    }
}

/// A place for so many bytes in the running thread's range.
fn place(bytes: usize, shared: bool) -> Option<usize> {
    let slot = world::borrow().slot();
    if !shared {
        return MAPPINGS.borrow().place(slot, bytes);
    }
    // Nothing else is to lie in a piece of memory that the race detector shares.
    let room = bytes.next_multiple_of(SHARED_UNIT) + SHARED_UNIT;
    let place = MAPPINGS.borrow().place(slot, room)?;
    Some(place.next_multiple_of(SHARED_UNIT))
}

/// Whether a range is one of those mapped in this run.
fn mapped(address: usize, bytes: usize) -> bool {
    let end = address.saturating_add(bytes);
    let mappings = MAPPINGS.borrow();
    let mut maps = mappings.maps.iter();
    maps.any(|map| map.start <= address && end <= map.end)
}

/// The pages that so many bytes lie in.
fn pages(address: usize, bytes: usize) -> Range<usize> {
    address..address.saturating_add(bytes).next_multiple_of(PAGE)
}

/// The result of a system call as libc returns it.
fn result(value: isize) -> usize {
    if (-4095..0).contains(&value) {
        failed(-value as c_int);
        return usize::MAX;
    }
    value as usize
}

/// A call of `mmap`.
struct Request {
    address: usize,
    bytes: usize,
    access: usize,
    flags: usize,
    descriptor: usize,
    offset: usize,
}

impl Request {
    fn has(&self, flag: c_int) -> bool {
        self.flags & flag as usize != 0
    }

    /// Whether other processes will see what is written there.
    fn is_shared(&self) -> bool {
        processes::used() && self.has(libc::MAP_SHARED)
    }

    fn writes(&self) -> bool {
        self.access & libc::PROT_WRITE as usize != 0
    }

    fn pages(&self) -> Range<usize> {
        pages(self.address, self.bytes)
    }
}

extern "C" fn map(arguments: &[usize; 6], return_address: &usize) -> usize {
    let [address, bytes, access, flags, descriptor, offset] = *arguments;
    let descriptor = descriptor_arguments::own(descriptor as c_int) as usize;
    outside_run!(mmap: fn(address: usize, bytes: usize, access: usize, flags: usize, descriptor: usize, offset: usize) -> usize);
    let mut request = Request {
        address,
        bytes,
        access,
        flags,
        descriptor,
        offset,
    };
    let site = call_sites::site(return_address);
    let of_file = request.is_shared() && !request.has(libc::MAP_ANONYMOUS);
    if of_file && !file_mappings::can_be_shared(offset, bytes) {
        let what =
            "mmap of a file for several processes, at an offset that is no multiple of 64 KiB";
        world::unsupported(what, site);
    }
    if request.has(libc::MAP_SHARED) && request.has(libc::MAP_ANONYMOUS) && !processes::used() {
        // There is no other process to share it with, so it may be private.
        let kind = libc::MAP_SHARED_VALIDATE as usize;
        request.flags = flags & !kind | libc::MAP_PRIVATE as usize;
    }
    let fixed = request.has(libc::MAP_FIXED) || request.has(libc::MAP_FIXED_NOREPLACE);
    if fixed && !mapped(address, bytes) {
        world::unsupported("mmap at a fixed address", site);
    }
    // Memory that is only reserved costs nothing.
    let costs = request.writes() && !request.has(libc::MAP_NORESERVE);
    if costs && !affords(bytes) {
        return result(-libc::ENOMEM as isize);
    }
    if !fixed {
        let Some(place) = place(bytes.next_multiple_of(PAGE), request.is_shared()) else {
            return result(-libc::ENOMEM as isize);
        };
        request.address = place;
        request.flags |= libc::MAP_FIXED as usize;
    }
    if !request.has(libc::MAP_ANONYMOUS) {
        let number = descriptor as c_int;
        descriptor_table::look_up(number, site);
        file_objects::look_at_open(number, return_address);
        request.descriptor = descriptor_table::found(number) as usize;
        // Output goes to the driver, and cannot be mapped, as a pipe cannot.
        if start_state::is_output(request.descriptor as c_int) {
            return result(-libc::EACCES as isize);
        }
    }
    map_at(&request, fixed, costs, site)
}

/// Makes a mapping where it is to be: in a place of the running thread's range, or over another mapping.
fn map_at(request: &Request, fixed: bool, costs: bool, site: Site) -> usize {
    if fixed {
        file_mappings::removed(&request.pages());
    }
    let file = match request.has(libc::MAP_ANONYMOUS) {
        true => None,
        false => Mapping::new(
            request.pages(),
            request.descriptor as c_int,
            request.offset,
            request.has(libc::MAP_SHARED),
            request.writes(),
        ),
    };
    let arguments = [
        request.address,
        request.bytes,
        request.access,
        request.flags,
        request.descriptor,
        request.offset,
    ];
    // SAFETY: the address is a place that nothing else was mapped at in this run, or lies within a mapping of the program: checked
    // by the caller.
    let value = unsafe { sys::call(libc::SYS_mmap, arguments) };
    let made = value as usize == request.address;
    if made && !fixed {
        let slot = world::borrow().slot();
        let mut mappings = MAPPINGS.borrow();
        mappings.maps.push(request.pages());
        if costs {
            let range = request.address..request.address + request.bytes;
            mappings.counted.push((slot, range));
        }
    }
    match &file {
        Some(file) if made && request.is_shared() => file_mappings::share(file),
        None if made && request.is_shared() => world::borrow().objects.share(request.pages()),
        _ => {}
    }
    if let Some(file) = file.filter(|_| made) {
        file_mappings::added(file, site);
    }
    result(value)
}

macro_rules! maps {
    ($($name:ident)*) => {$(
        /// # Safety
        ///
        /// For the program, by the rules of `mmap`.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                assembly!(push arguments),
                "mov rdi, rsp",
                "lea rsi, [rsp + 48]",
                assembly!(room "8"),
                "call {map}",
                assembly!(drop "56"),
                "ret",
                ".cfi_endproc",
                map = sym map,
            )
        }
    )*};
}

maps! { mmap mmap64 }

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// Bytes of a range that are checked against other accesses when it is unmapped. A later access crashes by itself.
const LOOKED_AT: usize = 1 << 20;

/// # Safety
///
/// As `munmap`: the program does not use the range any more.
unsafe extern "C" fn unmap(address: usize, bytes: usize, frame: &Frame) -> c_int {
    outside_run!(munmap: fn(address: usize, bytes: usize) -> c_int);
    if !mapped(address, bytes) {
        world::unsupported("munmap of memory from before main", site(frame));
    }
    // Other processes keep memory that they share, and what lies there.
    if !world::borrow().objects.is_shared(address) {
        accesses::range(address, bytes.min(LOOKED_AT), true, frame);
    }
    world::borrow().unmapped(address..address + bytes);
    world::borrow().objects.unshare(&(address..address + bytes));
    give_back(&(address..address + bytes));
    file_mappings::removed(&pages(address, bytes));
    // SAFETY: the range lies within a mapping of the program's, by `mapped` above, and the program gives it up.
    result(unsafe { sys::call(libc::SYS_munmap, [address, bytes, 0, 0, 0, 0]) }) as c_int
}

/// # Safety
///
/// As `mremap`: the program does not use the old range any more.
unsafe extern "C" fn remap(
    address: usize,
    old: usize,
    new: usize,
    flags: c_int,
    wanted: usize,
    frame: &Frame,
) -> usize {
    outside_run!(mremap: fn(address: usize, old: usize, new: usize, flags: c_int, wanted: usize) -> usize);
    if world::borrow().objects.is_shared(address) {
        world::unsupported("mremap of memory that processes share", site(frame));
    }
    if flags & !libc::MREMAP_MAYMOVE != 0 || !mapped(address, old) {
        world::unsupported("mremap at a fixed address", site(frame));
    }
    let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
    if new <= old {
        file_mappings::removed(&(address + new..address + old));
        world::borrow().unmapped(address + new..address + old);
        // SAFETY: the rest lies within a mapping of the program's, by `mapped` above, and the program gives it up.
        unsafe { sys::call(libc::SYS_munmap, [address + new, old - new, 0, 0, 0, 0]) };
        return address;
    }
    let place = match flags & libc::MREMAP_MAYMOVE {
        0 => None,
        _ if !affords(new - old) => None,
        _ => place(new, false),
    };
    let Some(place) = place else {
        return result(-libc::ENOMEM as isize);
    };
    world::borrow().unmapped(address..address + old);
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the old range lies within a mapping of the program's, by `mapped` above; nothing was mapped at `place` in this run.
    let value = unsafe { sys::call(libc::SYS_mremap, [address, old, new, flags, place, 0]) };
    if value as usize == place {
        MAPPINGS.borrow().maps.push(place..place + new);
        let (from, to) = (address..address + old, place..place + new);
        file_mappings::moved(&from, &to, site(frame));
    }
    result(value)
}

/// # Safety
///
/// As `mprotect`: the program uses the range as the new access allows.
unsafe extern "C" fn protect(address: usize, bytes: usize, access: c_int, frame: &Frame) -> c_int {
    outside_run!(mprotect: fn(address: usize, bytes: usize, access: c_int) -> c_int);
    if !mapped(address, bytes) {
        if world::heap().around(address).is_none() {
            world::unsupported("mprotect of memory from before main", site(frame));
        }
        let end = (address + bytes).next_multiple_of(PAGE);
        MAPPINGS.borrow().protected.push(address..end);
    } else if access & libc::PROT_WRITE != 0 {
        file_mappings::writable(&pages(address, bytes), site(frame));
    }
    let arguments = [address, bytes, access as usize, 0, 0, 0];
    // SAFETY: the range lies in a mapping of the program's or in its heap, as found above; the runtime keeps nothing there.
    result(unsafe { sys::call(libc::SYS_mprotect, arguments) }) as c_int
}

/// # Safety
///
/// As `madvise`: the program does not need what the advice discards.
unsafe extern "C" fn advise(address: usize, bytes: usize, advice: c_int, frame: &Frame) -> c_int {
    outside_run!(madvise: fn(address: usize, bytes: usize, advice: c_int) -> c_int);
    let own = mapped(address, bytes) || world::heap().around(address).is_some();
    if !own {
        if matches!(
            advice,
            libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE
        ) {
            world::unsupported("madvise of memory from before main", site(frame));
        }
        return 0;
    }
    let arguments = [address, bytes, advice as usize, 0, 0, 0];
    // SAFETY: the range lies in a mapping of the program's or in its heap, as found above; the runtime keeps nothing there.
    result(unsafe { sys::call(libc::SYS_madvise, arguments) }) as c_int
}

/// # Safety
///
/// As `brk`: the program does not use memory above the new break.
unsafe extern "C" fn set_break(address: *mut c_void, _: &Frame) -> c_int {
    if world::active() {
        MAPPINGS.borrow().moved_break = true;
    }
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(brk: fn(*mut c_void) -> c_int)(address) }
}

/// # Safety
///
/// As `sbrk`: the program does not use memory above the new break.
unsafe extern "C" fn move_break(by: isize, _: &Frame) -> *mut c_void {
    if by != 0 && program_start::driven() && world::active() {
        if by > 0 && !affords(by as usize) {
            return result(-libc::ENOMEM as isize) as *mut c_void;
        }
        MAPPINGS.borrow().moved_break = true;
    }
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(sbrk: fn(isize) -> *mut c_void)(by) }
}
