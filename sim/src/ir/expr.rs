//! Integer expressions of a kernel, evaluated by one agent.
//!
//! `/` rounds down and `%` is never negative. So phase `i / S - 1` is −1 for the first use of every stage, and slot `(i
//! - 1) % S` is in range.

use super::{ParamId, TapeId, VarId};

/// A value that an expression can read beside the agent's own variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Env {
    /// The warp's index in its CTA.
    Warp,
    /// The CTA's rank in its cluster (`cta`).
    CtaRank,
    /// The CTA's row of the grid (`cta.m`); `cluster.m * cluster size + rank` where there are clusters.
    CtaM,
    /// The CTA's column of the grid (`cta.n`).
    CtaN,
    /// The third grid coordinate (`cta.z`).
    CtaZ,
    /// The CTA's launch index (`cta.id`), in raster order.
    CtaId,
    /// The cluster's row of the grid (`cluster.m`).
    ClusterM,
    /// The cluster's column of the grid (`cluster.n`).
    ClusterN,
    /// The cluster's launch index (`cluster.id`).
    ClusterId,
    /// The index at which a tape is read, inside the tape's own `run` expression.
    TapeIndex,
}

/// An operator of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Arithmetic negation.
    Neg,
    /// Logical not: 1 for zero, else 0.
    Not,
}

/// An operator of two operands. Comparisons and logic give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Rounds down.
    Div,
    /// Non-negative for a positive divisor.
    Rem,
    /// Rounds up.
    CeilDiv,
    Min,
    Max,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Or,
    /// Bit set, for CTA masks.
    BitOr,
    BitAnd,
    Shl,
}

impl Binary {
    /// The operator in the kernel language.
    pub fn word(self) -> &'static str {
        match self {
            Binary::Or => "or",
            Binary::And => "and",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::BitOr => "|",
            Binary::BitAnd => "&",
            Binary::Shl => "<<",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::Min => "min",
            Binary::Max => "max",
            Binary::CeilDiv => "cdiv",
        }
    }
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number known at load.
    Const(i64),
    /// A parameter or header `let` that stays symbolic; [`Program::symbols`](super::Program::symbols) has its value.
    Param(ParamId),
    /// A variable of the agent (loop index, `let` inside a body, `var`).
    Var(VarId),
    /// A coordinate of the agent.
    Env(Env),
    /// One operand.
    Unary(Unary, Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<(Expr, Expr)>),
    /// `c ? a : b`.
    If(Box<(Expr, Expr, Expr)>),
    /// The value of a shared tape (`trips`) at an index: the same for every role that reads the tape.
    Tape(TapeId, Box<Expr>),
}

