//! One search on many machines, by way of a message broker (NATS JetStream).
//!
//! The *coordinator* deals a search out in pieces and puts together what comes back; *workers* explore pieces. Both are state
//! machines ([`Coordinator`], [`Worker`]): messages in, actions out, no clock, no network. `coordinate` and `serve` connect them with a
//! broker, `simulate` with a simulated one. What a search is made of they do not know: see [`Home`] and [`Opener`].
//!
//! **Exactly once.** The broker holds one record for each search: which pieces are out, and what the coordinator has put together so far. It
//! is replaced by compare-and-swap. A report about a piece is one value that holds both what was seen in it and what is left of
//! it; only the record that takes it in no longer lists the piece as out. So however often a piece is explored, and however often its report
//! arrives, it counts once; and whichever process reads the record can go on as the coordinator.
//!
//! * `message`: what travels. `manifest`: which program, signed.
//! * `coordinator`, `worker`: the state machines.
//! * `broker`: the client, the only asynchronous code. `coordinate`, `serve`: the loops.
//! * `simulate`: the state machines in simulated time.
#![forbid(unsafe_code)]

mod broker;
mod coordinate;
mod coordinator;
mod credentials;
mod manifest;
mod message;
mod sentence;
mod serve;
mod simulate;
mod worker;

pub use broker::{Broker, BrokerError};
pub use coordinate::{Coordination, Desk, Fleet, manifest_of, record_of};
pub use coordinator::{Coordinator, Ending, Home, Input, Limits, Pace, Step};
pub use credentials::Credentials;
pub use manifest::{Manifest, ManifestFile, public_key};
pub use message::{
    Alive, Control, Malformed, Outcome, PieceId, Record, Report, SearchId, Status, Token,
};
pub use sentence::Sentence;
pub use serve::{Explored, Explorer, Opener, PieceSlice, Place, serve};
pub use simulate::{Course, SHAPES, Setting, Shape, Spent, Tree, simulate};
pub use worker::{Action, Event, Worker};
