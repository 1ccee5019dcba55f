//! What became of a mutant, as one letter of the record.

use warpline_sim::report::FindingKind::{self, *};

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// No kernel text says that, or its machine does not run it.
    Refused,
    /// Somebody waits for ever, and nothing else was met before.
    Hangs,
    /// A fault of this kind.
    Caught(FindingKind),
    /// The verifier gave up, and a schedule drawn at random is at fault.
    Drawn,
    /// The mutant holds within the same bounds as its kernel.
    Equivalent,
    /// It holds for the trip counts tried, and the kernel it was made from for all.
    Bounded,
    /// The verifier gave up, and a search of every order finds no fault at a few trip counts.
    Searched,
    /// No fault can come of the statement in the model.
    NotHeldTo,
    /// Nothing is known.
    Undecided,
}

/// Letters of the record.
const LETTERS: [(Fate, char, &str); 22] = [
    (Fate::Refused, 'x', "refused when compiled or loaded"),
    (Fate::Hangs, 'd', "deadlock"),
    (Fate::Caught(Deadlock), 'D', "deadlock"),
    (Fate::Caught(Raw), 'R', "RAW race"),
    (Fate::Caught(War), 'W', "WAR race"),
    (Fate::Caught(Waw), 'O', "WAW race"),
    (Fate::Caught(Stale), 'T', "stale tile"),
    (Fate::Caught(ParityAlias), 'P', "parity alias"),
    (Fate::Caught(TxBytes), 'B', "transaction bytes"),
    (Fate::Caught(ArrivalCount), 'A', "arrival count"),
    (Fate::Caught(Fence), 'F', "missing fence"),
    (Fate::Caught(LifeCycle), 'L', "life cycle"),
    (Fate::Caught(Divergent), 'V', "divergent barrier"),
    (Fate::Caught(Scope), 'S', "scope"),
    (Fate::Caught(Coverage), 'C', "coverage"),
    (Fate::Caught(Range), 'G', "range"),
    (Fate::Drawn, 's', "a schedule drawn at random is at fault; the verifier gave up"),
    (Fate::Equivalent, 'e', "proved equivalent"),
    (Fate::Bounded, 'b', "holds for the trip counts tried"),
    (Fate::Searched, 'o', "no order of a few steps is at fault; the verifier gave up"),
    (Fate::NotHeldTo, 'n', "not held to"),
    (Fate::Undecided, 'u', "undecided"),
];

impl Fate {
    pub(super) fn letter(self) -> char {
        LETTERS.iter().find(|x| x.0 == self).unwrap().1
    }

    pub(super) fn of(letter: char) -> Option<Fate> {
        LETTERS.iter().find(|x| x.1 == letter).map(|x| x.0)
    }

    pub(super) fn words(self) -> &'static str {
        LETTERS.iter().find(|x| x.0 == self).unwrap().2
    }

    /// Whether the change is known to be wrong.
    pub(super) fn caught(self) -> bool {
        matches!(self, Fate::Refused | Fate::Hangs | Fate::Caught(_) | Fate::Drawn)
    }

    /// Whether it holds for fewer trip counts than the kernel it was made from.
    pub(super) fn tried(self) -> bool {
        matches!(self, Fate::Bounded | Fate::Searched)
    }

    /// Whether a run shows the fault.
    pub(super) fn met(self) -> bool {
        matches!(self, Fate::Hangs | Fate::Caught(_))
    }
}
