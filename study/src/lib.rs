//! Studies: what many runs say together.
//!
//! ```text
//!   numbers   a run as a list of named numbers: what claims, sweeps and comparisons speak of
//!   sweep     values varied, one run a point: shards, resuming, joining the parts
//! ```
//!
//! Nothing here reads a file, knows a clock or decides what an operation means. A study is given a function that makes a
//! run, and returns data; the command line shows it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

pub mod numbers;
pub mod sweep;
