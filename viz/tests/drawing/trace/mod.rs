//! Traces, decoded by independent readers: nesting, flows, names, and the timeline read back.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod chrome;
mod kanata;
mod perfetto;
mod read;
