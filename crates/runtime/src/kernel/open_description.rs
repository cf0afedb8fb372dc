//! Open descriptions: what `open` and its like make, what descriptors stand for, and what `dup` shares.
//!
//! This is the one place that decides by what is open how a call reads or writes:
//!
//! * [`Kind`] says what a descriptor is open on, as far as the operating system has it, and one table says what that means for
//!   a call: which object it touches, and which kinds are not under control.
//! * [`Modelled`] is what a run models itself, so that its operations can block in the model. The operating system only keeps
//!   the number. A new kind is a variant here, a file in this folder with its objects, and a file in `calls/files` with the
//!   functions that make it: those open a descriptor of any kind, enter it by [`descriptor_table::opened`], [`create`] a
//!   description, and connect both by [`descriptor_table::note_open`]. The compiler asks for the rest.
//! * [`read`] and [`write()`] are the steps of all calls that read and write by descriptor. As in the operating system a call
//!   first looks its descriptor up, which is one step, and then uses what it has found, which is another.
//!
//! An offset belongs to the open description. As long as threads use it one after the other, in an order that the program makes,
//! it concerns no other thread: a read from a file only looks at the file. Where threads use one offset in no order
//! ([`Rule::Positions`]), a read changes the file's object.

use crate::{
    core::{cell::RunCell, trampoline::Frame},
    kernel::{
        datagrams, descriptor_arguments, descriptor_table,
        endpoints::{self, Counted, Endpoint, Transfer},
        epoll::{self, EpollId},
        eventfd::Eventfd,
        file_mappings::{self, By},
        file_names, file_objects,
        ordering::{Moment, alone},
        os_files,
        program_memory::ProgramMemory,
        readiness::Pollable,
        sockets::{Failed, SocketId, Way},
        start_state,
    },
    run::{call_sites, cancellation, operations::failed, rules, spin, world},
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_memory::Kind as MemoryAccess;
use reweave_model::Site;
use reweave_wire::Rule;

/// An open description of the run, in the order of creation.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct DescriptionId(u32);

impl DescriptionId {
    /// Stands for all that were open at `main`: which descriptors share one is not known.
    pub(crate) const AT_START: DescriptionId = DescriptionId(0);
}

/// What is known about an open description.
#[derive(Clone, Copy, Default)]
pub(crate) struct OpenDescription {
    /// What the run models; `None`: the operating system has it, see [`Kind::of`].
    modelled: Option<Modelled>,
    /// The last use of the offset.
    offset_used: Option<Moment>,
    /// The last change of file locks that it holds.
    locks_used: Option<Moment>,
}

/// Open descriptions that the run models.
#[derive(Clone, Copy)]
pub(crate) enum Modelled {
    Eventfd(Eventfd),
    Endpoint(Endpoint),
    /// A socket that was not made as one of a pair.
    Socket(SocketId),
    Epoll(EpollId),
}

/// How `read` and `write` move bytes.
fn how(number: c_int, waits: bool) -> Transfer {
    Transfer {
        number,
        waits,
        peeks: false,
        no_signal: false,
    }
}

impl Modelled {
    /// Reads into memory; if it `waits`, it blocks in the model until there is something. An error number if it fails.
    fn read(
        self,
        (number, waits): (c_int, bool),
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<usize, c_int> {
        match self {
            Modelled::Epoll(_) => Err(libc::EINVAL),
            Modelled::Eventfd(eventfd) => eventfd.read(waits, memory, frame),
            Modelled::Endpoint(_) | Modelled::Socket(_) => {
                let site = call_sites::site(&frame.return_address);
                let endpoint = self.end(Way::In, false, site)?;
                let moved = endpoint.read(how(number, waits), memory, frame);
                moved.map(|moved| moved.bytes)
            }
        }
    }

    /// Writes from memory; if it `waits`, it blocks in the model until there is room. An error number if it fails.
    fn write(
        self,
        (number, waits): (c_int, bool),
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<usize, c_int> {
        match self {
            Modelled::Epoll(_) => Err(libc::EINVAL),
            Modelled::Eventfd(eventfd) => eventfd.write(waits, memory, frame),
            Modelled::Socket(socket) if socket.is_of_datagrams() => {
                let site = call_sites::site(&frame.return_address);
                let bytes = memory.bytes().ok_or(libc::EFAULT)?;
                match datagrams::send(socket, None, &bytes, waits, frame, site) {
                    Ok(sent) => Ok(sent),
                    Err(Failed::With(error)) => Err(error),
                    Err(Failed::Cancelled) => endpoints::cancelled(number, frame),
                }
            }
            Modelled::Endpoint(_) | Modelled::Socket(_) => {
                let site = call_sites::site(&frame.return_address);
                let endpoint = self.end(Way::Out, false, site)?;
                endpoint.write(how(number, waits), memory, frame)
            }
        }
    }

    /// The end of a pipe that a call reads from or writes to; an error number. `quiet`: without a signal.
    pub(crate) fn end(self, way: Way, quiet: bool, site: Site) -> Result<Endpoint, c_int> {
        match self {
            Modelled::Eventfd(_) | Modelled::Epoll(_) => Err(libc::ENOTSOCK),
            Modelled::Endpoint(endpoint) => Ok(endpoint),
            Modelled::Socket(socket) => socket.end(way, quiet, site),
        }
    }

    /// What counts its descriptors.
    fn counted(self) -> Option<Counted> {
        match self {
            Modelled::Eventfd(_) | Modelled::Epoll(_) => None,
            Modelled::Endpoint(endpoint) => Some(Counted::End(endpoint)),
            Modelled::Socket(socket) => Some(Counted::Socket(socket)),
        }
    }

    /// What `poll` and its like see of it; `None`: they are refused.
    pub(crate) fn pollable(self) -> Option<Pollable> {
        match self {
            Modelled::Eventfd(eventfd) => Some(Pollable::Counter(eventfd)),
            Modelled::Endpoint(endpoint) => Some(Pollable::Endpoint(endpoint)),
            Modelled::Socket(socket) => Some(Pollable::Socket(socket)),
            Modelled::Epoll(_) => None,
        }
    }

    pub(crate) fn is_socket(self) -> bool {
        match self {
            Modelled::Eventfd(_) | Modelled::Epoll(_) => false,
            Modelled::Endpoint(endpoint) => endpoint.is_socket(),
            Modelled::Socket(_) => true,
        }
    }

    /// What it is called in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Modelled::Eventfd(_) => "an eventfd",
            Modelled::Epoll(_) => "an epoll",
            modelled if modelled.is_socket() => "a socket",
            Modelled::Endpoint(_) | Modelled::Socket(_) => "a pipe",
        }
    }
}

static DESCRIPTIONS: RunCell<Vec<OpenDescription>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    let mut all = DESCRIPTIONS.borrow();
    all.clear();
    all.push(OpenDescription::default());
}

