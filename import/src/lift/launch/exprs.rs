//! Terms as expressions of the program.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{Binary, Expr, ParamId, Unary, VarId};

use crate::symbolic::{Arena, Atom, NO_LOOP, Node, Numbered, Op, Term, WORDS};

/// Names and numbers of what expressions read.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Variables of loops, by header.
    pub(crate) counters: BTreeMap<u32, VarId>,
    /// Variables of the program, by number.
    pub(crate) vars: BTreeMap<u32, VarId>,
    /// Symbols, by term.
    pub(crate) symbols: BTreeMap<Term, ParamId>,
    /// Terms of the symbols, in order.
    pub(crate) order: Vec<(Term, String)>,
    /// Symbols that bounds of loops are computed from.
    pub(crate) trips: BTreeSet<Term>,
    /// Symbols for bits of sizes, each with the line that needed it: both values are checked.
    pub(crate) bits: Vec<(Term, u32)>,
    /// Sizes whose quotients by a number are trip counts.
    pub(crate) divided: Vec<(Term, i64)>,
    /// How many conditions are bits of the number of each iteration; `None` where iterations have no numbers.
    pub(crate) outcomes: Option<u32>,
    /// Names of the frame's variables.
    pub(crate) frame: Vec<String>,
}

impl Names {
    pub(crate) fn counter(&mut self, h: u32, name: &str) -> VarId {
        if let Some(v) = self.counters.get(&h) {
            return *v;
        }
        let v = self.frame.len() as VarId;
        self.frame.push(name.to_string());
        self.counters.insert(h, v);
        v
    }

    pub(crate) fn var(&mut self, id: u32, name: &str) -> VarId {
        if let Some(v) = self.vars.get(&id) {
            return *v;
        }
        let v = self.frame.len() as VarId;
        self.frame.push(name.to_string());
        self.vars.insert(id, v);
        v
    }

    /// The symbol for a term that is one number in a launch.
    pub(crate) fn symbol(&mut self, t: Term, name: String) -> Expr {
        if let Some(p) = self.symbols.get(&t) {
            return Expr::Param(*p);
        }
        let p = self.order.len() as ParamId;
        self.symbols.insert(t, p);
        let taken = self.order.iter().filter(|(_, n)| *n == name || n.starts_with(&format!("{name}_"))).count();
        let name = if taken == 0 { name } else { format!("{name}_{taken}") };
        self.order.push((t, name));
        Expr::Param(p)
    }

    /// Forgets all symbols but the first ones.
    pub(crate) fn forget_symbols(&mut self, first: usize) {
        self.order.truncate(first);
        self.symbols.retain(|_, p| (*p as usize) < first);
    }

    /// The expression for a term; `None` if it contains a value that is not tracked.
    pub(crate) fn expr(&mut self, a: &mut Arena, t: Term) -> Option<Expr> {
        if let Some(v) = a.constant(t) {
            return Some(Expr::Const(v));
        }
        let t = rounded_down(a, t);
        if self.symbols.contains_key(&t) {
            return Some(self.symbol(t, String::new()));
        }
        if let Some((part, iteration)) = a.as_number(t) {
            let whole = Expr::Tape(0, Box::new(self.expr(a, iteration)?));
            let (by, bit) = match part {
                Numbered::Outcome(n) => (n, true),
                Numbered::Length => (self.outcomes?, false),
            };
            let rest = if by == 0 { whole } else { Expr::binary(Binary::Div, whole, Expr::Const(1 << by)) };
            return Some(if bit { Expr::binary(Binary::Rem, rest, Expr::Const(2)) } else { rest });
        }
        if let Some(p) = opposite(a, t).and_then(|t| self.symbols.get(&t)) {
            return Some(Expr::unary(Unary::Not, Expr::Param(*p)));
        }
        if self.is_leaf(a, t) {
            let name = leaf_name(a, t);
            return Some(self.symbol(t, name));
        }
        match a.node(t).clone() {
            Node::Const(v) => Some(Expr::Const(v)),
            Node::Atom(Atom::Counter(h)) => self.counters.get(&h).map(|v| Expr::Var(*v)),
            Node::Atom(Atom::Var(v)) => self.vars.get(&v).map(|v| Expr::Var(*v)),
            Node::Atom(_) => None,
            Node::Sum(k, parts) => {
                let mut list = Vec::new();
                for (x, c) in parts.iter() {
                    list.push((self.expr(a, *x)?, *c));
                }
                sum(k, list)
            }
            Node::Table(index, first, cycle) => {
                let i = self.expr(a, index)?;
                // A variable has at most as many values as the sequence.
                let few = cycle.len() == 1 && a.range(index).0 >= 0 && a.range(index).1 <= first.len() as i64;
                let short = few.then(|| turns(&i, &first, cycle[0])).flatten();
                Some(short.unwrap_or_else(|| table(i, &first, &cycle)))
            }
            Node::Op(op, args) => {
                let mut x = Vec::new();
                for t in args.iter() {
                    x.push(self.expr(a, *t)?);
                }
                if op == Op::Xor { exclusive(a, &args, x) } else { operator(op, x) }
            }
        }
    }

