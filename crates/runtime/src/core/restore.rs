//! Memory as it was at `main`, again and again.
//!
//! All writable memory of the program and its libraries is copied once and then protected. The first write to a page traps, once
//! ([`Snapshot::touch`], from the fault handler); from then on the page is *hot*: writable, and copied back after every run. Runs of one
//! program write mostly the same few pages, so after the first ones nothing traps and little is copied.

use crate::core::sys;
use alloc::vec::Vec;

pub const PAGE: usize = 4096;

const WRITABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Some words of memory.
pub struct Line<'a> {
    pub address: usize,
    pub words: &'a [u64],
}

/// Words of a line.
const LINE: usize = 8;

/// Passes the lines of a page that differ from its copy.
fn compare(page: usize, copy: usize, each: &mut dyn FnMut(Line<'_>)) {
    // SAFETY: both are whole pages that are mapped and readable, and no code of the program runs.
    let (now, then) = unsafe {
        let now = core::slice::from_raw_parts(page as *const u64, PAGE / 8);
        (
            now,
            core::slice::from_raw_parts(copy as *const u64, PAGE / 8),
        )
    };
    if now == then {
        return;
    }
    let lines = now.chunks_exact(LINE).zip(then.chunks_exact(LINE));
    for (index, (words, _)) in lines.enumerate().filter(|(_, (now, then))| now != then) {
        let address = page + index * LINE * 8;
        each(Line { address, words });
    }
}

struct Region {
    start: usize,
    end: usize,
    copy: usize,
    hot: Vec<bool>,
}

impl Region {
    /// All pages are hot from now on: there is no way to protect some of them.
    #[cold]
    fn heat(&mut self, hot: &mut Vec<(usize, usize)>) {
        for (page, known) in self.hot.iter_mut().enumerate().filter(|(_, hot)| !**hot) {
            *known = true;
            hot.push((self.start + page * PAGE, self.copy + page * PAGE));
        }
        // One range instead of many.
        // SAFETY: the region is one that `add` protected: it gets back the access that it had.
        if !unsafe { sys::protect(self.start, self.end - self.start, WRITABLE) } {
            crate::give_up(format_args!(
                "the operating system does not make the program's memory writable again"
            ));
        }
    }
}

pub struct Snapshot {
    regions: Vec<Region>,
    /// Pages to be copied back, and where from.
    hot: Vec<(usize, usize)>,
    /// Where parts of pages begin, and what is in them.
    parts: Vec<(usize, Vec<u8>)>,
    /// A forked process runs: its memory is not put back, and none of it is protected.
    pub forked: bool,
}

impl Snapshot {
    pub const fn new() -> Snapshot {
        Snapshot {
            regions: Vec::new(),
            hot: Vec::new(),
            parts: Vec::new(),
            forked: false,
        }
    }

    /// Adds a range that shares its pages with what is ours, as it is now. It is never protected.
    ///
    /// # Safety
    /// As [`Snapshot::add`].
    pub unsafe fn add_part(&mut self, start: usize, end: usize) {
        // SAFETY: the caller passes a mapped, readable range that nothing changes meanwhile.
        let now = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
        self.parts.push((start, now.into()));
    }

    /// Adds the pages of a range (page aligned) to what is restored, as they are now.
    ///
    /// # Safety
    /// They are mapped, readable and writable, and nobody else changes them.
    pub unsafe fn add(&mut self, start: usize, end: usize, hot: bool) {
        if start >= end {
            return;
        }
        let pages = (end - start) / PAGE;
        let Some(copy) = sys::map_own(end - start) else {
            crate::give_up(format_args!(
                "there is no memory for a copy of the program's"
            ));
        };
        // SAFETY: both ranges are mapped, and the copy is ours alone.
        unsafe { core::ptr::copy_nonoverlapping(start as *const u8, copy, end - start) };
        self.regions.push(Region {
            start,
            end,
            copy: copy as usize,
            hot: alloc::vec![false; pages],
        });
        let all: usize = self.regions.iter().map(|region| region.hot.len()).sum();
        // The fault handler must not allocate.
        self.hot.reserve(all - self.hot.len());
        if hot {
            for page in 0..pages {
                self.touch(start + page * PAGE);
            }
        // SAFETY: a write traps, and the handler takes the protection away.
        } else if !unsafe { sys::protect(start, end - start, libc::PROT_READ) } {
            let region = self.regions.last_mut().expect("just added");
            region.heat(&mut self.hot);
        }
    }

    /// A write to this address trapped. Whether it was to a protected page of ours; the write can now go on.
    pub fn touch(&mut self, address: usize) -> bool {
        if self.forked {
            return false;
        }
        let Some(region) = self
            .regions
            .iter_mut()
            .find(|region| region.start <= address && address < region.end)
        else {
            return false;
        };
        let page = (address - region.start) / PAGE;
        if region.hot[page] {
            return false;
        }
        region.hot[page] = true;
        let start = region.start + page * PAGE;
        self.hot.push((start, region.copy + page * PAGE));
        // SAFETY: the page is one that `add` protected: it gets back the access that it had.
        if !unsafe { sys::protect(start, PAGE, WRITABLE) } {
            region.heat(&mut self.hot);
        }
        true
    }

    /// Makes the pages of a range writable without a trap: the kernel is about to write to them, which does not trap but fails.
    pub fn touch_range(&mut self, address: usize, bytes: usize) {
        let mut page = address & !(PAGE - 1);
        while page < address.saturating_add(bytes) {
            self.touch(page);
            page += PAGE;
        }
    }

    /// Puts everything back.
    ///
    /// # Safety
    /// No thread of the program goes on from where it is.
    pub unsafe fn restore(&self) {
        for (page, copy) in &self.hot {
            // SAFETY: `add` mapped the copy and was given the page; `touch` made it writable before it was
            // listed as hot.
            unsafe {
                core::ptr::copy_nonoverlapping(*copy as *const u8, *page as *mut u8, PAGE);
            }
        }
        self.restore_parts();
    }

    fn restore_parts(&self) {
        for (start, copy) in &self.parts {
            // SAFETY: `add_part` was given a mapped and writable range of this length.
            let now = unsafe { core::slice::from_raw_parts_mut(*start as *mut u8, copy.len()) };
            if *now != **copy {
                now.copy_from_slice(copy);
            }
        }
    }

    /// Puts everything back in a forked process, whichever pages were written there.
    ///
    /// # Safety
    /// As [`Snapshot::restore`], and no page is protected.
    pub unsafe fn restore_all(&self) {
        let pages = self.regions.iter().flat_map(|region| {
            let pages = 0..region.hot.len();
            pages.map(|page| (region.start + page * PAGE, region.copy + page * PAGE))
        });
        for (page, copy) in pages {
            // SAFETY: `add` was given the page, which is mapped, and mapped the copy. What is the same is not written, so that the
            // process goes on sharing the page with the one that it was forked from.
            unsafe {
                let now = core::slice::from_raw_parts_mut(page as *mut u8, PAGE);
                let then = core::slice::from_raw_parts(copy as *const u8, PAGE);
                if now != then {
                    now.copy_from_slice(then);
                }
            }
        }
        self.restore_parts();
    }

    /// Puts a range back.
    ///
    /// # Safety
    /// Nobody uses it.
    pub unsafe fn restore_range(&self, range: &core::ops::Range<usize>) {
        for (page, copy) in self.hot.iter().filter(|(page, _)| range.contains(page)) {
            // SAFETY: `add` mapped the copy and was given the page; `touch` made it writable before it was
            // listed as hot.
            unsafe {
                core::ptr::copy_nonoverlapping(*copy as *const u8, *page as *mut u8, PAGE);
            }
        }
    }

    /// Passes each line of memory that holds something else than at the beginning of the run. They come in no order.
    pub fn each_changed(&self, each: &mut dyn FnMut(Line<'_>)) {
        if self.forked {
            for region in &self.regions {
                for page in 0..region.hot.len() {
                    let offset = page * PAGE;
                    compare(region.start + offset, region.copy + offset, each);
                }
            }
        }
        for (page, copy) in self.hot.iter().filter(|_| !self.forked) {
            compare(*page, *copy, each);
        }
        for (start, copy) in &self.parts {
            // SAFETY: `add_part` was given a mapped range of this length, and no code of the program runs.
            let now = unsafe { core::slice::from_raw_parts(*start as *const u8, copy.len()) };
            if now != &**copy {
                for (at, byte) in now
                    .iter()
                    .enumerate()
                    .filter(|(at, byte)| copy[*at] != **byte)
                {
                    let words = &[u64::from(*byte)];
                    let address = start + at;
                    each(Line { address, words });
                }
            }
        }
    }

    /// Makes all pages writable, between runs.
    pub fn thaw(&self) {
        for region in &self.regions {
            // SAFETY: the region is one that `add` protected: it gets back the access that it had.
            unsafe { sys::protect(region.start, region.end - region.start, WRITABLE) };
        }
    }

    /// After [`Snapshot::thaw`]: what the memory holds now is what runs begin with.
    ///
    /// # Safety
    /// As [`Snapshot::restore`].
    pub unsafe fn retake(&mut self) {
        for region in &mut self.regions {
            let bytes = region.end - region.start;
            // SAFETY: `add` mapped the copy, of the same length as the region it was given.
            unsafe {
                core::ptr::copy_nonoverlapping(
                    region.start as *const u8,
                    region.copy as *mut u8,
                    bytes,
                );
            }
            let cold = |page: &usize| !region.hot[*page];
            let protects = |page: usize| {
                // SAFETY: the page belongs to a region of the program; a write to it traps, and `touch` takes
                // the protection away.
                unsafe { sys::protect(region.start + page * PAGE, PAGE, libc::PROT_READ) }
            };
            if !(0..region.hot.len()).filter(cold).all(protects) {
                region.heat(&mut self.hot);
            }
        }
    }

    /// Pages written since the beginning of any run.
    pub fn hot(&self) -> &[(usize, usize)] {
        &self.hot
    }

    /// Parts of pages that are put back: begin and end.
    pub fn parts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = |(start, copy): &(usize, Vec<u8>)| (*start, *start + copy.len());
        self.parts.iter().map(range)
    }

    pub fn covers(&self, address: usize) -> bool {
        let within = |region: &Region| region.start <= address && address < region.end;
        self.regions.iter().any(within)
    }
}
