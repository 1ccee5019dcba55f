//! Rendezvous: CTA barriers, numbered barriers, joins of lanes and warpgroups, cluster barriers.
//!
//! An agent arrives once in a generation. If the agent waits, it continues when the generation is complete. Anonymous
//! barriers pair by count, not by source line (docs/rules.md 29).

use crate::code::Code;
use crate::ir::{NamedId, Order};

use super::order::{Access, Epoch, RowId};
use super::vocabulary::{AgentId, Blocked, RendezvousIx, WaitTarget};
use super::who::AgentSet;
use super::world::World;

/// The kind of a rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RendezvousKind {
    /// Every live warp of a CTA.
    Cta(u32),
    /// A numbered barrier: declaration, index, CTA.
    Named(NamedId, u32, u32),
    /// The two lane classes of a split warp: CTA, warp.
    Warp(u32, u32),
    /// The four warps of a warpgroup: CTA, warpgroup.
    Warpgroup(u32, u32),
    /// Every live agent of the cluster.
    Cluster,
}

/// The state of one rendezvous.
#[derive(Debug)]
pub(super) struct Rendezvous {
    pub(super) kind: RendezvousKind,
    /// Number of completed generations.
    pub(super) generation: u32,
    /// Arrivals in the open generation: agents, or threads for numbered barriers.
    pub(super) arrived: u32,
    /// Arrivals that a generation needs; set by each arrival for numbered barriers.
    pub(super) needed: u32,
    /// The agents that arrived in the open generation.
    pub(super) who: AgentSet,
    /// Agent and instruction of the first arrival of the open generation.
    pub(super) first: Option<(AgentId, u32)>,
    /// Of a numbered barrier: the arrivals of the open generation and of the generation before, each in order of their
    /// components.
    pub(super) recent: [Vec<Access>; 2],
}

clone_by_field!(Rendezvous { kind, generation, arrived, needed, who, first, recent });