    /// Calls `f` on each symbol that the expression of a term reads.
    pub(crate) fn leaves(&self, a: &mut Arena, t: Term, f: &mut impl FnMut(Term)) {
        let t = rounded_down(a, t);
        if self.is_leaf(a, t) {
            return f(t);
        }
        match a.node(t).clone() {
            Node::Sum(_, parts) => parts.iter().for_each(|(t, _)| self.leaves(a, *t, f)),
            Node::Op(_, args) => args.iter().for_each(|t| self.leaves(a, *t, f)),
            Node::Table(i, ..) => self.leaves(a, i, f),
            Node::Const(_) | Node::Atom(_) => {}
        }
    }

    /// Whether a symbol is a trip count or a bit of a size: all its values are checked.
    pub(crate) fn is_varied(&self, t: Term) -> bool {
        self.trips.contains(&t) || self.bits.iter().any(|(bit, _)| *bit == t)
    }

    /// Whether a term reads only constants, symbols of loop bounds, and bits of sizes.
    pub(crate) fn covered(&self, a: &Arena, t: Term) -> bool {
        self.is_varied(t)
            || match a.node(t) {
                Node::Const(_) => true,
                Node::Atom(_) => false,
                Node::Sum(_, parts) => parts.iter().all(|(x, _)| self.covered(a, *x)),
                Node::Op(Op::MulHigh | Op::Load | Op::Trips | Op::HowOften, _) => false,
                Node::Op(_, args) => args.iter().all(|x| self.covered(a, *x)),
                Node::Table(i, ..) => self.covered(a, *i),
            }
    }

    /// Whether a term is one number in a launch and has no structure that matters: the program gets a symbol for it.
    pub(crate) fn is_leaf(&self, a: &Arena, t: Term) -> bool {
        let mut launch = true;
        let mut any = false;
        a.each_atom(t, &mut |x| match x {
            Atom::Param(..) | Atom::Place(_) | Atom::Symbol(_) | Atom::Data(_) => any = true,
            _ => launch = false,
        });
        if self.covered(a, t) && !self.trips.contains(&t) {
            return false;
        }
        match a.node(t) {
            Node::Op(Op::Ge | Op::Eq | Op::Not | Op::Both | Op::Either, _) | Node::Sum(..) | Node::Table(..) => false,
            Node::Op(Op::Trips | Op::HowOften, _) => !a.mentions(t, |x| match x {
                Atom::Counter(h) => h != NO_LOOP,
                Atom::Opaque(_) | Atom::Carried(..) | Atom::Var(_) => true,
                _ => false,
            }),
            // A choice of two numbers by a condition: the condition is what has both outcomes.
            Node::Op(Op::If, args) if args[1..].iter().all(|x| a.constant(*x).is_some()) && a.is_boolean(args[0]) => {
                false
            }
            // A word of memory that no loop reads anew.
            Node::Op(Op::Load, args) if a.constant(args[0]).is_some_and(|at| at >= WORDS) => launch,
            Node::Op(Op::Max | Op::Min, args) => launch && any && args.iter().all(|x| a.constant(*x).is_none()),
            _ => launch && any,
        }
    }
}

