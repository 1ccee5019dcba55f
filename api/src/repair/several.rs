//! Repairs of several mistakes, some of which are statements that the kernel does not have.
//!
//! The verifier's own search changes one operation after another. It cannot add a statement that is missing altogether.
//! Here such a statement is added to the text, and if some fault is then gone, the search goes on with the new text.

use std::collections::BTreeSet;

use warpline_verify::{RepairReport, Suggestion, TrialSteps, Violation};

use super::{Fault, Repair, admitted, at_fault, kernel_text, missing, one_change, spelled};
use crate::load::Subject;

/// Largest number of missing statements that are added.
pub(super) const MISSING: usize = 2;
/// Largest number of statements that are tried in one text, nearest to the fault first.
const TRIED: usize = 12;

/// Several changes that repair a kernel together, and their text; `missing` statements may be among them.
pub(super) fn search(
    subject: &Subject,
    (x, broken): Fault<'_>,
    steps: &mut TrialSteps,
    missing: usize,
) -> (RepairReport, Option<Repair>) {
    let kernels = (subject.symbolic(), broken);
    let found = warpline_verify::suggest_several(kernels, subject.rules(), x, &|p| admitted(subject, p), steps);
    if found.found.is_some() {
        return (found, None);
    }
    let mut tried = found.tried;
    let attempts = kernel_text(subject).filter(|_| missing > 0).map(|text| missing::attempts(text, broken, x));
    for attempt in attempts.into_iter().flatten().take(TRIED) {
        let Some(new) = subject.with_text(&attempt.text).filter(|new| admitted(new, &new.program)) else { continue };
        tried += 1;
        let Some(verdict) = steps.verify(new.symbolic(), new.rules()) else { break };
        let next = verdict.violation.filter(|y| some_is_gone(x, y)).and_then(|y| Some((at_fault(&new, &y)?, y)));
        let Some((broken, y)) = next else { continue };
        let (mut report, mut repair) = one_change(&new, (&y, &broken), &[], steps);
        if report.found.is_none() {
            let more = search(&new, (&y, &broken), steps, missing - 1);
            (report, repair) = (RepairReport { tried: report.tried + more.0.tried, ..more.0 }, more.1);
        }
        tried += report.tried;
        let Some(found) = report.found else { continue };
        let repair = repair.or_else(|| spelled(&new, &broken, &found, steps));
        if let (Some(repair), Some(old)) = (repair, kernel_text(subject)) {
            let words = format!("{}; and {}", attempt.words, found.words);
            let found = Suggestion { words, outcome: repair.outcome.clone(), edits: Vec::new() };
            let repair = Repair::of(&repair.file, old, repair.text, repair.outcome);
            return (
                RepairReport { found: Some(found), tried, limited: report.limited, undecided: None },
                Some(repair),
            );
        }
    }
    (RepairReport { tried, ..found }, None)
}

/// Whether a change took away a fault, and led to no hang where there was none.
fn some_is_gone(before: &Violation, now: &Violation) -> bool {
    let text = |x: &Violation, site: u32| x.sites.get(site as usize).map(|s| s.text.clone());
    let faults = |x: &Violation| -> BTreeSet<_> {
        let found = x.findings.iter().filter(|f| !f.note).map(|f| (f.code.id(), text(x, f.site)));
        found.chain(x.hang.iter().map(|w| (w.code.id(), text(x, w.site)))).collect()
    };
    (now.hang.is_empty() || !before.hang.is_empty()) && !faults(before).is_subset(&faults(now))
}
