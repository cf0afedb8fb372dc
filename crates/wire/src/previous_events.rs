//! The words of the events that were read last. Most executions begin like the one before, and what was read need not be read again.

use crate::{
    execution::read_event,
    words::{Malformed, Reader},
};
use alloc::vec::Vec;
use reweave_model::Execution;

#[derive(Clone, Debug, Default)]
pub(crate) struct PreviousEvents {
    words: Vec<u64>,
    /// Where each event ends.
    ends: Vec<usize>,
    threads: usize,
    objects: usize,
}

impl PreviousEvents {
    /// Reads events over those that were read before; threads and objects were read already.
    pub(crate) fn read_events(
        &mut self,
        from: &mut Reader<'_>,
        into: &mut Execution,
    ) -> Result<(), Malformed> {
        let (threads, objects) = (into.threads.len(), into.objects.len());
        let events = from.count()?;
        let words = from.rest();
        // What was read must still be there, and all that it names.
        let whole = into.events.len() == self.ends.len();
        let named = threads >= self.threads && objects >= self.objects;
        let (same, taken) = match whole && named {
            true => self.same(words, events),
            false => (0, 0),
        };
        from.skip(taken);
        into.events.truncate(same);
        into.events.reserve(events - same);
        // Until all of them are read, none is known.
        let mut ends = core::mem::take(&mut self.ends);
        ends.truncate(same);
        for _ in same..events {
            let event = read_event(from, objects)?;
            if event.thread.index() >= threads {
                return Err(Malformed);
            }
            into.events.push(event);
            ends.push(words.len() - from.rest().len());
        }
        self.words.truncate(taken);
        let end = words.len() - from.rest().len();
        self.words.extend_from_slice(&words[taken..end]);
        self.ends = ends;
        (self.threads, self.objects) = (threads, objects);
        Ok(())
    }

    /// How many of the events to be read are the same, and how many words they take.
    fn same(&self, words: &[u64], events: usize) -> (usize, usize) {
        let both = self.words.iter().zip(words);
        let same = both.take_while(|(old, new)| old == new).count();
        let same = self.ends.partition_point(|end| *end <= same).min(events);
        let taken = same.checked_sub(1).map_or(0, |last| self.ends[last]);
        (same, taken)
    }
}