/// The condition that holds where a comparison, or one of several conditions, does not.
pub(crate) fn opposite(a: &mut Arena, c: Term) -> Option<Term> {
    match a.node(c).clone() {
        Node::Op(Op::Ge, args) => {
            let negative = a.scale(args[0], -1);
            let less = a.plus(negative, -1);
            Some(a.ge(less))
        }
        Node::Op(Op::Both | Op::Either, _) => Some(a.not(c)),
        _ => None,
    }
}

/// A constant and multiples of expressions; `None` if an expression is missing.
pub(crate) fn sum(k: i64, parts: Vec<(Expr, i64)>) -> Option<Expr> {
    let b = |op, x: Expr, y: Expr| Expr::binary(op, x, y);
    let mut sum: Option<Expr> = None;
    for (x, c) in parts {
        let negative = c < 0 && sum.is_some();
        let c = if negative { -c } else { c };
        let x = if c == 1 { x } else { b(Binary::Mul, x, Expr::Const(c)) };
        sum = Some(match sum {
            None => x,
            Some(s) if negative => b(Binary::Sub, s, x),
            Some(s) => b(Binary::Add, s, x),
        });
    }
    let sum = sum?;
    Some(match k {
        0 => sum,
        k if k < 0 && k > i64::MIN => b(Binary::Sub, sum, Expr::Const(-k)),
        k => b(Binary::Add, sum, Expr::Const(k)),
    })
}

/// An operator on operands; `None` for operators that the program lacks.
pub(crate) fn operator(op: Op, operands: Vec<Expr>) -> Option<Expr> {
    let b = |op, x: Expr, y: Expr| Expr::binary(op, x, y);
    let mut x = operands.into_iter();
    let (p, q, r) = (x.next()?, x.next(), x.next());
    Some(match op {
        Op::Div => b(Binary::Div, p, q?),
        Op::Rem => b(Binary::Rem, p, q?),
        Op::Min => b(Binary::Min, p, q?),
        Op::Max => b(Binary::Max, p, q?),
        Op::Mul => b(Binary::Mul, p, q?),
        Op::And => b(Binary::BitAnd, p, q?),
        Op::Or => b(Binary::BitOr, p, q?),
        Op::Shl => b(Binary::Shl, p, q?),
        Op::Ge => b(Binary::Ge, p, Expr::Const(0)),
        Op::Eq => b(Binary::Eq, p, Expr::Const(0)),
        Op::Not => Expr::unary(Unary::Not, p),
        Op::Both => b(Binary::And, p, q?),
        Op::Either => b(Binary::Or, p, q?),
        Op::If => Expr::cond(p, q?, r?),
        // What is set in both numbers is counted twice in their sum.
        Op::Xor => {
            let q = q?;
            let twice = b(Binary::Mul, b(Binary::BitAnd, p.clone(), q.clone()), Expr::Const(2));
            b(Binary::Sub, b(Binary::Add, p, q), twice)
        }
        Op::IfNegative => Expr::cond(b(Binary::Lt, p, Expr::Const(0)), q?, Expr::Const(0)),
        Op::DivZero => {
            let q = q?;
            let up = Expr::unary(Unary::Neg, b(Binary::Div, Expr::unary(Unary::Neg, p.clone()), q.clone()));
            Expr::cond(b(Binary::Lt, p.clone(), Expr::Const(0)), up, b(Binary::Div, p, q))
        }
        Op::MulHigh | Op::Load | Op::Trips | Op::HowOften => return None,
    })
}

/// The exclusive or of two terms, by remainders where they are bits or one of them is a single bit.
fn exclusive(a: &Arena, args: &[Term], operands: Vec<Expr>) -> Option<Expr> {
    let b = |op, x: Expr, y: Expr| Expr::binary(op, x, y);
    let [x, y] = operands.as_slice() else { return None };
    if args.iter().all(|t| a.is_boolean(*t)) {
        return Some(b(Binary::Rem, b(Binary::Add, x.clone(), y.clone()), Expr::Const(2)));
    }
    let bit = |t: Term| a.constant(t).filter(|c| (1..1 << 31).contains(c) && (*c as u64).is_power_of_two());
    let (x, c) = match (bit(args[0]), bit(args[1])) {
        (_, Some(c)) => (x, c),
        (Some(c), _) => (y, c),
        _ => return operator(Op::Xor, operands),
    };
    // A bit that is set is taken away, and another one is added.
    let high = if c == 1 { x.clone() } else { b(Binary::Div, x.clone(), Expr::Const(c)) };
    let set = b(Binary::Mul, b(Binary::Rem, high, Expr::Const(2)), Expr::Const(2 * c));
    Some(b(Binary::Sub, b(Binary::Add, x.clone(), Expr::Const(c)), set))
}