impl Expr {
    /// A two-operand expression, folded where both sides are constants.
    pub fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
        if let (Expr::Const(x), Expr::Const(y)) = (&a, &b)
            && let Some(v) = apply(op, *x, *y)
        {
            return Expr::Const(v);
        }
        Expr::Binary(op, Box::new((a, b)))
    }

    /// A one-operand expression, folded where the operand is a constant.
    pub fn unary(op: Unary, a: Expr) -> Expr {
        match (op, &a) {
            (Unary::Neg, Expr::Const(x)) if *x != i64::MIN => Expr::Const(-x),
            (Unary::Not, Expr::Const(x)) => Expr::Const((*x == 0) as i64),
            _ => Expr::Unary(op, Box::new(a)),
        }
    }

    /// `c ? a : b`, folded where `c` is a constant.
    pub fn cond(c: Expr, a: Expr, b: Expr) -> Expr {
        match c {
            Expr::Const(0) => b,
            Expr::Const(_) => a,
            c => Expr::If(Box::new((c, a, b))),
        }
    }

    /// The value, if it is the same for every agent at every time.
    pub fn constant(&self) -> Option<i64> {
        if let Expr::Const(v) = self { Some(*v) } else { None }
    }

    /// Whether the expression has one value for every agent of a launch: it consists of constants and symbols only.
    pub fn is_launch_constant(&self) -> bool {
        !self.any(|x| matches!(x, Expr::Var(_) | Expr::Env(_) | Expr::Tape(..)))
    }

    /// Whether the expression has one value for an agent at all times.
    pub fn is_fixed(&self) -> bool {
        match self {
            Expr::Const(_) => true,
            Expr::Env(env) => *env != Env::TapeIndex,
            Expr::Unary(_, x) => x.is_fixed(),
            Expr::Binary(_, p) => p.0.is_fixed() && p.1.is_fixed(),
            Expr::Param(_) | Expr::Var(_) | Expr::If(_) | Expr::Tape(..) => false,
        }
    }

    /// The increment of the value when each variable increases by `of` it; `None` where the increment depends on the
    /// variables.
    pub fn gain(&self, of: &impl Fn(VarId) -> Option<i64>) -> Option<i64> {
        let still = |e: &Expr| (e.gain(of)? == 0).then_some(0);
        match self {
            Expr::Const(_) | Expr::Param(_) => Some(0),
            Expr::Var(v) => of(*v),
            Expr::Env(env) => (*env != Env::TapeIndex).then_some(0),
            Expr::Unary(Unary::Neg, x) => x.gain(of)?.checked_neg(),
            Expr::Unary(Unary::Not, x) => still(x),
            Expr::Binary(Binary::Add, p) => p.0.gain(of)?.checked_add(p.1.gain(of)?),
            Expr::Binary(Binary::Sub, p) => p.0.gain(of)?.checked_sub(p.1.gain(of)?),
            Expr::Binary(Binary::Mul, p) => match &**p {
                (Expr::Const(c), x) | (x, Expr::Const(c)) => x.gain(of)?.checked_mul(*c),
                (x, y) => still(x).and(still(y)),
            },
            Expr::Binary(_, p) => still(&p.0).and(still(&p.1)),
            Expr::If(p) => still(&p.0).and(still(&p.1)).and(still(&p.2)),
            Expr::Tape(_, x) => still(x),
        }
    }

    /// Calls `f` on this expression and on every expression inside it.
    pub fn visit(&self, f: &mut impl FnMut(&Expr)) {
        f(self);
        self.operands().for_each(|x| x.visit(f));
    }

    /// Whether this expression or some expression inside it is of a kind.
    pub fn any(&self, kind: impl Fn(&Expr) -> bool) -> bool {
        let mut any = false;
        self.visit(&mut |x| any |= kind(x));
        any
    }

    /// Puts `by` in the place of each part that equals `part`.
    pub fn replace(&mut self, part: &Expr, by: &Expr) {
        if self == part {
            *self = by.clone();
            return;
        }
        match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => {}
            Expr::Unary(_, x) | Expr::Tape(_, x) => x.replace(part, by),
            Expr::Binary(_, p) => [&mut p.0, &mut p.1].into_iter().for_each(|x| x.replace(part, by)),
            Expr::If(p) => [&mut p.0, &mut p.1, &mut p.2].into_iter().for_each(|x| x.replace(part, by)),
        }
    }

    /// The operands of the outermost operator, in source order.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let of = match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => [None; 3],
            Expr::Unary(_, a) | Expr::Tape(_, a) => [Some(&**a), None, None],
            Expr::Binary(_, p) => [Some(&p.0), Some(&p.1), None],
            Expr::If(p) => [Some(&p.0), Some(&p.1), Some(&p.2)],
        };
        of.into_iter().flatten()
    }
}

/// Applies an operator; `None` for division by zero or overflow.
pub fn apply(op: Binary, a: i64, b: i64) -> Option<i64> {
    let truth = |t: bool| Some(t as i64);
    match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => floor_div(a, b),
        Binary::Rem => (b != 0).then(|| a.checked_rem_euclid(b)).flatten(),
        Binary::CeilDiv => floor_div(a, b)?.checked_add((a.checked_rem(b)? != 0) as i64),
        Binary::Min => Some(a.min(b)),
        Binary::Max => Some(a.max(b)),
        Binary::Lt => truth(a < b),
        Binary::Le => truth(a <= b),
        Binary::Gt => truth(a > b),
        Binary::Ge => truth(a >= b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
        Binary::And => truth(a != 0 && b != 0),
        Binary::Or => truth(a != 0 || b != 0),
        Binary::BitOr => Some(a | b),
        Binary::BitAnd => Some(a & b),
        Binary::Shl => u32::try_from(b).ok().and_then(|s| a.checked_shl(s)),
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let q = a.checked_div(b)?;
    Some(if a % b != 0 && ((a < 0) != (b < 0)) { q - 1 } else { q })
}
