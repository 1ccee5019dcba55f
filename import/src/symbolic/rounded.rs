//! Quotients that compilers round up or down by a comparison, and comparisons of them where facts are known.

use rustc_hash::FxHashMap;

use super::{Arena, Facts, Node, Op, Term};

impl Arena {
    /// `x / c`, rounded to zero, and one more where x is not negative and not a multiple: the quotient that rounds up. One
    /// less where it is negative: the quotient that rounds down.
    pub(super) fn rounded_up(&mut self, k: i64, list: &[(Term, i64)]) -> Option<Term> {
        let more = |s: &Self, t: Term| matches!(s.node(t), Node::Op(Op::Both | Op::Not, _));
        if !list.iter().any(|(t, _)| more(self, *t)) {
            return None;
        }
        for (i, (t, m)) in list.iter().enumerate() {
            let Node::Op(op @ (Op::Div | Op::DivZero), args) = self.node(*t).clone() else { continue };
            let Some(c) = self.constant(args[1]).filter(|c| *c > 0) else { continue };
            let Some(j) = list.iter().position(|(b, n)| n.abs() == m.abs() && more(self, *b)) else { continue };
            let up = list[j].1 == *m;
            if !up && op == Op::Div {
                continue;
            }
            let back = self.scale(*t, -c);
            let left = self.add(args[0], back);
            let rem = self.rem(args[0], args[1]);
            let mut written: Vec<Term> = [left, rem].map(|t| self.eq(t)).map(|t| self.not(t)).into();
            if op == Op::DivZero {
                let positive = self.ge(args[0]);
                let sign = if up { positive } else { self.not(positive) };
                let parts = std::mem::take(&mut written);
                written.extend(parts.iter().flat_map(|p| [self.both(sign, *p), self.both(*p, sign)]));
            }
            if !written.contains(&list[j].0) {
                continue;
            }
            let rest = list.iter().enumerate().filter(|(n, _)| *n != i && *n != j).map(|(_, p)| *p).collect();
            let rest = self.sum(k, rest);
            let x = if up { self.plus(args[0], c - 1) } else { args[0] };
            let q = self.div(x, args[1]);
            let q = self.scale(q, *m);
            return Some(self.add(rest, q));
        }
        None
    }

    /// `k - x / c`, where the quotient rounds down, as one that rounds up: `(c - 1 - x) / c + k`. Other terms stay.
    pub(super) fn without_sign(&mut self, t: Term) -> Term {
        let (k, parts) = self.parts(t);
        let [(q, -1)] = *parts else { return t };
        let Node::Op(Op::Div, args) = self.node(q).clone() else { return t };
        let Some(c) = self.constant(args[1]).filter(|c| *c > 0) else { return t };
        let x = self.scale(args[0], -1);
        let x = self.plus(x, c - 1);
        let q = self.div(x, args[1]);
        self.plus(q, k)
    }

    /// A comparison in which facts decide the smaller and larger of two terms.
    pub fn comparison_under(&mut self, t: Term, facts: &Facts) -> Term {
        match self.node(t).clone() {
            Node::Op(Op::Not, args) => {
                let x = self.comparison_under(args[0], facts);
                if x == args[0] { t } else { self.not(x) }
            }
            Node::Op(Op::Ge, args) => {
                let x = self.under(args[0], facts);
                if x == args[0] { t } else { self.ge(x) }
            }
            // Of two conditions of which facts decide one, the other is left. A choice between two stays: it has one form in
            // roles of which only some know one.
            Node::Op(Op::Both, args) => {
                let mut of = |x: Term| {
                    let x = self.comparison_under(x, facts);
                    self.decide(x, facts).map_or(x, |holds| self.int(i64::from(holds)))
                };
                let args = [of(args[0]), of(args[1])];
                self.op(Op::Both, &args)
            }
            _ => t,
        }
    }

    /// The value of a condition, if facts decide it: with the numbers that known conditions have in it, too.
    pub fn decide_with_numbers(&mut self, t: Term, facts: &Facts) -> Option<bool> {
        if let Some(v) = self.decide(t, facts) {
            return Some(v);
        }
        let Node::Op(op @ (Op::Ge | Op::Eq), args) = self.node(t).clone() else { return None };
        let mut numbers = FxHashMap::default();
        for (c, v) in &facts.conditions {
            numbers.insert(*c, self.int(i64::from(*v)));
        }
        // Sums that are known stand for 0.
        let mut forms = vec![self.under(args[0], facts)];
        for (parts, (low, high)) in &facts.bounds {
            if low == high {
                let known = self.sum(-low, parts.to_vec());
                forms.push(self.add(args[0], known));
                forms.push(self.sub(args[0], known));
            }
        }
        forms.into_iter().find_map(|x| {
            let x = self.replace(x, &numbers, &mut FxHashMap::default());
            let t = self.op(op, &[x]);
            self.decide(t, facts)
        })
    }
}
