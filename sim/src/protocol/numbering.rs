//! The numbers of rows and components of happens-before (`order`).
//!
//! ```text
//!   rows         agents │ mbarriers, two each │ rendezvous, two each │ opened │ released │ pending │ flights
//!   components   agents │ streams in use      │ rendezvous           │ mbarriers
//! ```
//!
//! Opened, released and pending rows are one for each agent, where the program needs them.

use super::order::RowId;
use super::spec::Spec;
use super::vocabulary::{AgentId, MbarIx, RendezvousIx};
use super::world::World;

impl Spec {
    /// The row of what happened before an agent's next operation.
    #[inline]
    pub(super) fn agent_row(&self, a: AgentId) -> RowId {
        a
    }

    /// The row that joins the arrivals of the open phase.
    #[inline]
    pub(super) fn mbar_row(&self, ix: MbarIx) -> RowId {
        self.info.len() as RowId + 2 * ix
    }

    /// The row that waiters join: what completed phases released.
    #[inline]
    pub(super) fn mbar_done_row(&self, ix: MbarIx) -> RowId {
        self.mbar_row(ix) + 1
    }

    /// The row that joins the arrivals of the open generation.
    #[inline]
    pub(super) fn meet_row(&self, ix: RendezvousIx) -> RowId {
        self.mbar_row(self.mbars) + 2 * ix
    }

    /// The row that agents join when they pass: what completed generations released.
    #[inline]
    pub(super) fn meet_done_row(&self, ix: RendezvousIx) -> RowId {
        self.meet_row(ix) + 1
    }

    /// The row of what an agent knew at its last `tcgen05.fence::after_thread_sync`; only where those fences are
    /// needed.
    #[inline]
    pub(super) fn opened_row(&self, a: AgentId) -> RowId {
        self.meet_row(self.meets) + a
    }

    /// The row of what an agent had done at its last `fence gpu`; only where there are counters in global memory.
    #[inline]
    pub(super) fn released_row(&self, a: AgentId) -> RowId {
        self.opened_row(if self.tensor_fences { self.info.len() as AgentId } else { 0 }) + a
    }

    /// The row of what an agent saw of counters since its last `fence gpu`; only where there are counters.
    #[inline]
    pub(super) fn pending_row(&self, a: AgentId) -> RowId {
        self.released_row(self.info.len() as AgentId) + a
    }

    /// Number of rows that exist from the start: those of agents, barriers and rendezvous.
    pub(super) fn fixed_rows(&self) -> u32 {
        let n = self.info.len() as AgentId;
        if self.counters == 0 { self.released_row(0) } else { self.pending_row(n) }
    }

    /// The component whose clock is the number of completed phases of an mbarrier.
    #[inline]
    pub(super) fn mbar_comp(&self, ix: MbarIx) -> u32 {
        self.components - self.mbars + ix
    }

    /// The component whose clock is the number of completed generations of a rendezvous.
    #[inline]
    pub(super) fn meet_comp(&self, ix: RendezvousIx) -> u32 {
        self.components - self.mbars - self.meets + ix
    }
}

impl World<'_> {
    /// The component whose clock is the number of completed phases of an mbarrier, as snapshots name it.
    pub fn phase_clock(&self, ix: u32) -> u32 {
        self.spec.mbar_comp(ix)
    }
}
