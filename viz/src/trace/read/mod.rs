//! The reader of Chrome's JSON: traces of this crate, of Proton (Triton's profiler inside kernels) and of other
//! programs.
//!
//! ```text
//!   ours         every argument is there: the same timeline again
//!   Proton       pid "kernel Core3 CTA5", tid "warp 4 (line 0)": a row for each warp of each CTA;
//!                times are cycles / 1000, the clock is among the arguments
//!   another      a row for each thread, a CTA for each process; a nanosecond is a cycle
//! ```
//!
//! Slices are complete events (`X`) and pairs of `B` and `E`. Flows lead from a waker to a wait. A slice nested in
//! another stays beside it; the viewer gives it its own row. Other events are counted and left out.

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

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its bytes could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is not JSON, or not a trace.
    #[error("it is not a trace in Chrome's format: {0}")]
    Json(#[from] serde_json::Error),
    /// It is not text.
    #[error("it is not a trace in Chrome's format: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// An event lacks a required field.
    #[error("event {event} is not a slice: {what}")]
    Event {
        /// Number of the event, from 1.
        event: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It has no slice.
    #[error("it has no slices: events with `\"ph\": \"X\"`, or pairs of `B` and `E`")]
    Empty,
}

/// A trace that was read.
#[derive(Debug)]
pub struct Read {
    /// The content.
    pub timeline: Timeline,
    /// Number of events of unsupported kinds.
    pub left_out: usize,
}

/// Reads a trace.
///
/// # Errors
/// It is no trace, or has nothing in it.
pub fn read(bytes: &[u8]) -> Result<Read, ReadError> {
    from(bytes)
}

/// Reads a trace from a source. A trace of our own is never in memory as a whole.
///
/// # Errors
/// It is no trace, has nothing in it, or cannot be read.
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
