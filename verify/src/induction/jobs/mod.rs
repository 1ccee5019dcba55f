//! Trip counts that differ by job: `for i in 0..n(job)`, or `for i in 0..job + 1`, inside a loop over jobs.
//!
//! ```text
//!   one_loop     jobs that run-time values choose, as one loop over their number
//!     nest         the loops and conditions around a job
//!     block_names  numbers for the blocks of jobs
//!   any_length   the kernel in which the trip count is a symbol, of any value for each job
//!   lengths      the kernel with given trip counts of the jobs of one CTA
//!   kernels      its programs, with a place between jobs where all agents meet
//!   closure      few states between jobs, and every job leads from each of them to one of them: lemma 16
//!   compare      runs of jobs side by side
//!   merging      numbers of jobs after which states may be one
//!   shifts       the ways in which a state between jobs can be shifted against the state that stands for it
//! ```

pub(crate) mod any_length;
mod block_names;
pub(crate) mod closure;
mod compare;
mod kernels;
mod lengths;
mod merging;
mod nest;
pub(crate) mod one_loop;
mod shifts;

pub use lengths::{JobLengths, with_lengths};
