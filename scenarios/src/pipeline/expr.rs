//! Expressions of a step as text: the loop's index becomes the iteration of the stage, and `let`s of the body are
//! replaced by their definitions. Constants are folded.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Unary};

use crate::ast::{Expr, ExprKind};

/// An expression as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    /// A number.
    Const(i64),
    /// A name plus a number: `i - 2`.
    Off(String, i64),
    /// Any other text, with its precedence (see [`level`]).
    Text(String, u8),
}

/// The precedence of an operator; higher binds tighter.
fn level(op: Binary) -> u8 {
    match op {
        Binary::Or => 1,
        Binary::And => 2,
        Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => 3,
        Binary::BitOr | Binary::BitAnd | Binary::Shl => 4,
        Binary::Add | Binary::Sub => 5,
        Binary::Mul | Binary::Div | Binary::Rem => 6,
        Binary::Min | Binary::Max | Binary::CeilDiv => 8,
    }
}

impl Val {
    /// The text, in parentheses if its precedence is lower than `want`.
    pub(super) fn at(&self, want: u8) -> String {
        let (text, has) = match self {
            Val::Const(v) => (v.to_string(), if *v < 0 { 7 } else { 9 }),
            Val::Off(name, 0) => (name.clone(), 9),
            Val::Off(name, v) if *v > 0 => (format!("{name} + {v}"), 5),
            Val::Off(name, v) => (format!("{name} - {}", -v), 5),
            Val::Text(text, has) => (text.clone(), *has),
        };
        if has < want { format!("({text})") } else { text }
    }

    /// The text without parentheses.
    pub(super) fn text(&self) -> String {
        self.at(0)
    }

    /// The sum with a number.
    pub(super) fn plus(&self, n: i64) -> Val {
        match self {
            Val::Const(v) => Val::Const(v + n),
            Val::Off(name, v) => Val::Off(name.clone(), v + n),
            _ if n == 0 => self.clone(),
            _ => binary(Binary::Add, self.clone(), Val::Const(n)),
        }
    }

    /// The slot of this iteration in a ring of `n`.
    pub(super) fn slot(&self, n: usize) -> Val {
        binary(Binary::Rem, self.clone(), Val::Const(n as i64))
    }

    /// How many times the ring of `n` slots was filled before this iteration.
    pub(super) fn round(&self, n: usize) -> Val {
        binary(Binary::Div, self.clone(), Val::Const(n as i64))
    }
}

/// An operator applied to two operands; folded where both are numbers.
pub(super) fn binary(op: Binary, a: Val, b: Val) -> Val {
    if let (Val::Const(x), Val::Const(y)) = (&a, &b)
        && let Some(v) = compute(op, *x, *y)
    {
        return Val::Const(v);
    }
    match (op, &a, &b) {
        (Binary::Add, Val::Off(n, v), Val::Const(c)) | (Binary::Add, Val::Const(c), Val::Off(n, v)) => {
            return Val::Off(n.clone(), v + c);
        }
        (Binary::Sub, Val::Off(n, v), Val::Const(c)) => return Val::Off(n.clone(), v - c),
        (Binary::Div | Binary::Mul, _, Val::Const(1)) => return a,
        (Binary::Rem, _, Val::Const(1)) => return Val::Const(0),
        _ => {}
    }
    let l = level(op);
    if l == 8 {
        return Val::Text(format!("{}({}, {})", op.word(), a.text(), b.text()), 9);
    }
    // Comparisons do not chain; the right operand of other operators must bind tighter.
    let left = if l == 3 { 4 } else { l };
    Val::Text(format!("{} {} {}", a.at(left), op.word(), b.at(l + 1)), l)
}

fn compute(op: Binary, x: i64, y: i64) -> Option<i64> {
    Some(match op {
        Binary::Add => x.checked_add(y)?,
        Binary::Sub => x.checked_sub(y)?,
        Binary::Mul => x.checked_mul(y)?,
        Binary::Div if y > 0 => x.div_euclid(y),
        Binary::Rem if y > 0 => x.rem_euclid(y),
        Binary::Lt => i64::from(x < y),
        Binary::Le => i64::from(x <= y),
        Binary::Gt => i64::from(x > y),
        Binary::Ge => i64::from(x >= y),
        Binary::Eq => i64::from(x == y),
        Binary::Ne => i64::from(x != y),
        _ => return None,
    })
}

/// The values of a loop body's names at one step.
#[derive(Clone, Debug)]
pub(super) struct Env<'a> {
    /// The loop's index.
    pub(super) var: &'a str,
    /// Its value at this step.
    pub(super) index: Val,
    /// `let`s of the body.
    pub(super) lets: &'a BTreeMap<String, Expr>,
}

impl Env<'_> {
    /// Whether an expression reads the index or a `let` of the body.
    pub(super) fn touches(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) => false,
            ExprKind::Name(n) => n == self.var || self.lets.contains_key(n),
            ExprKind::Dotted(n, _) => self.lets.contains_key(&n.text),
            ExprKind::Call(_, args) => args.iter().any(|a| self.touches(a)),
            ExprKind::Unary(_, a) => self.touches(a),
            ExprKind::Binary(_, p) => self.touches(&p.0) || self.touches(&p.1),
            ExprKind::Cond(p) => self.touches(&p.0) || self.touches(&p.1) || self.touches(&p.2),
        }
    }

    /// The expression at this step.
    pub(super) fn value(&self, e: &Expr) -> Val {
        match &e.kind {
            ExprKind::Int(v) => Val::Const(*v),
            ExprKind::Name(n) if n == self.var => self.index.clone(),
            ExprKind::Name(n) => match self.lets.get(n) {
                Some(e) => self.value(e),
                None => Val::Off(n.clone(), 0),
            },
            ExprKind::Dotted(a, b) => Val::Off(format!("{}.{}", a.text, b.text), 0),
            ExprKind::Call(f, args) => {
                let args: Vec<String> = args.iter().map(|a| self.value(a).text()).collect();
                Val::Text(format!("{}({})", f.text, args.join(", ")), 9)
            }
            ExprKind::Unary(Unary::Neg, a) => match self.value(a) {
                Val::Const(v) => Val::Const(-v),
                v => Val::Text(format!("-{}", v.at(8)), 7),
            },
            ExprKind::Unary(Unary::Not, a) => Val::Text(format!("not {}", self.value(a).at(4)), 3),
            ExprKind::Binary(op, p) => binary(*op, self.value(&p.0), self.value(&p.1)),
            ExprKind::Cond(p) => {
                let [c, a, b] = [&p.0, &p.1, &p.2].map(|e| self.value(e));
                match c {
                    Val::Const(0) => b,
                    Val::Const(_) => a,
                    c => Val::Text(format!("{} ? {} : {}", c.at(1), a.at(1), b.at(0)), 0),
                }
            }
        }
    }
}
