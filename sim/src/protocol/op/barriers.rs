//! Barriers: of a CTA, numbered, of a warp's lanes, of a cluster. What a rendezvous does is in
//! [`rendezvous`](crate::protocol::rendezvous).

use crate::ir::{Expr, NamedId, Order};

use super::Instruction;
use crate::protocol::parts::StatePart;
use crate::protocol::rendezvous::RendezvousKind;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked};
use crate::protocol::world::World;

/// Facts that all barriers share: lanes that meet there do so as a warp.
macro_rules! barrier {
    () => {
        fn joins_lanes(&self) -> bool {
            true
        }

        fn together(&self) -> Option<bool> {
            Some(true)
        }
    };
}

/// Every thread of the CTA.
pub(super) struct CtaBarrier {
    pub(super) order: Order,
}

impl Instruction for CtaBarrier {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        Ok(StepEffect::Rendezvous { last: w.cta_barrier(a, pc, self.order)? })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let cta = w.spec.info[a as usize].cta;
        list.extend([StatePart::Ended, StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Cta(cta)))]);
        Ok(())
    }

    barrier!();
}

/// `bar.sync` or `bar.arrive`: a barrier with a number, for a count of threads.
pub(super) struct NumberedBarrier<'o> {
    pub(super) bar: NamedId,
    pub(super) index: &'o Expr,
    pub(super) threads: &'o Expr,
    /// Whether the agent also waits.
    pub(super) sync: bool,
}

impl Instruction for NumberedBarrier<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let (index, threads) = (w.eval(a, self.index)?, w.eval(a, self.threads)?);
        let last = w.named_barrier(a, pc, self.bar, index, threads, self.sync)?;
        Ok(if self.sync { StepEffect::Rendezvous { last } } else { StepEffect::Sync })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        let (index, cta) = (w.eval(a, self.index)?, w.spec.info[a as usize].cta);
        if (0..w.prog.named[self.bar as usize].len as i64).contains(&index) {
            let kind = RendezvousKind::Named(self.bar, index as u32, cta);
            list.push(StatePart::Rendezvous(w.rendezvous_of(kind)));
        }
        Ok(())
    }

    barrier!();
}

/// Adds the rendezvous of the lane classes of an agent's warp, if the warp is split.
fn add_lanes(w: &World<'_>, a: AgentId, list: &mut Vec<StatePart>) {
    let me = w.spec.info[a as usize];
    let lanes = StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp)));
    list.extend(me.lanes.map(|_| lanes));
}

/// `__syncwarp`: the lanes of a warp.
pub(super) struct WarpSync;

impl Instruction for WarpSync {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        Ok(StepEffect::Rendezvous { last: w.join_warp(a, pc)? })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        add_lanes(w, a, list);
        Ok(())
    }

    barrier!();
}

/// `elect.sync`: the lanes of a warp, without an order of memory.
pub(super) struct Elect;

impl Instruction for Elect {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        Ok(StepEffect::Rendezvous { last: w.elect(a, pc)? })
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        add_lanes(w, a, list);
        Ok(())
    }

    barrier!();
}

/// Adds what a cluster barrier depends on.
fn add_cluster(w: &World<'_>, list: &mut Vec<StatePart>) {
    list.extend([StatePart::Ended, StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Cluster))]);
}

/// `barrier.cluster.arrive`.
pub(super) struct ClusterArrive {
    pub(super) relaxed: bool,
}

impl Instruction for ClusterArrive {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        w.cluster_arrive(a, pc, self.relaxed)?;
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, _a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        add_cluster(w, list);
        Ok(())
    }

    barrier!();
}

/// `barrier.cluster.wait`.
pub(super) struct ClusterWait;

impl Instruction for ClusterWait {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        w.cluster_wait(a, pc)?;
        Ok(StepEffect::Rendezvous { last: false })
    }

    fn parts(&self, w: &World<'_>, _a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        add_cluster(w, list);
        Ok(())
    }

    barrier!();
}

/// `griddepcontrol.wait`. Nothing behind the wait is modeled.
pub(super) struct GridWait;

impl Instruction for GridWait {
    fn step(&self, _w: &mut World<'_>, _a: AgentId, _pc: u32) -> Result<StepEffect, Blocked> {
        Ok(StepEffect::Sync)
    }

    fn joins_lanes(&self) -> bool {
        true
    }
}
