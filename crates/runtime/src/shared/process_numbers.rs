//! The ids of processes, as every run of the program sees them: by the path of the thread that a process began with, so that
//! they do not depend on the order of the run.

use crate::{core::cell::RunCell, run::processes};
use alloc::vec::Vec;
use core::ffi::c_int;

/// Children of the first thread have the ids that follow that of the first process.
const DIRECT: u32 = 1000;
/// Others have one of so many, from here on.
const OTHERS_AT: c_int = 3000;
const OTHERS: usize = 20_000;

/// Ids that were given by path, in all runs of this process.
static GIVEN: RunCell<Vec<(Vec<u32>, c_int)>> = RunCell::new(Vec::new());

/// The id of the process whose first thread has this path.
pub fn by_path(path: &[u32]) -> c_int {
    if let [child] = *path
        && child < DIRECT
    {
        return processes::number_of_first() + 1 + child as c_int;
    }
    let mut given = GIVEN.borrow();
    if let Some((_, number)) = given.iter().find(|(known, _)| known == path) {
        return *number;
    }
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, step| {
        (hash ^ u64::from(*step)).wrapping_mul(0x100_0000_01b3)
    });
    let start = (hash >> 20) as usize % OTHERS;
    let mut places = (0..OTHERS).map(|offset| OTHERS_AT + ((start + offset) % OTHERS) as c_int);
    let free = |number: &c_int| given.iter().all(|(_, known)| known != number);
    let number = places.find(free).unwrap_or(OTHERS_AT - 1);
    given.push((path.into(), number));
    number
}
