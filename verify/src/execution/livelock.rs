//! Detection of livelocks: a run that repeats itself for ever.
//!
//! The run is deterministic, so a state that recurs in full recurs for ever. Places are kept at steps that are powers of
//! two (Brent's algorithm). A state costs as much as a hundred steps. So a state is kept only where the run comes to a
//! place like the kept one. A cycle of length n that begins at step s is found before step 5 * max(n, s, FIRST).

use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Snapshot, may_recur};

use crate::execution::canonical::CanonicalRun;

/// The newest kept place of a run.
#[derive(Debug)]
struct Kept {
    /// The agent whose turn it is, and its instruction.
    next: (AgentId, u32),
    outline: u64,
    variables: Vec<i64>,
    /// The state, once another place looked like this one: at that place.
    state: Option<Snapshot>,
}

impl Kept {
    fn of(walk: &CanonicalRun<'_>) -> Kept {
        let variables = walk.world.variables().collect();
        Kept { next: (walk.turn(), walk.pc()), outline: walk.outline(), variables, state: None }
    }

    /// Whether a run is at a place like this one.
    fn like(&self, walk: &CanonicalRun<'_>) -> bool {
        // Most places that differ already differ in their next instruction, and most others in their outline.
        self.next == (walk.turn(), walk.pc())
            && self.outline == walk.outline()
            && walk.world.variables().eq(self.variables.iter().copied())
    }
}

/// The first step at which a place is kept.
const FIRST: u64 = 1 << 7;

/// The detector of one run.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// The step at which the next place is kept.
    next: u64,
    kept: Option<Arc<Kept>>,
}

impl Cycle {
    /// The detector of a program; `None` where its runs cannot repeat themselves.
    pub(crate) fn of(prog: &Program) -> Option<Cycle> {
        may_recur(prog).then_some(Cycle { next: FIRST, kept: None })
    }

    /// Whether the state before an agent's step equals the kept one.
    pub(crate) fn closes(&mut self, walk: &CanonicalRun<'_>) -> bool {
        if let Some(kept) = self.kept.as_ref().filter(|kept| kept.like(walk)) {
            let now = walk.state();
            match &kept.state {
                Some(state) if walk.world.recurs(state, &now) => return true,
                Some(_) => {}
                None => self.kept = Some(Arc::new(Kept { state: Some(now), ..Kept::of(walk) })),
            }
        }
        if walk.steps >= self.next {
            self.next = 2 * walk.steps;
            self.kept = Some(Arc::new(Kept::of(walk)));
        }
        false
    }
}
