//! Files, by descriptor and by name.

pub(crate) mod copies;
pub(crate) mod descriptor_calls;
pub(crate) mod directory_entries;
pub(crate) mod disk_flushes;
pub(crate) mod file_status;
pub(crate) mod metadata;
pub(crate) mod named_files;
pub(crate) mod read_write;
pub(crate) mod scandir;
pub(crate) mod shared_memory;
pub(crate) mod temporaries;
pub(crate) mod vectored_io;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family::QUIET;
