//! Memory that a program maps itself. It lies in a range of its thread's own, so that addresses do not depend on the order of the run;
//! nothing is mapped twice at one place within a run, and all of it is gone afterwards.

use crate::{
    core::{
        entry,
        restore::PAGE,
        slots, sys,
        world::{self, World},
    },
    hooks::{Frame, accesses},
    kernel::{
        descriptor_arguments, descriptor_table,
        file_mappings::{self, Mapped},
        file_objects,
    },
    real, trampoline,
};
use alloc::vec::Vec;
use core::{
    arch::naked_asm,
    ffi::{c_int, c_void},
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};
use reweave_model::Site;

trampoline! {
    munmap => unmap, "rdx";
    mremap => remap, "r9";
    mprotect => protect, "rcx";
    madvise => advise, "rcx";
    brk => set_break, "rsi";
    sbrk => move_break, "rsi";
}

/// Of a run.
#[derive(Default)]
pub struct State {
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

/// Ranges of threads: of this size for each slot, and larger ones for the first few.
const SMALL_AT: usize = 0x3100_0000_0000;
const SMALL: usize = 256 << 20;
const LARGE_AT: usize = 0x3500_0000_0000;
const LARGE: usize = 64 << 30;
const LARGE_SLOTS: usize = 48;
const _: () = assert!(SMALL_AT + slots::MOST * SMALL <= LARGE_AT);

/// Where the program's break was at `main`.
static BREAK: AtomicUsize = AtomicUsize::new(0);

pub fn prepare() {
    // SAFETY: only asks.
    let now = unsafe { sys::call(libc::SYS_brk, [0; 6]) };
    BREAK.store(now as usize, Ordering::Relaxed);
}

/// After a run: everything is gone.
pub fn clean_up() {
    let state = &mut world::get().calls.mappings;
    // SAFETY: the program's own mappings, which nobody uses any more.
    unsafe {
        for map in state.maps.drain(..) {
            sys::call(libc::SYS_munmap, [map.start, map.len(), 0, 0, 0, 0]);
        }
        for range in state.protected.drain(..) {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            sys::protect(range.start, range.len(), access);
        }
        if state.moved_break {
            let before = BREAK.load(Ordering::Relaxed);
            sys::call(libc::SYS_brk, [before, 0, 0, 0, 0, 0]);
            state.moved_break = false;
        }
    }
    state.used.clear();
    state.writable.clear();
    state.counted.clear();
}

/// Whether the running thread may have so many bytes more.
fn affords(world: &mut World, bytes: usize) -> bool {
    let slot = world.slot();
    let most = crate::core::resource_limits::memory();
    let writable = &mut world.calls.mappings.writable;
    let index = match writable.iter().position(|(known, _)| *known == slot) {
        Some(index) => index,
        None => {
            writable.push((slot, 0));
            writable.len() - 1
        }
    };
    let all = writable[index].1.saturating_add(bytes);
    if all > most {
        return false;
    }
    writable[index].1 = all;
    true
}

/// What the running thread has mapped itself and now gives back is its own again. What others give back is not: it would depend on when they do.
fn give_back(world: &mut World, range: &Range<usize>) {
    let slot = world.slot();
    let state = &mut world.calls.mappings;
    let given = |(owner, map): &(usize, Range<usize>)| {
        *owner == slot && range.start <= map.start && map.end <= range.end
    };
    let bytes: usize = state
        .counted
        .extract_if(.., |it| given(it))
        .map(|it| it.1.len())
        .sum();
    if let Some((_, all)) = state.writable.iter_mut().find(|(known, _)| *known == slot) {
        *all = all.saturating_sub(bytes);
    }
}

impl State {
    /// What there is in pages that the program has mapped and written to, one after the other. Heap memory that it has protected can be
    /// read again.
    pub fn each_page(&self, mut each: impl FnMut(&[u64])) {
        /// Asked about at a time.
        const PAGES: usize = 4096;
        /// In memory, or where the kernel puts what is not used for long.
        const THERE: u64 = 3 << 62;
        for range in &self.protected {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the run is over.
            unsafe { sys::protect(range.start, range.len(), access) };
        }
        let mut all = self.maps.clone();
        if self.moved_break {
            // SAFETY: only asks.
            let end = unsafe { sys::call(libc::SYS_brk, [0; 6]) } as usize;
            let start = BREAK.load(Ordering::Relaxed) & !(PAGE - 1);
            all.push(start..end.next_multiple_of(PAGE));
        }
        if all.is_empty() {
            return;
        }
        let memory = sys::Places::open(c"/proc/self/mem");
        let known = sys::Places::open(c"/proc/self/pagemap");
        let mut pages = alloc::vec![0_u64; PAGES];
        let mut page = alloc::vec![0_u64; PAGE / 8];
        for map in all {
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
}

/// A place for so many bytes in the running thread's range.
fn place(world: &mut World, bytes: usize) -> Option<usize> {
    let small = bytes <= SMALL / 4;
    let place = small.then(|| place_in(world, bytes, true)).flatten();
    place.or_else(|| place_in(world, bytes, false))
}

/// The same, in its small range or in its large one, if it has that.
fn place_in(world: &mut World, bytes: usize, small: bool) -> Option<usize> {
    let slot = world.slot();
    if !small && slot >= LARGE_SLOTS {
        return None;
    }
    let (start, room) = match small {
        true => (SMALL_AT + slot * SMALL, SMALL),
        false => (LARGE_AT + slot * LARGE, LARGE),
    };
    let used = &mut world.calls.mappings.used;
    let index = match used.iter().position(|(known, _)| *known == slot) {
        Some(index) => index,
        None => {
            used.push((slot, [0; 2]));
            used.len() - 1
        }
    };
    let used = &mut used[index].1[usize::from(!small)];
    // A page that cannot be accessed comes after each.
    let next = used.checked_add(bytes)?.checked_add(PAGE)?;
    if next > room {
        return None;
    }
    let address = start + *used;
    *used = next;
    Some(address)
}

/// Whether a range is one of those mapped in this run.
fn mapped(world: &World, address: usize, bytes: usize) -> bool {
    let end = address.saturating_add(bytes);
    let maps = &world.calls.mappings.maps;
    maps.iter()
        .any(|map| map.start <= address && end <= map.end)
}

/// The pages that so many bytes lie in.
fn pages(address: usize, bytes: usize) -> Range<usize> {
    address..address.saturating_add(bytes).next_multiple_of(PAGE)
}

fn result(value: isize) -> usize {
    if (-4095..0).contains(&value) {
        crate::core::operations::failed(-value as c_int);
        return usize::MAX;
    }
    value as usize
}

extern "C" fn map(arguments: &[usize; 6], return_address: &usize) -> usize {
    let [offset, descriptor, flags, access, bytes, address] = *arguments;
    let descriptor = descriptor_arguments::own(descriptor as c_int) as usize;
    if !world::active() {
        type Map = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
        let real = real!(mmap: fn(usize, usize, usize, usize, usize, usize) -> usize);
        let real: Map = real;
        // SAFETY: the program's own arguments.
        return unsafe { real(address, bytes, access, flags, descriptor, offset) };
    }
    let site = crate::core::call_sites::site(return_address);
    let world = world::get();
    let has = |flag: c_int| flags & flag as usize != 0;
    let mut flags = flags;
    if has(libc::MAP_SHARED) && has(libc::MAP_ANONYMOUS) {
        // Nobody else is there to share it with, and nobody notices.
        let kind = libc::MAP_SHARED_VALIDATE as usize;
        flags = flags & !kind | libc::MAP_PRIVATE as usize;
    }
    let fixed = has(libc::MAP_FIXED) || has(libc::MAP_FIXED_NOREPLACE);
    if fixed && !mapped(world, address, bytes) {
        world.unsupported("mmap at a fixed address", site);
    }
    // What is only reserved costs nothing.
    let costs = access & libc::PROT_WRITE as usize != 0 && !has(libc::MAP_NORESERVE);
    if costs && !affords(world, bytes) {
        return result(-libc::ENOMEM as isize);
    }
    let address = match fixed {
        true => address,
        false => {
            let Some(place) = place(world, bytes.next_multiple_of(PAGE)) else {
                return result(-libc::ENOMEM as isize);
            };
            flags |= libc::MAP_FIXED as usize;
            place
        }
    };
    let mut descriptor = descriptor;
    if !has(libc::MAP_ANONYMOUS) {
        let number = descriptor as c_int;
        descriptor_table::look_up(number, site);
        file_objects::look_at_open(number, return_address);
        descriptor = descriptor_table::found(number) as usize;
        // As with a pipe.
        if file_objects::is_output(descriptor as c_int) {
            return result(-libc::EACCES as isize);
        }
    }
    if fixed {
        file_mappings::removed(&pages(address, bytes));
    }
    let writes = access & libc::PROT_WRITE as usize != 0;
    let file = (!has(libc::MAP_ANONYMOUS)).then_some(descriptor as c_int);
    let file = file.and_then(|file| {
        let shared = has(libc::MAP_SHARED);
        Mapped::new(pages(address, bytes), file, offset, shared, writes)
    });
    let world = world::get();
    // SAFETY: nothing lies there but what the program has mapped itself.
    let value = unsafe {
        sys::call(
            libc::SYS_mmap,
            [address, bytes, access, flags, descriptor, offset],
        )
    };
    if value as usize == address && !fixed {
        let slot = world.slot();
        let state = &mut world.calls.mappings;
        state.maps.push(pages(address, bytes));
        if costs {
            state.counted.push((slot, address..address + bytes));
        }
    }
    if let Some(file) = file.filter(|_| value as usize == address) {
        file_mappings::added(file, site);
    }
    result(value)
}

macro_rules! maps {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "mov rdi, rsp",
                "lea rsi, [rsp + 48]",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 56",
                "call {map}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                map = sym map,
            )
        }
    )*};
}