/// Whether the run has made any pipe or socket.
pub(crate) fn any_endpoint() -> bool {
    let all = DESCRIPTIONS.borrow();
    let mut modelled = all.iter().filter_map(|description| description.modelled);
    modelled.any(|modelled| modelled.counted().is_some())
}

/// A new open description.
pub(crate) fn create(modelled: Option<Modelled>) -> DescriptionId {
    let mut all = DESCRIPTIONS.borrow();
    all.push(OpenDescription {
        modelled,
        ..OpenDescription::default()
    });
    DescriptionId(all.len() as u32 - 1)
}

/// Whether offsets are shared between threads in no order.
pub(crate) fn offsets_are_shared() -> bool {
    rules::holds(Rule::Positions)
}

impl DescriptionId {
    fn with<R>(self, then: impl FnOnce(&mut OpenDescription) -> R) -> R {
        then(&mut DESCRIPTIONS.borrow()[self.0 as usize])
    }

    fn modelled(self) -> Option<Modelled> {
        self.with(|description| description.modelled)
    }

    /// What counts its descriptors.
    pub(crate) fn counted(self) -> Option<Counted> {
        self.modelled()?.counted()
    }

    /// The running thread uses the offset, in a step that began in this epoch.
    pub(crate) fn use_offset(self, since: u32) {
        if alone() || offsets_are_shared() {
            return;
        }
        let now = Moment::since(since);
        let last = self.with(|description| description.offset_used.replace(now));
        if last.is_some_and(|last| !last.is_before_now()) {
            rules::needs(Rule::Positions);
        }
    }

    /// The running thread changes the file locks that it holds; whether all earlier changes happened before this one.
    pub(crate) fn use_locks(self) -> bool {
        let now = Moment::now();
        let last = self.with(|description| description.locks_used.replace(now));
        let unknown = self == DescriptionId::AT_START && !alone();
        !unknown && last.is_none_or(Moment::is_before_now)
    }
}

