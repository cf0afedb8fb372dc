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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, vec::Vec};

    #[test]
    fn every_number_belongs_to_one_thread_at_most() {
        let mut taken = BTreeSet::new();
        for slot in 0..1000 {
            for number in of(slot, OURS) {
                assert!(number >= FIRST, "{number} is a standard stream");
                assert!(taken.insert(number), "{number} has two owners");
            }
        }
    }

    /// Diagonals: thread 0 has the first number of each, thread 1 the second of each but the first, and so on.
    #[test]
    fn diagonals_share_the_first_half() {
        let first = |slot| of(slot, OURS).take(4).collect::<Vec<_>>();
        assert_eq!(first(0), [3, 4, 6, 9]);
        assert_eq!(first(1), [5, 7, 10, 14]);
        assert_eq!(first(2), [8, 11, 15, 20]);
    }

    /// n numbers on diagonals make sqrt(2 n) of them: with 1000 in all, some thirty threads have thirty files less their own place in the row. Hyperbolas give
    /// the first thread one of each row.
    #[test]
    fn few_threads_have_many_numbers_and_many_threads_have_some() {
        let half = (1..).take_while(|rows| FIRST + rows * (rows + 1) / 2 <= OURS / 2);
        let rows = half.count();
        assert!(of(0, OURS).count() > 2 * rows);
        assert!((0..2 * rows).all(|slot| of(slot, OURS).count() > 0));
    }

    #[test]
    fn a_limit_cuts_them_off() {
        assert!(of(0, 10).eq([3, 4, 6, 9]));
        assert_eq!(of(0, FIRST).count(), 0);
    }
}
