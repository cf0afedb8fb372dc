//! The state machine of one slot of a worker: explores one piece after the other.
//!
//! *Decides:* which messages of the work queue are worth exploring, when one is acknowledged. *Called by:* `serve`, and the
//! simulator. *Owns:* the token at hand. *Invariant:* a token is acknowledged only when a report of its piece is stored, or none is wanted
//! any more; until then the broker gives it to another worker if this one falls silent.

use crate::message::{Control, PieceId, Report, SearchId, Token};

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The work queue has a token.
    Token(Token),
    /// What the broker holds of the piece; `None`: it is not out any more, or reported already.
    Piece(Option<Vec<u8>>),
    /// It was explored.
    Explored(Report),
    /// The program cannot be explored here.
    Refused,
    /// The report is stored, or another one was before.
    Stored,
    /// A message to the workers of a search.
    Control(SearchId, Control),
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Get the piece of the token.
    Fetch(Token),
    /// Explore it.
    Explore(Token, Vec<u8>),
    /// End the exploration, and report it as it is.
    Interrupt,
    /// Store the report, unless there is one.
    Store(SearchId, Report),
    /// The token is done with.
    Acknowledge,
    /// Another worker gets the token.
    Return,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Idle,
    Fetching(Token),
    Exploring(Token),
    Storing(Token),
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    stage: Stage,
}

impl Worker {
    /// Whether it waits for a token.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    /// What it explores.
    pub fn piece(&self) -> Option<(&SearchId, PieceId)> {
        match &self.stage {
            Stage::Exploring(token) => Some((&token.search, token.piece)),
            _ => None,
        }
    }

    /// What to do now that this happened. Events that do not fit come from messages that were late or doubled.
    pub fn step(&mut self, event: Event) -> Option<Action> {
        let state = std::mem::take(&mut self.stage);
        let (next, action) = match (state, event) {
            (Stage::Idle, Event::Token(token)) => {
                (Stage::Fetching(token.clone()), Some(Action::Fetch(token)))
            }
            (Stage::Fetching(_), Event::Piece(None)) => (Stage::Idle, Some(Action::Acknowledge)),
            (Stage::Fetching(token), Event::Piece(Some(piece))) => (
                Stage::Exploring(token.clone()),
                Some(Action::Explore(token, piece)),
            ),
            (Stage::Exploring(_), Event::Refused) => (Stage::Idle, Some(Action::Return)),
            (Stage::Exploring(token), Event::Explored(report)) => {
                let search = token.search.clone();
                (Stage::Storing(token), Some(Action::Store(search, report)))
            }
            (Stage::Exploring(token), Event::Control(search, control)) => {
                let meant = search == token.search
                    && match &control {
                        Control::Stop(epoch) => token.piece.epoch <= *epoch,
                        Control::Recall(pieces) => pieces.contains(&token.piece),
                    };
                (Stage::Exploring(token), meant.then_some(Action::Interrupt))
            }
            (Stage::Storing(_), Event::Stored) => (Stage::Idle, Some(Action::Acknowledge)),
            (state, _) => (state, None),
        };
        self.stage = next;
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Outcome;

    fn token(number: u64) -> Token {
        Token {
            search: SearchId::new(1),
            piece: PieceId { epoch: 2, number },
            budget_ms: 5,
            most_runs: None,
        }
    }

    #[test]
    fn a_token_is_acknowledged_when_its_report_is_stored() {
        let mut worker = Worker::default();
        let fetch = worker.step(Event::Token(token(3)));
        assert_eq!(fetch, Some(Action::Fetch(token(3))));
        let explore = worker.step(Event::Piece(Some(vec![1])));
        assert_eq!(explore, Some(Action::Explore(token(3), vec![1])));
        let report = Report {
            piece: token(3).piece,
            outcome: Outcome::Explored,
            runs: 1,
            busy_ms: 1,
            moving_ms: 0,
            worker: String::new(),
            payload: Vec::new(),
        };
        let store = worker.step(Event::Explored(report.clone()));
        assert_eq!(store, Some(Action::Store(token(3).search, report)));
        assert_eq!(worker.step(Event::Stored), Some(Action::Acknowledge));
        assert!(worker.is_idle());
    }

    /// A piece that is not out is not explored; one that cannot be explored here goes to others.
    #[test]
    fn what_is_not_explored() {
        let mut worker = Worker::default();
        worker.step(Event::Token(token(3)));
        assert_eq!(worker.step(Event::Piece(None)), Some(Action::Acknowledge));
        worker.step(Event::Token(token(4)));
        worker.step(Event::Piece(Some(Vec::new())));
        assert_eq!(worker.step(Event::Refused), Some(Action::Return));
        assert!(worker.is_idle());
        // Late and doubled messages.
        assert_eq!(worker.step(Event::Stored), None);
        assert_eq!(worker.step(Event::Piece(None)), None);
    }

    #[test]
    fn only_what_is_meant_is_interrupted() {
        let mut worker = Worker::default();
        worker.step(Event::Token(token(3)));
        worker.step(Event::Piece(Some(Vec::new())));
        let mut interrupts = |search: u64, control| {
            let event = Event::Control(SearchId::new(search), control);
            worker.step(event) == Some(Action::Interrupt)
        };
        assert!(!interrupts(1, Control::Stop(1)));
        assert!(interrupts(1, Control::Stop(2)));
        assert!(!interrupts(2, Control::Stop(2)));
        assert!(!interrupts(1, Control::Recall(vec![token(4).piece])));
        assert!(interrupts(1, Control::Recall(vec![token(3).piece])));
    }
}
