//! What a scheduler stands for.

use crate::context::Data;
use reweave::Algorithm;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// A search. Schedulers of one's own are not possible.
pub trait Scheduler: Sealed {}

impl<S: Sealed + ?Sized> Scheduler for S {}

/// Implemented here only.
pub trait Sealed {
    #[doc(hidden)]
    fn search(&self) -> Search;
}

impl<S: Sealed + ?Sized> Sealed for Box<S> {
    fn search(&self) -> Search {
        (**self).search()
    }
}

/// The options of a search.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Search {
    pub(crate) algorithm: Algorithm,
    /// Executions.
    pub(crate) most: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) depth: Option<usize>,
    pub(crate) data: Data,
    /// To be replayed.
    pub(crate) trace: Option<Arc<Trace>>,
}

/// A trace file.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    /// It was written here, and goes with this value.
    ours: bool,
}

impl Trace {
    pub(super) fn file(path: &Path) -> io::Result<Trace> {
        fs::metadata(path)?;
        let path = path.into();
        Ok(Trace { path, ours: false })
    }

    pub(super) fn written(text: &str) -> io::Result<Trace> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = env::temp_dir().join(format!("reweave-replay-{process}-{number}.rwt"));
        fs::write(&path, text)?;
        Ok(Trace { path, ours: true })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.ours {
            // Nothing depends on it: the directory is for temporary files.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Default for Search {
    fn default() -> Search {
        Search {
            algorithm: Algorithm::Auto,
            most: None,
            seed: 0,
            depth: None,
            data: Data::Drawn,
            trace: None,
        }
    }
}