maps! { mmap mmap64 }

fn site(frame: &Frame) -> Site {
    crate::core::call_sites::site(&frame.return_address)
}

/// Bytes of a range that are held against other accesses when it is unmapped. An access that comes later crashes by itself.
const LOOKED_AT: usize = 1 << 20;

unsafe extern "C" fn unmap(address: usize, bytes: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(munmap: fn(usize, usize) -> c_int)(address, bytes) };
    }
    let world = world::get();
    if !mapped(world, address, bytes) {
        let site = site(frame);
        world.unsupported("munmap of memory from before main", site);
    }
    accesses::range(address, bytes.min(LOOKED_AT), true, frame);
    give_back(world::get(), &(address..address + bytes));
    file_mappings::removed(&pages(address, bytes));
    // SAFETY: the program's own mapping.
    result(unsafe { sys::call(libc::SYS_munmap, [address, bytes, 0, 0, 0, 0]) }) as c_int
}

unsafe extern "C" fn remap(
    address: usize,
    old: usize,
    new: usize,
    flags: c_int,
    wanted: usize,
    frame: &Frame,
) -> usize {
    if !world::active() {
        let real = real!(mremap: fn(usize, usize, usize, c_int, usize) -> usize);
        // SAFETY: the program's own arguments.
        return unsafe { real(address, old, new, flags, wanted) };
    }
    let world = world::get();
    if flags & !libc::MREMAP_MAYMOVE != 0 || !mapped(world, address, old) {
        let site = site(frame);
        world.unsupported("mremap at a fixed address", site);
    }
    let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
    if new <= old {
        file_mappings::removed(&(address + new..address + old));
        // SAFETY: the program gives the rest up.
        unsafe { sys::call(libc::SYS_munmap, [address + new, old - new, 0, 0, 0, 0]) };
        return address;
    }
    let place = match flags & libc::MREMAP_MAYMOVE {
        0 => None,
        _ if !affords(world, new - old) => None,
        _ => place(world, new),
    };
    let Some(place) = place else {
        return result(-libc::ENOMEM as isize);
    };
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: nothing lies there.
    let value = unsafe { sys::call(libc::SYS_mremap, [address, old, new, flags, place, 0]) };
    if value as usize == place {
        world.calls.mappings.maps.push(place..place + new);
        file_mappings::moved(
            &(address..address + old),
            &(place..place + new),
            site(frame),
        );
    }
    result(value)
}

