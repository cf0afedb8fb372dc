//! What several families of calls and the kernel need and the run itself does not know: deadlines, limits, what a process is asked about itself.
//!
//! May import `core` and `run`, never a family.

pub(crate) mod c11_answers;
pub(crate) mod c_text;
pub(crate) mod deadlines;
pub(crate) mod exceptions;
pub(crate) mod formats;
pub(crate) mod held_mutexes;
pub(crate) mod injected_faults;
pub(crate) mod process_identity;
pub(crate) mod process_numbers;
pub(crate) mod resource_limits;
