//! What a verdict rests on: for each cell of the grid, which base cases were run, and which inductions carry them on.
//!
//! The verifier notes a [`DecidedCell`] where it decides a cell. [`insertions`] are the places at which the longer run of a
//! lockstep comparison makes its periods alone, so that a checker need not look for them.

mod basis;
mod insertion;

pub use basis::{Conclusion, DecidedCell, Induction, Line, Order, TripRegion};
pub use insertion::{Insertion, insertions, varied};