impl World<'_> {
    /// All rendezvous of a world, in a fixed order.
    pub(super) fn all_rendezvous(prog: &crate::ir::Program) -> Vec<Rendezvous> {
        let mut list = Vec::new();
        let mut add = |kind| {
            let (who, recent) = (AgentSet::default(), Default::default());
            list.push(Rendezvous { kind, generation: 0, arrived: 0, needed: 0, who, first: None, recent });
        };
        for cta in 0..prog.cluster {
            add(RendezvousKind::Cta(cta));
        }
        add(RendezvousKind::Cluster);
        for cta in 0..prog.cluster {
            for w in 0..prog.warps {
                add(RendezvousKind::Warp(cta, w));
            }
        }
        for cta in 0..prog.cluster {
            for g in 0..prog.warps.div_ceil(4) {
                add(RendezvousKind::Warpgroup(cta, g));
            }
        }
        for (d, n) in prog.named.iter().enumerate() {
            for i in 0..n.len {
                for cta in 0..prog.cluster {
                    add(RendezvousKind::Named(d as NamedId, i, cta));
                }
            }
        }
        list
    }

    pub(super) fn rendezvous_of(&self, kind: RendezvousKind) -> RendezvousIx {
        let (c, w) = (self.prog.cluster, self.prog.warps);
        match kind {
            RendezvousKind::Cta(cta) => cta,
            RendezvousKind::Cluster => c,
            RendezvousKind::Warp(cta, warp) => c + 1 + cta * w + warp,
            RendezvousKind::Warpgroup(cta, g) => c + 1 + c * w + cta * w.div_ceil(4) + g,
            RendezvousKind::Named(d, i, cta) => {
                let before: u32 = self.prog.named[..d as usize].iter().map(|n| n.len).sum();
                c + 1 + c * w + c * w.div_ceil(4) + (before + i) * c + cta
            }
        }
    }

    /// A name for messages.
    pub(super) fn meet_name(&self, ix: RendezvousIx) -> String {
        match self.rendezvous[ix as usize].kind {
            RendezvousKind::Cta(_) => "the CTA barrier".into(),
            RendezvousKind::Cluster => "the cluster barrier".into(),
            RendezvousKind::Warp(_, w) => format!("the lanes of warp {w}"),
            RendezvousKind::Warpgroup(_, g) => format!("the warps of warpgroup {g}"),
            RendezvousKind::Named(d, i, _) => {
                let n = &self.prog.named[d as usize];
                if n.len > 1 { format!("barrier {}[{i}]", n.name) } else { format!("barrier {}", n.name) }
            }
        }
    }

    /// Arrives, and waits for the others. `Ok(true)` for the agent whose arrival ends the generation.
    pub(super) fn meet(
        &mut self,
        a: AgentId,
        pc: u32,
        ix: RendezvousIx,
        weight: u32,
        needed: u32,
        orders: bool,
    ) -> Result<bool, Blocked> {
        if let Some((at, generation)) = self.agents[a].waits_in {
            debug_assert_eq!(at, ix);
            if self.rendezvous[ix as usize].generation == generation {
                return Err(Blocked::On(WaitTarget::Rendezvous(ix)));
            }
            self.agents[a].waits_in = None;
            self.learn(a, ix, orders);
            self.converge(a, orders);
            return Ok(false);
        }
        let generation = self.rendezvous[ix as usize].generation;
        if self.arrive_at(a, pc, ix, weight, needed, orders) {
            self.learn(a, ix, orders);
            self.converge(a, orders);
            return Ok(true);
        }
        self.agents[a].waits_in = Some((ix, generation));
        Err(Blocked::On(WaitTarget::Rendezvous(ix)))
    }

    /// What an agent knows once a generation is complete: the accesses of the others, or only their order in time.
    fn learn(&mut self, a: AgentId, ix: RendezvousIx, orders: bool) {
        let (row, done) = (self.spec.agent_row(a), self.spec.meet_done_row(ix));
        if orders {
            self.order.join(row, done);
        } else if matches!(self.rendezvous[ix as usize].kind, RendezvousKind::Warp(..)) {
            self.order.follow(row, done);
        }
    }

    /// Counts an arrival; true if it ends the generation.
    pub(super) fn arrive_at(
        &mut self,
        a: AgentId,
        pc: u32,
        ix: RendezvousIx,
        weight: u32,
        needed: u32,
        orders: bool,
    ) -> bool {
        let (comp, generation) = (self.spec.meet_comp(ix), self.rendezvous[ix as usize].generation);
        match self.rendezvous[ix as usize].kind {
            RendezvousKind::Named(..) => self.comes_in_turn(a, pc, ix),
            _ => self.must_know(a, pc, WaitTarget::Rendezvous(ix), comp, generation),
        }
        let (row, acc) = (self.spec.agent_row(a), self.spec.meet_row(ix));
        if orders {
            self.order.join(acc, row);
            self.order.tick(row, a);
        } else if matches!(self.rendezvous[ix as usize].kind, RendezvousKind::Warp(..)) {
            self.order.follow(acc, row);
            self.order.tick(row, a);
        }
        let m = &mut self.rendezvous[ix as usize];
        if m.arrived > 0 && m.needed != needed && matches!(m.kind, RendezvousKind::Named(..)) {
            let (there, first) = (m.needed, m.first);
            let message = format!("{} is used with {needed} threads here and {there} there", self.meet_name(ix));
            self.find(Code::ThreadCounts, a, pc, message, first.map(|f| (f.1, "there".into())));
        }
        let m = &mut self.rendezvous[ix as usize];
        // A warp may prime a numbered barrier that the warp then waits at (FlashAttention-3's first turn): threads are
        // counted there.
        if m.who.contains(a) && !matches!(m.kind, RendezvousKind::Named(..)) {
            let message = format!("arrives a second time at {} before the others did once", self.meet_name(ix));
            self.find(Code::ClusterTurns, a, pc, message, None);
        }
        let m = &mut self.rendezvous[ix as usize];
        m.who.insert(a);
        m.first.get_or_insert((a, pc));
        m.arrived += weight;
        m.needed = needed;
        if m.arrived > needed {
            let (n, threads) = (m.arrived, needed);
            let message = format!("{n} threads arrive at {}, which is for {threads}", self.meet_name(ix));
            self.find(Code::ThreadCounts, a, pc, message, None);
        }
        if self.rendezvous[ix as usize].arrived >= needed {
            self.finish(ix);
            return true;
        }
        false
    }

    fn finish(&mut self, ix: RendezvousIx) {
        let comp = self.spec.meet_comp(ix);
        let (acc, generation) = (self.spec.meet_row(ix), self.rendezvous[ix as usize].generation + 1);
        self.order.raise(acc, comp, generation);
        let m = &mut self.rendezvous[ix as usize];
        m.generation += 1;
        m.arrived = 0;
        m.who.clear();
        m.first = None;
        m.recent.rotate_right(1);
        m.recent[0].clear();
        let (acc, done) = (self.spec.meet_row(ix), self.spec.meet_done_row(ix));
        self.order.join(done, acc);
        self.journal.changed(WaitTarget::Rendezvous(ix));
    }

    /// Number of agents that a barrier of this scope is for: running agents, and agents that arrived and ended.
    fn taking_part(&self, ix: RendezvousIx, cta: Option<u32>) -> u32 {
        let who = &self.rendezvous[ix as usize].who;
        let in_cta = |i: usize| cta.is_none_or(|c| self.spec.info[i].cta == c);
        (0..self.spec.info.len())
            .filter(|&i| in_cta(i) && (!self.agents[i as AgentId].ended || who.contains(i as AgentId)))
            .count() as u32
    }

    /// An agent of the CTA that has ended, if any.
    fn left(&self, cta: u32) -> Option<AgentId> {
        (0..self.spec.info.len())
            .find(|&i| self.spec.info[i].cta == cta && self.agents[i as AgentId].ended)
            .map(|i| i as AgentId)
    }

    /// Reports that the CTA barrier at `pc` is reached after an agent has left the CTA, where a kernel may not rely on
    /// ended warps.
    fn divergent(&mut self, a: AgentId, pc: u32, ix: RendezvousIx, gone: AgentId) {
        if self.spec.rules.exit_releases || self.prog.ended_leave {
            return;
        }
        let message = format!(
            "waits at {}, which {} left by ending: a barrier must be met by every warp the same number of times",
            self.meet_name(ix),
            self.agent_name(gone)
        );
        self.find(Code::Divergent, a, pc, message, None);
    }

    /// The CTA barrier. Ended warps do not block the barrier; where a kernel may not rely on that, it is a finding.
    pub(super) fn cta_barrier(&mut self, a: AgentId, pc: u32, order: Order) -> Result<bool, Blocked> {
        let cta = self.spec.info[a as usize].cta;
        let needed = self.taking_part(cta, Some(cta));
        if self.agents[a].waits_in.is_none()
            && let Some(gone) = self.left(cta)
        {
            self.divergent(a, pc, cta, gone);
        }
        let orders = match order {
            Order::None => false,
            // The flag is that of device memory, which a kernel needs only if the kernel reads what it wrote there.
            Order::Device => self.spec.followed.any(),
            _ => true,
        };
        self.meet(a, pc, cta, 1, needed, orders || self.spec.rules.bare_barrier_orders)
    }

    /// An agent ended: releases barriers that only waited for that agent.
    pub(super) fn leave_meets(&mut self, a: AgentId) {
        let cta = self.spec.info[a as usize].cta;
        let cluster = self.prog.cluster;
        for (ix, scope) in [(cta, Some(cta)), (cluster, None)] {
            let m = &self.rendezvous[ix as usize];
            if m.arrived == 0 || m.arrived < self.taking_part(ix, scope) {
                continue;
            }
            // Only threads that have not ended take part in the cluster barrier (PTX ISA, barrier.cluster).
            if let (Some((b, pc)), Some(_)) = (m.first, scope) {
                self.divergent(b, pc, ix, a);
            }
            self.finish(ix);
        }
    }

    /// Joins the lane classes of a warp; no effect where the warp is not split. `Ok(true)` for the agent that acts for
    /// both.
    pub(super) fn join_warp(&mut self, a: AgentId, pc: u32) -> Result<bool, Blocked> {
        let who = self.spec.info[a as usize];
        if who.lanes.is_none() {
            return Ok(true);
        }
        let ix = self.rendezvous_of(RendezvousKind::Warp(who.cta, who.warp));
        self.meet(a, pc, ix, 1, 2, true)
    }

    /// `elect.sync`: the lane classes of a warp wait for each other, and neither class sees the accesses of the other.
    pub(super) fn elect(&mut self, a: AgentId, pc: u32) -> Result<bool, Blocked> {
        let who = self.spec.info[a as usize];
        if who.lanes.is_none() {
            return Ok(true);
        }
        let ix = self.rendezvous_of(RendezvousKind::Warp(who.cta, who.warp));
        self.meet(a, pc, ix, 1, 2, false)
    }

    /// Joins the warps of a warpgroup.
    pub(super) fn join_warpgroup(&mut self, a: AgentId, pc: u32) -> Result<bool, Blocked> {
        let who = self.spec.info[a as usize];
        let group = who.warp / 4;
        let ix = self.rendezvous_of(RendezvousKind::Warpgroup(who.cta, group));
        let needed = self.spec.group_size[(who.cta * self.prog.warps.div_ceil(4) + group) as usize];
        self.meet(a, pc, ix, 1, needed, true)
    }

    /// `barrier.cluster.arrive`.
    pub(super) fn cluster_arrive(&mut self, a: AgentId, pc: u32, relaxed: bool) -> Result<(), Blocked> {
        let ix = self.rendezvous_of(RendezvousKind::Cluster);
        if self.agents[a].cluster_arrived.is_some() {
            let message = "arrives at the cluster barrier twice without waiting in between".to_string();
            self.find(Code::ClusterTurns, a, pc, message, None);
        }
        self.agents[a].cluster_arrived = Some(self.rendezvous[ix as usize].generation);
        let needed = self.taking_part(ix, None);
        // A relaxed arrival orders nothing but what `fence mbarrier_init` before it covers.
        let behind = Epoch { comp: self.spec.meet_comp(ix), clock: self.rendezvous[ix as usize].generation + 1 };
        for m in &mut self.mbars {
            if m.init().is_some_and(|x| x.epoch.comp == a) {
                m.pass_on_init(behind);
            }
        }
        if relaxed {
            self.end_loads(a, behind);
        }
        self.arrive_at(a, pc, ix, 1, needed, !relaxed);
        Ok(())
    }

    /// `barrier.cluster.wait`.
    pub(super) fn cluster_wait(&mut self, a: AgentId, pc: u32) -> Result<(), Blocked> {
        let ix = self.rendezvous_of(RendezvousKind::Cluster);
        let Some(generation) = self.agents[a].cluster_arrived else {
            let message = "waits at the cluster barrier without having arrived".to_string();
            self.find(Code::ClusterTurns, a, pc, message, None);
            return Ok(());
        };
        if self.rendezvous[ix as usize].generation == generation {
            return Err(Blocked::On(WaitTarget::Rendezvous(ix)));
        }
        self.agents[a].cluster_arrived = None;
        let (row, done): (RowId, RowId) = (self.spec.agent_row(a), self.spec.meet_done_row(ix));
        self.order.join(row, done);
        self.converge(a, true);
        Ok(())
    }

    /// The kind of the rendezvous of this index.
    pub fn rendezvous_kind(&self, ix: u32) -> RendezvousKind {
        self.rendezvous[ix as usize].kind
    }
}
