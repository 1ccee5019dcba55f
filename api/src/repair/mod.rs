//! Repairs as text: the change that the verifier found, written into the kernel, compiled and verified again.
//!
//! ```text
//!   fault ─▶ statements that are missing altogether (missing,  ─┐
//!      │     lives, guards), lanes, orders at counters          │
//!      ├───▶ the verifier's smallest change (spelled)          ─┼─▶ new text ─ compile, verify ─▶ Repair
//!      ├───▶ barriers and waits (last), also of a role alone   ─┤
//!      │     (meetings)                                         │
//!      ├───▶ another index of a slot (indices)                 ─┤
//!      ├───▶ several changes (verifier, several)               ─┤
//!      └───▶ conditions on sizes (wholes)                      ─┘
//! ```
//!
//! The verifier changes operations, and copies only statements that the kernel already has. A missing statement, such
//! as the only `arrive full expect bytes(a)`, is created here.

mod guards;
mod indices;
mod lanes;
mod last;
mod lives;
mod meetings;
mod missing;
mod several;
mod spelled;
mod wholes;

use warpline_sim::ir::Program;
use warpline_verify::{JobLengths, Outcome, RepairReport, Suggestion, TrialSteps, Value, Violation};

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

impl Repair {
    fn of(file: &str, old: &str, text: String, outcome: Outcome) -> Repair {
        let diff =
            similar::TextDiff::from_lines(old, &text).unified_diff().context_radius(1).header(file, file).to_string();
        Repair { file: file.to_string(), text, diff, outcome }
    }
}

/// A text to try, and the change in words.
struct Attempt {
    words: String,
    text: String,
}

/// Largest number of texts that are verified.
const TRIED: usize = 96;

/// A fault, with the kernel at its trip counts.
pub(crate) type Fault<'a> = (&'a Violation, &'a Program);

/// The kernel at the trip counts of a fault.
pub(crate) fn at_fault(subject: &Subject, x: &Violation) -> Option<Program> {
    match x.trips {
        trips if !x.lengths.is_empty() => {
            let jobs = JobLengths { lengths: &x.lengths, cluster: x.cluster, jobs: x.jobs, trips };
            warpline_verify::with_lengths(subject.symbolic(), jobs).map(|p| p.bind())
        }
        Some(_) => x.kernel(&crate::verify::trips(subject)?).map(|p| p.bind()),
        None => Some(subject.program.clone()),
    }
}

/// Searches for the smallest change that repairs a kernel, and for its text. `values` are other values of parameters to
/// try. Where no single change is found, several are tried.
pub(crate) fn search(
    subject: &Subject,
    fault: Fault<'_>,
    values: &[Value],
    steps: &mut TrialSteps,
) -> (RepairReport, Option<Repair>) {
    let found = one_change(subject, fault, values, steps);
    if found.0.found.is_some() {
        return found;
    }
    let several = several::search(subject, fault, steps, several::MISSING);
    let undecided = found.0.undecided.or(several.0.undecided);
    (RepairReport { tried: found.0.tried + several.0.tried, undecided, ..several.0 }, several.1)
}

/// A condition on the sizes that repairs a kernel, where no other change was found. `given` is the kernel with the values
/// of the user: the fault may be at others, which the condition refuses.
pub(crate) fn condition(
    given: &Subject,
    (x, broken): Fault<'_>,
    steps: &mut TrialSteps,
) -> Option<(RepairReport, Repair)> {
    by_text(given, (x, broken), wholes::attempts, steps)
}

/// A single change, or two that belong together.
fn one_change(
    subject: &Subject,
    (x, broken): Fault<'_>,
    values: &[Value],
    steps: &mut TrialSteps,
) -> (RepairReport, Option<Repair>) {
    let early: [Attempts; 3] = [lanes::attempts, last::scoped, missing::attempts];
    if let Some((suggested, repair)) = early.into_iter().find_map(|a| by_text(subject, (x, broken), a, steps)) {
        return (suggested, Some(repair));
    }
    let kernels = (subject.symbolic(), broken);
    let suggested = warpline_verify::suggest(kernels, subject.rules(), x, values, &|p| admitted(subject, p), steps);
    if suggested.found.is_some() {
        return (suggested, None);
    }
    let last: [Attempts; 3] = [last::attempts, meetings::attempts, indices::attempts];
    match last.into_iter().find_map(|attempts| by_text(subject, (x, broken), attempts, steps)) {
        Some((found, repair)) => (RepairReport { tried: suggested.tried + found.tried, ..found }, Some(repair)),
        None => (suggested, None),
    }
}

/// Whether the machine can run a program.
fn admitted(subject: &Subject, p: &Program) -> bool {
    warpline_sim::engine::admit(p, &subject.machine).is_ok()
}

/// Texts to try for a fault, in their order.
type Attempts = fn(&str, &Program, &Violation) -> Vec<Attempt>;

/// The first of these texts that repairs the fault.
fn by_text(
    subject: &Subject,
    (x, broken): Fault<'_>,
    attempts: Attempts,
    steps: &mut TrialSteps,
) -> Option<(RepairReport, Repair)> {
    first_that_holds(subject, attempts(kernel_text(subject)?, broken, x), steps)
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
        let suggested = RepairReport { found: Some(found), tried: i + 1, limited: false, undecided: None };
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
    if !admitted(&new, &new.program) {
        return None;
    }
    let verdict = steps.verify(new.symbolic(), new.rules())?;
    if !verdict.holds() {
        return None;
    }
    Some(Repair::of(&subject.program.file, old, text, verdict.outcome))
}
