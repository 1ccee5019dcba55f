//! Shifts: by how much the numbers of one state between jobs exceed those of another that is equal but for them.

use std::collections::BTreeSet;

use warpline_sim::protocol::{Entry, Family, Snapshot};

/// The difference of each variable and coordinate of two states that are equal up to a shift. The order of clocks is the
/// same in both states, and clocks decide nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shift(Vec<i64>);

impl Shift {
    pub(super) fn of(from: &Snapshot, to: &Snapshot) -> Shift {
        let numbers = from.entries.iter().zip(&to.entries).filter_map(|pair| match pair {
            (Entry::Count(Family::Variable | Family::Tile, a), Entry::Count(_, b)) => Some(b.wrapping_sub(*a)),
            _ => None,
        });
        Shift(numbers.collect())
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.iter().all(|by| *by == 0)
    }

    /// Whether this shift is the other one, so many times.
    fn is_multiple_of(&self, other: &Shift) -> bool {
        let Some(at) = other.0.iter().position(|by| *by != 0) else { return self.is_none() };
        let times = self.0[at] / other.0[at];
        times >= 0 && self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| *a == b * times)
    }

    fn minus(&self, other: &Shift) -> Shift {
        Shift(self.0.iter().zip(&other.0).map(|(a, b)| a.wrapping_sub(*b)).collect())
    }
}

/// Shifts of which no decision depends, and with them every sum of multiples of them.
#[derive(Debug, Default)]
pub(super) struct Shifts {
    known: BTreeSet<Shift>,
}

impl Shifts {
    /// Whether a shift is a sum of at most two multiples of known ones.
    pub(super) fn cover(&self, shift: &Shift) -> bool {
        let multiple = |of: &Shift| self.known.iter().any(|known| of.is_multiple_of(known));
        shift.is_none() || multiple(shift) || self.known.iter().any(|known| multiple(&shift.minus(known)))
    }

    pub(super) fn add(&mut self, shift: Shift) {
        self.known.insert(shift);
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
