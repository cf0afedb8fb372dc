//! Source positions as numbers.
//!
//! *Decides:* the number of a `#[track_caller]` position: its distance from an anchor in the same image, in words. So it is the same in
//! every run of one build of the program, whatever the addresses, and a plan of another build is noticed.
//! *Called by:* the runtime at each operation, reports for the way back. *Owns:* the table of all positions met.
//!
//! *Invariant:* [`location`] only ever answers for numbers that [`site`] gave out in this process.

use reweave_model::Site;
use std::{
    cell::Cell,
    collections::HashMap,
    panic::Location,
    sync::{Mutex, PoisonError},
};

/// Distances are counted from here.
static ANCHOR: u64 = 0;

static KNOWN: Mutex<Option<HashMap<u32, &'static Location<'static>>>> = Mutex::new(None);

/// The positions an OS thread has already entered into the table, each in the place its number says.
pub(crate) struct Seen([Cell<u32>; SEEN]);

const SEEN: usize = 256;

impl Seen {
    pub(crate) fn new() -> Seen {
        Seen([const { Cell::new(0) }; SEEN])
    }

    /// Whether it was new.
    #[inline]
    pub(crate) fn add(&self, site: Site) -> bool {
        let place = &self.0[(site.0 as usize ^ (site.0 as usize >> 8)) % SEEN];
        place.replace(site.0) != site.0
    }

    /// The number of a position.
    #[inline]
    pub(crate) fn site(&self, location: &'static Location<'static>) -> Site {
        let site = number(location);
        if self.add(site) {
            enter(site, location);
        }
        site
    }
}

/// The number of a position, for callers that come rarely.
pub(crate) fn site(location: &'static Location<'static>) -> Site {
    let site = number(location);
    enter(site, location);
    site
}

#[inline]
fn number(location: &'static Location<'static>) -> Site {
    let distance = (std::ptr::from_ref(location) as isize - &raw const ANCHOR as isize) / 8;
    match i32::try_from(distance) {
        Ok(distance) => Site(distance as u32),
        Err(_) => far(location),
    }
}

/// In another image, too far away: by its text.
#[cold]
fn far(location: &Location<'_>) -> Site {
    let mut hash = 0xcbf2_9ce4_u32;
    let bytes = location.file().bytes();
    let place = (location.line().to_le_bytes().into_iter()).chain(location.column().to_le_bytes());
    for byte in bytes.chain(place) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    Site(hash | 1)
}

#[cold]
fn enter(site: Site, location: &'static Location<'static>) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(site.0, location);
}

/// The position behind a number, when this process has met it.
pub(crate) fn location(site: Site) -> Option<&'static Location<'static>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref()?.get(&site.0).copied()
}
