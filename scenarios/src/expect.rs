//! What a scenario expects `verify` to say.

use warpline_sim::report::FindingKind;

/// The verdict a scenario expects (`expect = "WAR race"`). Without one it is to hold, in whatever range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Proved for every trip count; less is not enough.
    Proved,
    /// Violated, in whatever way.
    Violated,
    /// Violated, with a fault of this kind among those of the first run that shows any.
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

    /// All that a scenario can expect.
    pub fn all() -> impl Iterator<Item = Expect> {
        [Expect::Proved, Expect::Violated].into_iter().chain(FindingKind::ALL.map(Expect::Fault))
    }
}
