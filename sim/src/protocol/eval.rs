//! Evaluating expressions for an agent.

use std::cell::RefCell;

use crate::ir::{Binary, Domain, Env, Expr, ParamId, Program, TapeId, VarId, apply};

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
        let judged = self.judged.as_ref();
        e.eval(&Numbers { prog: self.prog, coords: self.coords, who, vars, tape_index, judged })
            .ok_or(Fault::Arithmetic)
    }
}

/// What numbers decide where expressions over symbols are evaluated at launch, those that symbols are computed from
/// included.
pub fn judged_at_launch<'e>(prog: &'e Program, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Judged> {
    let judged = RefCell::default();
    let coords = Coords { id: 0, m: 0, n: 0, z: 0 };
    let who = AgentInfo { cta: 0, warp: 0, lanes: None };
    let numbers = Numbers { prog, coords, who, vars: &[], tape_index: 0, judged: Some(&judged) };
    let definitions = prog.symbols.iter().filter_map(|s| s.definition.as_ref());
    for e in definitions.chain(exprs) {
        // Where it has no value, the kernel refuses its parameters before it runs.
        let _ = e.eval(&numbers);
    }
    judged.into_inner()
}

/// Numbers as an agent evaluates them.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    prog: &'a Program,
    coords: Coords,
    who: AgentInfo,
    vars: &'a [i64],
    tape_index: i64,
    judged: Option<&'a RefCell<Vec<Judged>>>,
}

impl Numbers<'_> {
    fn judge(&self, what: Judged) {
        if let Some(list) = self.judged {
            list.borrow_mut().push(what);
        }
    }
}

impl Domain for Numbers<'_> {
    type Value = i64;

    fn constant(&self, v: i64) -> i64 {
        v
    }

    fn param(&self, p: ParamId) -> Option<i64> {
        Some(self.prog.symbols[p as usize].value)
    }

    fn var(&self, v: VarId) -> Option<i64> {
        Some(self.vars[v as usize])
    }

    fn env(&self, env: Env) -> Option<i64> {
        let (c, size, rank) = (&self.coords, self.prog.cluster as i64, self.who.cta as i64);
        Some(match env {
            Env::Warp => self.who.warp as i64,
            Env::CtaRank => rank,
            Env::CtaM => c.m * size + rank,
            Env::CtaN | Env::ClusterN => c.n,
            Env::CtaZ => c.z,
            Env::CtaId => c.id * size + rank,
            Env::ClusterM => c.m,
            Env::ClusterId => c.id,
            Env::TapeIndex => self.tape_index,
        })
    }

    fn tape(&self, t: TapeId, at: i64) -> Option<i64> {
        self.prog.tapes[t as usize].run.eval(&Numbers { tape_index: at, ..*self })
    }

    fn truth(&self, v: &i64) -> Option<bool> {
        self.judge(Judged::Op(Binary::Ne, *v, 0));
        Some(*v != 0)
    }

    fn negate(&self, v: i64) -> Option<i64> {
        Some(v.wrapping_neg())
    }

    fn binary(&self, op: Binary, p: &(Expr, Expr), x: i64, y: i64) -> Option<i64> {
        match op {
            Binary::Add | Binary::Sub => {}
            Binary::Mul if !p.0.is_fixed() && !p.1.is_fixed() => {
                self.judge(Judged::Fixed(x));
                self.judge(Judged::Fixed(y));
            }
            _ => self.judge(Judged::Op(op, x, y)),
        }
        apply(op, x, y)
    }
}
