//! Objects of the model that are no memory of the program: files, descriptors, and what belongs to the process as a whole.
//!
//! A read from a file or a write to it is an operation on the file's object, whether it comes by path
//! ([`crate::kernel::file_names`]), by descriptor ([`crate::kernel::open_description`]) or by stream: which comes first may
//! matter. So is opening and closing descriptors ([`crate::kernel::descriptor_table`]). Writes to standard output and standard
//! error are no operations.
//!
//! Each object has a number and goes by an address where nothing lies. Numbers below [`SPECIAL`] are fixed; those of files are
//! hashes of their names.

use crate::{
    core::{cell::RunCell, objects::Sort},
    kernel::{
        file_names,
        ordering::{alone, alone_in_process},
        os_files, pipes, rank_channels, start_state, waits,
    },
    run::{
        call_sites,
        hidden_objects::Hidden,
        operations::visible,
        processes,
        world::{self, World},
    },
};
use alloc::{format, string::String, vec::Vec};
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site};

/// Of a run that is to be shown: files by the addresses of their objects, with their paths.
static PATHS: RunCell<Vec<(usize, String)>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    PATHS.borrow().clear();
}

/// An operation that changes the object of this number. If no other thread runs it cannot matter, and there is none.
pub(crate) fn touch(number: usize, site: Site) {
    let Some(object) = object_beside_others(number) else {
        return;
    };
    let rmw = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    visible(Op::Rmw(object, rmw), site);
}

/// As [`touch`], for an operation that only reads.
pub(crate) fn look_at(number: usize, site: Site) {
    if let Some(object) = object_beside_others(number) {
        visible(Op::Load(object), site);
    }
}

/// As [`look_at`], for the file that a descriptor is open on.
pub(crate) fn look_at_open(descriptor: c_int, from: &usize) {
    if !alone() && os_files::file_type_of_open(descriptor) == libc::S_IFREG {
        let number = file_names::number_of_open(descriptor);
        look_at(number, call_sites::site(from));
    }
}

/// The object of a number, if other threads run.
fn object_beside_others(number: usize) -> Option<ObjectId> {
    let alone = match is_of_process(number) {
        true => alone_in_process(),
        false => alone(),
    };
    if alone {
        return None;
    }
    let mut world = world::borrow();
    // Nothing that is done to descriptors, keys and names orders memory.
    let sort = match number {
        TABLE..SPECIAL => Sort::Quiet,
        _ => Sort::File,
    };
    let place = address(of_process(number));
    Some(world.object(place, 8, sort, || Object::Atomic(0)))
}

/// What belongs to a process has another number in each.
fn of_process(number: usize) -> usize {
    match is_of_process(number) {
        true => number + processes::current().index() * 2 * SPECIAL,
        false => number,
    }
}

/// Whether an object belongs to a process: no other one can reach it.
fn is_of_process(number: usize) -> bool {
    matches!(number, 1..=KEYS | STREAMS..EVENTFDS | DESCRIPTORS..SPECIAL)
}

/// The mutex of this number.
pub(crate) fn lock_of(number: usize) -> ObjectId {
    world::borrow().object(address(number), 8, Sort::Mutex, Object::mutex)
}

/// What belongs to the process as a whole.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Whole {
    Limits = 1,
    /// The action for a signal: from here on, one for each.
    Actions,
}

/// The descriptor table as one object.
pub(crate) const TABLE: usize = 0x100;
/// Keys of thread-specific data.
pub(crate) const KEYS: usize = 0x101;
/// The flags of everything that is open and no file.
pub(crate) const FLAGS: usize = 0x102;
/// The list of all streams.
pub(crate) const STREAMS: usize = 0x103;
/// Handlers that are called at the end of the process.
pub(crate) const HANDLERS: usize = 0x104;
/// The user and the groups of the process.
pub(crate) const IDENTITY: usize = 0x105;
/// The signals that are pending for the process.
pub(crate) const PENDING: usize = 0x106;
/// The stream of `rand`.
pub(crate) const RANDOM: usize = 0x107;
/// What never comes: see [`crate::kernel::readiness`].
pub(crate) const NEVER: usize = 0x108;
/// From here on: an eventfd each, by the descriptor that it was made with.
pub(crate) const EVENTFDS: usize = 0x400;
/// From here on: a descriptor each.
pub(crate) const DESCRIPTORS: usize = 0x1000;
/// From here on: the name of a thread each, by slot.
pub(crate) const THREADS: usize = 0x2000;
/// From here on: the scheduling of a thread each, by slot.
pub(crate) const SCHEDULING: usize = 0x8_0000;
/// From here on: a pipe each, by what it is ([`crate::kernel::pipes::Called`]) and a descriptor that it was made with.
pub(crate) const PIPES: usize = 0xc_0000;
/// So many numbers are enough for one each by descriptor.
pub(crate) const EACH: usize = 0x1000;
/// From here on: a socket each, by the descriptor that it was made with.
pub(crate) const SOCKETS: usize = 0xc_a000;
/// From here on: what the sides of a connection know of its end, each by the descriptor that it was made with.
pub(crate) const FAULTS: usize = 0xc_b000;
/// From here on: what watches an eventfd, each by the descriptor that it was made with. Those of pipes follow the pipes.
pub(crate) const EVENTFD_WATCHES: usize = 0xc_c000;
/// From here on: an epoll each, by the descriptor that it was made with, and the lock of each.
pub(crate) const EPOLLS: usize = 0xc_d000;
pub(crate) const EPOLL_LOCKS: usize = 0xc_e000;
/// From here on: a port of TCP each.
pub(crate) const PORTS: usize = 0xd_0000;
/// From here on: names of Unix sockets that are no files, so many. Some may share one.
pub(crate) const NAMES: usize = 0xe_0000;
pub(crate) const MOST_NAMES: usize = 0x2_0000;
/// All numbers with a fixed meaning are below.
const SPECIAL: usize = 0x10_0000;

