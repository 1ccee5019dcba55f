//! The analysis of one text, in a process of its own: a job on the input, a line of JSON for each stage on the output.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use warpline_api::ProofOptions;
use warpline_api::editor::{Checked, KernelText, Measured, Proved, check, measure, prove};

/// Largest number of events of a run; the time limit usually ends a long run before.
const EVENTS: u64 = 20_000_000;

/// Largest memory use of a verification, in bytes.
const MEMORY: u64 = 1 << 30;

/// A text to analyze.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The kernel.
    pub kernel: KernelText,
    /// Whether to run the kernel.
    pub run: bool,
    /// Whether to verify the kernel.
    pub verify: bool,
}

/// A finished stage of an analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    /// The checker.
    Check(Checked),
    /// The run.
    Run(Measured),
    /// The proof.
    Verify(Proved),
}

/// The part of an analysis, for limits and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The checker.
    Check,
    /// The run.
    Run,
    /// The proof.
    Verify,
}

impl Part {
    /// The word for displays.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Part::Check => "the check",
            Part::Run => "the run",
            Part::Verify => "the verification",
        }
    }
}

impl Job {
    /// The parts of the job, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let all = [(Part::Check, true), (Part::Run, self.run), (Part::Verify, self.verify)];
        all.into_iter().filter(|p| p.1).map(|p| p.0).collect()
    }
}

/// Reads a job, one line, and writes a line of JSON for each finished stage. A text with errors ends after the first.
/// The process ends when its input closes, which also happens when the server is killed.
///
/// # Errors
/// A job that is not readable, or streams that are closed.
pub fn analyze(mut input: impl BufRead + Send + 'static, output: &mut dyn Write) -> std::io::Result<()> {
    let mut text = String::new();
    input.read_line(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    std::thread::spawn(move || {
        // Nothing follows the job, so this returns at the end of the input.
        let _ = input.read_line(&mut String::new());
        std::process::exit(0);
    });
    let mut write = |stage: Stage| {
        let line = serde_json::to_string(&stage)?;
        writeln!(output, "{line}")?;
        output.flush()
    };
    let (checked, subject) = check(&job.kernel);
    write(Stage::Check(checked))?;
    let Some(subject) = subject else { return Ok(()) };
    if job.run {
        write(Stage::Run(measure(&job.kernel, &subject, EVENTS)))?;
    }
    if job.verify {
        let options = ProofOptions { max_memory: MEMORY, ..ProofOptions::default() };
        write(Stage::Verify(prove(&job.kernel, &subject, &options)))?;
    }
    Ok(())
}
