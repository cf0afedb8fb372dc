//! Files, by descriptor and by name.
//!
//! The calls decode their arguments and go through [`crate::kernel`], which has the state. Streams are in
//! [`crate::calls::streams`].

pub(crate) mod address_lookup;
pub(crate) mod connection_calls;
pub(crate) mod copies;
pub(crate) mod descriptor_calls;
pub(crate) mod directories;
pub(crate) mod directory_entries;
pub(crate) mod disk_flushes;
pub(crate) mod epoll_calls;
pub(crate) mod eventfd_calls;
pub(crate) mod file_status;
pub(crate) mod links;
pub(crate) mod message_calls;
pub(crate) mod metadata;
pub(crate) mod named_files;
pub(crate) mod pipe_calls;
pub(crate) mod polls;
pub(crate) mod read_write;
pub(crate) mod real_paths;
pub(crate) mod renames;
pub(crate) mod scandir;
pub(crate) mod shared_memory;
pub(crate) mod socket_calls;
pub(crate) mod socket_options;
pub(crate) mod temporaries;
pub(crate) mod vectored_io;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    begin_run: copies::begin_run,
    ..Family::QUIET
};
