//! Registers after a branch: the values from both sides.

use rustc_hash::FxHashSet;
use warpline_sim::ir::gcd;

use crate::lift::tree::{Kind, Node as TreeNode, Val};
use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Node, Op, Term};

use super::shared::Shared;
use super::{Stop, Walk};

/// First of the numbers that tell apart the variables of a register at a branch. Smaller ones belong to loops.
const CHOICE: u32 = 1000;

/// Nodes of a term that becomes a variable in a loop that is being solved.
const LONG: u64 = 4000;

/// The number of the variables of long terms.
const LONG_TERM: u32 = CHOICE + 64;

/// The registers of the two sides, and where these meet.
type Ways = (Vec<Option<Val>>, Vec<Option<Val>>, Stop);

/// Numbers at equal distances: `first + i * by`.
#[derive(Clone, Copy, Debug)]
struct Steps {
    first: i64,
    by: i64,
}

/// Whether some value of a choice is computed from a word of memory. Its conditions may be.
fn chooses_words(a: &Arena, t: Term) -> bool {
    match a.node(t) {
        _ if !a.reads_memory(t) => false,
        Node::Const(_) | Node::Atom(_) => false,
        Node::Sum(_, parts) => parts.iter().any(|(x, _)| chooses_words(a, *x)),
        Node::Op(Op::If, args) => args[1..].iter().any(|x| chooses_words(a, *x)),
        Node::Op(Op::Load | Op::Trips | Op::HowOften, _) => true,
        Node::Op(_, args) => args.iter().any(|x| chooses_words(a, *x)),
        Node::Table(i, ..) => chooses_words(a, *i),
    }
}

impl Shared<'_> {
    /// The variables that a loop may set: those of its branches, and those of the loops inside of it and its own.
    pub(crate) fn set_in(&self, l: usize) -> FxHashSet<u32> {
        let body = &self.flow.loops[l].body;
        let inside = |b: usize| body.get(b) == Some(&true);
        let is_set = |place: usize, kind: u32| inside(if kind >= CHOICE { self.flow.block_at(place) } else { place });
        let all = self.var_ids.iter().filter(|((place, _, kind), _)| is_set(*place as usize, *kind));
        all.map(|(_, v)| *v).collect()
    }
}

impl Walk<'_, '_> {
    /// Whether a loop may set a variable of a term.
    pub(crate) fn sets_part_of(&self, header: u32, t: Term) -> bool {
        let is_var = self.s.arena.mentions(t, |a| matches!(a, Atom::Var(_)));
        let Some(l) = self.s.flow.header_of[header as usize].filter(|_| is_var) else { return false };
        let set = self.s.set_in(l);
        self.s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if set.contains(&v)))
    }

    /// Registers after both sides of the branch at `at`. A register with few values, such as a ring's index, becomes a
    /// variable of the program that both sides set. Others become conditional terms. One that is not read any more has no value.
    pub(crate) fn merged(
        &mut self,
        at: usize,
        cond: Term,
        (a, b, join): Ways,
        (on_a, on_b): (&mut Vec<TreeNode>, &mut Vec<TreeNode>),
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
                            nodes.push(TreeNode { at, part: 10 + parts, kind: Kind::Set(v, t) });
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

    /// Whether a register behind a branch becomes a variable: one with few values, or one of a loop that is being solved
    /// whose term would double with each branch.
    fn is_variable(&mut self, r: Reg, cond: Term, x: Term, y: Term) -> bool {
        self.has_few_values(r, cond, x, y) || self.doubles(r, cond, x, y)
    }

    fn doubles(&mut self, r: Reg, cond: Term, x: Term, y: Term) -> bool {
        !self.opaque(cond) && [x, y].iter().any(|t| self.is_long(r, *t)) && [x, y].iter().all(|t| self.may_name(r, *t))
    }

    /// Whether a term is so long that it becomes a variable, in a loop that is being solved.
    fn is_long(&mut self, r: Reg, t: Term) -> bool {
        self.dry > 0 && self.s.arena.size(t) > LONG && self.may_name(r, t)
    }

    fn may_name(&mut self, r: Reg, t: Term) -> bool {
        let is_carried = self.s.arena.mentions(t, |a| matches!(a, Atom::Carried(..) | Atom::Var(_)));
        let follows = is_carried && !self.opaque(t) && !chooses_words(&self.s.arena, t);
        follows && self.s.need[r as usize] && self.s.entry.widths[r as usize] > 1
    }

    /// The value of a register, or a variable in its place where its term is long. With long terms, a ring that an iteration
    /// moves on several times would not be followed. The loop is walked again, with the values that this variable bounds.
    pub(crate) fn named_if_long(&mut self, at: usize, r: Reg, v: Val) -> Val {
        match v {
            Val::Uni(t) if self.timing().is_none() && self.is_long(r, t) => {
                let name = self.s.var(at as u32, r, LONG_TERM);
                self.s.sets_all(name, vec![t]);
                self.s.arena.bound_var(name, None);
                let mut facts = std::mem::take(&mut self.facts);
                self.s.arena.forget(&mut facts, |a| a == Atom::Var(name));
                self.facts = facts;
                Val::Uni(self.s.arena.atom(Atom::Var(name)))
            }
            v => v,
        }
    }

    fn has_few_values(&mut self, r: Reg, cond: Term, x: Term, y: Term) -> bool {
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
