//! Loops with more iterations in a longer run, and detection of their steps.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, Instr, Loop, ParamId, Program};
use warpline_sim::protocol::AgentId;

use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::induction::loop_bounds::{self, Ratio};

/// A counter of the steps of such a loop.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    /// The loop's index, and its growth in an iteration.
    var: u16,
    step: i64,
    /// The loop's instructions, because another role may keep another index in the same variable.
    head: u32,
    end: u32,
    /// The agent whose steps count; `None` for the first agent that makes one.
    pub(crate) agent: Option<AgentId>,
    /// The last value of the index.
    pub(crate) last: Option<i64>,
    /// Steps that the long run has more in each pass.
    pub(crate) period: usize,
}

impl Watch {
    pub(crate) fn of(prog: &Program, l: &Loop, agent: Option<AgentId>, period: usize) -> Option<Watch> {
        let step = step_of(prog, l);
        l.index().map(|var| Watch { var, step, head: l.head, end: l.end, agent, last: None, period })
    }

    /// The number of iterations that the loop advanced with this step. It can exceed one where an iteration has no
    /// operation.
    pub(crate) fn steps(&mut self, walk: &CanonicalRun<'_>, made: &StepOutcome) -> usize {
        let StepOutcome::Performed { agent, pc, .. } = *made else { return 0 };
        if self.agent.is_some_and(|a| a != agent) || !(self.head..self.end).contains(&pc) {
            return 0;
        }
        let now = walk.world.var(agent, self.var);
        let Some(last) = self.last.replace(now).filter(|last| *last != now) else { return 0 };
        self.agent = Some(agent);
        // An outer loop has restarted the loop.
        if now > last { (((now - last) / self.step) as usize).max(1) } else { 1 }
    }

    /// The current iteration, relative to a fixed number.
    pub(crate) fn iteration(&self) -> i64 {
        self.last.map_or(0, |last| last.div_euclid(self.step))
    }

    /// The position of the loop in the text.
    pub(crate) fn number(&self, prog: &Program) -> usize {
        let own = |l: &Loop| (l.head, l.end) == (self.head, self.end);
        prog.loops.iter().position(own).unwrap_or(usize::MAX)
    }

    /// The same loop in another run.
    pub(crate) fn on(&self, walk: &CanonicalRun<'_>) -> Watch {
        let last = self.agent.filter(|_| self.last.is_some()).map(|a| walk.world.var(a, self.var));
        Watch { last, ..self.clone() }
    }
}

/// Loops whose bounds differ between two kernels of one text, with the difference; also loops over tiles of which `clc`
/// has more to hand out. Of a bound that reads variables, the unit by which its passes differ.
pub(crate) fn grown<'p>(short: &'p Program, long: &Program) -> Vec<(&'p Loop, i64)> {
    let pairs = short.loops.iter().zip(&long.loops);
    let handed = if short.hands_out() { long.grid.len() - short.grid.len() } else { 0 };
    let by = |(a, b): (&'p Loop, &Loop)| {
        if a.passed.is_some() && handed != 0 {
            return Some((a, handed));
        }
        let by = if loop_bounds::reads_variables(a) {
            let leaf = |e: &Expr| Some(Ratio::whole(long.launch_value(e)?.checked_sub(short.launch_value(e)?)?));
            loop_bounds::unit(short, a, &leaf).filter(|unit| unit.den == 1)?.num
        } else {
            long.launch_value(b.bound.as_ref()?)? - short.launch_value(a.bound.as_ref()?)?
        };
        (by != 0).then_some((a, by))
    };
    pairs.filter_map(by).collect()
}

/// The symbols with another value in the same kernel with other parameters.
pub(crate) fn changed_symbols(a: &Program, b: &Program) -> BTreeSet<ParamId> {
    let pairs = (0..).zip(a.symbols.iter().zip(&b.symbols));
    pairs.filter(|(_, (a, b))| a.value != b.value).map(|(id, _)| id).collect()
}

/// The step of a loop's index, which the last but one instruction of the loop adds.
pub(crate) fn step_of(prog: &Program, l: &Loop) -> i64 {
    if l.var.is_none() {
        // Handed-out tiles have distance one (`World::alone`).
        return 1;
    }
    match prog.code.get((l.end as usize).wrapping_sub(2)) {
        Some(Instr::Set(_, Expr::Binary(Binary::Add, p))) => prog.launch_value(&p.1).unwrap_or(1).max(1),
        _ => 1,
    }
}
