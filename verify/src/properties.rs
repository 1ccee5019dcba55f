//! A verdict for each property, derived from the verdict on the kernel.

use warpline_sim::code::Code;
use warpline_sim::report::FindingKind;

use crate::{Outcome, Verdict};

/// A property with its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// `proved`, `proved as assumed`, `bounded`, `violated`, `held`, `not reached`, `gave up` or `not looked at`. `proved
    /// as assumed`: an assumption of the verdict is about this property. `held`: no run up to the one with the fault
    /// violates the property. `not reached`: that run ended too early to tell. `not looked at`: a search of every order
    /// does not check the property.
    pub verdict: &'static str,
}

/// The findings that violate a property.
enum By {
    Kinds(&'static [FindingKind]),
    Codes(&'static [Code]),
}
use By::{Codes, Kinds};

impl By {
    fn holds(&self, code: Code) -> bool {
        match self {
            Kinds(kinds) => kinds.contains(&code.kind()),
            Codes(codes) => codes.contains(&code),
        }
    }
}

/// The properties, with the findings that violate them. Some are parts of others, for queries by name.
const TABLE: [(&str, By); 19] = [
    ("deadlock", Kinds(&[FindingKind::Deadlock])),
    ("trip counts", Codes(&[Code::TripCounts])),
    ("RAW race", Kinds(&[FindingKind::Raw])),
    ("WAR race", Kinds(&[FindingKind::War])),
    ("WAW race", Kinds(&[FindingKind::Waw])),
    ("stale tile", Kinds(&[FindingKind::Stale])),
    // Item i is in slot i modulo the stages when it is read, and no agent writes to the slot meanwhile.
    ("slot invariant", Kinds(&[FindingKind::Raw, FindingKind::War, FindingKind::Waw, FindingKind::Stale])),
    ("parity alias", Kinds(&[FindingKind::ParityAlias])),
    // A wait can come two phases late if another role completes phases without being held back. Where no wait can, no
    // two agents that signal each other are further apart than their rings are long.
    ("drift", Codes(&[Code::LateWait])),
    ("transaction bytes", Kinds(&[FindingKind::TxBytes])),
    ("arrival count", Kinds(&[FindingKind::ArrivalCount])),
    ("divergent barrier", Kinds(&[FindingKind::Divergent])),
    ("missing fence", Kinds(&[FindingKind::Fence])),
    ("scope", Kinds(&[FindingKind::Scope])),
    ("life cycle", Kinds(&[FindingKind::LifeCycle])),
    ("tensor memory", Codes(&[Code::NotAllocated, Code::FreedInUse, Code::AllocBalance])),
    ("in flight at exit", Codes(&[Code::ExitBytes, Code::ExitSignal, Code::ExitStore, Code::InvalInFlight])),
    ("coverage", Kinds(&[FindingKind::Coverage])),
    ("range", Kinds(&[FindingKind::Range])),
];

/// Whether an order of steps can violate the property.
fn seen(by: &By) -> bool {
    use FindingKind::*;
    match by {
        Kinds(kinds) => {
            kinds.iter().all(|k| matches!(k, Deadlock | Raw | War | Waw | TxBytes | ArrivalCount | Divergent | Range))
        }
        Codes(codes) => codes.contains(&Code::TripCounts),
    }
}

/// Whether a property concerns the end of a run, which a hanging run does not reach.
fn at_the_end(by: &By) -> bool {
    match by {
        Kinds(kinds) => kinds.iter().any(|k| matches!(k, FindingKind::Coverage | FindingKind::LifeCycle)),
        Codes(codes) => codes.iter().any(|c| matches!(c, Code::AllocBalance | Code::ExitBytes)),
    }
}

/// The properties of a verdict, in a fixed order.
pub fn properties(v: &Verdict) -> Vec<Property> {
    let violated = |by: &By| {
        v.violation.as_ref().is_some_and(|x| {
            x.findings.iter().map(|f| f.code).chain(x.hang.iter().map(|w| w.code)).any(|code| by.holds(code))
        })
    };
    let hangs = v.violation.as_ref().is_some_and(|x| !x.hang.is_empty());
    // Blocks that other values name are assumed to be inside their matrices.
    let inside = v.any_jobs.is_some() || !v.any_blocks.is_empty() || !v.chosen_blocks.is_empty();
    let of = |by| match v.outcome {
        Outcome::Proved | Outcome::Bounded { .. } if v.searched.is_some() && !seen(by) => "not looked at",
        Outcome::Proved if inside && matches!(by, Kinds(kinds) if kinds.contains(&FindingKind::Coverage)) => {
            "proved as assumed"
        }
        Outcome::Proved => "proved",
        Outcome::Bounded { .. } => "bounded",
        Outcome::Violated if violated(by) => "violated",
        Outcome::Violated if hangs && at_the_end(by) => "not reached",
        Outcome::Violated => "held",
        Outcome::GaveUp { .. } => "gave up",
    };
    TABLE.iter().map(|(name, by)| Property { name, verdict: of(by) }).collect()
}
