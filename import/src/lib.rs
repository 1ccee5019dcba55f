//! Reads compiled GPU kernels and lifts their pipelines to [`warpline_sim::ir::Program`].
//!
//! ```text
//!   k.ptx ──ptx──▶ instructions ──flow──▶ blocks, loops ──symbolic──▶ one tree of operations a warp ──lift──▶ Program
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `ptx` | reads PTX text: instructions with modifiers as a set, scopes, source lines |
//! | `flow` | basic blocks, dominators, post-dominators, natural loops |
//! | `symbolic` | values per lane: affine forms over arguments, coordinates and loop counters |
//! | `lift` | walks each warp's control flow, recovers loops, rings, barriers and slots, and builds the program |
//!
//! What is not understood is an error with its line, or an assumption that [`lift::Lifted`] lists.

pub mod flow;
pub mod lift;
pub mod ptx;
pub mod symbolic;
pub mod text;
