//! Studies: what many runs say together.
//!
//! ```text
//!   numbers   a run as a list of named numbers: what claims, sweeps and comparisons speak of
//!   compare   two runs, or records of runs: what changed, by how much, at which wait or work
//!   critical  the chain of causes that a run's end rests on, as shares of the time
//!   period    the steady period from the dependences alone, beside what the engine found
//!   whatif    each number of the machine scaled in turn, ranked by what a run would gain
//!   clock     the clock that a run keeps, where the machine says how it falls with the tensor cores' work
//!   sweep     values varied, one run a point: shards, resuming, joining the parts
//! ```
//!
//! Nothing here reads a file, knows a clock or decides what an operation means. A study is given a function that makes a
//! run, and returns data; the command line shows it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

pub mod clock;
pub mod compare;
pub mod critical;
pub mod numbers;
pub mod period;
pub mod sweep;
pub mod whatif;
