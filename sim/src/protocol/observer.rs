//! Reports of what steps and landings do, beside their results.

use std::cell::RefCell;

use super::eval::Decision;
use super::world::WaitTarget;

/// Receives what a step or a landing did, in order, once it is done.
pub trait Observer {
    /// An object changed that agents may wait for.
    fn changed(&mut self, on: WaitTarget);

    /// Whether to report accesses.
    fn wants_accesses(&self) -> bool {
        false
    }

    /// A piece was read or written.
    fn accessed(&mut self, _piece: u32, _write: bool) {}

    /// Whether to report decisions.
    fn wants_decisions(&self) -> bool {
        false
    }

    /// A number decided something.
    fn decided(&mut self, _decision: Decision) {}
}

/// Ignores all reports.
impl Observer for () {
    fn changed(&mut self, _on: WaitTarget) {}
}

/// Lists the objects that changed.
impl Observer for Vec<WaitTarget> {
    fn changed(&mut self, on: WaitTarget) {
        self.push(on);
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
    fn changed(&mut self, on: WaitTarget) {
        self.changed.push(on);
    }

    fn wants_accesses(&self) -> bool {
        self.accesses.is_some()
    }

    fn accessed(&mut self, piece: u32, write: bool) {
        self.accesses.iter_mut().for_each(|list| list.push((piece, write)));
    }

    fn wants_decisions(&self) -> bool {
        self.decisions.is_some()
    }

    fn decided(&mut self, decision: Decision) {
        self.decisions.iter_mut().for_each(|list| list.push(decision));
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
    pub(super) fn begin(&mut self, observer: &impl Observer) {
        (self.wants_accesses, self.wants_decisions) = (observer.wants_accesses(), observer.wants_decisions());
    }

    /// The step is done: reports it.
    pub(super) fn report(&mut self, observer: &mut impl Observer) {
        self.changed.drain(..).for_each(|on| observer.changed(on));
        self.accesses.drain(..).for_each(|(piece, write)| observer.accessed(piece, write));
        self.decisions.get_mut().drain(..).for_each(|decision| observer.decided(decision));
        (self.wants_accesses, self.wants_decisions) = (false, false);
    }

    pub(super) fn changed(&mut self, on: WaitTarget) {
        self.changed.push(on);
    }

    pub(super) fn accessed(&mut self, piece: usize, write: bool) {
        if self.wants_accesses {
            self.accesses.push((piece as u32, write));
        }
    }

    pub(super) fn decided(&self, decision: Decision) {
        if self.wants_decisions {
            self.decisions.borrow_mut().push(decision);
        }
    }

    /// The list of decisions, if the observer wants them.
    pub(super) fn decisions(&self) -> Option<&RefCell<Vec<Decision>>> {
        self.wants_decisions.then_some(&self.decisions)
    }
}
