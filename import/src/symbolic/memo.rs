//! Results of operators that were computed before. The lanes of a warp, warps, and ways to lift a kernel ask for the same
//! ones again and again: of a hundred sums, five are new.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::{Arena, Atom, Op, Term};

/// An operator with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Add(Term, Term),
    Scale(Term, i64),
    /// Up to three operands, each one more than its number; 0 for none.
    Op(Op, [Term; 3]),
}

/// Results by operator and operands. A copy of an arena begins without any.
#[derive(Default)]
pub(super) struct Memo {
    lasting: FxHashMap<Key, Term>,
    /// Results for which the bounds of a variable or a counter counted, as they are now.
    passing: FxHashMap<Key, Term>,
    /// How often such bounds were looked up.
    looked: Cell<u64>,
}

impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} results", self.lasting.len() + self.passing.len())
    }
}

impl Memo {
    /// Forgets what the bounds of a variable or a counter count for.
    pub(super) fn bounds_change(&mut self) {
        self.passing.clear();
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.lasting.clear();
        self.passing.clear();
    }

    /// Notes that the bounds of a variable or a counter count.
    pub(super) fn look(&self) {
        self.looked.set(self.looked.get() + 1);
    }
}

impl Arena {
    /// The result of an operator: the one that is known, or what `compute` makes.
    pub(super) fn remembered(&mut self, key: Key, compute: impl FnOnce(&mut Arena) -> Term) -> Term {
        if let Some(t) = self.memo.lasting.get(&key) {
            return *t;
        }
        if let Some(t) = self.memo.passing.get(&key).copied() {
            self.memo.look();
            return t;
        }
        let before = self.memo.looked.get();
        let t = compute(self);
        let map = if self.memo.looked.get() == before { &mut self.memo.lasting } else { &mut self.memo.passing };
        map.insert(key, t);
        t
    }

    /// The key of an operator; `None` for one with more operands.
    pub(super) fn key_of(op: Op, args: &[Term]) -> Option<Key> {
        let mut operands = [0; 3];
        let all = operands.get_mut(..args.len())?;
        all.iter_mut().zip(args).for_each(|(to, t)| *to = t + 1);
        Some(Key::Op(op, operands))
    }

    /// Whether bounds that change count for the bounds of a term: those of variables and counters.
    pub(super) fn has_passing_bounds(&self, t: Term) -> bool {
        self.passing[t as usize]
    }

    /// The same for a term with these atoms.
    pub(super) fn are_passing(atoms: &[Atom]) -> bool {
        atoms.iter().any(|a| matches!(a, Atom::Var(_) | Atom::Counter(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conditions that share parts: each one has the one before in it twice. Computed part by part, their opposite takes
    /// more steps than this test could make.
    #[test]
    fn the_opposite_of_a_condition_is_computed_once_for_each_part() {
        let mut a = Arena::default();
        let size = |a: &mut Arena, n: u16| {
            let size = a.atom(Atom::Param(n, 0));
            a.ge(size)
        };
        let mut all = size(&mut a, 0);
        for n in 0..100u16 {
            let [x, y] = [2 * n + 1, 2 * n + 2].map(|n| size(&mut a, n));
            let one = a.op(Op::Both, &[all, x]);
            let none = a.op(Op::Not, &[all]);
            let other = a.op(Op::Both, &[none, y]);
            all = a.op(Op::Either, &[one, other]);
        }
        let opposite = a.op(Op::Not, &[all]);
        assert_eq!(a.op(Op::Not, &[opposite]), all);
    }
}
