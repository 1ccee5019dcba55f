//! Generated loops.
