//! The operations of each agent in order. Control flow and expressions are evaluated here, so that the model has
//! straight-line steps.

use warpline_sim::ir::{
    ArrivalsPer, Binary, Env, Executors, Expr, Instr, MmaKind, MoveKind, Op, Program, Queue, Unary, apply,
};
use warpline_sim::protocol::{AgentInfo, agents, elected_code, waits_again};

use super::Inexpressible;

/// Largest number of operations and jumps of an agent; a model checker could not handle more.
const LIMIT: usize = 200_000;

/// An agent on its way through the code.
#[derive(Clone)]
pub(super) struct Walker<'p> {
    pub(super) prog: &'p Program,
    pub(super) who: AgentInfo,
    vars: Vec<i64>,
    /// Whether a lane class entered an `elect:` block since the lanes of its warp last joined.
    diverged: bool,
    /// Whether a lane class passed an operation since then that the other class does not wait for.
    unmet: bool,
}

/// Receives one operation with the state of its agent.
pub(super) type Visit<'a, 'p> = &'a mut dyn FnMut(&Walker<'p>, u32, &'p Op, bool) -> Result<(), Inexpressible>;

/// The agents of the cluster, in order.
pub(super) fn all(prog: &Program) -> Vec<AgentInfo> {
    agents(prog)
}

impl<'p> Walker<'p> {
    /// Walks an agent to its end. `visit` receives each operation, and whether it is inside `elect:`.
    pub(super) fn walk(prog: &'p Program, who: AgentInfo, visit: Visit<'_, 'p>) -> Result<(), Inexpressible> {
        let elected = elected_code(prog);
        let mut w = Walker { prog, who, vars: vec![0; prog.vars.len()], diverged: false, unmet: false };
        let mut pc = 0usize;
        for _ in 0..LIMIT {
            let at = |e: Option<i64>| e.ok_or_else(|| w.no(pc as u32, "an expression has no value here"));
            pc = match &prog.code[pc] {
                Instr::End => return Ok(()),
                Instr::Op { op, .. } => {
                    visit(&w, pc as u32, op, elected[pc])?;
                    if !elected[pc] {
                        w.passes(pc as u32, op);
                    }
                    pc + 1
                }
                Instr::Jump(to) => *to as usize,
                Instr::Set(v, e) => {
                    let value = at(w.value(e))?;
                    w.vars[*v as usize] = value;
                    pc + 1
                }
                Instr::Unless(e, to) => {
                    if at(w.value(e))? == 0 {
                        *to as usize
                    } else {
                        pc + 1
                    }
                }
                Instr::Only(set, to) => {
                    let among = match set {
                        Executors::Warps(bits) => bits >> who.warp & 1 == 1,
                        Executors::Cta(e) => at(w.value(e))? == who.cta as i64,
                        Executors::Elected => who.elected(),
                    };
                    w.diverged |= *set == Executors::Elected;
                    if among { pc + 1 } else { *to as usize }
                }
            };
        }
        Err(w.no(pc as u32, "an agent has more steps than a model can hold"))
    }

    /// Records that an agent passed an operation outside of `elect:` blocks.
    fn passes(&mut self, pc: u32, op: &Op) {
        let joins = match op {
            Op::Barrier(_) | Op::WarpSync | Op::Elect | Op::ClusterWait | Op::Named { sync: true, .. } => true,
            Op::TmemAlloc { .. } | Op::TmemDealloc { .. } | Op::Regs { .. } => true,
            Op::Mma { kind, .. } => matches!(kind, MmaKind::Warp | MmaKind::Wgmma),
            Op::Move { how, .. } => matches!(how, MoveKind::TmemLd | MoveKind::TmemSt),
            Op::Arrive { per, .. } => self.in_step(*per),
            _ => false,
        };
        if joins {
            (self.diverged, self.unmet) = (false, false);
        }
        self.unmet |= match op {
            Op::Mma { kind, .. } => *kind == MmaKind::Warp,
            Op::Move { how, .. } => !matches!(how, MoveKind::TmemLd | MoveKind::TmemSt),
            Op::Wait(q, _) => !matches!(q, Queue::Wgmma | Queue::TmemLd | Queue::TmemSt),
            Op::Arrive { per, .. } => *per == ArrivalsPer::Thread,
            Op::MbarWait { bar, .. } => waits_again(self.prog, pc, bar.bar),
            Op::Put { .. } | Op::Get { .. } | Op::CpArrive { .. } | Op::Expect { .. } => true,
            _ => false,
        };
    }

    /// Whether lanes must be in step here, because one of them arrives for all.
    pub(super) fn in_step(&self, per: ArrivalsPer) -> bool {
        let first = || {
            self.prog.role_of(self.who.warp).map_or(self.who.warp == 0, |r| {
                let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                (r.warps & ((1u64 << self.who.warp) - 1)).count_ones().is_multiple_of(size)
            })
        };
        let joined = self.who.lanes.is_some() && !self.diverged && self.unmet;
        joined && (per == ArrivalsPer::Warp || (per == ArrivalsPer::Once && first()))
    }

    /// A refusal because of an instruction.
    pub(super) fn no(&self, pc: u32, why: &str) -> Inexpressible {
        Inexpressible { message: why.to_string(), site: Some(self.prog.at[pc as usize]) }
    }

    /// The same agent with the coordinates of a CTA of its cluster.
    pub(super) fn in_cta(&self, cta: u32) -> Self {
        let mut there = self.clone();
        there.who.cta = cta;
        there
    }

    /// The value of an expression for this agent, in the first cluster of the grid.
    pub(super) fn value(&self, e: &Expr) -> Option<i64> {
        self.valued(e, 0)
    }

    fn valued(&self, e: &Expr, tape: i64) -> Option<i64> {
        match e {
            Expr::Const(v) => Some(*v),
            Expr::Param(p) => Some(self.prog.symbols[*p as usize].value),
            Expr::Var(v) => Some(self.vars[*v as usize]),
            Expr::Env(env) => Some(self.env(*env, tape)),
            Expr::Unary(Unary::Neg, x) => self.valued(x, tape)?.checked_neg(),
            Expr::Unary(Unary::Not, x) => Some((self.valued(x, tape)? == 0) as i64),
            Expr::Binary(op, p) => {
                let x = self.valued(&p.0, tape)?;
                match op {
                    Binary::And if x == 0 => Some(0),
                    Binary::Or if x != 0 => Some(1),
                    op => apply(*op, x, self.valued(&p.1, tape)?),
                }
            }
            Expr::If(p) => self.valued(if self.valued(&p.0, tape)? != 0 { &p.1 } else { &p.2 }, tape),
            Expr::Tape(t, at) => {
                let at = self.valued(at, tape)?;
                self.valued(&self.prog.tapes[*t as usize].run, at)
            }
        }
    }

    fn env(&self, env: Env, tape: i64) -> i64 {
        // The first cluster is at the origin of the grid.
        match env {
            Env::Warp => self.who.warp as i64,
            Env::CtaRank | Env::CtaM | Env::CtaId => self.who.cta as i64,
            Env::CtaN | Env::CtaZ | Env::ClusterM | Env::ClusterN | Env::ClusterId => 0,
            Env::TapeIndex => tape,
        }
    }
}
