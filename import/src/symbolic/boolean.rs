//! Comparisons and conditions, and facts that hold on a path.

use std::collections::BTreeMap;
use std::rc::Rc;

use warpline_sim::ir::gcd;

use super::{Arena, Atom, Node, Op, Term};

/// Facts from the branches taken so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Bounds of sums without their constants; the first multiple is positive.
    pub(super) bounds: BTreeMap<super::Parts, (i64, i64)>,
    /// Conditions that are known to hold or not to hold.
    pub(super) conditions: BTreeMap<Term, bool>,
}

const FAR: i64 = 1 << 62;

impl Arena {
    /// `x >= 0`.
    pub fn ge(&mut self, x: Term) -> Term {
        if let Some(t) = self.over_table(Op::Ge, &[x]) {
            return t;
        }
        let (low, high) = self.range(x);
        if low >= 0 || high < 0 {
            return self.int((low >= 0) as i64);
        }
        let (k, parts) = self.parts(x);
        if let Some(x) = self.floored(x) {
            return self.ge(x);
        }
        let g = parts.iter().fold(0, |g, (_, c)| gcd(g, *c));
        if g > 1 {
            let parts = parts.iter().map(|(t, c)| (*t, c / g)).collect();
            let x = self.sum(k.div_euclid(g), parts);
            return self.ge(x);
        }
        // x + k >= 0 is x / d >= -k / d where the quotient is in use and the bound is a multiple.
        for up in [true, false] {
            let key: Rc<[(Term, i64)]> =
                if up { parts.clone() } else { parts.iter().map(|(t, c)| (*t, -c)).collect::<Vec<_>>().into() };
            for (y, d, op) in self.divisors.get(&key).cloned().unwrap_or_default() {
                // up: p >= -k, so p + y >= y - k. Else p <= k, not p >= k + 1.
                let bound = if up { y - k } else { y + k + 1 };
                if bound % d != 0 || (op == Op::DivZero && bound / d < 1) {
                    continue;
                }
                let inner = self.sum(y, key.to_vec());
                // At least one multiple: both kinds of division agree.
                let op = if bound / d >= 1 { Op::Div } else { op };
                let by = self.int(d);
                let q = self.op(op, &[inner, by]);
                let q = self.plus(q, -(bound / d));
                if q == x {
                    continue;
                }
                let t = self.ge(q);
                return if up { t } else { self.not(t) };
            }
        }
        if let Some(t) = self.steps_below(k, &parts) {
            return t;
        }
        self.intern(Node::Op(Op::Ge, Rc::new([x])))
    }

    /// Turns `n + k >= d * i` into a comparison of i with the quotient of `n` by `d`, if that quotient is in use. A
    /// loop that counts in steps of `d` tests so whether there is a later step.
    fn steps_below(&mut self, k: i64, parts: &[(Term, i64)]) -> Option<Term> {
        let of_launch = |t: Term| !self.mentions(t, |a| !matches!(a, Atom::Param(..) | Atom::Place(_)));
        let (size, count): (Vec<_>, Vec<_>) = parts.iter().partition(|(t, _)| of_launch(*t));
        if size.is_empty() || count.is_empty() {
            return None;
        }
        for up in [true, false] {
            let (sign, k) = if up { (1, k) } else { (-1, -k - 1) };
            let key: Rc<[(Term, i64)]> = size.iter().map(|(t, c)| (*t, c * sign)).collect::<Vec<_>>().into();
            for (y, d, op) in self.divisors.get(&key).cloned().unwrap_or_default() {
                if (k - y) % d != 0 || count.iter().any(|(_, c)| c % d != 0) {
                    continue;
                }
                let steps = count.iter().map(|(t, c)| (*t, c / d * sign)).collect();
                let least = self.sum((k - y) / d, steps);
                // Both kinds of division agree where the quotient must be at least one.
                if op == Op::DivZero && self.range(least).1 > -1 {
                    continue;
                }
                let (inner, by) = (self.sum(y, key.to_vec()), self.int(d));
                let q = self.op(op, &[inner, by]);
                let q = self.add(q, least);
                let t = self.ge(q);
                return Some(if up { t } else { self.not(t) });
            }
        }
        None
    }

