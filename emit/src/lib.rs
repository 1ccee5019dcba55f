//! Writes kernels as source text for real devices: CUDA C++, HIP C++ and Metal.
//!
//! ```text
//!  Program ──tree──▶ blocks ──writer──▶ one file: a header of operations, the kernel, a reference, the harness
//!  (flat code)                 ▲
//!                              │
//!      block, place, moves, addresses, carried, math, reference, layout      shared by all targets
//!      cuda/  hip/  metal/                                                   one folder for each (`writer::Target`)
//! ```
//!
//! # Tour
//!
//! A file is self-contained and has four parts:
//!
//! * a header with one function for each instruction (`cuda/operations.cuh`, `hip/operations.h`, `metal/head.metal`; `device.h` has
//!   agents, buffers and tiles for CUDA and HIP);
//! * the kernel, with the roles, loops, barriers and counts of the program;
//! * a *reference* kernel, which walks the same text without synchronization and takes every operand from where the text says it comes
//!   from;
//! * a harness (`harness.h`, `harness.swift`), which runs both and compares their outputs.
//!
//! [`cuda()`], [`hip()`] and [`metal()`] write a file. A statement that the target lacks, or that is not supported, is an [`Unsupported`]
//! with its place. Nothing is approximated. No device and no compiler is needed.
//!
//! ```
//! use std::collections::BTreeMap;
//! use warpline_scenarios::{Inputs, compile, embedded_kernel};
//!
//! let (file, text) = embedded_kernel("hopper/tma_wgmma").expect("a built-in kernel");
//! let set = BTreeMap::from(["m", "n", "k"].map(|name| (name.to_string(), 256)));
//! let program = compile(file, text, &Inputs { set: &set, cores: Some(132) }).expect("the kernel compiles");
//! let source = warpline_emit::cuda(&program, &program)?;
//! assert!(source.contains("__global__"));
//! # Ok::<(), warpline_emit::Unsupported>(())
//! ```

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
    /// Place of the statement, an index into [`Program::sites`].
    pub site: SiteId,
    /// File of the statement.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// Text of the statement.
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