/// What a descriptor is open on, as far as the operating system has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// What the driver takes output from. For the program it is a pipe that can only be written to.
    Output,
    RegularFile,
    Directory,
    BlockDevice,
    Pipe,
    Socket,
    /// Something without a type: an eventfd, a timer and the like. Those that the run models are not asked for their kind.
    Untyped,
    /// A terminal or another character device, or nothing.
    Other,
}

/// What a kind means for calls.
struct KindRules {
    /// It has an object of the model.
    is_file: bool,
    /// Threads share its offset whether the run shows that or not.
    shares_offset: bool,
    /// It is not under control: what to call it.
    refused: Option<&'static str>,
}

impl Kind {
    pub(crate) fn of(descriptor: c_int) -> Kind {
        if descriptor_table::is_output(descriptor) {
            return Kind::Output;
        }
        match os_files::file_type_of_open(descriptor) {
            libc::S_IFREG if start_state::is_output(descriptor) => Kind::Output,
            libc::S_IFREG => Kind::RegularFile,
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFBLK => Kind::BlockDevice,
            libc::S_IFIFO => Kind::Pipe,
            libc::S_IFSOCK => Kind::Socket,
            0 if os_files::is_open(descriptor) => Kind::Untyped,
            _ => Kind::Other,
        }
    }

    const fn rules(self) -> KindRules {
        let (is_file, shares_offset, refused) = match self {
            Kind::RegularFile => (true, false, None),
            Kind::Directory | Kind::BlockDevice => (true, true, None),
            Kind::Pipe | Kind::Socket => (false, false, Some("a pipe")),
            Kind::Untyped => (false, false, Some("what is neither file nor pipe")),
            Kind::Output | Kind::Other => (false, false, None),
        };
        KindRules {
            is_file,
            shares_offset,
            refused,
        }
    }
}

/// What a call does with what is open.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) call: &'static str,
    /// It changes the contents.
    pub(crate) writes: bool,
    /// It begins at the offset, and moves it.
    pub(crate) moves: bool,
    /// It sees the contents.
    pub(crate) looks: bool,
}

/// Reads from the offset on.
pub(crate) const READ: Access = Access {
    call: "read",
    writes: false,
    moves: true,
    looks: true,
};
/// Writes from the offset on.
pub(crate) const WRITE: Access = Access {
    call: "write",
    writes: true,
    ..READ
};
/// Reads from a place that the call names.
pub(crate) const READ_AT: Access = Access {
    call: "pread",
    moves: false,
    ..READ
};
/// Writes to a place that the call names.
pub(crate) const WRITE_AT: Access = Access {
    call: "pwrite",
    moves: false,
    ..WRITE
};

/// Where in a file a call reads or writes.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// From the offset on.
    Offset,
    At(i64),
}

impl Place {
    /// What a call that reads there does.
    pub(crate) fn reading(self, call: &'static str) -> Access {
        let access = match self {
            Place::Offset => READ,
            Place::At(_) => READ_AT,
        };
        Access { call, ..access }
    }

    /// What a call that writes there does.
    pub(crate) fn writing(self, call: &'static str) -> Access {
        let access = match self {
            Place::Offset => WRITE,
            Place::At(_) => WRITE_AT,
        };
        Access { call, ..access }
    }
}

/// What a descriptor was open on when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct LookedUp {
    descriptor: c_int,
    kind: Kind,
    modelled: Option<Modelled>,
    /// The object of the file, beside other threads.
    file: Option<usize>,
    site: Site,
    pc: usize,
}

/// A file that a call has reached: the next thing it does is to use the descriptor.
pub(crate) struct Reached {
    /// Not the program's number, if that stands for something else by now.
    pub(crate) descriptor: c_int,
    writes: bool,
    pub(crate) kind: Kind,
    pub(crate) by: By,
}

/// Looks a descriptor up.
pub(crate) fn look_up(descriptor: c_int, access: Access, frame: &Frame) -> LookedUp {
    if !matches!(access.call, "lseek" | "ftruncate" | "fallocate") {
        cancellation::point(frame);
    }
    start_state::offsets_change();
    let site = call_sites::site(&frame.return_address);
    descriptor_table::look_up(descriptor, site);
    let kind = Kind::of(descriptor);
    let has_object = kind.rules().is_file && !alone();
    let modelled = modelled(descriptor);
    if let Some(counted) = modelled.and_then(Modelled::counted) {
        endpoints::hold(counted, descriptor, access.writes);
    }
    LookedUp {
        descriptor,
        kind,
        modelled,
        file: has_object.then(|| file_names::number_of_open(descriptor)),
        site,
        pc: frame.return_address,
    }
}

