//! Evaluating expressions for an agent.

use crate::ir::{Binary, Env, Expr, Unary, apply};

use super::world::{Fault, World};
use super::{AgentId, AgentInfo};

/// Where a cluster sits in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coords {
    pub(super) id: i64,
    pub(super) m: i64,
    pub(super) n: i64,
    pub(super) z: i64,
}

/// A place in an evaluation where a number decides something. A verifier that compares two runs reads off these whether
/// longer runs decide alike; sums and differences decide nothing and are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// An operator other than a sum or a difference, and its operands; a product has one that is [`Expr::is_fixed`].
    Op(Binary, i64, i64),
    /// A number that says where, whether or how often: a slot, a stage, a count; a phase less the barrier's own; a
    /// factor of a product of two numbers that may change.
    Fixed(i64),
    /// A loop begins again.
    Again,
}

impl World<'_> {
    /// The value of an expression that says where, whether or how often.
    pub(super) fn eval(&self, a: AgentId, e: &Expr) -> Result<i64, Fault> {
        let v = self.number(a, e)?;
        self.judge(Judged::Fixed(v));
        Ok(v)
    }

    /// The value of an expression that may grow with a trip count: a variable, a tile's coordinate, a phase.
    pub(super) fn number(&self, a: AgentId, e: &Expr) -> Result<i64, Fault> {
        let vars = &self.vars[a as usize * self.frame..];
        self.value(self.info[a as usize], vars, 0, e)
    }

    /// The truth of a condition.
    pub(super) fn holds(&self, a: AgentId, e: &Expr) -> Result<bool, Fault> {
        Ok(self.truth(self.number(a, e)?))
    }

    fn truth(&self, v: i64) -> bool {
        self.judge(Judged::Op(Binary::Ne, v, 0));
        v != 0
    }

    pub(super) fn judge(&self, what: Judged) {
        if let Some(list) = &self.judged {
            list.borrow_mut().push(what);
        }
    }

    fn value(&self, who: AgentInfo, vars: &[i64], tape_index: i64, e: &Expr) -> Result<i64, Fault> {
        Ok(match e {
            Expr::Const(v) => *v,
            Expr::Var(v) => vars[*v as usize],
            Expr::Env(env) => self.env(who, tape_index, *env),
            Expr::Unary(Unary::Neg, x) => self.value(who, vars, tape_index, x)?.wrapping_neg(),
            Expr::Unary(Unary::Not, x) => !self.truth(self.value(who, vars, tape_index, x)?) as i64,
            Expr::Binary(op, p) => {
                let x = self.value(who, vars, tape_index, &p.0)?;
                // The right side is not evaluated where the left decides.
                match op {
                    Binary::And if !self.truth(x) => return Ok(0),
                    Binary::Or if self.truth(x) => return Ok(1),
                    _ => {}
                }
                let y = self.value(who, vars, tape_index, &p.1)?;
                match op {
                    Binary::Add | Binary::Sub => {}
                    Binary::Mul if !p.0.is_fixed() && !p.1.is_fixed() => {
                        self.judge(Judged::Fixed(x));
                        self.judge(Judged::Fixed(y));
                    }
                    Binary::And | Binary::Or => return Ok(self.truth(y) as i64),
                    _ => self.judge(Judged::Op(*op, x, y)),
                }
                apply(*op, x, y).ok_or(Fault::Arithmetic)?
            }
            Expr::If(p) => {
                let c = self.value(who, vars, tape_index, &p.0)?;
                self.value(who, vars, tape_index, if self.truth(c) { &p.1 } else { &p.2 })?
            }
            Expr::Tape(t, at) => {
                let at = self.value(who, vars, tape_index, at)?;
                self.value(who, vars, at, &self.prog.tapes[*t as usize].run)?
            }
        })
    }

    fn env(&self, who: AgentInfo, tape_index: i64, env: Env) -> i64 {
        let c = &self.coords;
        let size = self.prog.cluster as i64;
        match env {
            Env::Warp => who.warp as i64,
            Env::CtaRank => who.cta as i64,
            Env::CtaM => c.m * size + who.cta as i64,
            Env::CtaN | Env::ClusterN => c.n,
            Env::CtaZ => c.z,
            Env::CtaId => c.id * size + who.cta as i64,
            Env::ClusterM => c.m,
            Env::ClusterId => c.id,
            Env::TapeIndex => tape_index,
        }
    }
}
