//! mbarrier instructions: `init`, `inval`, `arrive`, `expect_tx`, `try_wait`. What an mbarrier does is in
//! [`mbarrier`](crate::protocol::mbarrier).

use smallvec::{SmallVec, smallvec};

use crate::ir::{ArrivalsPer, BarRef, BarrierCta, Expr, Phase, Stages, StateId};

use super::{BarrierAction, BarrierUse, BarrierUses, Instruction};
use crate::protocol::flight::Flight;
use crate::protocol::lanes::waits_again;
use crate::protocol::mbarrier::Arrival;
use crate::protocol::parts::StatePart;
use crate::protocol::peers::Visit;
use crate::protocol::rendezvous::RendezvousKind;
use crate::protocol::step::StepEffect;
use crate::protocol::vocabulary::{AgentId, Blocked, Fault, MbarIx};
use crate::protocol::world::World;

/// `mbarrier.init` of stages of some declarations, in the agent's CTA.
pub(super) struct Init<'o> {
    pub(super) list: &'o [Stages],
}

impl Instruction for Init<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        for ix in own_stages(w, a, self.list)? {
            w.init(a, pc, ix);
        }
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.extend(own_stages(w, a, self.list)?.into_iter().map(StatePart::Mbar));
        Ok(())
    }
}

/// `mbarrier.inval` of stages of some declarations, in the agent's CTA.
pub(super) struct Inval<'o> {
    pub(super) list: &'o [Stages],
}

impl Instruction for Inval<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        for ix in own_stages(w, a, self.list)? {
            w.inval(a, pc, ix);
        }
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        list.extend(own_stages(w, a, self.list)?.into_iter().map(StatePart::Mbar));
        Ok(())
    }
}

/// The stages that are named, in an agent's CTA.
fn own_stages(w: &World<'_>, a: AgentId, list: &[Stages]) -> Result<Vec<MbarIx>, Blocked> {
    let cta = w.spec.info[a as usize].cta;
    let mut all = Vec::new();
    for Stages { bar, stage } in list {
        match stage {
            Some(e) => all.extend(w.bars(a, &BarRef { bar: *bar, stage: e.clone(), at: BarrierCta::Own })?),
            None => all.extend((0..w.prog.mbars[*bar as usize].stages).map(|s| w.mbar_ix(*bar, s, cta))),
        }
    }
    Ok(all)
}

/// `mbarrier.arrive`, with or without `expect_tx`.
pub(super) struct Arrive<'o> {
    pub(super) bar: &'o BarRef,
    pub(super) per: ArrivalsPer,
    pub(super) count: &'o Expr,
    /// Bytes to expect before the arrival.
    pub(super) expect: Option<&'o Expr>,
    pub(super) relaxed: bool,
    /// Whether the scope is the cluster.
    pub(super) cluster: bool,
    /// Whether later phases need these arrivals no longer.
    pub(super) drop: bool,
    /// The state that the arrival returns.
    pub(super) state: Option<StateId>,
}

impl Instruction for Arrive<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        if w.arrives_in_step(a, pc, self.per) {
            w.join_warp(a, pc)?;
        }
        let times = arrivals(w, a, pc, self.per);
        if times == 0 {
            return Ok(StepEffect::Nothing);
        }
        w.speaks_for_all(a, pc, self.per);
        let count = w.eval(a, self.count)? * times as i64;
        if count <= 0 {
            return Err(Fault::Negative("a count of arrivals", count).into());
        }
        let bytes = match self.expect {
            Some(e) => Some(w.eval(a, e)?),
            None => None,
        };
        self.arrive(w, a, pc, count as u32, bytes)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        w.add_barriers(a, self.bar, list)?;
        if w.arrives_in_step(a, pc, self.per) {
            let me = w.spec.info[a as usize];
            list.push(StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp))));
        }
        Ok(())
    }

    fn barriers(&self) -> BarrierUses<'_> {
        // No constant where an outcome depends on the phase: bytes, fewer arrivals later, a state.
        let plain = self.expect.is_none() && !self.drop && self.state.is_none();
        let count = if let (Expr::Const(n), true) = (self.count, plain) { Some(*n) } else { None };
        let per_thread = self.per == ArrivalsPer::Thread;
        smallvec![BarrierUse { count, per_thread, ..BarrierUse::new(self.bar, BarrierAction::Arrive) }]
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        self.per == ArrivalsPer::Thread
    }

    fn may_wait(&self) -> bool {
        false
    }
}

