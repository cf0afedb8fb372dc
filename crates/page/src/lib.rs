//! Traces and results to look at in a browser: one file for a trace, a small server for a directory of them.
//!
//! [`page`] turns a trace into an HTML file that needs nothing else: style, script and data stand in it. What only the model
//! knows (who holds what, who waits for whom) is worked out here and handed over as data; the script in `assets` draws
//! and steps. Everything that comes from a program is data, never markup.
#![forbid(unsafe_code)]

mod arrows;
mod data;
mod document;
mod rows;
mod serve;
mod sources;
mod timeline;

pub use document::{Links, page};
pub use serve::{Again, overview, serve};
