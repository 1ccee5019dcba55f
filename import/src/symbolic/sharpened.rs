//! Facts that other facts sharpen: bounds of quotients from bounds of their dividends, and conditions over a choice of
//! which the side is known.

use super::{Arena, Facts, Node, Op, Term};

/// Magnitude from which on a bound is none.
const FAR: i64 = 1 << 61;

impl Arena {
    /// Bounds of a quotient by a number, from facts about its dividend.
    pub(super) fn quotient_bounds(&self, t: Term, facts: &Facts) -> Option<(i64, i64)> {
        let Node::Op(op @ (Op::Div | Op::DivZero), args) = self.node(t) else { return None };
        let c = self.constant(args[1]).filter(|c| *c > 0)?;
        let (low, high) = self.bounded(args[0], facts);
        let of = |v: i64| if op == &Op::Div { v.div_euclid(c) } else { v / c };
        Some((if low <= -FAR { i64::MIN } else { of(low) }, if high >= FAR { i64::MAX } else { of(high) }))
    }

    /// These facts, and what they say of a quotient that rounds to zero, and of a condition over a choice.
    pub fn sharpened(&mut self, facts: &Facts) -> Facts {
        let mut more = facts.clone();
        for (c, holds) in &facts.conditions {
            let new = self.known_but(*c, facts);
            if new != *c {
                self.learn(new, *holds, &mut more);
            }
        }
        for (parts, (low, _)) in more.bounds.clone() {
            // At least one after rounding to zero.
            if let [(x, 1)] = *parts
                && (1..1 << 31).contains(&low)
                && let Node::Op(Op::DivZero, args) = self.node(x).clone()
                && let Some(c) = self.constant(args[1]).filter(|c| (1..1 << 29).contains(c))
            {
                let least = self.plus(args[0], -low * c);
                let enough = self.ge(least);
                self.learn(enough, true, &mut more);
            }
        }
        more
    }

    /// A condition with the outcomes of the conditions in it that facts decide, but not its own.
    pub fn known_but(&mut self, c: Term, facts: &Facts) -> Term {
        match self.node(c).clone() {
            Node::Op(op @ (Op::Ge | Op::Eq | Op::Not), args) => {
                let x = if op == Op::Not { self.known_but(args[0], facts) } else { self.known_under(args[0], facts) };
                if x == args[0] { c } else { self.op(op, &[x]) }
            }
            Node::Op(op @ (Op::Both | Op::Either), args) => {
                let args: Vec<Term> = args.iter().map(|x| self.known_under(*x, facts)).collect();
                self.op(op, &args)
            }
            _ => c,
        }
    }

    /// Whether facts exclude each other, so that no launch has all of them.
    pub fn excluded(&self, facts: &Facts) -> bool {
        facts.bounds.iter().any(|(_, (low, high))| low > high)
            || facts.conditions.keys().any(|c| match (self.node(*c), facts.conditions[c]) {
                (Node::Op(Op::Ge, args), holds) => {
                    let (low, high) = self.bounded(args[0], facts);
                    low <= high && if holds { high < 0 } else { low >= 0 }
                }
                _ => false,
            })
    }
}

impl Arena {
    /// When a sum with a choice is 0, where one side of the choice makes it 0 and the other never does. Such as the number of
    /// a group, which is -1 where there is none.
    pub(super) fn is_chosen(&mut self, k: i64, parts: &[(Term, i64)]) -> Option<Term> {
        let [(t, by)] = *parts else { return None };
        let Node::Op(Op::If, args) = self.node(t).clone() else { return None };
        let [yes, no] = [args[1], args[2]].map(|x| {
            let x = self.scale(x, by);
            let x = self.plus(x, k);
            match self.range(x) {
                (0, 0) => Some(true),
                (low, high) if low > 0 || high < 0 => Some(false),
                _ => None,
            }
        });
        match (yes?, no?) {
            (true, false) => Some(args[0]),
            (false, true) => Some(self.not(args[0])),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Atom;

    #[test]
    fn a_choice_with_a_known_side_is_this_side() {
        let mut a = Arena::default();
        let (x, d) = (a.atom(Atom::Param(0, 0)), a.int(256));
        let more = a.plus(x, 255);
        let (n, up) = (a.op(Op::DivZero, &[more, d]), a.div(more, d));
        let less = a.scale(up, -1);
        let none = a.ge(less);
        let before = a.plus(n, -1);
        let left = a.cond(none, n, before);
        let left = a.plus(left, -1);
        let goes_on = a.ge(left);
        let mut facts = Facts::default();
        a.learn(goes_on, true, &mut facts);
        // With some steps, the loop behind the first one goes on where there are two.
        let (mut some, mut no) = (facts.clone(), facts);
        a.learn(none, false, &mut some);
        a.learn(none, true, &mut no);
        let two = a.plus(up, -2);
        let two = a.ge(two);
        assert_eq!(a.decide(two, &some), None);
        let some = a.sharpened(&some);
        assert_eq!(a.decide(two, &some), Some(true));
        assert!(!a.excluded(&some));
        // Without a step, it does not go on.
        let no = a.sharpened(&no);
        assert!(a.excluded(&no));
    }

    #[test]
    fn a_choice_is_a_number_where_one_side_alone_is() {
        let mut a = Arena::default();
        let (x, i) = (a.atom(Atom::Param(0, 0)), a.atom(Atom::Counter(3)));
        let c = a.ge(x);
        let none = a.int(-1);
        let t = a.cond(c, none, i);
        let is = |a: &mut Arena, t: Term, n: i64| {
            let t = a.plus(t, n);
            a.eq(t)
        };
        assert_eq!(is(&mut a, t, 1), c);
        // The other side may be the number, too.
        let any = is(&mut a, t, 0);
        assert!(any != c && a.constant(any).is_none());
        let t = a.cond(c, x, i);
        assert_ne!(is(&mut a, t, 1), c);
        let t = a.cond(c, i, none);
        let not = a.not(c);
        assert_eq!(is(&mut a, t, 1), not);
    }
}
