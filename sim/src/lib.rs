//! The operations of GPU software pipelines, their semantics, and a discrete-event engine that times them.

pub mod diag;
pub mod ir;
pub mod machine;
pub mod protocol;
pub mod report;
pub mod timeline;

pub use report::{Report, RunError, RunOptions};

/// Runs a kernel on a machine at `core` fidelity: the cores of one cluster, with all their resident CTAs
/// and a fair share of the caches and of DRAM.
///
/// # Errors
/// When the machine lacks a number or a feature the kernel needs, or no CTA fits.
pub fn run(_program: &ir::Program, machine: &machine::Machine, _options: &RunOptions) -> Result<Report, RunError> {
    Err(RunError::Unsupported { message: format!("the engine does not run on {} yet", machine.name), site: None })
}
