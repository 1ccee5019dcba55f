//! Reports of what steps and landings do, beside their results.

use super::vocabulary::{Decision, WaitTarget};
use std::cell::RefCell;

/// Receives what a step or a landing did, in order, once it is done. What did not happen is not reported.
pub trait Observer {
    /// Objects changed that agents may wait for.
    fn changed(&mut self, on: &[WaitTarget]);

    /// Whether to report accesses.
    fn wants_accesses(&self) -> bool {
        false
    }

    /// Pieces were read, or written where the flag is set.
    fn accessed(&mut self, _pieces: &[(u32, bool)]) {}

    /// Whether to report decisions.
    fn wants_decisions(&self) -> bool {
        false
    }

    /// Numbers decided something.
    fn decided(&mut self, _decisions: &[Decision]) {}
}

/// Ignores all reports.
impl Observer for () {
    fn changed(&mut self, _on: &[WaitTarget]) {}
}

/// Lists the objects that changed.
impl Observer for Vec<WaitTarget> {
    fn changed(&mut self, on: &[WaitTarget]) {
        self.extend_from_slice(on);
    }
}

/// Lists of what steps and landings did, for a caller that looks at them later.
#[derive(Clone, Debug, Default)]
pub struct StepRecord {
    /// Objects that changed and that agents may wait for.
    pub changed: Vec<WaitTarget>,
    /// Pieces accessed, and whether each was written; `None` to record none.
    pub accesses: Option<Vec<(u32, bool)>>,
    /// Decisions; `None` to record none.
    pub decisions: Option<Vec<Decision>>,
}

impl StepRecord {
    /// Records decisions from now on, starting with none.
    pub fn record_decisions(&mut self) {
        self.decisions.get_or_insert_default().clear();
    }

    /// Forgets the decisions recorded so far.
    pub fn clear_decisions(&mut self) {
        self.decisions.iter_mut().for_each(Vec::clear);
    }

    /// Takes the accesses recorded so far.
    pub fn take_accesses(&mut self) -> Vec<(u32, bool)> {
        self.accesses.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Observer for StepRecord {
    fn changed(&mut self, on: &[WaitTarget]) {
        self.changed.extend_from_slice(on);
    }

    #[inline]
    fn wants_accesses(&self) -> bool {
        self.accesses.is_some()
    }

    fn accessed(&mut self, pieces: &[(u32, bool)]) {
        self.accesses.iter_mut().for_each(|list| list.extend_from_slice(pieces));
    }

    #[inline]
    fn wants_decisions(&self) -> bool {
        self.decisions.is_some()
    }

    fn decided(&mut self, decisions: &[Decision]) {
        self.decisions.iter_mut().for_each(|list| list.extend_from_slice(decisions));
    }
}

/// What the current step or landing did so far; empty between steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    changed: Vec<WaitTarget>,
    wants_accesses: bool,
    accesses: Vec<(u32, bool)>,
    wants_decisions: bool,
    /// Expressions are evaluated behind a shared reference.
    decisions: RefCell<Vec<Decision>>,
}

impl Journal {
    /// A step begins.
    #[inline]
    pub(super) fn begin(&mut self, observer: &impl Observer) {
        (self.wants_accesses, self.wants_decisions) = (observer.wants_accesses(), observer.wants_decisions());
    }

    /// The step is done: reports it.
    #[inline]
    pub(super) fn report(&mut self, observer: &mut impl Observer) {
        if !self.changed.is_empty() {
            observer.changed(&self.changed);
            self.changed.clear();
        }
        if self.wants_accesses && !self.accesses.is_empty() {
            observer.accessed(&self.accesses);
            self.accesses.clear();
        }
        if self.wants_decisions {
            let decisions = self.decisions.get_mut();
            observer.decided(decisions);
            decisions.clear();
        }
        (self.wants_accesses, self.wants_decisions) = (false, false);
    }

    #[inline]
    pub(super) fn changed(&mut self, on: WaitTarget) {
        self.changed.push(on);
    }

    #[inline]
    pub(super) fn accessed(&mut self, piece: usize, write: bool) {
        if self.wants_accesses {
            self.accesses.push((piece as u32, write));
        }
    }

    #[inline]
    pub(super) fn decided(&self, decision: Decision) {
        if self.wants_decisions {
            self.decisions.borrow_mut().push(decision);
        }
    }

    /// The list of decisions, if the observer wants them.
    #[inline]
    pub(super) fn decisions(&self) -> Option<&RefCell<Vec<Decision>>> {
        self.wants_decisions.then_some(&self.decisions)
    }
}
