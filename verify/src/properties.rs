//! A verdict for each property, from the one of the kernel.

use warpline_sim::report::FindingKind;

use crate::{Outcome, Verdict};

/// A property and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// `proved`, `bounded`, `violated`, `undecided` (another was violated first), `gave up`.
    pub verdict: &'static str,
}

/// Properties with the kinds of finding that violate them.
const TABLE: [(&str, &[FindingKind]); 14] = [
    ("deadlock", &[FindingKind::Deadlock]),
    ("RAW race", &[FindingKind::Raw]),
    ("WAR race", &[FindingKind::War]),
    ("WAW race", &[FindingKind::Waw]),
    ("stale tile", &[FindingKind::Stale]),
    ("slot invariant", &[FindingKind::Raw, FindingKind::War, FindingKind::Waw, FindingKind::Stale]),
    ("parity alias", &[FindingKind::ParityAlias]),
    ("transaction bytes", &[FindingKind::TxBytes]),
    ("arrival count", &[FindingKind::ArrivalCount]),
    ("divergent barrier", &[FindingKind::Divergent]),
    ("missing fence", &[FindingKind::Fence]),
    ("life cycle", &[FindingKind::LifeCycle, FindingKind::Scope]),
    ("coverage", &[FindingKind::Coverage]),
    ("range", &[FindingKind::Range]),
];

/// The properties of a verdict, in a fixed order.
pub fn properties(v: &Verdict) -> Vec<Property> {
    let violated = |kinds: &[FindingKind]| {
        v.violation.as_ref().is_some_and(|x| {
            x.findings.iter().any(|f| kinds.contains(&f.kind))
                || (!x.hang.is_empty() && kinds.contains(&FindingKind::Deadlock))
        })
    };
    let of = |kinds| match v.outcome {
        Outcome::Proved => "proved",
        Outcome::Bounded { .. } => "bounded",
        Outcome::Violated if violated(kinds) => "violated",
        Outcome::Violated => "undecided",
        Outcome::GaveUp { .. } => "gave up",
    };
    TABLE.iter().map(|(name, kinds)| Property { name, verdict: of(kinds) }).collect()
}
