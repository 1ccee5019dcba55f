//! Assertions over the arguments.
//!
//! A failed assertion is not reached. So where every launch reaches the assertion, its condition holds in every launch.
//! An assertion may be reached only under conditions, such as that a CTA has a tile. Then the program does nothing in
//! launches in which these conditions hold and the assertion does not:
//!
//! ```text
//!   if tiles > 0:            if tiles > 0:
//!     assert steps > 0         if not steps > 0:
//!     ..             becomes     end
//!                            if tiles > 0: ..
//! ```

use rustc_hash::FxHashMap;

use crate::lift::facts::idle::exits;
use crate::lift::merge::{Merged, MergedKind, Set};
use crate::lift::walk::Walk;
use crate::lift::walk::shared::Shared;
use crate::symbolic::{Atom, NO_LOOP, Term};

use super::rounded_up;

/// The assumption about traps.
const TRAPS: &str = "traps and failed assertions are not reached";

/// An assertion behind branches that conditions over the launch decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    /// The branch instruction.
    at: usize,
    /// The conditions of the branches around it, outermost first.
    path: Vec<Term>,
    /// What it asserts.
    holds: Term,
}

impl Behind {
    pub(crate) fn of(at: usize, path: Vec<Term>, holds: Term) -> Behind {
        Behind { at, path, holds }
    }

    /// The conditions around the assertion, and what it asserts.
    pub(crate) fn condition(&self) -> (&[Term], Term) {
        (&self.path, self.holds)
    }
}

impl Walk<'_, '_> {
    /// Notes that no lane leaves a loop to a trap.
    pub(crate) fn assume_no_trap(&mut self, l: usize) {
        let (traps, _) = exits(&self.s.entry.code, self.s.flow, l);
        for trap in traps {
            self.s.assume(self.inst(self.s.flow.blocks[trap].first).line, TRAPS);
        }
    }

    /// A branch to a trap or a failed assertion that is not reached. A condition over arguments is then one over all
    /// launches that reach the branch, such as a size of at least one. Where all launches reach it, the condition is a
    /// fact for this warp from here on.
    pub(crate) fn asserted(&mut self, at: usize, holds: bool) {
        let inst = self.inst(at);
        self.s.assume(inst.line, TRAPS);
        let Some(condition) = self.guard(inst).and_then(|v| v.uniform(self.lanes)) else { return };
        let condition = if holds { condition } else { self.s.arena.not(condition) };
        let by_arguments = self.s.arena.mentions(condition, |a| matches!(a, Atom::Param(..)))
            && !self.s.arena.mentions(condition, |a| !matches!(a, Atom::Param(..)));
        // The first iteration of a loop reaches what is ahead of all exits.
        let reached = self.unsure == 0 && self.frames.iter().all(|f| f.exits.is_empty());
        if !by_arguments || !reached || !self.s.arena.is_boolean(condition) {
            return;
        }
        let line = inst.line;
        if self.path.is_empty() {
            self.s.assume(line, "what an assertion says of the arguments holds in every launch");
            self.s.cases.asserted.entry(condition).or_insert(at);
            let mut facts = std::mem::take(&mut self.facts);
            self.s.arena.learn(condition, true, &mut facts);
            self.facts = facts;
            return;
        }
        let of_launch = |a| matches!(a, Atom::Param(..) | Atom::Place(_) | Atom::Counter(NO_LOOP));
        let by_launch = |t: &Term| !self.s.arena.mentions(*t, |a| !of_launch(a)) && !self.s.arena.reads_words(*t);
        // Other CTAs of the cluster say the same of their own place.
        if self.dry > 0 || self.s.rank > 0 || !self.path.iter().all(by_launch) {
            return;
        }
        let one = Behind { at, path: self.path.clone(), holds: condition };
        if !self.s.cases.behind.contains(&one) {
            self.s.assume(line, "what an assertion says of the arguments holds in every launch that reaches it");
            self.s.cases.behind.push(one);
        }
    }
}

/// The nodes behind those that end all warps where an assertion would fail.
pub(crate) fn checked(
    s: &mut Shared<'_>,
    tree: Vec<Merged>,
    (warps, stands_for): (Set, &mut FxHashMap<Term, Term>),
) -> Vec<Merged> {
    let tree = rounded_up::from_one(s, tree, stands_for);
    let mut list = Vec::new();
    for Behind { at, path, holds } in std::mem::take(&mut s.cases.behind) {
        let node = |kind| Merged { at, part: 0, warps, kind };
        let mut one = node(MergedKind::If(holds, Vec::new(), vec![node(MergedKind::End)]));
        for condition in path.into_iter().rev() {
            one = node(MergedKind::If(condition, vec![one], Vec::new()));
        }
        list.push(one);
    }
    list.extend(tree);
    list
}

/// Takes the nodes that [`checked`] put in front of others.
pub(crate) fn unchecked(tree: Vec<Merged>) -> (Vec<Merged>, Vec<Merged>) {
    let first = tree.iter().position(|n| asserts(n).is_none()).unwrap_or(tree.len());
    let mut checks = tree;
    let tree = checks.split_off(first);
    (checks, tree)
}

/// The condition of an assertion, if a node is one of those that [`checked`] adds.
pub(crate) fn asserts(n: &Merged) -> Option<Term> {
    match &n.kind {
        MergedKind::If(_, a, b) if b.is_empty() && a.len() == 1 => asserts(&a[0]),
        MergedKind::If(holds, a, b) if a.is_empty() => {
            matches!(b.as_slice(), [Merged { kind: MergedKind::End, .. }]).then_some(*holds)
        }
        _ => None,
    }
}
