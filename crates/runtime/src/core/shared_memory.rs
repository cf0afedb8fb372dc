//! The runtime's memory as one that all processes of the program share.
//!
//! *Called by:* `run/entry`, before anything of a run is made, where the search follows `Rule::Processes`. The variables of
//! the runtime and the memory of its own that is mapped so far are exchanged for shared memory at the same addresses, with
//! the same contents; from then on [`sys::map_own`] maps shared memory. A forked process has all of it where its parent has.
//!
//! What is to be of one process alone is in [`super::per_process`], or in memory from [`sys::map_private`].

use super::{restore::PAGE, sys};
use alloc::vec::Vec;
use core::ops::Range;

/// Exchanges the memory. `module` is where the runtime itself lies.
pub fn share(module: Range<usize>) {
    let mut text = alloc::vec![0_u8; 1 << 20];
    let length = sys::read_file(c"/proc/self/maps", &mut text);
    // The operating system lists the runtime's last variables together with what is mapped next to them.
    let ours = |range: Range<usize>| match sys::OWN.contains(&range.start) {
        true => range,
        false => range.start.max(module.start)..range.end.min(module.end),
    };
    let lines = text[..length].split(|byte| *byte == b'\n');
    let ranges = lines.filter_map(writable).map(ours);
    let ranges: Vec<Range<usize>> = ranges.filter(|range| !range.is_empty()).collect();
    for range in &ranges {
        exchange(range);
    }
    if !sys::share_from_now_on() {
        no_memory();
    }
}

/// The range of a line of the list of mappings, if it is private and can be written to.
fn writable(line: &[u8]) -> Option<Range<usize>> {
    let line = core::str::from_utf8(line).ok()?;
    let mut parts = line.split_ascii_whitespace();
    let (start, end) = parts.next()?.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let private = parts.next()? == "rw-p";
    private.then_some(number(start)?..number(end)?)
}

/// Puts shared memory in the place of a range, with the same contents. No code between the copy and the exchange writes to
/// the range.
fn exchange(range: &Range<usize>) {
    let bytes = range.len();
    let Some(fresh) = sys::map_shared(bytes) else {
        no_memory();
    };
    for page in (0..bytes).step_by(PAGE) {
        let (from, to) = (range.start + page, fresh as usize + page);
        // SAFETY: both pages are mapped and do not overlap; one OS thread runs. Pages of zeros are not written, so that they
        // cost nothing.
        unsafe {
            let words = core::slice::from_raw_parts(from as *const u64, PAGE / 8);
            if words.iter().any(|word| *word != 0) {
                core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, PAGE);
            }
        }
    }
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    let arguments = [fresh as usize, bytes, bytes, flags, range.start, 0];
    // SAFETY: the new mapping has what the range has, and comes to lie where that is.
    let moved = unsafe { sys::call(libc::SYS_mremap, arguments) };
    if moved as usize != range.start {
        no_memory();
    }
}

fn no_memory() -> ! {
    crate::give_up(format_args!("there is no memory to be shared by processes"))
}
