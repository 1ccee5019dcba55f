//! Studies: what several runs say together.
//!
//! ```text
//!                 ┌─▶ numbers   a run as named numbers, which claims, sweeps and comparisons use
//!                 ├─▶ critical  the chain of causes that the end of a run rests on, as shares of the time
//!  run, record ───┼─▶ compare   two runs or records: what changed, by how much, at which wait or work
//!                 └─▶ period    the steady period from the dependences alone, beside that of the engine
//!                 ┌─▶ whatif    each number of the machine scaled in turn, ranked by gain
//!                 ├─▶ spread    each number of the machine at the ends of its spread, as an interval of the time
//!  a function ────┼─▶ sweep     one run for each point of a grid: shards, resuming, joining of parts
//!  that runs      └─▶ clock     the clock that a run keeps under its tensor load
//! ```
//!
//! # Tour
//!
//! Nothing here reads a file, a clock, or decides what an operation means. A study receives a run, or a function that makes one, and
//! returns data; the command line shows it. [`sweep::run`] calls the function on all threads, and its result does not depend on their
//! number.
//!
//! ```
//! use warpline_study::sweep::{self, Plan};
//!
//! // The points of `warpline sweep --vary stages=2..4 --vary tile_n=64,128`: the last axis runs fastest.
//! let plan = Plan::new(vec![sweep::axis("stages=2..4")?, sweep::axis("tile_n=64,128")?])?;
//! assert_eq!(plan.len(), 6);
//! assert_eq!(plan.words(1), "stages=2 tile_n=128");
//!
//! // What-if on a kernel whose time is one L2 latency and 100 cycles of work.
//! let a100 = warpline_models::embedded("a100").expect("a built-in machine");
//! let run = |m: &warpline_sim::machine::Machine| Ok(m.get("memory.l2_latency").unwrap_or(0.0) + 100.0);
//! let rows = warpline_study::whatif::whatif(&a100, run(&a100)?, &run);
//! assert_eq!(rows[0].key, "memory.l2_latency");
//! # Ok::<(), String>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

pub mod clock;
pub mod compare;
pub mod critical;
pub mod numbers;
pub mod period;
pub mod spread;
pub mod sweep;
pub mod whatif;
