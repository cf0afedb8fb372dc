//! Pieces of a session: what travels to other processes and back, as [`reweave_check::Piece`] describes.
//!
//! *Called by:* the command, for checks on a cluster. *Owns:* nothing.

use crate::{
    errors::CheckError,
    ladder::rung_name,
    session::{ResumeError, Session, StoredSession},
};
use reweave_check::{Control, Piece};
use std::time::Instant;

impl Session {
    /// Hands out all that is left, in at most so many pieces.
    pub fn deal(&mut self, most: usize) -> Vec<StoredSession> {
        let restart = rung_name(self.program.launch.restart).to_owned();
        let notes = self.check.subject().outline();
        let pieces = self.check.deal(most).into_iter();
        let piece = |check| StoredSession {
            restart: restart.clone(),
            notes: notes.clone(),
            check,
            surroundings: None,
        };
        pieces.map(piece).collect()
    }

    /// Takes in what became of a piece. Where it fails nothing has changed.
    pub fn absorb(&mut self, piece: StoredSession) -> Result<(), ResumeError> {
        let absorbed = self.check.absorb(piece.check);
        absorbed.map_err(|error| ResumeError::Mismatch(error.to_string()))?;
        self.check.subject().absorb(piece.notes);
        Ok(())
    }

    /// Explores the piece that it resumed, until then. What became of it is [`Session::store`]; it may be a check that restarts.
    pub fn explore_piece(
        &mut self,
        control: &Control,
        until: Option<Instant>,
    ) -> Result<Piece, CheckError> {
        let explored = self.check.explore_piece(control, until);
        match self.unless_left_behind(explored) {
            Ok(piece) => Ok(piece),
            Err(fault) => {
                self.step_down(fault)?;
                Ok(Piece::Restarts)
            }
        }
    }

    /// Has the runs of the next piece end when this is stopped.
    pub fn stopped_by(&mut self, control: &Control) {
        self.program.stopped_by(control);
    }

    /// The check itself, to be changed.
    pub fn check_mut(&mut self) -> &mut reweave_check::Check<crate::subject::NativeSubject> {
        &mut self.check
    }
}
