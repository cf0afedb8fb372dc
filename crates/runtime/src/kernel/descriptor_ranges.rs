//! Numbers of descriptors that threads have for themselves: see [`crate::kernel::descriptor_table`].

use crate::kernel::file_objects::OURS;
use core::ffi::c_int;

/// The first that is nobody's standard stream.
pub(crate) const FIRST: c_int = 3;

/// Whose each number is, by slot.
static OWNERS: [u16; OURS as usize] = owners();

/// Threads by files, in two ways: along diagonals, so that there are enough for some of both; and along hyperbolas, for many threads or many files.
const fn owners() -> [u16; OURS as usize] {
    let mut all = [u16::MAX; OURS as usize];
    let (mut at, half) = (FIRST as usize, all.len() / 2);
    let mut sum: u16 = 0;
    while at + (sum as usize) < half {
        let mut slot = 0;
        while slot <= sum {
            all[at] = slot;
            at += 1;
            slot += 1;
        }
        sum += 1;
    }
    let mut product: u16 = 1;
    while at < all.len() {
        let mut slot = 0;
        while slot < product && at < all.len() {
            if product.is_multiple_of(slot + 1) {
                all[at] = slot;
                at += 1;
            }
            slot += 1;
        }
        product += 1;
    }
    all
}

/// Those of a thread, of the first so many.
pub(crate) fn of(slot: usize, most: c_int) -> impl Iterator<Item = c_int> {
    let owned = (0..most).zip(&OWNERS);
    owned.filter_map(move |(number, owner)| (usize::from(*owner) == slot).then_some(number))
}
