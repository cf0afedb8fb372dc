//! Statics that are initialised in each execution: for programs that import its types or the macro by `use loom::lazy_static`.

pub use crate::__reweave::LazyLock as Lazy;
pub use reweave::thread::AccessError;
