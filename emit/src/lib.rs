//! Kernels as source text for real devices.
//!
//! ```text
//!  Program ──tree──▶ blocks ──cuda──▶ one .cu file: our header of operations, the kernel, a reference, the harness
//!  (flat code)                          the same roles, loops, barriers and counts as the semantics have
//! ```
//!
//! [`cuda`] writes one self-contained file. The kernel's operations are calls into a small header
//! (`src/cuda/warpline.cuh`), one function a PTX instruction. A second kernel, `reference`, walks the same text without
//! synchronisation and takes every operand from where the text says it comes from; the harness
//! (`src/cuda/harness.cuh`) holds the outputs of the one against the other. What has no meaning on the target, or is not
//! written yet, is an [`Unsupported`] with its place; nothing is approximated.
//!
//! Nothing here needs a device or a compiler.

mod cuda;
mod expr;
mod registers;
mod tree;

use warpline_sim::ir::{Pc, Program};

pub use cuda::cuda;

/// A statement that cannot be written for the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: `{text}`: {why}")]
pub struct Unsupported {
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
        Unsupported { file: s.file.clone(), line: s.line, text: s.text.clone(), why: why.into() }
    }
}
