//! Detection of livelocks: a run that repeats itself for ever.
//!
//! The run is deterministic, so a state that recurs in full recurs for ever. States are kept at steps that are powers of two
//! (Brent's algorithm): a cycle of length n that begins at step s is found before step 4 * max(n, s, FIRST).

use std::sync::Arc;

use warpline_sim::ir::Program;
use warpline_sim::protocol::{Snapshot, may_recur};

use crate::execution::canonical::CanonicalRun;

/// The newest kept state.
#[derive(Debug)]
struct Kept {
    outline: u64,
    variables: Vec<i64>,
    state: Snapshot,
}

/// The first step at which a state is kept. Most runs of a proof are shorter, and a state costs as much as a hundred
/// steps.
const FIRST: u64 = 1 << 7;

/// The detector of one run.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// The step at which the next state is kept.
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
        // Most states that differ already differ in their outline.
        if let Some(kept) = &self.kept
            && kept.outline == walk.outline()
            && walk.world.variables().eq(kept.variables.iter().copied())
            && walk.world.recurs(&kept.state, &walk.state())
        {
            return true;
        }
        if walk.steps >= self.next {
            self.next = 2 * walk.steps;
            let (outline, variables) = (walk.outline(), walk.world.variables().collect());
            self.kept = Some(Arc::new(Kept { outline, variables, state: walk.state() }));
        }
        false
    }
}
