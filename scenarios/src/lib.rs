//! The kernel language and the scenario files.
use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;

mod ast;
mod fmt;
mod lex;
mod library;
mod lower;
mod parse;
mod scenario;
mod suggest;

pub use fmt::format;
pub use library::{embedded, embedded_kernel, embedded_kernel_names, embedded_kernel_of, embedded_names, suggestion};
pub use lower::{Parameter, parameters};
pub use scenario::{Beside, Claim, Scenario, Verdict, scenario};

/// Values a kernel is compiled with.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Values of parameters.
    pub set: &'a BTreeMap<String, i64>,
    /// Cores of the machine, for kernels that ask (`cores`).
    pub cores: Option<i64>,
}

/// Reads and checks a kernel and binds its parameters; on failure every error of the file.
pub fn compile(file: &str, text: &str, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
    lower::lower(file, text, parse::parse(file, text), inputs)
}