impl Whole {
    /// It is about to be changed.
    pub(crate) fn change(self, site: Site) {
        touch(self as usize, site);
    }

    /// It is about to be looked at.
    pub(crate) fn look(self, site: Site) {
        look_at(self as usize, site);
    }
}

/// Addresses of objects begin here, and have so many bits below.
const NOWHERE: usize = 0x7000_0000_0000;
const BITS: usize = 0xfff_ffff_ffff;

/// The address that the object of a number goes by.
pub(crate) fn address(number: usize) -> usize {
    NOWHERE | number << 3 & BITS
}

/// Notes the path of the file of this number, if the run is to be shown.
pub(crate) fn note_path(number: usize, real: &[u8]) {
    if !world::borrow().detail {
        return;
    }
    let directory = start_state::directory();
    let within = real.strip_prefix(&directory[..]);
    let within = within.and_then(|rest| rest.strip_prefix(b"/"));
    let path = String::from_utf8_lossy(within.unwrap_or(real));
    let own = format!("/proc/{}/", os_files::process_id());
    let path = path.replace(&own, "/proc/self/");
    // It has another path where a source file is checked again.
    let program = os_files::read_link(b"/proc/self/exe").is_some_and(|own| own == real);
    let path = if program {
        "/proc/self/exe".into()
    } else {
        path
    };
    let place = address(number);
    let mut paths = PATHS.borrow();
    if !paths.iter().any(|(known, _)| *known == place) {
        paths.push((place, path));
    }
}

/// The name of an object that goes by an address where nothing lies.
pub(crate) fn named(world: &World, place: usize) -> Option<String> {
    if place == Hidden::Disk.address() {
        return Some("the names of files".into());
    }
    if place == Hidden::Clock.address() {
        return Some("the clock".into());
    }
    if place == Hidden::Freed.address() {
        return Some("the freed addresses".into());
    }
    if let Some(name) = waits::named(world, place) {
        return Some(name);
    }
    if place & !BITS != NOWHERE {
        return None;
    }
    if let Some(name) = rank_channels::named(place) {
        return Some(name);
    }
    if let Some(name) = pipes::named(place) {
        return Some(name);
    }
    let paths = PATHS.borrow();
    if let Some((_, path)) = paths.iter().find(|(known, _)| *known == place) {
        return Some(format!("file {path}"));
    }
    let number = (place & BITS) >> 3;
    special_name(match number < 2 * SPECIAL * processes::MOST {
        true => number % (2 * SPECIAL),
        false => number,
    })
}

/// The name of an object with a fixed number.
fn special_name(number: usize) -> Option<String> {
    Some(match number {
        1 => "the limits".into(),
        2..TABLE => format!("the action for signal {}", number - Whole::Actions as usize),
        TABLE => "the descriptors".into(),
        KEYS => "the keys".into(),
        STREAMS => "the streams".into(),
        HANDLERS => "what is called at the end".into(),
        PENDING => "the signals that are pending for the process".into(),
        IDENTITY => "the user and the groups of the process".into(),
        FLAGS => "the flags of what is open".into(),
        RANDOM => "the random numbers".into(),
        NEVER => "the end of the time limit".into(),
        EVENTFDS..DESCRIPTORS => format!("eventfd {}", number - EVENTFDS),
        DESCRIPTORS..THREADS => format!("descriptor {}", number - DESCRIPTORS),
        THREADS..SCHEDULING => format!("the name of thread {}", number - THREADS),
        SCHEDULING..PIPES => format!("the scheduling of thread {}", number - SCHEDULING),
        PIPES..SOCKETS => "the watchers of a pipe".into(),
        SOCKETS..FAULTS => format!("the state of socket {}", number - SOCKETS),
        FAULTS..EVENTFD_WATCHES => {
            let client = number - FAULTS;
            format!("the errors of the connection from socket {client}")
        }
        EVENTFD_WATCHES..EPOLLS => {
            format!("the watchers of eventfd {}", number - EVENTFD_WATCHES)
        }
        EPOLLS..EPOLL_LOCKS => format!("the ready list of epoll {}", number - EPOLLS),
        EPOLL_LOCKS..PORTS => format!("the lock of epoll {}", number - EPOLL_LOCKS),
        PORTS..NAMES => format!("the sockets at port {}", number - PORTS),
        NAMES..SPECIAL => "the names of Unix sockets".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_an_address_of_its_own_where_nothing_lies() {
        assert_eq!(address(0), NOWHERE);
        assert_eq!(address(TABLE) - address(TABLE - 1), 8);
        assert_eq!(address(usize::MAX) & !BITS, NOWHERE);
    }

    #[test]
    fn fixed_numbers_have_names() {
        assert_eq!(
            special_name(DESCRIPTORS + 7).as_deref(),
            Some("descriptor 7")
        );
        let last = start_state::RUNTIME_DESCRIPTORS - 1;
        assert_eq!(
            special_name(EVENTFDS + last as usize),
            Some(format!("eventfd {last}"))
        );
        assert_eq!(
            special_name(Whole::Actions as usize + 15).as_deref(),
            Some("the action for signal 15")
        );
        assert_eq!(
            special_name(PORTS + 80).as_deref(),
            Some("the sockets at port 80")
        );
        assert_eq!(special_name(SPECIAL), None);
        assert_eq!(special_name(0), None);
    }
}
