//! What was tried where: the one thing that workers share.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

/// What was tried at the decisions that one run made first. Runs that go another way at one of them hold on to it; with the
/// last of them it is gone.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Those of the run that this one came from.
    earlier: Option<Arc<Claims>>,
    /// The place of the first decision.
    first: u32,
    tried: Mutex<Tried>,
}

type Tried = HashSet<u128, BuildHasherDefault<AsIs>>;

impl Claims {
    pub fn new(earlier: Option<Arc<Claims>>, first: u32, tried: Vec<u128>) -> Claims {
        Claims {
            earlier,
            first,
            tried: Mutex::new(tried.into_iter().collect()),
        }
    }

    /// Those that the decision at a place belongs to, and how far back they are.
    pub fn owner(self: &Arc<Claims>, place: u32) -> (&Arc<Claims>, u32) {
        let (mut claims, mut above) = (self, 0);
        while place < claims.first {
            claims = claims
                .earlier
                .as_ref()
                .expect("the first run decides first");
            above += 1;
        }
        (claims, above)
    }

    /// Whether nobody tried it before.
    pub fn claim(&self, what: u128) -> bool {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.insert(what)
    }

    /// As plain data.
    pub fn parts(&self) -> (Option<&Arc<Claims>>, u32, Vec<u128>) {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tried: Vec<u128> = tried.iter().copied().collect();
        tried.sort_unstable();
        (self.earlier.as_ref(), self.first, tried)
    }
}

/// What is claimed is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}
