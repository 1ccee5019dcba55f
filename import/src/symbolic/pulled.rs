//! Choices between values of one form: `i == 0 ? (x + 62) / 64 : (y + 62) / 64` is `((i == 0 ? x : y) + 62) / 64`.
//!
//! What a loop computes for its next iteration has such a choice. Pulled to the part that differs, it is the same for all
//! that is computed from this part.

use rustc_hash::FxHashMap;

use super::{Arena, Atom, Facts, Node, Op, Term};

/// What a search leaves for each iteration of a loop.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The value in the first iteration.
    pub first: Term,
    /// The value in each iteration.
    pub value: Term,
    /// What is known where the first iteration begins.
    pub begins: Facts,
}

impl Arena {
    /// A term in which choices by the first iteration of a loop are about the smallest parts that differ.
    pub fn pulled(&mut self, t: Term, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(x) = memo.get(&t) {
            return *x;
        }
        if !self.mentions(t, |x| matches!(x, Atom::Counter(_))) {
            return t;
        }
        let new = match self.node(t).clone() {
            Node::Const(_) | Node::Atom(_) => t,
            Node::Sum(k, parts) => {
                let parts = parts.iter().map(|(x, c)| (self.pulled(*x, memo), *c)).collect();
                self.flat_sum(k, parts)
            }
            Node::Op(op, args) => {
                let args: Vec<Term> = args.iter().map(|x| self.pulled(*x, memo)).collect();
                match op == Op::If && self.is_first(args[0]) {
                    true => self.choice_of(args[0], args[1], args[2]),
                    false => self.op(op, &args),
                }
            }
            Node::Table(i, first, cycle) => {
                let i = self.pulled(i, memo);
                self.table(i, first.to_vec(), cycle.to_vec())
            }
        };
        memo.insert(t, new);
        new
    }

    /// A term in which comparisons with a choice by the first iteration are a choice of comparisons: whether a group is
    /// another one than that of the iteration before is known in the first one.
    pub fn first_apart(&mut self, t: Term, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(x) = memo.get(&t) {
            return *x;
        }
        if !self.mentions(t, |x| matches!(x, Atom::Counter(_))) {
            return t;
        }
        let new = match self.node(t).clone() {
            Node::Op(op @ (Op::Eq | Op::Ge), args) => {
                match self.parts(args[0]).1.iter().find_map(|p| self.by_first(p.0)) {
                    Some((c, i, of)) => {
                        let sides = [(1, true), (2, false)].map(|(n, is_first)| {
                            let x = self.replace(
                                args[0],
                                &FxHashMap::from_iter([(of[0], of[n])]),
                                &mut FxHashMap::default(),
                            );
                            let zero = FxHashMap::from_iter([(i, self.int(0))]);
                            let x = if is_first { self.replace(x, &zero, &mut FxHashMap::default()) } else { x };
                            let x = self.op(op, &[x]);
                            self.first_apart(x, memo)
                        });
                        self.cond(c, sides[0], sides[1])
                    }
                    None => t,
                }
            }
            Node::Op(op @ (Op::Not | Op::Both | Op::Either | Op::If), args) => {
                let args: Vec<Term> = args.iter().map(|x| self.first_apart(*x, memo)).collect();
                self.op(op, &args)
            }
            _ => t,
        };
        memo.insert(t, new);
        new
    }

    /// The condition, the counter, and the term with its sides, of a choice by the first iteration of a loop.
    fn by_first(&self, t: Term) -> Option<(Term, Term, [Term; 3])> {
        let Node::Op(Op::If, args) = self.node(t) else { return None };
        let Node::Op(Op::Eq, of) = self.node(args[0]).clone() else { return None };
        self.is_first(args[0]).then(|| (args[0], of[0], [t, args[1], args[2]]))
    }

    /// Whether a condition holds in the first iteration of a loop alone.
    fn is_first(&self, c: Term) -> bool {
        let Node::Op(Op::Eq, args) = self.node(c) else { return false };
        matches!(self.node(args[0]), Node::Atom(Atom::Counter(_)))
    }

    fn choice_of(&mut self, c: Term, x: Term, y: Term) -> Term {
        if x == y {
            return x;
        }
        if let Some(s) = self.sequences.get(&y).cloned()
            && self.known_under(x, &s.begins) == s.first
        {
            return s.value;
        }
        match (self.node(x).clone(), self.node(y).clone()) {
            (Node::Op(op, p), Node::Op(other, q)) if op == other && p.len() == q.len() => {
                let mut differ = (0..p.len()).filter(|n| p[*n] != q[*n]);
                let (Some(n), None) = (differ.next(), differ.next()) else { return self.cond(c, x, y) };
                // The name of a function is no operand.
                if op == Op::Load && p.len() > 1 && n == 0 {
                    return self.cond(c, x, y);
                }
                let mut args = p.to_vec();
                args[n] = self.choice_of(c, p[n], q[n]);
                self.op(op, &args)
            }
            (Node::Sum(..), _) | (_, Node::Sum(..)) => {
                let ((k, p), (l, q)) = (self.parts(x), self.parts(y));
                // What is added in all later iterations stands beside the choice.
                if l != 0 && !q.is_empty() && !p.is_empty() {
                    let (x, y) = (self.plus(x, -l), self.plus(y, -l));
                    let t = self.choice_of(c, x, y);
                    return self.plus(t, l);
                }
                let rest = |p: &[(Term, i64)], q: &[(Term, i64)]| -> Vec<(Term, i64)> {
                    p.iter().filter(|part| !q.contains(part)).copied().collect()
                };
                match (rest(&p, &q).as_slice(), rest(&q, &p).as_slice()) {
                    ([(u, a)], [(v, b)]) if a == b && k == l => {
                        let same = p.iter().filter(|part| q.contains(part)).copied().collect();
                        let differs = self.choice_of(c, *u, *v);
                        let differs = self.scale(differs, *a);
                        let same = self.flat_sum(k, same);
                        self.add(same, differs)
                    }
                    _ => self.cond(c, x, y),
                }
            }
            _ => self.cond(c, x, y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_about_what_differs() {
        let mut a = Arena::default();
        let (i, x, y) = (a.atom(Atom::Counter(3)), a.atom(Atom::Param(0, 0)), a.atom(Atom::Param(1, 0)));
        let (first, by) = (a.eq(i), a.int(64));
        let steps = |a: &mut Arena, x: Term| {
            let more = a.plus(x, 62);
            a.div(more, by)
        };
        let (p, q) = (steps(&mut a, x), steps(&mut a, y));
        let t = a.cond(first, p, q);
        let which = a.cond(first, x, y);
        let expected = steps(&mut a, which);
        assert_eq!(a.pulled(t, &mut FxHashMap::default()), expected);
        // A number that is added later stands beside the choice.
        let (more, less) = (a.plus(x, 63), a.plus(y, 62));
        let t = a.cond(first, more, less);
        let one = a.plus(x, 1);
        let which = a.cond(first, one, y);
        let expected = a.plus(which, 62);
        assert_eq!(a.pulled(t, &mut FxHashMap::default()), expected);
        // Two parts that differ stay where they are.
        let (p, q) = (a.mul(x, i), a.mul(y, by));
        let t = a.cond(first, p, q);
        assert_eq!(a.pulled(t, &mut FxHashMap::default()), t);
    }
}
