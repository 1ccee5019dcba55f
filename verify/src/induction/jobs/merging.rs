//! Numbers of jobs after which states between jobs may be one.

use std::sync::{Mutex, PoisonError};

use warpline_sim::ir::lcm;

use crate::induction::jobs::compare::ONE_JOB;
use crate::induction::shift_invariance::Conditions;

/// Which numbers of jobs can lead to one state. A comparison with a constant changes after some jobs, and a remainder of
/// the job has a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Merging {
    /// States after fewer jobs are one only if as many jobs lead to them.
    pub(super) from: i64,
    /// The distance in jobs of other states that are one is a multiple of this number.
    pub(super) period: i64,
}

impl Merging {
    /// As many states as possible. A launch of one job ends in a way of its own.
    pub(super) const MOST: Merging = Merging { from: ONE_JOB + 1, period: 1 };

    /// Whether states after these numbers of jobs may be one.
    pub(super) fn may(&self, first: i64, other: i64) -> bool {
        first == other || first >= self.from && (other - first) % self.period == 0
    }

    /// What a failed comparison of states of different numbers of jobs asks for.
    pub(super) fn with(self, conditions: &Mutex<Conditions>, (from, to): (i64, i64)) -> Merging {
        let conditions = conditions.lock().unwrap_or_else(PoisonError::into_inner);
        let by = (to - from).abs().max(1);
        // Beyond the limit, it does not matter how far.
        let far = |jobs: i64| jobs.min(MOST_JOBS + 1);
        let moduli = conditions.moduli.iter().map(|m| far(m.saturating_mul(by)));
        let period = moduli.fold(self.period, |all, m| far(lcm(all, m)));
        let crossed = conditions.crossings.iter().map(|k| from + far(k.saturating_mul(by)) + 1);
        Merging { from: crossed.fold(self.from, i64::max), period }
    }

    /// What both ask for.
    pub(super) fn and(self, other: Merging) -> Merging {
        Merging { from: self.from.max(other.from), period: lcm(self.period, other.period) }
    }

    /// Whether this needs few states.
    pub(super) fn is_small(&self) -> bool {
        self.from <= MOST_JOBS && self.period <= MOST_JOBS
    }
}

/// Largest number of jobs after which states may be one, and largest distance.
const MOST_JOBS: i64 = 24;
