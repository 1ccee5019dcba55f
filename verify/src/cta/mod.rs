//! CTAs: cells of the grid whose CTAs all make the same run, and the decision of one cell.

pub(crate) mod base_cases;
pub(crate) mod cells;
pub(crate) mod class;
pub(crate) mod class_run;
mod many_turns;
pub(crate) mod shared_jobs;
pub(crate) mod singled_out;
