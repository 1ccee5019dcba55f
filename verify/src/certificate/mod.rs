//! The basis of a verdict: for each cell of the grid, its base cases and the inductions that extend them.
//!
//! The verifier records a [`DecidedCell`] for each decided cell. [`insertions`] are the places where the longer run of
//! a lockstep comparison makes its periods alone, so that a checker need not search for them.

mod basis;
mod insertion;

pub use basis::{Conclusion, DecidedCell, Induction, Line, Order, TripRegion};
pub use insertion::{Insertion, insertions, varied};
