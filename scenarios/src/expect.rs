//! The verdict that a scenario expects of `verify`.

use warpline_sim::report::FindingKind;

/// The expected verdict of a scenario (`expect = "WAR race"`). A scenario without one must hold: proved, or bounded
/// without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Proved for every trip count; a bounded verdict is not enough.
    Proved,
    /// Violated by any fault.
    Violated,
    /// Violated, with a fault of this kind in the first run that has faults.
    Fault(FindingKind),
}

impl Expect {
    /// The expectation of this name.
    pub fn named(name: &str) -> Option<Expect> {
        Expect::all().find(|e| e.name() == name)
    }

    /// The word in scenarios and reports.
    pub fn name(self) -> &'static str {
        match self {
            Expect::Proved => "proved",
            Expect::Violated => "violated",
            Expect::Fault(kind) => kind.name(),
        }
    }

    /// Every expectation that a scenario can have.
    pub fn all() -> impl Iterator<Item = Expect> {
        [Expect::Proved, Expect::Violated].into_iter().chain(FindingKind::ALL.map(Expect::Fault))
    }
}
