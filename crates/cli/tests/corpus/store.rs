//! What the tests of one program share: its compiled forms and the document of its first search.
//!
//! The tests may run in one process (`cargo test`) or in a process each (nextest), so these lie in files. A store is named after everything that they depend on: the
//! command, the compilers, the sources and the expectations. When that changes, the old store of the program is removed. A file appears under
//! its name only when it is whole.

use std::{
    collections::BTreeMap,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, OnceLock},
    time::UNIX_EPOCH,
};

pub struct Store(PathBuf);

/// One lock for each file, so that threads of one process do not make the same thing twice.
static LOCKS: Mutex<BTreeMap<PathBuf, &'static Mutex<()>>> = Mutex::new(BTreeMap::new());

impl Store {
    /// The store of a program, below `stores`, as its inputs are now.
    pub fn open(stores: &Path, name: &str, inputs: &[PathBuf]) -> Store {
        let mut hasher = DefaultHasher::new();
        command().hash(&mut hasher);
        ["CC", "CXX", "CPATH"].map(env::var_os).hash(&mut hasher);
        for input in inputs {
            fs::read(input).ok().hash(&mut hasher);
        }
        let all = stores.join(name);
        let current = format!("{:016x}", hasher.finish());
        for old in fs::read_dir(&all).into_iter().flatten().flatten() {
            if old.file_name() != current.as_str() {
                // Another process may remove it at the same time.
                let _ = fs::remove_dir_all(old.path());
            }
        }
        let current = all.join(current);
        fs::create_dir_all(&current).expect("there is room");
        Store(current)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where a file is made, until it is whole.
    pub fn draft(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.{}", process::id()))
    }

    /// Gives a file that was made its name.
    pub fn keep(&self, name: &str) {
        fs::rename(self.draft(name), self.path(name)).expect("it was made");
    }

    pub fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.draft(name), content).expect("there is room");
        self.keep(name);
    }

    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// Keeps other threads of this process from making the same file. (Two processes may both make it: the last one's is kept.)
    pub fn lock(&self, name: &str) -> impl Drop {
        let mut locks = LOCKS.lock().expect("no thread panics with it");
        let new = || -> &'static Mutex<()> { Box::leak(Box::default()) };
        let lock = *locks.entry(self.path(name)).or_insert_with(new);
        drop(locks);
        // A test that failed has left nothing half done.
        lock.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// The command as it is built now: its size and when it was written.
fn command() -> (u64, u128) {
    static COMMAND: OnceLock<(u64, u128)> = OnceLock::new();
    *COMMAND.get_or_init(|| {
        let file = fs::metadata(env!("CARGO_BIN_EXE_reweave")).expect("built with the tests");
        let written = file.modified().expect("files have times");
        let since = written.duration_since(UNIX_EPOCH);
        (file.len(), since.map_or(0, |since| since.as_nanos()))
    })
}
