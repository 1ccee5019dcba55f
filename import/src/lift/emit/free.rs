//! Conditions over the launch of which both outcomes are tried.

use std::collections::BTreeSet;

use warpline_sim::ir::Expr;

use crate::lift::Free;
use crate::lift::launch::exprs::opposite;
use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Op, Term};

use super::Emit;

impl Emit<'_, '_, '_> {
    /// A symbol for a condition over the launch, both outcomes of which are tried.
    pub(super) fn free_symbol(&mut self, at: usize, c: Term) -> Expr {
        if let Some(opposite) = opposite(&mut self.s.arena, c)
            && self.names.symbols.contains_key(&opposite)
        {
            return Expr::unary(warpline_sim::ir::Unary::Not, self.free_symbol(at, opposite));
        }
        let line = self.s.entry.code[at].line;
        let e = self.names.symbol(c, format!("cond_{line}"));
        if let Expr::Param(symbol) = e
            && !self.free.iter().any(|f| f.symbol == symbol)
        {
            self.free.push(Free { symbol, line });
        }
        e
    }

    /// Whether the symbols that a condition reads are trip counts and bits of sizes, and all of these symbols.
    pub(super) fn only_trips(&mut self, c: Term) -> (bool, BTreeSet<Term>) {
        let (mut only_trips, mut read) = (true, BTreeSet::new());
        let names = &self.names;
        names.leaves(&mut self.s.arena, c, &mut |t| {
            only_trips &= names.is_varied(t);
            read.insert(t);
        });
        (only_trips, read)
    }

    /// Makes comparisons over the launch in an expression free conditions, where trip counts do not decide them. A
    /// register that has one value behind a branch and another beside it contains such a comparison.
    pub(super) fn free_comparisons(&mut self, at: usize, t: Term, searched: bool) {
        if self.names.symbols.contains_key(&t) || self.s.timing.is_some() {
            return;
        }
        match self.s.arena.node(t).clone() {
            Node::Op(Op::Ge | Op::Eq, _) if self.of_launch(t) || searched && self.of_search(t) => {
                if !self.only_trips(t).0 {
                    self.free_symbol(at, t);
                }
            }
            // No trip count decides what the last iteration of a loop compares with values of the launch.
            Node::Op(Op::Ge | Op::Eq | Op::Either, _) if self.of_last(t) => drop(self.free_symbol(at, t)),
            // A function of the launch that is 0 or 1, such as a comparison of floating-point numbers.
            Node::Op(Op::Load, _) if self.s.arena.is_boolean(t) && self.of_launch(t) => drop(self.free_symbol(at, t)),
            Node::Op(_, args) => args.iter().for_each(|x| self.free_comparisons(at, *x, searched)),
            Node::Sum(_, parts) => parts.iter().for_each(|(x, _)| self.free_comparisons(at, *x, searched)),
            Node::Table(i, ..) => self.free_comparisons(at, i, searched),
            Node::Const(_) | Node::Atom(_) => {}
        }
    }

    pub(super) fn of_launch(&self, t: Term) -> bool {
        !self.s.arena.mentions(t, |x| matches!(x, Atom::Counter(_) | Atom::Var(_)))
    }

    /// Whether a value is one of the launch where counts of iterations are.
    pub(super) fn of_search(&self, t: Term) -> bool {
        !self.s.arena.mentions(t, |x| matches!(x, Atom::Counter(h) if h != NO_LOOP) || matches!(x, Atom::Var(_)))
    }

    /// Whether a condition compares multiples of a trip count by a value of the launch, such as the first row of the last
    /// tile.
    fn of_last(&self, t: Term) -> bool {
        let a = &self.s.arena;
        match a.node(t) {
            Node::Op(Op::Ge | Op::Eq, args) => {
                let is_product =
                    |x: Term| matches!(a.node(x), Node::Op(Op::Mul, of) if of.iter().any(|y| reads_trips(a, *y)));
                self.of_search(t) && a.parts(args[0]).1.iter().any(|(x, _)| is_product(*x))
            }
            // An unsigned comparison.
            Node::Op(Op::Either, args) => {
                let compares = |x: &Term| matches!(a.node(*x), Node::Op(Op::Ge | Op::Eq, _)) && self.of_search(*x);
                args.iter().all(compares) && args.iter().any(|x| self.of_last(*x))
            }
            _ => false,
        }
    }
}

/// Whether a term reads how often a loop goes on.
fn reads_trips(a: &Arena, t: Term) -> bool {
    match a.node(t) {
        Node::Op(Op::Trips, _) => true,
        Node::Op(_, args) => args.iter().any(|x| reads_trips(a, *x)),
        Node::Sum(_, parts) => parts.iter().any(|(x, _)| reads_trips(a, *x)),
        Node::Table(i, ..) => reads_trips(a, *i),
        Node::Const(_) | Node::Atom(_) => false,
    }
}
