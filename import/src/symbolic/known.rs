//! Terms in which facts decide conditions.

use rustc_hash::FxHashMap;

use super::{Arena, Facts, Node, Op, Term};

impl Arena {
    /// A term with the outcomes of those conditions in it that facts decide.
    pub fn known_under(&mut self, t: Term, facts: &Facts) -> Term {
        self.known_in(t, facts, &mut FxHashMap::default())
    }

    /// The same for several terms with one memo.
    pub fn known_in(&mut self, t: Term, facts: &Facts, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(x) = memo.get(&t) {
            return *x;
        }
        let outcome = match self.node(t) {
            Node::Op(Op::Ge | Op::Eq | Op::Not | Op::Both | Op::Either | Op::Load, _) if self.is_boolean(t) => {
                self.decide(t, facts)
            }
            _ => None,
        };
        let new = match (outcome, self.node(t).clone()) {
            (Some(holds), _) => self.int(i64::from(holds)),
            (None, Node::Const(_) | Node::Atom(_)) => t,
            (None, Node::Sum(k, parts)) => {
                let parts = parts.iter().map(|(x, c)| (self.known_in(*x, facts, memo), *c)).collect();
                self.flat_sum(k, parts)
            }
            (None, Node::Op(op, args)) => {
                let args: Vec<Term> = args.iter().map(|x| self.known_in(*x, facts, memo)).collect();
                self.op(op, &args)
            }
            (None, Node::Table(i, first, cycle)) => {
                let i = self.known_in(i, facts, memo);
                self.table(i, first.to_vec(), cycle.to_vec())
            }
        };
        memo.insert(t, new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn a_condition_that_is_known_picks_its_side() {
        let mut a = Arena::default();
        let (x, y) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Param(1, 0)));
        let c = a.ge(x);
        let (three, more) = (a.int(3), a.plus(y, 4));
        let t = a.cond(c, more, three);
        let all = a.op(Op::Max, &[t, x]);
        let mut facts = Facts::default();
        a.learn(c, true, &mut facts);
        let expected = a.op(Op::Max, &[more, x]);
        assert_eq!(a.known_under(all, &facts), expected);
        assert_eq!(a.known_under(all, &Facts::default()), all);
    }
}
