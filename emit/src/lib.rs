//! Kernels as source text for real devices.
//!
//! ```text
//!  Program ──tree──▶ blocks ──writer──▶ one file: a header of operations, the kernel, a reference, the harness
//!  (flat code)                 ▲          the same roles, loops, barriers and counts as the semantics have
//!                              │
//!      block, place, moves, addresses, carried, math, reference, layout      what all targets share
//!      cuda/  hip/  metal/                               what each does its own way (`writer::Target`)
//! ```
//!
//! A file is self-contained. The kernel's operations are calls into a small header (`cuda/operations.cuh`,
//! `hip/operations.h`, `metal/head.metal`), one function an instruction; what CUDA and HIP know of agents, buffers and tiles is
//! `device.h`. A second
//! kernel, `reference`, walks the same text without synchronisation and takes every operand from where the text says it
//! comes from; the harness (`harness.h`, of Metal `harness.swift`) holds the outputs of the one against the other. What has no meaning on the
//! target, or is not written yet, is an [`Unsupported`] with its place; nothing is approximated.
//!
//! Nothing here needs a device or a compiler.

mod addresses;
mod block;
mod carried;
mod cpp;
mod cuda;
mod expr;
mod hip;
mod layout;
mod math;
mod metal;
mod moves;
mod place;
mod reference;
mod registers;
mod tree;
mod writer;

use warpline_sim::ir::{Pc, Program, SiteId};

pub use cuda::cuda;
pub use hip::hip;
pub use metal::{MetalText, metal};

/// A statement that cannot be written for the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: `{text}`: {why}")]
pub struct Unsupported {
    /// The statement's place, an index into [`Program::sites`].
    pub site: SiteId,
    /// File of the statement.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// What is missing.
    pub why: String,
}

impl Unsupported {
    fn at(prog: &Program, pc: Pc, why: impl Into<String>) -> Unsupported {
        let s = prog.site(pc);
        let site = prog.at[pc as usize];
        Unsupported { site, file: s.file.clone(), line: s.line, text: s.text.clone(), why: why.into() }
    }
}
