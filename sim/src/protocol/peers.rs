//! Accesses to the memory of another CTA of the cluster, and the life of that CTA.
//!
//! Distributed shared memory exists from the start of its CTA to the end of its last thread (PTX ISA, `mapa`; CUDA C++
//! Programming Guide, distributed shared memory). An access is held to both ends by happens-before, so one run decides for
//! every schedule. Signals of mbarriers are held to the start by their `init` and to the end in `flight.rs`.

use crate::code::Code;
use crate::ir::Class;

use super::footprint::Footprint;
use super::order::{Access, Epoch, RowId};
use super::rendezvous::RendezvousKind;
use super::vocabulary::AgentId;
use super::world::World;

/// An access to the memory of another CTA of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) access: Access,
    /// Whether a thread loads: such an access is complete once its value is in a register.
    pub(super) load: bool,
    /// The generation of the cluster barrier that completes after the access. Only a load gets one.
    pub(super) over: Option<Epoch>,
}

impl World<'_> {
    /// Holds an access to the life of the CTA that owns the memory. Copies that signal an mbarrier of that CTA are held
    /// to the life of the mbarrier.
    pub(super) fn visit(&mut self, row: RowId, f: &Footprint, x: &Access, reads: bool) {
        let remote = f.cta != self.spec.info[x.agent as usize].cta && x.in_order;
        if !remote || matches!(self.prog.objects[f.obj as usize].class, Class::Global | Class::Reg) {
            return;
        }
        if !self.knows_start(row, f.cta) && !self.met(Code::NotStarted, x.pc, None) {
            let message = format!(
                "accesses {}; nothing orders it after the start of that CTA: a cluster barrier, or an arrival by that CTA, must come before",
                self.footprint_name(f)
            );
            self.find(Code::NotStarted, x.agent, x.pc, message, None);
        }
        let load = reads && x.generic && x.epoch.comp == x.agent;
        self.visit_cta(f.cta, Visit { access: *x, load, over: None });
    }

    /// Remembers an access to a CTA until the CTA ends. The newest access of each component stands for the earlier
    /// ones.
    pub(super) fn visit_cta(&mut self, cta: u32, x: Visit) {
        if self.cta_ended(cta) {
            self.outlasts(cta, &x);
            return;
        }
        self.memory.note_visit(cta, x);
    }

    /// A relaxed arrival of an agent at the cluster barrier: loads from other CTAs that a barrier of the agent's CTA
    /// completed are over before `generation` is. Behind `barrier.cta.sync` earlier reads have been performed: their
    /// values have left memory (PTX ISA, bar and barrier). The agent met each completed generation of that barrier
    /// before this arrival, so no later end of a CTA can affect these loads. Nothing becomes visible, and stores are
    /// not covered: they have reached the threads of one CTA only.
    pub(super) fn end_loads(&mut self, a: AgentId, generation: Epoch) {
        let own = self.rendezvous_of(RendezvousKind::Cta(self.spec.info[a as usize].cta));
        let performed = self.spec.meet_done_row(own);
        for cta in 0..self.prog.cluster {
            for x in self.memory.visits_mut(cta) {
                if x.load && self.order.has(performed, x.access.epoch) {
                    x.over.get_or_insert(generation);
                }
            }
        }
    }

    /// The last agent of a CTA has ended: one of the CTA's agents must know of every access by other CTAs to its
    /// memory.
    pub(super) fn leave_visits(&mut self, cta: u32) {
        for x in self.memory.take_visits(cta) {
            self.outlasts(cta, &x);
        }
    }

    /// Whether this row knows that a CTA has started. The row knows one of the CTA's agents, or a completed generation
    /// of the cluster barrier, where every thread arrives. Visibility of data is not needed.
    fn knows_start(&self, row: RowId, cta: u32) -> bool {
        let met = self.spec.meet_comp(self.prog.cluster);
        let heard = |i: usize| self.spec.info[i].cta == cta && self.order.reached(row, i as u32) > 0;
        self.order.reached(row, met) > 0 || (0..self.spec.info.len()).any(heard)
    }

    fn outlasts(&mut self, cta: u32, x: &Visit) {
        if !self.knows_visit(cta, x) {
            let x = &x.access;
            let message = format!(
                "accesses memory of CTA {cta}; nothing orders it before the end of that CTA: a cluster barrier, or an arrival that CTA {cta} waits for, must come after"
            );
            self.find(Code::ExitAccess, x.agent, x.pc, message, None);
        }
    }
}
