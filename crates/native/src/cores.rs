//! Which processor the processes of a run share.
//!
//! *Decides:* a processor for each program of several processes, whose processes take turns: a turn goes to another processor several
//! times slower than it stays on one. *Called by:* `process`. *Owns:* how many programs stay on which processor.

use std::sync::{Mutex, PoisonError};

/// How many programs stay on each processor, by its number.
static USED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A processor, as long as this value lives.
pub(crate) struct Core(usize);

impl Core {
    /// The one with the fewest programs, of those that this process may use; of several, the one that the caller runs on: the
    /// operating system has put it there because others are busy. `None`: processors cannot be chosen.
    pub(crate) fn choose() -> Option<Core> {
        let allowed = allowed();
        if allowed.is_empty() {
            return None;
        }
        // SAFETY: `sched_getcpu` takes nothing, has no effect and touches no memory of the caller.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).ok();
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        let most = allowed.iter().max().map_or(0, |last| last + 1);
        if used.len() < most {
            used.resize(most, 0);
        }
        let best = allowed
            .into_iter()
            .min_by_key(|core| (used[*core], Some(*core) != here));
        let best = best?;
        used[best] += 1;
        Some(Core(best))
    }

    /// As the header has it: counted from 1.
    pub(crate) fn number(&self) -> u32 {
        self.0 as u32 + 1
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        used[self.0] -= 1;
    }
}

/// The processors that this process may use.
fn allowed() -> Vec<usize> {
    // SAFETY: a set of zeros is an empty one; the kernel writes to it, a live local, and no more than its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        set
    };
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: the number is below the size of the set.
    all.filter(|core| unsafe { libc::CPU_ISSET(*core, &set) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_spread_over_the_processors_and_give_them_back() {
        let processors = allowed().len();
        let mut chosen: Vec<Core> = (0..processors).filter_map(|_| Core::choose()).collect();
        let mut numbers: Vec<u32> = chosen.iter().map(Core::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), processors, "each has one of its own");
        let free = chosen.pop().map(|core| core.number());
        assert_eq!(Core::choose().map(|core| core.number()), free);
    }
}