    /// `q - m` or `m - 1 - q`, with m >= 1 and a quotient that rounds to zero, as one with a quotient that rounds down.
    /// Both have the same sign; the quotients differ where one is 0 and the other -1.
    pub fn floored(&mut self, x: Term) -> Option<Term> {
        let (k, parts) = self.parts(x);
        let [(t, c)] = *parts else { return None };
        let Node::Op(Op::DivZero, args) = self.node(t).clone() else { return None };
        if !(c == 1 && k <= -1 || c == -1 && k >= 0) || self.constant(args[1]).is_none_or(|d| d <= 0) {
            return None;
        }
        let q = self.div(args[0], args[1]);
        let q = self.scale(q, c);
        Some(self.plus(q, k))
    }

    /// `x == 0`.
    pub fn eq(&mut self, x: Term) -> Term {
        if let Some(t) = self.over_table(Op::Eq, &[x]) {
            return t;
        }
        let (low, high) = self.range(x);
        if low == 0 && high == 0 {
            return self.int(1);
        }
        if low > 0 || high < 0 {
            return self.int(0);
        }
        // No bit is set in either number.
        if let Node::Op(Op::Or, args) = self.node(x).clone() {
            let (a, b) = (self.eq(args[0]), self.eq(args[1]));
            return self.both(a, b);
        }
        let (k, parts) = self.parts(x);
        // A boolean compared with a number.
        if let [(t, c)] = *parts
            && self.is_boolean(t)
        {
            return match (k, c) {
                (0, _) => self.not(t),
                (k, c) if k == -c => t,
                _ => self.int(0),
            };
        }
        if let Some(t) = self.is_chosen(k, &parts) {
            return t;
        }
        if let Some(t) = self.is_multiple(k, &parts).or_else(|| self.equal_quotient(x)) {
            return t;
        }
        let g = parts.iter().fold(0, |g, (_, c)| gcd(g, *c));
        if g > 1 && k % g != 0 {
            return self.int(0);
        }
        let g = if parts.first().is_some_and(|(_, c)| *c < 0) { -g.max(1) } else { g.max(1) };
        let parts = parts.iter().map(|(t, c)| (*t, c / g)).collect();
        let x = self.sum(k / g, parts);
        self.intern(Node::Op(Op::Eq, Rc::new([x])))
    }

    /// Logical not of a boolean.
    pub fn not(&mut self, x: Term) -> Term {
        if let Some(t) = self.over_table(Op::Not, &[x]) {
            return t;
        }
        match self.node(x).clone() {
            Node::Const(v) => self.int((v == 0) as i64),
            Node::Op(Op::Not, args) => args[0],
            Node::Op(Op::Ge, args) => {
                let y = self.scale(args[0], -1);
                let y = self.plus(y, -1);
                self.ge(y)
            }
            // Parts share parts: `op` computes each one once.
            Node::Op(Op::Both, args) => {
                let [a, b] = [args[0], args[1]].map(|t| self.op(Op::Not, &[t]));
                self.either(a, b)
            }
            Node::Op(Op::Either, args) => {
                let [a, b] = [args[0], args[1]].map(|t| self.op(Op::Not, &[t]));
                self.both(a, b)
            }
            _ => self.intern(Node::Op(Op::Not, Rc::new([x]))),
        }
    }