/// What the run models of what a descriptor is open on.
pub(crate) fn modelled(descriptor: c_int) -> Option<Modelled> {
    let modelled = descriptor_table::description(descriptor).modelled();
    // A number that was closed still says what it stood for.
    modelled.filter(|_| os_files::is_open(descriptor))
}

/// A descriptor that is about to be closed.
pub(crate) struct Closing {
    number: c_int,
    counted: Option<Counted>,
    /// What may be watched.
    watched: Option<(DescriptionId, Pollable)>,
}

impl Closing {
    pub(crate) fn of(number: c_int) -> Closing {
        let modelled = modelled(number);
        let watchable = modelled.filter(|_| epoll::used());
        let pollable = watchable.and_then(Modelled::pollable);
        Closing {
            number,
            counted: modelled.and_then(Modelled::counted),
            watched: pollable.map(|pollable| (descriptor_table::description(number), pollable)),
        }
    }

    /// It was closed.
    pub(crate) fn done(self, site: Site) {
        if let Some((description, pollable)) = self.watched {
            epoll::closed(description, pollable, site);
        }
        if let Some(counted) = self.counted {
            counted.closed(self.number, site);
        }
    }
}

/// What counts the descriptors of what this one is open on.
pub(crate) fn counted_by(descriptor: c_int) -> Option<Counted> {
    modelled(descriptor)?.counted()
}

/// Stops the thread if the run models what a descriptor is open on: this way of using it is not under control.
pub(crate) fn refuse_modelled(descriptor: c_int, used_by: &str, site: Site) {
    if let Some(modelled) = modelled(descriptor) {
        let what = format!("{used_by} of {}", modelled.name());
        world::unsupported(&what, site);
    }
}

impl LookedUp {
    /// Lets a modelled description do a call. The call gets the descriptor and whether it may wait, and returns as C functions do.
    fn use_modelled(
        self,
        modelled: Modelled,
        (call, place): (&'static str, Place),
        transfer: impl FnOnce((c_int, bool)) -> Result<usize, c_int>,
    ) -> isize {
        if matches!(call, "preadv2" | "pwritev2") {
            // Their flags may say that the call is not to wait.
            world::unsupported(&format!("{call} of {}", modelled.name()), self.site);
        }
        file_objects::look_at(file_objects::FLAGS, self.site);
        let descriptor = descriptor_table::found(self.descriptor);
        let waits = os_files::flags(descriptor) & libc::O_NONBLOCK == 0;
        let result = match place {
            Place::Offset => transfer((self.descriptor, waits)),
            Place::At(_) => Err(libc::ESPIPE),
        };
        endpoints::let_go(self.descriptor, self.site);
        match result {
            Ok(bytes) => bytes as isize,
            Err(error) => failed(error) as isize,
        }
    }

    /// As [`LookedUp::use_modelled`], for a call that sockets alone have. The call gets whether it may wait.
    pub(crate) fn use_socket(
        self,
        call: &'static str,
        transfer: impl FnOnce(Modelled, bool) -> Result<usize, c_int>,
    ) -> isize {
        let site = self.site;
        match self.modelled {
            Some(modelled) if modelled.is_socket() => {
                let use_it = |(_, waits)| transfer(modelled, waits);
                self.use_modelled(modelled, (call, Place::Offset), use_it)
            }
            None if self.kind == Kind::Socket => {
                world::unsupported(&format!("{call} of a socket from before main"), site)
            }
            _ => {
                let found = descriptor_table::found(self.descriptor);
                endpoints::let_go(self.descriptor, site);
                failed(match os_files::is_open(found) {
                    true => libc::ENOTSOCK,
                    false => libc::EBADF,
                }) as isize
            }
        }
    }

    /// Performs the operation of the call on what was found.
    pub(crate) fn reach(self, access: Access) -> Reached {
        let since = Moment::now().epoch();
        let rules = self.kind.rules();
        let modelled = self.modelled.map(Modelled::name);
        if let Some(refused) = modelled.or(rules.refused) {
            let what = format!("{} of {refused}", access.call);
            world::unsupported(&what, self.site);
        }
        if let Some(file) = self.file {
            let shared = rules.shares_offset || offsets_are_shared();
            if access.writes || access.moves && shared {
                file_objects::touch(file, self.site);
            } else if access.looks {
                file_objects::look_at(file, self.site);
            }
        }
        let (descriptor, description) = descriptor_table::take_found(self.descriptor);
        if access.writes && self.kind == Kind::RegularFile {
            start_state::protect(descriptor, self.site);
        }
        if access.moves && self.file.is_some() {
            description.use_offset(since);
        }
        // What is written to standard output is never read again.
        if (access.moves || access.writes) && self.kind != Kind::Output {
            spin::disturbed();
        }
        Reached {
            descriptor,
            writes: access.writes,
            kind: self.kind,
            by: By {
                pc: self.pc,
                site: self.site,
                since,
            },
        }
    }
}

/// Looks a descriptor up and performs the operation of the call.
pub(crate) fn reach(descriptor: c_int, access: Access, frame: &Frame) -> Reached {
    look_up(descriptor, access, frame).reach(access)
}

impl Reached {
    pub(crate) fn is_output(&self) -> bool {
        self.kind == Kind::Output
    }

