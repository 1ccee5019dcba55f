//! A tree under the outcomes of some of its conditions.

use std::collections::BTreeSet;

use warpline_sim::ir::lcm;

use crate::lift::tree::Effect;
use crate::symbolic::{Arena, Node, Op, Term};

use super::{Merged, MergedKind};

/// The largest number of conditions of which each outcome is looked at.
pub(crate) const MOST_CONDITIONS: usize = 4;

/// The longest sequence in which a condition is looked up.
const MOST_STEPS: usize = 4096;

/// Conditions and whether they hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes(pub(crate) Vec<(Term, bool)>);

impl Outcomes {
    /// These outcomes, and that of one more condition.
    pub(crate) fn with(&self, c: Term, holds: bool) -> Outcomes {
        Outcomes(self.0.iter().copied().chain([(c, holds)]).collect())
    }

    /// Whether a condition holds; none where it is not among these conditions.
    fn decide(&self, a: &Arena, c: Term) -> Option<bool> {
        if let Some((_, holds)) = self.0.iter().find(|(x, _)| *x == c) {
            return Some(*holds);
        }
        match a.node(c) {
            Node::Op(Op::Not, args) => self.decide(a, args[0]).map(|holds| !holds),
            Node::Table(..) => self.entry(a, c).map(|v| v != 0),
            _ => None,
        }
    }

    /// The value of a sequence where the outcome of a condition that is a sequence of the same number leaves one.
    fn entry(&self, a: &Arena, t: Term) -> Option<i64> {
        let Node::Table(i, first, cycle) = a.node(t) else { return None };
        let at = |(first, cycle): (&[i64], &[i64]), n: usize| match first.get(n) {
            Some(v) => *v,
            None => cycle[(n - first.len()) % cycle.len()],
        };
        self.0.iter().find_map(|(c, holds)| {
            let Node::Table(j, start, period) = a.node(*c) else { return None };
            let steps = first.len().max(start.len()) + lcm(cycle.len(), period.len());
            if i != j || steps > MOST_STEPS {
                return None;
            }
            let mut left = (0..steps).filter(|n| (at((start, period), *n) != 0) == *holds);
            let value = |n: usize| at((first, cycle), n);
            let one = value(left.next()?);
            left.all(|n| value(n) == one).then_some(one)
        })
    }

    /// The number that a term is.
    pub(crate) fn value(&self, a: &Arena, t: Term) -> Option<i64> {
        if let Some(holds) = self.decide(a, t) {
            return Some(holds.into());
        }
        match a.node(t) {
            Node::Const(v) => Some(*v),
            Node::Sum(k, parts) => {
                parts.iter().try_fold(*k, |sum, (x, c)| Some(sum.wrapping_add(c.wrapping_mul(self.value(a, *x)?))))
            }
            Node::Table(..) => self.entry(a, t),
            Node::Op(Op::If, args) => self.value(a, args[if self.decide(a, args[0])? { 1 } else { 2 }]),
            _ => None,
        }
    }

    /// Calls `f` on each operation that these outcomes leave, in order.
    pub(crate) fn each_op(&self, a: &Arena, list: &[Merged], f: &mut impl FnMut(usize, &(u32, u32, Effect))) {
        for n in list {
            match &n.kind {
                MergedKind::Op(ops) => ops.iter().for_each(|o| f(n.at, o)),
                MergedKind::If(c, x, y) => {
                    let holds = self.decide(a, *c);
                    if holds != Some(false) {
                        self.each_op(a, x, f);
                    }
                    if holds != Some(true) {
                        self.each_op(a, y, f);
                    }
                }
                MergedKind::For(_, _, body) => self.each_op(a, body, f),
                MergedKind::Set(..) | MergedKind::End => {}
            }
        }
    }

    /// A condition of the tree that decides how many bytes some barrier expects, besides these.
    pub(crate) fn open(&self, a: &Arena, tree: &[Merged]) -> Option<Term> {
        let mut found = None;
        self.each_op(a, tree, &mut |_, (_, _, e)| {
            if let Effect::Arrive { expect: Some(n), .. } | Effect::Expect { bytes: n, .. } = e
                && found.is_none()
                && self.value(a, *n).is_none()
            {
                found = self.condition(a, *n);
            }
        });
        found.filter(|c| branches(a, tree, *c))
    }

    /// A condition of the tree, besides these, that decides by which of two instructions a copy is made. Both copy to one
    /// place, such as from the tensor map of one CTA or another.
    pub(crate) fn choice(&self, a: &Arena, tree: &[Merged]) -> Option<Term> {
        tree.iter().find_map(|n| match &n.kind {
            MergedKind::If(c, x, y) => {
                let inner = || self.choice(a, x).or_else(|| self.choice(a, y));
                let (to_x, to_y) = (self.destinations(a, x), self.destinations(a, y));
                let both = self.decide(a, *c).is_none() && to_x.intersection(&to_y).next().is_some();
                both.then(|| plain(a, *c)).or_else(inner)
            }
            MergedKind::For(_, _, body) => self.choice(a, body),
            _ => None,
        })
    }

    /// The destinations and barriers of copies.
    fn destinations(&self, a: &Arena, list: &[Merged]) -> BTreeSet<(Term, Term)> {
        let mut found = BTreeSet::new();
        self.each_op(a, list, &mut |_, (_, _, e)| {
            if let Effect::BulkLoad { to, bar, .. } = e {
                found.insert((*to, *bar));
            }
        });
        found
    }

    /// The first condition of a number that these outcomes do not decide.
    fn condition(&self, a: &Arena, t: Term) -> Option<Term> {
        match a.node(t) {
            Node::Op(Op::If, args) => match self.decide(a, args[0]) {
                Some(holds) => self.condition(a, args[if holds { 1 } else { 2 }]),
                None => Some(plain(a, args[0])),
            },
            Node::Sum(_, parts) => parts.iter().find_map(|(x, _)| self.condition(a, *x)),
            Node::Op(..) | Node::Table(..) if a.is_boolean(t) && self.decide(a, t).is_none() => Some(plain(a, t)),
            _ => None,
        }
    }
}

/// A condition without a negation.
fn plain(a: &Arena, c: Term) -> Term {
    match a.node(c) {
        Node::Op(Op::Not, args) => args[0],
        _ => c,
    }
}

/// Whether a condition decides a branch of the tree.
fn branches(a: &Arena, list: &[Merged], c: Term) -> bool {
    let outcome = Outcomes(vec![(c, true)]);
    list.iter().any(|n| match &n.kind {
        MergedKind::If(x, p, q) => outcome.decide(a, *x).is_some() || branches(a, p, c) || branches(a, q, c),
        MergedKind::For(_, _, body) => branches(a, body, c),
        _ => false,
    })
}
