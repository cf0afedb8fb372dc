//! What a run begins with: all writable memory of the program, as it is at `main`. See [`crate::core::restore`].

use crate::{
    core::{modules, restore::PAGE, sys},
    run::world,
};
use alloc::{vec, vec::Vec};
use core::ffi::c_char;

/// Copies all writable memory that is not ours.
pub fn take(argv: *mut *mut c_char) {
    let mut maps = vec![0_u8; 1 << 20];
    let length = sys::read_file(c"/proc/self/maps", &mut maps);
    let own = modules::own();
    // SAFETY: all of these are the program's, and no other thread runs.
    unsafe {
        for line in maps[..length].split(|byte| *byte == b'\n') {
            let Some(map) = parse(line) else { continue };
            let ours =
                sys::RESERVED.contains(&map.start) || map.start < own.end && own.start < map.end;
            // Arguments and environment lie above the frames of libc's start, which are in use.
            if (map.start..map.end).contains(&(argv as usize)) {
                world::snapshot().add_part(argv as usize, map.end);
                continue;
            }
            if ours || !map.private || map.special {
                continue;
            }
            // The program's own variables are what it passes to the kernel; few of them need no protection.
            let program = modules::program();
            let its_own = program.start <= map.start && map.start < program.end + (1 << 20);
            let small = map.end - map.start <= 8 * PAGE;
            world::snapshot().add(map.start, map.end, its_own && small);
        }
    }
    cover();
}

/// Memory that came after the first snapshot: thread-local memory of new slots, libc's blocks for them.
pub fn cover() {
    let mut snapshot = world::snapshot();
    let fresh: Vec<_> = world::borrow()
        .slots
        .all()
        .filter(|slot| !snapshot.covers(slot.top))
        .collect();
    for slot in fresh {
        // SAFETY: the slot's thread-local memory is mapped, and only the fiber that borrows it uses it; no
        // run is going on.
        unsafe { snapshot.add(slot.top, slot.end, false) };
    }
    let (start, end) = {
        let mut heap = world::heap();
        heap.close_page();
        heap.system()
    };
    let mut page = start;
    while page < end && snapshot.covers(page) {
        page += PAGE;
    }
    // SAFETY: the pages of the system's arena up to `end` are mapped, and no run is going on that could
    // change them.
    unsafe { snapshot.add(page, end, false) };
}

/// Where memory can be written, as the kernel lists it.
pub fn writable() -> Vec<(usize, usize)> {
    let mut maps = vec![0_u8; 1 << 20];
    let length = sys::read_file(c"/proc/self/maps", &mut maps);
    let lines = maps[..length]
        .split(|byte| *byte == b'\n')
        .filter_map(parse);
    lines.map(|map| (map.start, map.end)).collect()
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