/// Replaces a quotient that rounds to zero by one that rounds down. The two differ where one is 0 and the other -1; no
/// loop and no comparison that is kept can tell these apart (`Emit::branch`).
pub(crate) fn rounded_down(a: &mut Arena, t: Term) -> Term {
    match a.node(t).clone() {
        Node::Op(Op::DivZero, args) if a.constant(args[1]).is_some_and(|d| d > 0) => a.div(args[0], args[1]),
        _ => t,
    }
}

/// A name for a symbol.
pub(crate) fn leaf_name(a: &Arena, t: Term) -> String {
    match a.node(t) {
        Node::Atom(Atom::Param(p, 0)) => format!("arg{p}"),
        Node::Atom(Atom::Param(p, o)) => format!("arg{p}_{o}"),
        Node::Atom(Atom::Place(p)) => {
            format!("{p:?}").to_lowercase().replace(['(', ')'], "_").trim_end_matches('_').to_string()
        }
        Node::Op(Op::Trips | Op::HowOften, _) => "trips".into(),
        Node::Op(Op::Load, _) => "loaded".into(),
        Node::Op(Op::Div | Op::DivZero, _) => "tiles".into(),
        _ => "value".into(),
    }
}

/// The expression `(i + s) / a % m`, if it gives these numbers.
fn turns(i: &Expr, first: &[i64], last: i64) -> Option<Expr> {
    let b = |op, x: Expr, y: Expr| Expr::binary(op, x, y);
    let n = first.len() as i64 + 1;
    let value = |j: i64| first.get(j as usize).copied().unwrap_or(last);
    for (a, m, s) in (1..=n).flat_map(|a| (2..=n + 1).flat_map(move |m| (0..n).map(move |s| (a, m, s)))) {
        if (0..n).all(|j| value(j) == (j + s) / a % m) {
            let x = if s == 0 { i.clone() } else { b(Binary::Add, i.clone(), Expr::Const(s)) };
            let x = if a == 1 { x } else { b(Binary::Div, x, Expr::Const(a)) };
            return Some(if (n - 1 + s) / a < m { x } else { b(Binary::Rem, x, Expr::Const(m)) });
        }
    }
    None
}

/// An expression for a sequence at an index.
pub(crate) fn table(i: Expr, first: &[i64], cycle: &[i64]) -> Expr {
    let b = |op, x: Expr, y: Expr| Expr::binary(op, x, y);
    let n = cycle.len() as i64;
    if !first.is_empty() {
        let shift = first.len() as i64;
        let mut e = table(b(Binary::Sub, i.clone(), Expr::Const(shift)), &[], cycle);
        for (at, v) in first.iter().enumerate().rev() {
            e = Expr::cond(b(Binary::Eq, i.clone(), Expr::Const(at as i64)), Expr::Const(*v), e);
        }
        return e;
    }
    if n == 1 {
        return Expr::Const(cycle[0]);
    }
    // ((i + s) / a) % m
    for a in (1..=n).filter(|a| n % a == 0) {
        let m = n / a;
        for s in 0..n {
            if (0..n).all(|j| cycle[j as usize] == (j + s) / a % m) {
                let i = if s == 0 { i } else { b(Binary::Add, i, Expr::Const(s)) };
                let i = if a == 1 { i } else { b(Binary::Div, i, Expr::Const(a)) };
                return b(Binary::Rem, i, Expr::Const(m));
            }
        }
    }
    let at = b(Binary::Rem, i, Expr::Const(n));
    let mut e = Expr::Const(cycle[n as usize - 1]);
    for (j, v) in cycle.iter().enumerate().rev().skip(1) {
        e = Expr::cond(b(Binary::Eq, at.clone(), Expr::Const(j as i64)), Expr::Const(*v), e);
    }
    e
}
