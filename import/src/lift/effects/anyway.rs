//! Branches that skip a wait although no poll of its barrier succeeded, because a condition beside the poll says so.

use crate::lift::walk::Walk;
use crate::symbolic::{Node as TermNode, Op, Term};

impl Walk<'_, '_> {
    /// When a branch skips its wait although no poll succeeded: where one of the conditions beside the polls says so. Comes
    /// with whether the side that is taken skips the wait. `start` to `middle` are the waits of that side, `middle` to `end`
    /// those of the other one.
    pub(crate) fn skipped_anyway(&mut self, cond: Term, [start, middle, end]: [usize; 3]) -> Option<(Term, bool)> {
        let taken_skips = start == middle;
        if taken_skips == (middle == end) {
            return None;
        }
        self.beside_polls(cond, taken_skips).map(|t| (t, taken_skips))
    }

    /// Where a value is `when`, as a condition, although no poll succeeded.
    fn beside_polls(&mut self, value: Term, when: bool) -> Option<Term> {
        match self.s.arena.node(value).clone() {
            TermNode::Op(Op::Not | Op::Eq, args) => self.beside_polls(args[0], !when),
            TermNode::Op(op @ (Op::Either | Op::Both), args) if (op == Op::Either) == when => {
                let each: Vec<Option<Term>> = args.iter().map(|x| self.beside(*x, when)).collect();
                self.any_of(each)
            }
            TermNode::Op(Op::If, args) => self.beside_choice([args[0], args[1], args[2]], when),
            TermNode::Sum(k, parts) => {
                let [(x, c)] = *parts else { return None };
                let TermNode::Op(Op::If, args) = self.s.arena.node(x).clone() else { return None };
                let [first, second] = [args[1], args[2]].map(|t| {
                    let t = self.s.arena.scale(t, c);
                    self.s.arena.plus(t, k)
                });
                self.beside_choice([args[0], first, second], when)
            }
            _ => None,
        }
    }

    /// The same for a choice: a condition, the value where it holds, and the value where it does not.
    fn beside_choice(&mut self, [cond, first, second]: [Term; 3], when: bool) -> Option<Term> {
        if self.mentions_poll(cond) {
            return None;
        }
        let opposite = self.s.arena.not(cond);
        let each = [(cond, first), (opposite, second)].map(|(side, value)| {
            let here = self.beside(value, when)?;
            Some(self.s.arena.op(Op::Both, &[side, here]))
        });
        self.any_of(each.to_vec())
    }

    /// The same for a value that may have no poll in it.
    fn beside(&mut self, value: Term, when: bool) -> Option<Term> {
        if self.peekish(value) {
            return self.beside_polls(value, when);
        }
        if let Some(k) = self.s.arena.constant(value) {
            return ((k != 0) == when).then(|| self.s.arena.int(1));
        }
        self.s.arena.is_boolean(value).then(|| if when { value } else { self.s.arena.not(value) })
    }

    fn any_of(&mut self, all: Vec<Option<Term>>) -> Option<Term> {
        all.into_iter().flatten().reduce(|a, b| self.s.arena.op(Op::Either, &[a, b]))
    }
}
