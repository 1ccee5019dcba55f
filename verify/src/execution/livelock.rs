//! Detects a run that repeats itself for ever (livelock).
//!
//! The run is deterministic, so a state that recurs in full recurs for ever. States are kept at steps that are powers of two
//! (Brent's algorithm): a cycle of length n that begins at step s is found before step 4 * max(n, s).

use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Snapshot, may_recur};

use crate::execution::canonical::Walk;

/// The newest state that was kept.
#[derive(Debug)]
struct Kept {
    agent: AgentId,
    pc: u32,
    vars: Vec<i64>,
    state: Snapshot,
}

/// A detector for one run.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// The step at which the next state is kept.
    next: u64,
    kept: Option<Arc<Kept>>,
}

impl Cycle {
    /// A detector, where a run of the program can repeat itself at all.
    pub(crate) fn of(prog: &Program) -> Option<Cycle> {
        may_recur(prog).then_some(Cycle { next: 1, kept: None })
    }

    /// Whether the state, before an agent's step, is one that was kept.
    pub(crate) fn closes(&mut self, walk: &Walk<'_>) -> bool {
        let (agent, pc) = (walk.turn(), walk.pc());
        if let Some(kept) = &self.kept
            && (kept.agent, kept.pc) == (agent, pc)
            && walk.world.vars_of(agent) == kept.vars
            && walk.world.recurs(&kept.state, &walk.state())
        {
            return true;
        }
        if walk.steps >= self.next {
            self.next = 2 * walk.steps;
            let vars = walk.world.vars_of(agent).to_vec();
            self.kept = Some(Arc::new(Kept { agent, pc, vars, state: walk.state() }));
        }
        false
    }
}