    /// The call has read or written so many bytes: other threads may see them in memory that is mapped.
    pub(crate) fn accessed(&self, place: Place, bytes: isize) {
        let kind = match self.writes {
            true => MemoryAccess::Write,
            false => MemoryAccess::Read,
        };
        file_mappings::accessed(self.descriptor, place, bytes, kind, &self.by);
    }
}

/// A call that reads by descriptor into memory. `real` has the operating system do it.
pub(crate) fn read(
    descriptor: c_int,
    (call, place): (&'static str, Place),
    memory: &ProgramMemory,
    frame: &Frame,
    real: impl FnOnce(c_int) -> isize,
) -> isize {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let access = place.reading(call);
    let found = look_up(descriptor, access, frame);
    if let Some(modelled) = found.modelled {
        memory.note_list(frame);
        let read = |call| modelled.read(call, memory, frame);
        return found.use_modelled(modelled, (call, place), read);
    }
    let file = found.reach(access);
    if file.is_output() {
        return failed(match place {
            Place::Offset => libc::EBADF,
            Place::At(_) => libc::ESPIPE,
        }) as isize;
    }
    memory.note_list(frame);
    memory.prepare_for_writes();
    let got = real(file.descriptor);
    file.accessed(place, got);
    memory.note_written(got.max(0) as usize, frame);
    got
}

/// A call that writes by descriptor from memory. `real` has the operating system do it.
pub(crate) fn write(
    descriptor: c_int,
    (call, place): (&'static str, Place),
    memory: &ProgramMemory,
    frame: &Frame,
    real: impl FnOnce(c_int) -> isize,
) -> isize {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    memory.note_list(frame);
    memory.note_read(frame);
    let access = place.writing(call);
    let found = look_up(descriptor, access, frame);
    if let Some(modelled) = found.modelled {
        let write = |call| modelled.write(call, memory, frame);
        return found.use_modelled(modelled, (call, place), write);
    }
    let file = found.reach(access);
    if file.is_output() && !access.moves {
        return failed(libc::ESPIPE) as isize;
    }
    let put = real(file.descriptor);
    file.accessed(place, put);
    put
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_sockets_of_the_system_are_refused_and_have_no_object() {
        for kind in [Kind::Pipe, Kind::Socket] {
            assert_eq!(kind.rules().refused, Some("a pipe"));
            assert!(!kind.rules().is_file);
        }
    }

    #[test]
    fn what_has_no_type_is_refused_and_what_is_not_open_is_not() {
        // SAFETY: `eventfd` takes two numbers and touches no memory of the caller.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        assert_eq!(os_files::file_type_of_open(descriptor), 0);
        assert!(Kind::Untyped.rules().refused.is_some());
        assert_eq!(Kind::of(-1), Kind::Other);
        os_files::close(descriptor);
    }

    #[test]
    fn only_a_regular_file_can_keep_its_offset_to_itself() {
        assert!(!Kind::RegularFile.rules().shares_offset);
        assert!(Kind::Directory.rules().shares_offset);
        assert!(Kind::BlockDevice.rules().shares_offset);
    }

    #[test]
    fn a_call_that_names_its_place_leaves_the_offset() {
        assert!(Place::Offset.reading("readv").moves);
        assert!(!Place::At(0).writing("pwritev").moves);
        assert_eq!(Place::At(0).writing("pwritev").call, "pwritev");
    }
}
