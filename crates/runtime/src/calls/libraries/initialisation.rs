//! How late libraries are initialised when they are opened, and taken down when nothing needs them any more.

use crate::{
    calls::libraries::{OPENED, loaded, thread_locals},
    kernel::file_names,
    run::{closed_code, rules, world},
};
use alloc::{collections::VecDeque, vec::Vec};
use core::mem;
use reweave_model::Site;
use reweave_wire::Rule;

/// Calls the constructors of a library, after those of the libraries that it needs.
pub fn make_ready(late: usize, site: Site) {
    {
        let mut opened = OPENED.borrow();
        if opened.ready.contains(&late) {
            return;
        }
        opened.ready.push(late);
    }
    let library = &loaded().late[late];
    for needed in &library.needs {
        make_ready(*needed, site);
    }
    // Symbols were looked up once, in what was loaded then.
    let seen = reached(library.needs.clone());
    let lacks = {
        let opened = OPENED.borrow();
        let lacks = |other: &usize| !seen.contains(other) && !opened.global.contains(other);
        library.uses.iter().any(lacks)
    };
    if lacks {
        world::unsupported("dlopen", site);
    }
    closed_code::opened(late);
    {
        // Those that it needs come first.
        let mut opened = OPENED.borrow();
        opened.ready.retain(|other| *other != late);
        opened.ready.push(late);
    }
    library.construct();
}

/// These libraries and all that they need or use.
fn reached(mut next: Vec<usize>) -> Vec<usize> {
    let opened = OPENED.borrow();
    let mut all = Vec::new();
    while let Some(late) = next.pop() {
        if !all.contains(&late) {
            all.push(late);
            let library = &loaded().late[late];
            next.extend(library.needs.iter().chain(&library.uses));
            let found = opened.found.iter().filter(|(by, _)| *by == late);
            next.extend(found.map(|(_, found)| found));
        }
    }
    all
}

/// Takes down the libraries that are not open any more. Those that destructors close follow.
pub fn take_down(site: Site) {
    {
        let mut opened = OPENED.borrow();
        opened.take_down_again = true;
        if mem::replace(&mut opened.taking_down, true) {
            return;
        }
    }
    loop {
        let again = mem::take(&mut OPENED.borrow().take_down_again);
        if !again {
            break;
        }
        take_down_now(site);
    }
    OPENED.borrow().taking_down = false;
}

/// The libraries that nothing needs, in the order in which they are taken down.
fn unneeded() -> Vec<usize> {
    let kept = {
        let opened = OPENED.borrow();
        let is_kept = |late: &usize| {
            opened.open[*late] > 0 || opened.kept[*late] > 0 || loaded().late[*late].stays
        };
        opened.ready.iter().copied().filter(is_kept).collect()
    };
    let kept = reached(kept);
    let opened = OPENED.borrow();
    let last_first = opened.ready.iter().rev().copied();
    last_first.filter(|late| !kept.contains(late)).collect()
}

fn take_down_now(site: Site) {
    let gone = unneeded();
    for late in &gone {
        loaded().late[*late].destruct();
    }
    if !gone.is_empty() && !file_names::alone() {
        rules::needs(Rule::Libraries);
    }
    for late in gone {
        {
            let mut opened = OPENED.borrow();
            opened.ready.retain(|other| *other != late);
            opened.global.retain(|other| *other != late);
        }
        let library = &loaded().late[late];
        for range in &library.variables {
            // SAFETY: the range is variables of a library that is closed: no code of the program uses them before it is opened
            // again.
            unsafe { world::snapshot().restore_range(range) };
        }
        thread_locals::reset(library);
        closed_code::closed(late, site);
    }
}

/// From now on a library and those that it needs have global scope. What a name means that two of them define depends on which was
/// opened first; here it is the same in every order.
pub fn make_global(late: usize, site: Site) {
    let mut opened = OPENED.borrow();
    let mut next = VecDeque::from([late]);
    while let Some(late) = next.pop_front() {
        if !opened.global.contains(&late) {
            let all = &loaded().late;
            let alike = |other: &usize| all[late].defines_as(&all[*other]);
            if !file_names::alone() && opened.global.iter().any(alike) {
                let what = "a name that several libraries opened with RTLD_GLOBAL define";
                world::borrow().note_unsupported(what, site);
            }
            opened.global.push(late);
            next.extend(&loaded().late[late].needs);
        }
    }
}

/// At the end of the process: calls the destructors of all libraries, last opened first.
pub fn finish() {
    while !OPENED.borrow().ready.is_empty() {
        let Some(late) = OPENED.borrow().ready.pop() else {
            return;
        };
        loaded().late[late].destruct();
    }
}