unsafe extern "C" fn protect(address: usize, bytes: usize, access: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(mprotect: fn(usize, usize, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(address, bytes, access) };
    }
    let world = world::get();
    if !mapped(world, address, bytes) {
        if world::heap().around(address).is_none() {
            let site = site(frame);
            world.unsupported("mprotect of memory from before main", site);
        }
        let end = (address + bytes).next_multiple_of(PAGE);
        world.calls.mappings.protected.push(address..end);
    } else if access & libc::PROT_WRITE != 0 {
        file_mappings::writable(&pages(address, bytes), site(frame));
    }
    let arguments = [address, bytes, access as usize, 0, 0, 0];
    // SAFETY: the program's own memory.
    result(unsafe { sys::call(libc::SYS_mprotect, arguments) }) as c_int
}

unsafe extern "C" fn advise(address: usize, bytes: usize, advice: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(madvise: fn(usize, usize, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(address, bytes, advice) };
    }
    let world = world::get();
    let own = mapped(world, address, bytes) || world::heap().around(address).is_some();
    if !own {
        if matches!(
            advice,
            libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE
        ) {
            let site = site(frame);
            world.unsupported("madvise of memory from before main", site);
        }
        return 0;
    }
    let arguments = [address, bytes, advice as usize, 0, 0, 0];
    // SAFETY: the program's own memory.
    result(unsafe { sys::call(libc::SYS_madvise, arguments) }) as c_int
}

unsafe extern "C" fn set_break(address: *mut c_void, _: &Frame) -> c_int {
    if world::active() {
        world::get().calls.mappings.moved_break = true;
    }
    // SAFETY: the program's own argument.
    unsafe { real!(brk: fn(*mut c_void) -> c_int)(address) }
}

unsafe extern "C" fn move_break(by: isize, _: &Frame) -> *mut c_void {
    if by != 0 && entry::driven() && world::active() {
        let world = world::get();
        if by > 0 && !affords(world, by as usize) {
            return result(-libc::ENOMEM as isize) as *mut c_void;
        }
        world.calls.mappings.moved_break = true;
    }
    // SAFETY: a number.
    unsafe { real!(sbrk: fn(isize) -> *mut c_void)(by) }
}