    /// Logical and of booleans.
    pub fn both(&mut self, a: Term, b: Term) -> Term {
        if let Some(t) = self.over_table(Op::Both, &[a, b]) {
            return t;
        }
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) | (_, Some(0)) => self.int(0),
            (Some(_), _) => b,
            (_, Some(_)) => a,
            _ if a == b => a,
            _ if self.op(Op::Not, &[a]) == b => self.int(0),
            _ => self.intern(Node::Op(Op::Both, Rc::new([a.min(b), a.max(b)]))),
        }
    }

    /// Logical or of booleans.
    pub fn either(&mut self, a: Term, b: Term) -> Term {
        if let Some(t) = self.over_table(Op::Either, &[a, b]) {
            return t;
        }
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (Some(_), _) | (_, Some(_)) => self.int(1),
            _ if a == b => a,
            _ if self.op(Op::Not, &[a]) == b => self.int(1),
            _ => self.intern(Node::Op(Op::Either, Rc::new([a.min(b), a.max(b)]))),
        }
    }

    /// `c ? a : b`.
    pub fn cond(&mut self, c: Term, a: Term, b: Term) -> Term {
        if let Some(v) = self.constant(c) {
            return if v != 0 { a } else { b };
        }
        if a == b {
            return a;
        }
        if let Some(t) = self.over_table(Op::If, &[c, a, b]) {
            return t;
        }
        if let Node::Op(Op::Not, args) = self.node(c).clone() {
            return self.cond(args[0], b, a);
        }
        match (self.constant(a), self.constant(b)) {
            (Some(1), Some(0)) => return c,
            (Some(0), Some(1)) => return self.not(c),
            (Some(0), _) if self.is_boolean(b) => {
                let n = self.not(c);
                return self.both(n, b);
            }
            (_, Some(0)) if self.is_boolean(a) => return self.both(c, a),
            (Some(1), _) if self.is_boolean(b) => return self.either(c, b),
            (_, Some(1)) if self.is_boolean(a) => {
                let n = self.not(c);
                return self.either(n, a);
            }
            (Some(x), Some(0)) => return self.scale(c, x),
            _ => {}
        }
        // Choices that differ by a constant are one choice and a constant: one side becomes 0.
        let k = match (self.constant(a), self.constant(b)) {
            (Some(k), None) | (None, Some(k)) => k,
            _ => 0,
        };
        if k != 0 {
            let (a, b) = (self.plus(a, -k), self.plus(b, -k));
            let t = self.cond(c, a, b);
            return self.plus(t, k);
        }
        if let Some(t) = self.by_numbers_of_host(c, a, b) {
            return t;
        }
        if let Some(t) = self.one_quotient(c, a, b).or_else(|| self.one_extreme(c, a, b)) {
            return t;
        }
        self.intern(Node::Op(Op::If, Rc::new([c, a, b])))
    }

    /// A choice by sign between two forms of one quotient: `x > 0 ? (x - 1) / c + 1 : -(-x / c)`, of which both round up.
    fn one_quotient(&mut self, c: Term, a: Term, b: Term) -> Option<Term> {
        let to_zero =
            |s: &Self, t: Term| s.parts(t).1.iter().any(|(x, _)| matches!(s.node(*x), Node::Op(Op::DivZero, _)));
        if !to_zero(self, a) && !to_zero(self, b) {
            return None;
        }
        let a = self.rounded_down_under(a, c, true);
        let b = self.rounded_down_under(b, c, false);
        let (a, b) = (self.without_sign(a), self.without_sign(b));
        (a == b).then_some(a)
    }

    /// A sum in which quotients that round to zero round down, where a condition says that the dividend is not negative.
    fn rounded_down_under(&mut self, t: Term, c: Term, holds: bool) -> Term {
        let mut facts = Facts::default();
        self.learn(c, holds, &mut facts);
        let (k, parts) = self.parts(t);
        let mut all = self.int(k);
        for (x, by) in parts.iter() {
            let x = match self.node(*x).clone() {
                Node::Op(Op::DivZero, args)
                    if self.constant(args[1]).is_some_and(|d| d > 0) && self.bounded(args[0], &facts).0 >= 0 =>
                {
                    self.div(args[0], args[1])
                }
                _ => *x,
            };
            let x = self.scale(x, *by);
            all = self.add(all, x);
        }
        all
    }

    /// The value of a condition, if facts decide it.
    pub fn decide(&mut self, t: Term, facts: &Facts) -> Option<bool> {
        if let Some(v) = self.constant(t) {
            return Some(v != 0);
        }
        if let Some(v) = facts.conditions.get(&t) {
            return Some(*v);
        }
        match self.node(t).clone() {
            Node::Op(Op::Not, args) => self.decide(args[0], facts).map(|v| !v),
            Node::Op(Op::Both, args) => match (self.decide(args[0], facts), self.decide(args[1], facts)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Node::Op(Op::Either, args) => match (self.decide(args[0], facts), self.decide(args[1], facts)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Node::Op(Op::Ge, args) => {
                let (low, high) = self.bounded(args[0], facts);
                if low >= 0 {
                    Some(true)
                } else if high < 0 {
                    Some(false)
                } else {
                    None
                }
            }
            Node::Op(Op::Eq, args) => {
                let (low, high) = self.bounded(args[0], facts);
                if low > 0 || high < 0 {
                    Some(false)
                } else if low == 0 && high == 0 {
                    Some(true)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Removes facts about terms that read an atom for which `f` is true.
    pub fn forget(&self, facts: &mut Facts, f: impl Fn(super::Atom) -> bool) {
        facts.conditions.retain(|t, _| !self.mentions(*t, &f));
        facts.bounds.retain(|parts, _| !parts.iter().any(|(t, _)| self.mentions(*t, &f)));
    }

    /// Bounds of a term, from facts about its sum.
    pub fn bounded(&self, x: Term, facts: &Facts) -> (i64, i64) {
        let (k, parts) = self.parts(x);
        let (mut low, mut high) = self.range(x);
        let (key, by) = keyed(&parts);
        if let Some((a, b)) = facts.bounds.get(&key) {
            let of = |v: i64| if v.abs() >= FAR { v.saturating_mul(by.signum()) } else { v.saturating_mul(by) };
            let (a, b) = if by < 0 { (of(*b), of(*a)) } else { (of(*a), of(*b)) };
            low = low.max(a.saturating_add(k).clamp(-FAR, FAR));
            high = high.min(b.saturating_add(k).clamp(-FAR, FAR));
        }
        // Each part alone.
        let (mut l, mut h) = (k as i128, k as i128);
        for (t, c) in parts.iter() {
            let (mut a, mut b) = self.range(*t);
            if let Some((x, y)) = facts.bounds.get([(*t, 1)].as_slice()) {
                (a, b) = (a.max(*x), b.min(*y));
            }
            if let Some((x, y)) = self.quotient_bounds(*t, facts) {
                (a, b) = (a.max(x), b.min(y));
            }
            let (x, y) = (a as i128 * *c as i128, b as i128 * *c as i128);
            (l, h) = (l + x.min(y), h + x.max(y));
        }
        let clip = |v: i128| v.clamp(-(FAR as i128), FAR as i128) as i64;
        (low.max(clip(l)), high.min(clip(h)))
    }

    /// A choice by the sign of a number, where facts decide the sign.
    pub fn sign_under(&mut self, t: Term, facts: &Facts) -> Term {
        let Node::Op(Op::IfNegative, args) = self.node(t).clone() else { return t };
        let positive = self.ge(args[0]);
        match self.decide(positive, facts) {
            Some(true) => self.int(0),
            Some(false) => args[1],
            None => t,
        }
    }

    /// A number of which only facts say that it is not negative, as one of which its form says so.
    pub fn positive_under(&mut self, t: Term, facts: &Facts) -> Term {
        if self.range(t).0 >= 0 || self.bounded(t, facts).0 < 0 {
            return t;
        }
        let zero = self.int(0);
        self.op(Op::Max, &[t, zero])
    }

    /// A sum in which facts decide the smaller and larger of two terms.
    pub fn under(&mut self, t: Term, facts: &Facts) -> Term {
        let (k, parts) = self.parts(t);
        let mut all = self.int(k);
        for (x, c) in parts.iter() {
            let x = match self.node(*x).clone() {
                Node::Op(op @ (Op::Max | Op::Min), args) => {
                    let (a, b) = (self.under(args[0], facts), self.under(args[1], facts));
                    let d = self.sub(a, b);
                    let first = self.ge(d);
                    let d = self.scale(d, -1);
                    let second = self.ge(d);
                    match (self.decide(first, facts), self.decide(second, facts)) {
                        (Some(larger), _) => {
                            if larger == (op == Op::Max) {
                                a
                            } else {
                                b
                            }
                        }
                        (_, Some(larger)) => {
                            if larger == (op == Op::Max) {
                                b
                            } else {
                                a
                            }
                        }
                        _ => *x,
                    }
                }
                _ => *x,
            };
            let x = self.scale(x, *c);
            all = self.add(all, x);
        }
        all
    }

    /// Adds the fact that a condition holds or does not hold.
    pub fn learn(&mut self, t: Term, holds: bool, facts: &mut Facts) {
        facts.conditions.insert(t, holds);
        match self.node(t).clone() {
            Node::Op(Op::Not, args) => self.learn(args[0], !holds, facts),
            Node::Op(Op::Both, args) if holds => args.iter().for_each(|x| self.learn(*x, true, facts)),
            Node::Op(Op::Either, args) if !holds => args.iter().for_each(|x| self.learn(*x, false, facts)),
            Node::Op(Op::Ge, args) => {
                let (k, parts) = self.parts(args[0]);
                // sum >= -k, or sum <= -k - 1.
                let (low, high) = if holds { (-k, FAR) } else { (-FAR, -k - 1) };
                facts.bound(&parts, low, high);
                // The same of a dividend.
                if let [(x, by @ (1 | -1))] = *parts
                    && let Node::Op(Op::Div, args) = self.node(x).clone()
                    && let Some(c) = self.constant(args[1]).filter(|c| *c > 0)
                {
                    let (low, high) = if by < 0 { (high.saturating_neg(), low.saturating_neg()) } else { (low, high) };
                    let (k, parts) = self.parts(args[0]);
                    let near = |v: i64| v.abs() < (1 << 31) && c < 1 << 29;
                    let low = if near(low) { low * c - k } else { -FAR };
                    let high = if near(high) { high * c + c - 1 - k } else { FAR };
                    facts.bound(&parts, low, high);
                }
            }
            Node::Op(Op::Eq, args) if holds => {
                let (k, parts) = self.parts(args[0]);
                facts.bound(&parts, -k, -k);
            }
            // What is at least 0 and not 0 is at least 1.
            Node::Op(Op::Eq, args) => {
                let (k, parts) = self.parts(args[0]);
                let (low, high) = self.bounded(args[0], facts);
                let natural = matches!(*parts, [(x, 1)] if k == 0 && self.shifted(x).is_some());
                match (if natural { low.max(0) } else { low }, high) {
                    (0, _) => facts.bound(&parts, 1 - k, FAR),
                    (_, 0) => facts.bound(&parts, -FAR, -1 - k),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The multiples without their common divisor, the first of them positive, and what they were divided by.
fn keyed(parts: &Rc<[(Term, i64)]>) -> (Rc<[(Term, i64)]>, i64) {
    let common = parts.iter().fold(0, |g, (_, c)| gcd(g, *c)).max(1);
    let by = if parts.first().is_some_and(|(_, c)| *c < 0) { -common } else { common };
    let key = if by == 1 { parts.clone() } else { parts.iter().map(|(t, c)| (*t, c / by)).collect::<Vec<_>>().into() };
    (key, by)
}

impl Facts {
    fn bound(&mut self, parts: &Rc<[(Term, i64)]>, low: i64, high: i64) {
        let (key, by) = keyed(parts);
        // by * x >= low, and by * x <= high.
        let (low, high) = if by < 0 { (high.saturating_neg(), low.saturating_neg()) } else { (low, high) };
        let size = by.abs();
        let far = |v: i64| v.abs() >= FAR;
        let low = if far(low) { low } else { -(-low).div_euclid(size) };
        let high = if far(high) { high } else { high.div_euclid(size) };
        let b = self.bounds.entry(key).or_insert((-FAR, FAR));
        *b = (b.0.max(low), b.1.min(high));
    }
}
