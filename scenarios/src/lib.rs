//! The kernel language (`.pipe`) and the scenario files (`.toml`).
//!
//! ```text
//!  kernel.pipe ──lex──▶ tokens ──parse──▶ tree ──lower──▶ warpline_sim::ir::Program
//!                         │                 │               names, shapes, who shares a move
//!                         └──────fmt────────┘
//!  x.toml ──scenario──▶ Scenario: kernel, machine, values, claims
//! ```
//!
//! [`compile`] lowers a kernel with values for its parameters to a [`Program`]. [`format()`] formats a kernel and
//! [`parameters`] lists its parameters. [`scenario`] reads a scenario, [`evaluate`] computes the expression of a claim,
//! and [`embedded`] finds the scenarios that come with the program. The crate reads no file. Each loader reports every
//! error of its text at once, as [`Diagnostic`]s with places. `docs/language.md` describes the language.
//!
//! ```
//! use std::collections::BTreeMap;
//! use warpline_scenarios::{Inputs, compile};
//!
//! let text = "\
//! kernel copy(m, stages = 2)
//!   warps 4   grid cdiv(m, 64)
//!   global A: f16[m, 32]
//!   shared a[stages]: f16[64, 32]
//!   all: load A[cta.m, 0] -> a[0];  barrier
//! ";
//! let set = BTreeMap::from([("m".to_string(), 256)]);
//! let program = compile("copy.pipe", text, &Inputs { set: &set, cores: None }).unwrap();
//! assert_eq!((program.grid.m, program.value("stages")), (4, Some(2)));
//!
//! let errors = compile("copy.pipe", &text.replace("barrier", "barier"), &Inputs { set: &set, cores: None }).unwrap_err();
//! assert_eq!(errors[0].help.as_deref(), Some("did you mean `barrier`?"));
//! ```

mod ast;
mod evaluate;
mod expect;
mod fmt;
mod lex;
mod library;
mod lower;
pub mod mnemonics;
pub mod outline;
mod parse;
pub mod pipeline;
mod scenario;
mod suggest;
pub mod words;

use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;

use parse::Parsed;

pub use evaluate::evaluate;
pub use expect::Expect;
pub use fmt::format;
pub use library::{embedded, embedded_kernel, embedded_kernel_names, embedded_kernel_of, embedded_names, suggestion};
pub use lower::{NO_VALUE, Parameter, parameters};
pub use scenario::{Beside, Claim, Scenario, Verdict, is_scenario, scenario};

/// The values that a kernel is compiled with.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Values of parameters; a missing parameter takes its default.
    pub set: &'a BTreeMap<String, i64>,
    /// Number of cores of the machine, for kernels that read `cores`.
    pub cores: Option<i64>,
}

/// A parsed kernel, which can be compiled many times with different values.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use warpline_scenarios::{Inputs, Text};
/// let text = Text::read("copy.pipe", "kernel copy(m)\n  warps 1   grid m\n  all: barrier\n");
/// let grid = |m: i64| {
///     let set = BTreeMap::from([("m".to_string(), m)]);
///     text.compile(&Inputs { set: &set, cores: None }).unwrap().grid.m
/// };
/// assert_eq!((grid(3), grid(5)), (3, 5));
/// ```
pub struct Text {
    file: String,
    text: String,
    parsed: Parsed,
}

impl Text {
    /// Parses a kernel; compilation reports its errors.
    pub fn read(file: &str, text: &str) -> Text {
        Text { file: file.to_string(), text: text.to_string(), parsed: parse::parse(file, text) }
    }

    /// Checks a kernel and binds its parameters.
    ///
    /// `pipelined` loops are expanded for the machine that the kernel needs; see [`Text::compile_for`].
    pub fn compile(&self, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
        self.compiled(inputs, None, &BTreeMap::new())
    }

    /// [`Text::compile`] for a machine of an architecture (`sm_90a`): `pipelined` loops use the best mechanism of that
    /// architecture.
    pub fn compile_for(&self, arch: &str, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
        self.compiled(inputs, Some(arch), &BTreeMap::new())
    }

    /// [`Text::compile`] with other values of some header `let`s than the text gives, as if these were parameters. A
    /// verifier uses this for loops whose trip count is such a value.
    pub fn compile_given(&self, inputs: &Inputs, given: &BTreeMap<String, i64>) -> Result<Program, Vec<Diagnostic>> {
        self.compiled(inputs, None, given)
    }

    /// The kernel for all values of the parameters that only count. These stay symbols
    /// ([`Program::symbols`](warpline_sim::ir::Program::symbols)) with the given values. `pipelined` loops are expanded
    /// as in [`Text::compile`].
    pub fn compile_symbolic(&self, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
        self.symbolic(inputs, None)
    }

    /// [`Text::compile_symbolic`] for a machine of an architecture, as in [`Text::compile_for`].
    pub fn compile_symbolic_for(&self, arch: &str, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
        self.symbolic(inputs, Some(arch))
    }

    fn symbolic(&self, inputs: &Inputs, arch: Option<&str>) -> Result<Program, Vec<Diagnostic>> {
        let Text { file, text, parsed } = self;
        let (_, loops) = lower::lower(file, text, parsed, inputs, &BTreeMap::new())?;
        if loops.is_empty() {
            return lower::lower_symbolic(file, text, parsed, inputs);
        }
        let expanded = pipeline::expand_parsed(
            file,
            text,
            parsed,
            inputs,
            &pipeline::PassOptions { arch, ..pipeline::PassOptions::default() },
        )?;
        let file = pipeline::expanded_name(file);
        let parsed = parse::parse(&file, &expanded.text);
        lower::lower_symbolic(&file, &expanded.text, &parsed, inputs)
    }

    fn compiled(
        &self,
        inputs: &Inputs,
        arch: Option<&str>,
        given: &BTreeMap<String, i64>,
    ) -> Result<Program, Vec<Diagnostic>> {
        let Text { file, text, parsed } = self;
        let (program, loops) = lower::lower(file, text, parsed, inputs, given)?;
        if loops.is_empty() {
            return Ok(program);
        }
        let ask = pipeline::PassOptions { arch, ..pipeline::PassOptions::default() };
        let expanded = pipeline::expand_parsed(file, text, parsed, inputs, &ask)?;
        let file = pipeline::expanded_name(file);
        let parsed = parse::parse(&file, &expanded.text);
        Ok(lower::lower(&file, &expanded.text, &parsed, inputs, given)?.0)
    }
}

/// [`Text::compile`] for a text that is compiled once.
pub fn compile(file: &str, text: &str, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
    Text::read(file, text).compile(inputs)
}

/// [`Text::compile_for`] for a text that is compiled once.
pub fn compile_for(arch: &str, file: &str, text: &str, inputs: &Inputs) -> Result<Program, Vec<Diagnostic>> {
    Text::read(file, text).compile_for(arch, inputs)
}
