//! Repairs as text: the change that the verifier found, written into the kernel, compiled and verified again.
//!
//! ```text
//!   fault ─▶ statements that are missing altogether (missing)  ─┐
//!      ├───▶ the verifier's smallest change (spelled)          ─┼─▶ new text ─ compile, verify ─▶ Repair
//!      └───▶ barriers, memory orders and waits (last)          ─┘
//! ```
//!
//! The verifier changes operations, and copies only statements that the kernel already has. A missing statement, such
//! as the only `arrive full expect bytes(a)`, is created here.

mod last;
mod missing;
mod spelled;

use warpline_sim::ir::Program;
use warpline_verify::{Outcome, RepairReport, Suggestion, TrialSteps, Violation};

use crate::load::Subject;

/// A kernel text that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The kernel's file.
    pub file: String,
    /// The new text.
    pub text: String,
    /// The difference to the old text, as a unified diff.
    pub diff: String,
    /// The outcome of verifying the new text: proved or bounded.
    pub outcome: Outcome,
}

/// A text to try, and the change in words.
struct Attempt {
    words: String,
    text: String,
}

/// Largest number of texts that are verified.
const TRIED: usize = 96;

/// A statement that the kernel does not have, if adding it repairs the fault.
pub(crate) fn add_missing(
    subject: &Subject,
    broken: &Program,
    x: &Violation,
    steps: &mut TrialSteps,
) -> Option<(RepairReport, Repair)> {
    first_that_holds(subject, missing::attempts(kernel_text(subject)?, broken, x), steps)
}

/// A statement or a memory order that is tried after the verifier's changes.
pub(crate) fn last(
    subject: &Subject,
    broken: &Program,
    x: &Violation,
    steps: &mut TrialSteps,
) -> Option<(RepairReport, Repair)> {
    first_that_holds(subject, last::attempts(kernel_text(subject)?, broken, x), steps)
}

/// The text that a repair may change; `None` for a compiled kernel.
fn kernel_text(subject: &Subject) -> Option<&str> {
    subject.kernel_text().filter(|_| subject.imported.is_none())
}

/// The first text that is proved, else the first that holds within bounds.
fn first_that_holds(
    subject: &Subject,
    attempts: Vec<Attempt>,
    steps: &mut TrialSteps,
) -> Option<(RepairReport, Repair)> {
    let mut bounded = None;
    for (i, attempt) in attempts.into_iter().take(TRIED).enumerate() {
        let Some(repair) = tried(subject, attempt.text, steps) else { continue };
        let found = Suggestion { words: attempt.words, outcome: repair.outcome.clone(), edits: Vec::new() };
        let suggested = RepairReport { found: Some(found), tried: i + 1, limited: false };
        if repair.outcome == Outcome::Proved {
            return Some((suggested, repair));
        }
        bounded = bounded.or(Some((suggested, repair)));
    }
    bounded
}

/// The verifier's change in the text of the kernel; `None` if changes of single statements cannot express it.
pub(crate) fn spelled(
    subject: &Subject,
    broken: &Program,
    found: &Suggestion,
    steps: &mut TrialSteps,
) -> Option<Repair> {
    let attempts = spelled::attempts(kernel_text(subject)?, broken, found);
    attempts.into_iter().take(TRIED).find_map(|text| tried(subject, text, steps))
}

/// The repair with a new text, if the kernel then holds. `None` also where no steps are left.
fn tried(subject: &Subject, text: String, steps: &mut TrialSteps) -> Option<Repair> {
    if !steps.remain() {
        return None;
    }
    let old = subject.kernel_text()?;
    let new = subject.with_text(&text)?;
    if warpline_sim::engine::admit(&new.program, &new.machine).is_err() {
        return None;
    }
    let verdict = steps.verify(new.symbolic(), new.rules())?;
    if !verdict.holds() {
        return None;
    }
    let file = subject.program.file.clone();
    let diff =
        similar::TextDiff::from_lines(old, &text).unified_diff().context_radius(1).header(&file, &file).to_string();
    Some(Repair { file, text, diff, outcome: verdict.outcome })
}
