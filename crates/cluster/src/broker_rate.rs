//! How much a broker can do: pieces are written, read, reported and removed as a search does it, with nothing in between.
//!
//! *Called by:* `examples/broker_rate.rs`. *Owns:* nothing.

use super::{Broker, BrokerError, Key};
use crate::message::{PieceId, Report, SearchId};

/// Pieces that are written together, as a coordinator does.
const TOGETHER: u64 = 64;

impl Broker {
    /// Moves so many pieces of this length through the broker, with a report of the same length about each. Returns how many operations
    /// these were: values written and read, and removals.
    pub fn exercise(&self, pieces: u64, bytes: usize) -> Result<u64, BrokerError> {
        let search = SearchId::new(0xe8e2);
        let payload = vec![b'x'; bytes];
        let mut operations = 0;
        for first in (0..pieces).step_by(TOGETHER as usize) {
            let numbers = first..pieces.min(first + TOGETHER);
            let ids: Vec<PieceId> = numbers.map(|number| PieceId { epoch: 0, number }).collect();
            let values = ids
                .iter()
                .map(|id| (Key::piece(&search, *id), &payload[..]));
            self.put(&values.collect::<Vec<_>>())?;
            for id in &ids {
                let piece = self.get(&Key::piece(&search, *id))?;
                let (_, piece) = piece.unwrap_or_default();
                let report = Report::unexplored(*id, piece).encode();
                self.replace(&Key::report(&search, *id), &report, 0)?;
            }
            self.discard(&search, &ids)?;
            operations += 4 * ids.len() as u64;
        }
        Ok(operations)
    }
}
