//! CTAs: cells of the grid whose CTAs all make the same run, and the verdict on one of them.

pub(crate) mod cells;
pub(crate) mod class;
