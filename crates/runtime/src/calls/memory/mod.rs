//! Memory: allocation, mappings, and library functions that read or write memory of the program.
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod allocation;
pub(crate) mod arguments;
pub(crate) mod formatted_text;
pub(crate) mod mmap;
pub(crate) mod static_buffers;
pub(crate) mod strings;
pub(crate) mod unlooked;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| mmap::prepare(),
    begin_run: formatted_text::clear,
    each_mapped_page: mmap::each_page,
    clean_up: mmap::clean_up,
    process_changes: mmap::process_changes,
    program_begins: mmap::clean_up,
    ..Family::QUIET
};
