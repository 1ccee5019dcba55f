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

impl World<'_> {
    /// The value of an expression for an agent.
    pub(super) fn eval(&self, a: AgentId, e: &Expr) -> Result<i64, Fault> {
        let vars = &self.vars[a as usize * self.frame..];
        self.value(self.info[a as usize], vars, 0, e)
    }

    fn value(&self, who: AgentInfo, vars: &[i64], tape_index: i64, e: &Expr) -> Result<i64, Fault> {
        Ok(match e {
            Expr::Const(v) => *v,
            Expr::Var(v) => vars[*v as usize],
            Expr::Env(env) => self.env(who, tape_index, *env),
            Expr::Unary(Unary::Neg, x) => self.value(who, vars, tape_index, x)?.wrapping_neg(),
            Expr::Unary(Unary::Not, x) => (self.value(who, vars, tape_index, x)? == 0) as i64,
            Expr::Binary(op, p) => {
                let x = self.value(who, vars, tape_index, &p.0)?;
                // The right side is not evaluated where the left decides.
                match (op, x) {
                    (Binary::And, 0) => return Ok(0),
                    (Binary::Or, x) if x != 0 => return Ok(1),
                    _ => {}
                }
                let y = self.value(who, vars, tape_index, &p.1)?;
                apply(*op, x, y).ok_or(Fault::Arithmetic)?
            }
            Expr::If(p) => {
                let c = self.value(who, vars, tape_index, &p.0)?;
                self.value(who, vars, tape_index, if c != 0 { &p.1 } else { &p.2 })?
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
