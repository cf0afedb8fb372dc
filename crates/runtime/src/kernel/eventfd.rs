//! Eventfd: an open description that is a counter. The counter is a semaphore of the model, and whether a call waits is the
//! model's: a read waits while the count is 0 and takes all of it, or 1 where the eventfd was made so; a write waits while there
//! is no room for what it adds.
//!
//! The operating system has an eventfd of the same flags under the number. Its own counter is not used.

use crate::{
    core::{objects::Sort, trampoline::Frame},
    kernel::{
        blocking::{self, Cancelled},
        epoll::{Role, WatchId},
        file_objects,
        program_memory::ProgramMemory,
    },
    run::{
        call_sites, cancellation,
        world::{self, Done},
    },
};
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op};

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Eventfd {
    counter: ObjectId,
    /// How much a read takes at most.
    most: u64,
    /// What watches it, if anything may.
    watch: Option<WatchId>,
}

/// Reads and writes are of a number of so many bytes.
const BYTES: usize = size_of::<u64>();

impl Eventfd {
    /// A new one, made with this descriptor, this first count and these flags.
    pub(crate) fn new(descriptor: c_int, first: u32, flags: c_int) -> Eventfd {
        let address = file_objects::address(file_objects::EVENTFDS + descriptor as usize);
        let counter = Object::Semaphore(first.into());
        let counter = world::borrow().make_beside(address, Sort::Semaphore, counter);
        let most = match flags & libc::EFD_SEMAPHORE {
            0 => u64::MAX,
            _ => 1,
        };
        let watch = WatchId::new(file_objects::EVENTFD_WATCHES + descriptor as usize);
        Eventfd {
            counter,
            most,
            watch,
        }
    }

    pub(crate) fn counter(self) -> ObjectId {
        self.counter
    }

    pub(crate) fn watch(self) -> Option<WatchId> {
        self.watch
    }

    /// Something was added or taken, in the step before.
    fn notify(self, role: Role, frame: &Frame) {
        if let Some(watch) = self.watch {
            watch.moved(role, call_sites::site(&frame.return_address));
        }
    }

    pub(crate) fn read(
        self,
        waits: bool,
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<usize, c_int> {
        if memory.length() < BYTES {
            return Err(libc::EINVAL);
        }
        let take = |tries| Op::Take {
            object: self.counter,
            most: self.most,
            tries,
        };
        let taken = self.perform(take, waits, frame)?;
        self.notify(Role::Writer, frame);
        match memory.store(&taken.result.to_ne_bytes(), frame) {
            true => Ok(BYTES),
            false => Err(libc::EFAULT),
        }
    }

    pub(crate) fn write(
        self,
        waits: bool,
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<usize, c_int> {
        if memory.block_count() > 1 {
            // The operating system makes a write of each block.
            let site = call_sites::site(&frame.return_address);
            world::unsupported("writev of several blocks to an eventfd", site);
        }
        if memory.length() < BYTES {
            return Err(libc::EINVAL);
        }
        let count = u64::from_ne_bytes(memory.load().ok_or(libc::EFAULT)?);
        if count == u64::MAX {
            return Err(libc::EINVAL);
        }
        let add = |tries| Op::Add {
            object: self.counter,
            count,
            tries,
        };
        self.perform(add, waits, frame)?;
        self.notify(Role::Reader, frame);
        Ok(BYTES)
    }

    /// Performs an operation, made with whether it only tries. A cancellation point if it waits.
    fn perform(self, op: impl Fn(bool) -> Op, waits: bool, frame: &Frame) -> Result<Done, c_int> {
        match blocking::perform(self.counter, op, waits, frame) {
            Ok(done) if done.ok => Ok(done),
            Ok(_) => Err(libc::EAGAIN),
            Err(Cancelled) => cancellation::go(),
        }
    }
}
