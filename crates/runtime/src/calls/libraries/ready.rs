//! Libraries become ready when they are opened, and go when nobody needs them any more: what is called then, and what stays.

use crate::{
    calls::libraries::{all, guard, locals, state},
    core::{rules, world},
    kernel::file_names,
};
use alloc::{collections::VecDeque, vec::Vec};
use reweave_model::Site;
use reweave_wire::Rule;

/// Calls the constructors of a library, after those of what it needs.
pub fn make_ready(late: usize, site: Site) {
    if state().ready.contains(&late) {
        return;
    }
    state().ready.push(late);
    let library = &all().late[late];
    for needed in &library.needs {
        make_ready(*needed, site);
    }
    // Names were looked for once, in what was loaded then.
    let seen = reached(library.needs.clone());
    let lacks = |other: &usize| !seen.contains(other) && !state().global.contains(other);
    if library.uses.iter().any(lacks) {
        world::get().unsupported("dlopen", site);
    }
    guard::opened(late);
    // Those that it needs come first.
    state().ready.retain(|other| *other != late);
    state().ready.push(late);
    library.construct();
}

/// These and all that they need or use.
fn reached(mut next: Vec<usize>) -> Vec<usize> {
    let mut all_of_them = Vec::new();
    while let Some(late) = next.pop() {
        if !all_of_them.contains(&late) {
            all_of_them.push(late);
            let library = &all().late[late];
            next.extend(library.needs.iter().chain(&library.uses));
            let found = state().found.iter().filter(|(by, _)| *by == late);
            next.extend(found.map(|(_, found)| found));
        }
    }
    all_of_them
}

/// Takes down those that nobody has open any more. What destructors close goes after them.
pub fn take_down(site: Site) {
    state().goes = true;
    if core::mem::replace(&mut state().going, true) {
        return;
    }
    while core::mem::take(&mut state().goes) {
        take_down_now(site);
    }
    state().going = false;
}

fn take_down_now(site: Site) {
    let is_kept = |late: &usize| {
        state().open[*late] > 0 || state().kept[*late] > 0 || all().late[*late].stays
    };
    let kept = reached(state().ready.iter().copied().filter(is_kept).collect());
    let gone = state().ready.iter().rev().copied();
    let gone: Vec<usize> = gone.filter(|late| !kept.contains(late)).collect();
    for late in &gone {
        all().late[*late].destruct();
    }
    if !gone.is_empty() && !file_names::alone() {
        rules::needs(Rule::Libraries);
    }
    for late in gone {
        state().ready.retain(|other| *other != late);
        state().global.retain(|other| *other != late);
        for range in &all().late[late].variables {
            // SAFETY: it is closed.
            unsafe { world::snapshot().restore_range(range) };
        }
        locals::reset(&all().late[late]);
        guard::closed(late, site);
    }
}

/// From now on all see the names in a library and in what it needs.
pub fn show(late: usize) {
    let mut next = VecDeque::from([late]);
    while let Some(late) = next.pop_front() {
        if !state().global.contains(&late) {
            state().global.push(late);
            next.extend(&all().late[late].needs);
        }
    }
}

/// At the end of the process.
pub fn finish() {
    while let Some(late) = state().ready.pop() {
        all().late[late].destruct();
    }
}
