//! What an agent knows of an mbarrier's phases: that they are complete, because it waited for one, because it hears from
//! somebody who did, or because it knows of every arrival that completed them.

use crate::protocol::order::Epoch;
use crate::protocol::vocabulary::{AgentId, MbarIx, WaitTarget};
use crate::protocol::world::World;

/// The arrivals of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::protocol) struct Arrivals {
    /// In order of their components: who came first is of no consequence, and a state recurs sooner without it.
    epochs: Vec<Epoch>,
    /// Bytes, or an arrival that crosses the cluster, took part: knowing who sent them is not knowing that they came.
    unsure: bool,
}

impl Arrivals {
    /// The epochs of the arrivals, in order of their components.
    pub(in crate::protocol) fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// Whether something took part that no agent can know of but by waiting.
    pub(in crate::protocol) fn unsure(&self) -> bool {
        self.unsure
    }

    /// Counts an arrival; without an epoch nobody can know of the arrival but by waiting.
    pub(super) fn count(&mut self, epoch: Option<Epoch>) {
        match epoch {
            Some(e) => self.epochs.insert(self.epochs.partition_point(|x| *x < e), e),
            None => self.unsure = true,
        }
    }

    /// Notes that bytes take part.
    pub(super) fn make_unsure(&mut self) {
        self.unsure = true;
    }
}

impl World<'_> {
    /// Whether an agent knows that the first `phases` phases of a barrier are complete.
    pub(in crate::protocol) fn knows_phases(&self, a: AgentId, ix: MbarIx, phases: i64) -> bool {
        let row = self.spec.agent_row(a);
        // Knowing of time is enough here: nothing is read.
        if self.order.reached(row, self.spec.mbar_comp(ix)) as i64 >= phases {
            return true;
        }
        let back = self.mbar(ix).phase as i64 + 1 - phases;
        let Some(last) = usize::try_from(back).ok().and_then(|b| self.mbars[ix as usize].arrivals().get(b)) else {
            return false;
        };
        back > 0 && !last.unsure && last.epochs.iter().all(|e| self.order.reached(row, e.comp) >= e.clock)
    }

    /// An arrival belongs to one phase in every schedule if its agent knows that the phase before is complete.
    pub(in crate::protocol) fn arrives_in_order(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let phase = self.mbar(ix).phase;
        if !self.results.is_unordered() && !self.knows_phases(a, ix, phase as i64) {
            self.may_be_counted_elsewhere(a, pc, ix);
        }
    }

    /// Another schedule can count this arrival in another phase, which is of no matter where nothing hangs on it.
    pub(in crate::protocol) fn may_be_counted_elsewhere(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        if self.spec.phases_matter[self.mbar_decl(ix) as usize] {
            self.results.note_unordered(a, pc, WaitTarget::Mbar(ix));
        }
    }
}
