//! Pieces: parts of a check as plain data, explored in other processes and put together again.
//!
//! *Decides:* what comes back when a piece cannot simply be explored: a check that restarts. *Called by:* whoever explores for
//! others. *Invariant:* a piece that comes back holds everything that was learned from it, so nothing else has to travel.

use crate::{
    check::{Check, Explored, Slice},
    control::Control,
    stored::StoredCheck,
    subject::{Fault, Subject},
};
use reweave_explore::FragmentError;
use std::time::{Duration, Instant};

/// How far the exploration of a piece came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// As far as it goes in one slice.
    Explored,
    /// The whole check has to restart, in the way that this one was set to.
    Restarts,
}

impl<S: Subject> Check<S> {
    /// Hands out all that is left, in at most so many pieces.
    pub fn deal(&mut self, most: usize) -> Vec<StoredCheck> {
        let dealt = self.search.deal(most);
        self.out += dealt.len() as u64;
        let piece = |search| StoredCheck {
            search,
            found: Vec::new(),
            races: false,
            because: self.because.clone(),
            elapsed: Duration::ZERO,
            out: 0,
        };
        dealt.into_iter().map(piece).collect()
    }

    /// Takes in what became of a piece. Where it fails nothing has changed.
    pub fn absorb(&mut self, piece: StoredCheck) -> Result<(), FragmentError> {
        self.search.absorb(piece.search)?;
        self.out = self.out.saturating_sub(1);
        self.found.absorb(piece.found);
        *self.races.get_mut() |= piece.races;
        self.paused = !self.finished();
        Ok(())
    }

    /// Explores a piece that it resumed, until then.
    pub fn explore_piece(
        &mut self,
        control: &Control,
        until: Option<Instant>,
    ) -> Result<Piece, Fault> {
        let begun = Instant::now();
        let slice = Slice {
            control,
            until,
            begun,
            enough: self.enough,
            // However short the time is, there is progress.
            least: self.search.totals().runs() + 1,
        };
        self.subject.end_runs_at(self.deadline);
        let explored = self.explore(&slice);
        self.elapsed += begun.elapsed();
        match explored? {
            Explored::Unfit(why) => self.explore_otherwise(&why),
            Explored::Late | Explored::Stopped if self.subject.must_restart() => {}
            Explored::Late | Explored::Stopped => return Ok(Piece::Explored),
        }
        self.begin();
        Ok(Piece::Restarts)
    }

    /// Whether nothing more is to be done: all is explored, or an error or a limit ends it.
    pub fn is_over(&self) -> bool {
        self.finished()
    }

    /// It is ended as it is; `interrupted`: by the user.
    pub fn end(&mut self, interrupted: bool) {
        self.paused = !self.finished();
        self.interrupted = self.paused && interrupted;
    }

    /// How many distinct errors were found.
    pub fn errors(&self) -> usize {
        self.found.count()
    }

    /// Lets others see how large it is.
    pub fn show(&self, control: &Control) {
        control.watch(&self.search);
    }

    /// So much time was spent on it elsewhere.
    pub fn spend(&mut self, time: Duration) {
        self.elapsed += time;
    }
}
