//! Registers after a branch: the values from both sides.

use warpline_sim::ir::gcd;

use crate::lift::tree::{Kind, Node, Val};
use crate::ptx::Reg;
use crate::symbolic::{Atom, Op, Term};

use super::{Stop, Walk};

/// First of the numbers that tell apart the variables of a register at a branch. Smaller ones belong to loops.
const CHOICE: u32 = 1000;

/// The registers of the two sides, and where these meet.
type Ways = (Vec<Option<Val>>, Vec<Option<Val>>, Stop);

/// Numbers at equal distances: `first + i * by`.
#[derive(Clone, Copy, Debug)]
struct Steps {
    first: i64,
    by: i64,
}

impl Walk<'_, '_> {
    /// Registers after both sides of the branch at `at`. A register with few values, such as a ring's index, becomes a
    /// variable of the program that both sides set. Others become conditional terms. One that is not read any more has no value.
    pub(crate) fn merged(
        &mut self,
        at: usize,
        cond: Term,
        (a, b, join): Ways,
        (on_a, on_b): (&mut Vec<Node>, &mut Vec<Node>),
    ) -> Vec<Option<Val>> {
        let mut list = Vec::with_capacity(a.len());
        let mut parts = 0;
        for (r, (x, y)) in a.into_iter().zip(b).enumerate() {
            list.push(match (x, y) {
                (Some(x), Some(y)) if x == y => Some(x),
                (Some(_), Some(_)) if matches!(join, Stop::At(to) if !self.s.live.is(to, r as Reg)) => None,
                (Some(Val::Uni(x)), Some(Val::Uni(y))) if self.is_variable(r as Reg, cond, x, y) => {
                    let steps = self.steps(x, y);
                    let (i, j) = (self.index(x, steps), self.index(y, steps));
                    let v = self.choice(at, r as Reg, i, j);
                    for (nodes, t) in [(&mut *on_a, i), (&mut *on_b, j)] {
                        if self.dry == 0 {
                            nodes.push(Node { at, part: 10 + parts, kind: Kind::Set(v, t) });
                        }
                    }
                    parts = (parts + 1).min(80);
                    let index = self.s.arena.atom(Atom::Var(v));
                    let offset = self.s.arena.scale(index, steps.by);
                    Some(Val::Uni(self.s.arena.plus(offset, steps.first)))
                }
                (Some(x), Some(y)) => {
                    Some(self.each(&[x, y], |a, v| Some(a.op(Op::If, &[cond, v[0], v[1]])), "a choice"))
                }
                (x, y) => x.or(y),
            });
        }
        list
    }

    fn is_variable(&mut self, r: Reg, cond: Term, x: Term, y: Term) -> bool {
        let moves = |s: &Self, t: Term| s.s.arena.mentions(t, |a| matches!(a, Atom::Var(_))) || s.s.arena.has_table(t);
        self.s.need[r as usize]
            && self.s.entry.widths[r as usize] > 1
            && !self.opaque(cond)
            && !self.s.arena.has_table(cond)
            && (moves(self, x) || moves(self, y))
            && !self.opaque(x)
            && !self.opaque(y)
            && self.s.values(x).is_some()
            && self.s.values(y).is_some()
    }

    /// The arithmetic sequence that has all values of two terms. So the address of a ring is stored as the number of
    /// the slot.
    fn steps(&mut self, x: Term, y: Term) -> Steps {
        let mut all: Vec<i64> = Vec::new();
        for t in [x, y] {
            all.extend(self.s.values(t).iter().flat_map(|l| l.iter().copied()));
        }
        let first = all.iter().min().copied().unwrap_or(0);
        let by = all.iter().fold(0, |g, v| gcd(g, v.wrapping_sub(first)));
        if by <= 1 { Steps { first: 0, by: 1 } } else { Steps { first, by } }
    }

    fn index(&mut self, t: Term, steps: Steps) -> Term {
        let offset = self.s.arena.plus(t, -steps.first);
        let by = self.s.arena.int(steps.by);
        self.s.arena.div(offset, by)
    }

    /// The variable for a register after a branch.
    fn choice(&mut self, at: usize, r: Reg, x: Term, y: Term) -> u32 {
        let v = self.s.var(at as u32, r, CHOICE + self.group.trailing_zeros());
        self.s.sets_all(v, vec![x, y]);
        let mut all: Vec<i64> = Vec::new();
        for t in [x, y] {
            all.extend(self.s.values(t).iter().flat_map(|l| l.iter().copied()));
        }
        self.s.arena.bound_var(v, all.iter().min().copied().zip(all.iter().max().copied()));
        let mut facts = std::mem::take(&mut self.facts);
        self.s.arena.forget(&mut facts, |a| a == Atom::Var(v));
        self.facts = facts;
        v
    }
}
