//! Evaluation of expressions, over any domain of values.
//!
//! One function walks an expression, in the order of evaluation of the language: the right side of `and` and `or` is
//! evaluated only where the left side does not decide. The domain says what a value is. For the engine, a value is a
//! number. For the verifier, a value is a number with its dependence on the CTA's coordinates.

use super::{Binary, Env, Expr, ParamId, TapeId, Unary, VarId, apply};

/// A domain of values, and the sources of its values. `None` means that an expression has no value.
pub trait Domain {
    /// A value.
    type Value;
    /// The value of a number.
    fn constant(&self, v: i64) -> Self::Value;
    /// The value of a symbol.
    fn param(&self, p: ParamId) -> Option<Self::Value>;
    /// The value of a variable.
    fn var(&self, v: VarId) -> Option<Self::Value>;
    /// The value of a coordinate.
    fn env(&self, env: Env) -> Option<Self::Value>;
    /// The value that a tape has at an index.
    fn tape(&self, t: TapeId, at: Self::Value) -> Option<Self::Value>;
    /// Whether a value is not zero.
    fn truth(&self, v: &Self::Value) -> Option<bool>;
    /// The negated value.
    fn negate(&self, v: Self::Value) -> Option<Self::Value>;
    /// An operator other than `and` and `or` on the values of two operands.
    fn binary(&self, op: Binary, operands: &(Expr, Expr), x: Self::Value, y: Self::Value) -> Option<Self::Value>;
}

impl Expr {
    /// The value in a domain.
    pub fn eval<D: Domain>(&self, d: &D) -> Option<D::Value> {
        let truth = |t: bool| Some(d.constant(t as i64));
        match self {
            Expr::Const(v) => Some(d.constant(*v)),
            Expr::Param(p) => d.param(*p),
            Expr::Var(v) => d.var(*v),
            Expr::Env(env) => d.env(*env),
            Expr::Unary(Unary::Neg, x) => d.negate(x.eval(d)?),
            Expr::Unary(Unary::Not, x) => truth(!d.truth(&x.eval(d)?)?),
            Expr::Binary(op, p) => {
                let x = p.0.eval(d)?;
                match op {
                    Binary::And if !d.truth(&x)? => truth(false),
                    Binary::Or if d.truth(&x)? => truth(true),
                    Binary::And | Binary::Or => truth(d.truth(&p.1.eval(d)?)?),
                    _ => d.binary(*op, p, x, p.1.eval(d)?),
                }
            }
            Expr::If(p) => if d.truth(&p.0.eval(d)?)? { &p.1 } else { &p.2 }.eval(d),
            Expr::Tape(t, at) => d.tape(*t, at.eval(d)?),
        }
    }
}

/// Numbers that are known at launch: constants and symbols.
pub(super) struct Launch<'a>(pub(super) &'a [super::Symbol]);

impl Domain for Launch<'_> {
    type Value = i64;

    fn constant(&self, v: i64) -> i64 {
        v
    }

    fn param(&self, p: ParamId) -> Option<i64> {
        self.0.get(p as usize).map(|s| s.value)
    }

    fn var(&self, _: VarId) -> Option<i64> {
        None
    }

    fn env(&self, _: Env) -> Option<i64> {
        None
    }

    fn tape(&self, _: TapeId, _: i64) -> Option<i64> {
        None
    }

    fn truth(&self, v: &i64) -> Option<bool> {
        Some(*v != 0)
    }

    fn negate(&self, v: i64) -> Option<i64> {
        v.checked_neg()
    }

    fn binary(&self, op: Binary, _: &(Expr, Expr), x: i64, y: i64) -> Option<i64> {
        apply(op, x, y)
    }
}
