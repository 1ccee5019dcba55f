//! The *users* of an mbarrier or a counter: the agents that may come to an operation on it. A record that all users know
//! of never matters again (docs/proof.md, lemma 10).

use crate::ir::{
    BarrierCta, Binary, CounterId, CounterRef, Domain, Env, Executors, Expr, Instr, Op, ParamId, Pc, Program, TapeId,
    VarId, apply,
};

use super::counters::CounterIx;
use super::op::{BarrierUse, instruction};
use super::vocabulary::{AgentId, AgentInfo};
use super::world::World;

/// The operations that an agent may come to: those that the code leads to, where heads and conditions on the agent's warp
/// and CTA choose the way.
fn operations(prog: &Program, who: AgentInfo, mut f: impl FnMut(u32, &Op)) {
    let mut reached = vec![false; prog.code.len()];
    let mut open = vec![0];
    while let Some(pc) = open.pop() {
        match reached.get_mut(pc) {
            Some(reached) if !*reached => *reached = true,
            _ => continue,
        }
        let (next, other) = match &prog.code[pc] {
            Instr::Op { .. } | Instr::Set(..) => (true, None),
            Instr::Jump(to) => (false, Some(*to)),
            Instr::Unless(e, to) => chosen(e.eval(&Rank(who)).map(|v| v != 0), *to),
            Instr::Only(head, to) => chosen(executes(head, who), *to),
            Instr::End => (false, None),
        };
        open.extend(next.then_some(pc + 1));
        open.extend(other.map(|to| to as usize));
    }
    for (pc, i) in prog.code.iter().enumerate().filter(|(pc, _)| reached[*pc]) {
        if let Instr::Op { op, .. } = i {
            f(pc as u32, op);
        }
    }
}

/// Whether an agent may continue at the next instruction, and whether at the target of a branch. `holds` is the condition,
/// where it is known.
fn chosen(holds: Option<bool>, to: Pc) -> (bool, Option<Pc>) {
    (holds != Some(false), if holds == Some(true) { None } else { Some(to) })
}

/// Whether the head of a block includes an agent. `None` where this does not follow from the agent's own place.
fn executes(head: &Executors, who: AgentInfo) -> Option<bool> {
    match head {
        Executors::Warps(w) => Some(w >> who.warp & 1 == 1),
        Executors::Cta(e) => e.eval(&Rank(who)).map(|cta| cta == who.cta as i64),
        Executors::Elected => Some(who.elected()),
    }
}

/// Values that an agent has at all times and in every cluster: those of its warp and its CTA's rank.
struct Rank(AgentInfo);

impl Domain for Rank {
    type Value = i64;

    fn constant(&self, v: i64) -> i64 {
        v
    }

    fn param(&self, _: ParamId) -> Option<i64> {
        None
    }

    fn var(&self, _: VarId) -> Option<i64> {
        None
    }

    fn env(&self, env: Env) -> Option<i64> {
        match env {
            Env::Warp => Some(self.0.warp as i64),
            Env::CtaRank => Some(self.0.cta as i64),
            _ => None,
        }
    }

    fn tape(&self, _: TapeId, _: i64) -> Option<i64> {
        None
    }

    fn truth(&self, v: &i64) -> Option<bool> {
        Some(*v != 0)
    }

    fn negate(&self, v: i64) -> Option<i64> {
        Some(v.wrapping_neg())
    }

    fn binary(&self, op: Binary, _: &(Expr, Expr), x: i64, y: i64) -> Option<i64> {
        apply(op, x, y)
    }
}

/// For each mbarrier, its users.
pub(super) fn barrier_users(world: &World<'_>) -> Vec<Vec<AgentId>> {
    let prog = world.prog;
    let mut users: Vec<Vec<AgentId>> = vec![Vec::new(); world.mbars.len()];
    for (a, who) in (0..).zip(world.spec.info.iter()) {
        operations(prog, *who, |_, op| {
            instruction(op, |i| {
                for BarrierUse { bar, everywhere, .. } in i.barriers() {
                    let all = everywhere || bar.at != BarrierCta::Own;
                    let ctas = if all { 0..prog.cluster } else { who.cta..who.cta + 1 };
                    let stages = 0..prog.mbars[bar.bar as usize].stages;
                    for (cta, stage) in ctas.flat_map(|cta| stages.clone().map(move |stage| (cta, stage))) {
                        let list = &mut users[world.mbar_ix(bar.bar, stage, cta) as usize];
                        if list.last() != Some(&a) {
                            list.push(a);
                        }
                    }
                }
            });
        });
    }
    users
}

/// For each agent, the operations on counters that it may come to: the declaration, and the instruction.
pub(super) fn counter_operations(prog: &Program, info: &[AgentInfo]) -> Vec<Vec<(CounterId, u32)>> {
    let of = |who: &AgentInfo| {
        let mut list = Vec::new();
        operations(prog, *who, |pc, op| {
            if let Op::Counter { at, .. } = op {
                list.push((at.counter, pc));
            }
        });
        list
    };
    if prog.counters.is_empty() { Vec::new() } else { info.iter().map(of).collect() }
}

impl World<'_> {
    /// The running agents that may come to an operation on a counter.
    pub(super) fn counter_users(&self, ix: CounterIx) -> Vec<AgentId> {
        let decl = self.counter_decl(ix);
        let may = |a: &AgentId| {
            let all = self.spec.counter_operations[*a as usize].iter();
            !self.agents[*a].ended && all.filter(|(of, _)| *of == decl).any(|(_, pc)| self.may_name(*a, *pc, ix))
        };
        (0..self.spec.info.len() as AgentId).filter(may).collect()
    }

    /// Whether an operation of an agent may be on this counter.
    fn may_name(&self, a: AgentId, pc: u32, ix: CounterIx) -> bool {
        let Instr::Op { op: Op::Counter { at: CounterRef { counter, index }, .. }, .. } = &self.prog.code[pc as usize]
        else {
            return true;
        };
        // An index that is computed may be any.
        if !index.is_fixed() {
            return true;
        }
        let before: i64 = self.prog.counters[..*counter as usize].iter().map(|c| c.len as i64).sum();
        let of = self.values(a, self.coords, self.agents.vars(a)).of(index);
        of.is_ok_and(|of| before.checked_add(of) == Some(ix as i64))
    }
}
