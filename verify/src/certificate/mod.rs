//! What a verdict rests on: for each cell of the grid, which base cases were run, and which inductions carry them on.
//!
//! The verifier notes a [`Decided`] where it decides a cell. [`evidence`] adds to these the places at which the longer runs
//! of each lockstep comparison make their periods alone, so that a checker need not look for them.

mod basis;

pub use basis::{Decided, Induction, Line, Order, Part, What};
