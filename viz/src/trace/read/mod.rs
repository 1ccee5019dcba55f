//! Chrome's JSON read back: traces of this crate, of Proton (Triton's profiler inside kernels) and of other programs.
//!
//! ```text
//!   ours         every argument is there: the same timeline again
//!   Proton       pid "kernel Core3 CTA5", tid "warp 4 (line 0)": a row for each warp of each CTA;
//!                times are cycles / 1000, the clock is among the arguments
//!   another      a row for each thread, a CTA for each process; a nanosecond is a cycle
//! ```
//!
//! Slices are complete events (`X`) and pairs of `B` and `E`. Flows lead from what woke to what waited. What is nested in
//! another slice stays beside it: the viewer gives it a row of its own. Events of other kinds are counted and left out.

mod build;
mod cursor;
mod flows;
mod json;
mod own;
mod part;
mod rows;
mod scan;
mod source;

pub use source::Source;
use warpline_sim::timeline::{TICKS, Timeline};

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its bytes cannot be had.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is no JSON, or not that of a trace.
    #[error("it is no trace in Chrome's format: {0}")]
    Json(#[from] serde_json::Error),
    /// It is no text.
    #[error("it is no trace in Chrome's format: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// An event lacks what its kind needs.
    #[error("event {event} is no slice: {what}")]
    Event {
        /// Which, from 1.
        event: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is no slice in it.
    #[error("it has no slices: events with `\"ph\": \"X\"`, or pairs of `B` and `E`")]
    Empty,
}

/// A trace that was read.
#[derive(Debug)]
pub struct Read {
    /// What is in it.
    pub timeline: Timeline,
    /// Events of kinds that are not shown.
    pub left_out: usize,
}

/// Reads a trace.
///
/// # Errors
/// When it is no trace, or has nothing in it.
pub fn read(bytes: &[u8]) -> Result<Read, ReadError> {
    from(bytes)
}

/// Reads a trace from where its bytes are. One of our own is never in memory as a whole.
///
/// # Errors
/// When it is no trace, has nothing in it, or cannot be read.
pub fn from(source: &(impl Source + ?Sized)) -> Result<Read, ReadError> {
    if let Some(read) = own::read(source)? {
        return Ok(read);
    }
    let mut bytes = Vec::new();
    source.stretch(0..source.length(), &mut bytes)?;
    let text = std::str::from_utf8(&bytes)?;
    let mut builder = build::Builder::default();
    json::events(text, &mut builder)?;
    builder.finish()
}

/// Cycles as ticks.
fn ticks(cycles: f64) -> u64 {
    (cycles * TICKS as f64).round() as u64
}
