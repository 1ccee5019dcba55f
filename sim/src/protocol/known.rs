//! What an agent knows of an mbarrier's phases: that they are complete, because it waited for one, because it hears from
//! somebody who did, or because it knows of every arrival that completed them.

use super::AgentId;
use super::mbarrier::MbarIx;
use super::order::Epoch;
use super::world::{WaitTarget, World};

/// The arrivals of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Arrivals {
    /// In order of their components: who came first is of no consequence, and a state recurs sooner without it.
    pub(super) by: Vec<Epoch>,
    /// Bytes, or an arrival that crosses the cluster, took part: knowing who sent them is not knowing that they came.
    pub(super) unsure: bool,
}

impl World<'_> {
    /// An arrival counts in the open phase; without an epoch nobody can know of it but by waiting.
    pub(super) fn count_arrival(&mut self, ix: MbarIx, epoch: Option<Epoch>) {
        let open = &mut self.arrived[ix as usize][0];
        match epoch {
            Some(e) => open.by.insert(open.by.partition_point(|x| *x < e), e),
            None => open.unsure = true,
        }
    }

    /// The open phase is complete.
    pub(super) fn close_arrivals(&mut self, ix: MbarIx) {
        let list = &mut self.arrived[ix as usize];
        list.rotate_right(1);
        list[0] = Arrivals::default();
    }

    /// Whether an agent knows that the first `phases` phases of a barrier are complete.
    pub(super) fn knows_phases(&self, a: AgentId, ix: MbarIx, phases: i64) -> bool {
        let row = self.agent_row(a);
        // Knowing of time is enough here: nothing is read.
        if self.rows.reached(row, self.mbar_comp(ix)) as i64 >= phases {
            return true;
        }
        let back = self.mbars[ix as usize].phase as i64 + 1 - phases;
        let Some(last) = usize::try_from(back).ok().and_then(|b| self.arrived[ix as usize].get(b)) else {
            return false;
        };
        back > 0 && !last.unsure && last.by.iter().all(|e| self.rows.reached(row, e.comp) >= e.clock)
    }

    /// An arrival belongs to one phase in every schedule if its agent knows that the phase before is complete.
    pub(super) fn arrives_in_order(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        let phase = self.mbars[ix as usize].phase;
        if self.unordered.is_none() && !self.knows_phases(a, ix, phase as i64) {
            self.may_be_counted_elsewhere(a, pc, ix);
        }
    }

    /// Another schedule can count this arrival in another phase, which is of no matter where nothing hangs on it.
    pub(super) fn may_be_counted_elsewhere(&mut self, a: AgentId, pc: u32, ix: MbarIx) {
        if self.phases_matter[self.mbar_decl(ix) as usize] {
            self.unordered.get_or_insert((a, pc, WaitTarget::Mbar(ix)));
        }
    }
}
