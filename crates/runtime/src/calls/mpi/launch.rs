//! Ranks: the first process forks all others where `main` would begin.

use crate::{
    core::{channel, modules, program_start},
    kernel::endpoints,
    run::{
        leftovers,
        operations::visible,
        processes::{self, Forked},
        rules, world,
    },
    shared::process_numbers,
};
use alloc::format;
use core::{ffi::c_int, sync::atomic::Ordering};
use reweave_model::{Kind, Op, Site};
use reweave_wire::Rule;

/// Before `main`: makes the ranks. A process of the run has the number of its rank.
pub(super) fn begin() {
    let ranks = channel::header().ranks.load(Ordering::Relaxed);
    if ranks < 2 {
        return;
    }
    let site = modules::site(program_start::main_address() + 1);
    if !rules::needs(Rule::Processes) {
        // The search restarts.
        world::freeze(site);
    }
    leftovers::suspect();
    for _ in 1..ranks {
        endpoints::inherit(site);
        if processes::fork(site, process_numbers::by_path) == Forked::Child {
            return;
        }
    }
}

/// The first rank is about to end its process: it waits for all others, so that one that never ends is a deadlock.
pub(super) fn await_others(site: Site) {
    let ranks = channel::header().ranks.load(Ordering::Relaxed) as usize;
    if !processes::current().is_first() {
        return;
    }
    for rank in processes::all().iter().take(ranks).skip(1) {
        visible(Op::Join(rank.main), site);
    }
}

/// A rank ends its process with this status.
pub(super) fn end(status: c_int, site: Site) {
    let rank = processes::current();
    let ranks = channel::header().ranks.load(Ordering::Relaxed) as usize;
    if ranks == 0 || rank.index() >= ranks {
        return;
    }
    if status & 0xff != 0 && !rank.is_first() {
        let message = format!("rank {} ended with status {}", rank.index(), status & 0xff);
        world::borrow().error(Kind::ExitStatus, None, message, &[site]);
    }
    super::environment::rank_ends(rank.index(), site);
}
