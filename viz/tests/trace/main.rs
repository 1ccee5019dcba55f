//! Traces, decoded by readers of other hands: what nests, what flows, what is named, and what comes back.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod chrome;
mod kanata;
mod perfetto;
#[path = "../random/mod.rs"]
mod random;
mod read;
#[path = "../synth/mod.rs"]
mod synth;
