//! Numbers of descriptors that each thread has for itself: see [`crate::kernel::descriptor_table`].

use crate::kernel::start_state::RUNTIME_DESCRIPTORS;
use core::ffi::c_int;

/// The first number that is no standard stream.
pub(crate) const FIRST: c_int = 3;

/// How many numbers there are.
const NUMBERS: usize = RUNTIME_DESCRIPTORS as usize;

/// The slot that owns each number.
static OWNERS: [u16; NUMBERS] = owners();

/// Distributes numbers to threads. One half goes along diagonals of the table of threads and files, so that some threads can have
/// some files each; the other half goes along hyperbolas, for many threads or many files.
const fn owners() -> [u16; NUMBERS] {
    let mut all = [u16::MAX; NUMBERS];
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

/// The numbers of a thread among the first `most`, in ascending order.
pub(crate) fn of(slot: usize, most: c_int) -> impl Iterator<Item = c_int> {
    let owned = (0..most).zip(&OWNERS);
    owned.filter_map(move |(number, owner)| (usize::from(*owner) == slot).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_streams_belong_to_no_thread() {
        let mut first = OWNERS[..FIRST as usize].iter();
        assert!(first.all(|owner| *owner == u16::MAX));
        assert!(
            OWNERS[FIRST as usize..]
                .iter()
                .all(|owner| *owner != u16::MAX)
        );
    }

    /// Diagonals: numbers 3; 4, 5; 6, 7, 8; ... belong to slots 0; 0, 1; 0, 1, 2; ...
    #[test]
    fn numbers_begin_along_diagonals() {
        assert_eq!(OWNERS[3..9], [0, 0, 1, 0, 1, 2]);
        assert!(of(0, 9).eq([3, 4, 6]));
        assert!(of(2, 9).eq([8]));
    }

    /// 32 diagonals have 32 * 33 / 2 = 528 numbers, 31 have 496, and 496 + 3 is the last that fits below 500; hyperbolas go on.
    #[test]
    fn there_are_enough_for_many_threads_and_for_many_files() {
        assert!((0..31).all(|slot| of(slot, RUNTIME_DESCRIPTORS).count() > 2));
        assert!(of(0, RUNTIME_DESCRIPTORS).count() > 100);
        assert!(of(100, RUNTIME_DESCRIPTORS).next().is_some());
    }

    #[test]
    fn no_number_is_given_beyond_the_limit() {
        assert!(of(0, 5).eq([3, 4]));
        assert!(of(0, 3).next().is_none());
    }
}