impl Arrive<'_> {
    /// Arrives: on the own CTA's barrier at once, on another CTA's barrier by a flight that crosses the cluster.
    fn arrive(
        &self,
        w: &mut World<'_>,
        a: AgentId,
        pc: u32,
        count: u32,
        bytes: Option<i64>,
    ) -> Result<StepEffect, Blocked> {
        let own = w.spec.info[a as usize].cta;
        let mut remote: SmallVec<[(u32, u32); 2]> = SmallVec::new();
        for ix in w.bars(a, self.bar)? {
            if w.mbar_cta(ix) == own && !matches!(self.bar.at, BarrierCta::Ctas(_)) {
                w.alive(a, pc, ix);
                w.arrives_in_order(a, pc, ix);
                if let Some(n) = bytes {
                    w.expect(a, pc, ix, n);
                }
                if let Some(s) = self.state {
                    let phase = w.mbar(ix).phase;
                    w.agents[a].returned(s, ix, phase);
                }
                if self.drop {
                    w.drop_expected(a, pc, ix, count);
                }
                let release = (!self.relaxed).then(|| w.spec.agent_row(a));
                let epoch = w.own_access(a, pc).epoch;
                w.arrive(a, pc, ix, Arrival { count, release, epoch: Some(epoch) });
            } else {
                w.usable_remotely(a, pc, ix);
                w.arrives_in_order(a, pc, ix);
                remote.push((ix, count));
            }
        }
        if remote.is_empty() {
            w.order.tick(w.spec.agent_row(a), a);
            return Ok(StepEffect::Sync);
        }
        let mut f = Flight::new(a, pc);
        remote.iter().for_each(|&(ix, _)| f.meant_for(w.mbar(ix).phase));
        // The bytes are expected when the arrival reaches the barrier.
        f.expects = bytes;
        f.arrives = remote;
        f.epoch = Some(w.own_access(a, pc).epoch);
        f.releases = if self.relaxed { None } else { Some(w.released(a, None)) };
        f.cta_scope = !self.cluster;
        f.drops = self.drop;
        Ok(StepEffect::Signal { flight: w.launch(f), in_stream: false })
    }
}

/// Number of arrivals by an agent; 0 where another agent arrives for all.
fn arrivals(w: &World<'_>, a: AgentId, pc: u32, per: ArrivalsPer) -> u32 {
    let who = w.spec.info[a as usize];
    match per {
        ArrivalsPer::Thread => w.lanes(a, pc),
        ArrivalsPer::Warp => who.elected() as u32,
        ArrivalsPer::Once => (w.leads(who.warp) && who.elected()) as u32,
    }
}

/// `mbarrier.expect_tx`.
pub(super) struct Expect<'o> {
    pub(super) bar: &'o BarRef,
    pub(super) bytes: &'o Expr,
}

impl Instruction for Expect<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let bytes = w.eval(a, self.bytes)?;
        for ix in w.bars(a, self.bar)? {
            w.alive(a, pc, ix);
            w.arrives_in_order(a, pc, ix);
            let access = w.own_access(a, pc);
            let cta = w.mbar_cta(ix);
            if cta != w.spec.info[a as usize].cta {
                w.visit_cta(cta, Visit { access, load: false, over: None });
            }
            w.mbars[ix as usize].note_expect(access);
            w.expect(a, pc, ix, bytes);
        }
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, _pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        w.add_barriers(a, self.bar, list)
    }

    fn barriers(&self) -> BarrierUses<'_> {
        smallvec![BarrierUse::new(self.bar, BarrierAction::Expect)]
    }

    fn sets_apart(&self, _w: &World<'_>, _pc: u32) -> bool {
        true
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// `mbarrier.try_wait` until a phase is complete.
pub(super) struct WaitPhase<'o> {
    pub(super) bar: &'o BarRef,
    pub(super) phase: &'o Phase,
}

impl Instruction for WaitPhase<'_> {
    fn step(&self, w: &mut World<'_>, a: AgentId, pc: u32) -> Result<StepEffect, Blocked> {
        let ix = w.bars(a, self.bar)?[0];
        if let Phase::State(s) = self.phase
            && w.one_lane_has(a, pc, *s)
        {
            w.pass_on_state(a, pc, *s)?;
        }
        w.mbar_wait(a, pc, ix, self.phase)?;
        Ok(StepEffect::Sync)
    }

    fn parts(&self, w: &World<'_>, a: AgentId, pc: u32, list: &mut Vec<StatePart>) -> Result<(), Blocked> {
        if let Phase::State(s) = self.phase
            && w.one_lane_has(a, pc, *s)
        {
            let (me, rest) = (w.spec.info[a as usize], w.rest_of(a));
            list.push(StatePart::Rendezvous(w.rendezvous_of(RendezvousKind::Warp(me.cta, me.warp))));
            list.extend([StatePart::Agent(rest - 1), StatePart::Agent(rest)]);
        }
        w.add_barriers(a, self.bar, list)
    }

    fn barriers(&self) -> BarrierUses<'_> {
        smallvec![BarrierUse::new(self.bar, BarrierAction::Wait)]
    }

    fn together(&self) -> Option<bool> {
        Some(false)
    }

    fn sets_apart(&self, w: &World<'_>, pc: u32) -> bool {
        waits_again(w.prog, pc, self.bar.bar)
    }
}
