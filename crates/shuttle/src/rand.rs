//! Random numbers, by the names of the crate `rand` 0.8. In a random search they differ from execution to execution, and a trace
//! keeps them.

pub use rand::{Rng, RngCore};

/// Generators.
pub mod rngs {
    use crate::context::{self, Data};
    use rand::{CryptoRng, Error, RngCore};

    /// What [`thread_rng`](super::thread_rng) returns.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        // So that `default` is of use.
        pub(super) _private: (),
    }

    /// Bits of one draw of the search.
    const DRAW: u32 = 15;

    impl RngCore for ThreadRng {
        #[track_caller]
        fn next_u32(&mut self) -> u32 {
            self.next_u64() as u32
        }

        /// # Panics
        /// In a search of everything that was not allowed random data, and outside of a check.
        #[track_caller]
        fn next_u64(&mut self) -> u64 {
            match context::data() {
                Some(Data::Drawn) => (0..u64::BITS.div_ceil(DRAW)).fold(0, |number, _| {
                    (number << DRAW) | u64::from(reweave::any(1 << DRAW))
                }),
                Some(Data::Fixed(_)) => context::next_fixed(),
                Some(Data::Refused) => panic!(
                    "random numbers in a search of everything: use `check_random`, or `DfsScheduler::new` with \
                     `allow_random_data`"
                ),
                None => panic!("random numbers are drawn outside of a check"),
            }
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            for chunk in bytes.chunks_mut(8) {
                let number = self.next_u64().to_le_bytes();
                chunk.copy_from_slice(&number[..chunk.len()]);
            }
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(bytes);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}

/// The generator of the running thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}
