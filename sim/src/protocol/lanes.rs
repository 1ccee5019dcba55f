//! The lanes of a warp: which of its agents perform an operation, and whether all lanes have come as far as the lane that
//! arrives for them.
//!
//! The lanes of a warp that is one agent are taken to be in step. PTX promises that only after an instruction that the
//! lanes execute together (`__syncwarp`, any `.aligned` instruction). The rule `warp-arrive` asks for such an
//! instruction.
//!
//! A warp that is two agents, elected lane and rest, is split from an `elect:` block to the next operation that joins
//! its lanes: `warp.sync`, a barrier, a collective. In between, neither class knows the accesses of the other. After
//! the join the classes are in step, like the lanes of any other warp. Where one lane arrives for the warp, the lane
//! arrives once both classes have come there. If that arrival returns a state, the lane passes the state on where the
//! lanes wait for its phase (`shfl.sync`).

use crate::code::Code;
use crate::fences::Level;
use crate::ir::{ArrivalsPer, Instr, MbarId, Op, Program, StateId};
use crate::timeline::Lanes;

use super::agents::{Agent, ArrivalState};
use super::op::{Aligned, instruction};
use super::order::Epoch;
use super::step::StepEffect;
use super::vocabulary::{AgentId, Blocked};
use super::world::World;

/// Whether an agent that waits for an mbarrier at an instruction can wait for that mbarrier again. A lane that is late
/// with the first wait can then miss its phase.
pub fn waits_again(prog: &Program, pc: u32, bar: MbarId) -> bool {
    let waits = |i: &Instr| matches!(i, Instr::Op { op: Op::MbarWait { bar: b, .. }, .. } if b.bar == bar);
    let looped = prog.loops.iter().any(|l| (l.head..l.end).contains(&pc));
    looped || prog.code.iter().filter(|i| waits(i)).count() > 1
}

impl World<'_> {
    /// Performs one operation for an agent, or returns why the operation cannot be performed yet. A blocked operation
    /// changes nothing but the arrival that it counted.
    pub(super) fn perform(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        let me = self.spec.info[a as usize].lanes;
        if me.is_none() || self.spec.elected_at[pc as usize] {
            let effect = self.execute(a, pc, op)?;
            if !self.spec.elected_at[pc as usize] {
                self.keeps_step(a, pc, op);
            }
            return Ok(effect);
        }
        // A split warp. Operations in step (`.sync.aligned`) join its lanes and are performed once. Operations of
        // single lanes are performed by the class that has nearly all lanes, so that the elected lane's own order stays
        // separate.
        match instruction(op, |i| i.aligned()) {
            aligned @ (Aligned::Warp | Aligned::Each) => {
                if !self.agents[a].performs_for_warp {
                    self.join_warp(a, pc)?;
                }
                // The operation may wait. Were it the elected lane's alone, the other lanes would be past it before.
                if aligned == Aligned::Warp && self.rest_of(a) != a {
                    self.passes(a, pc, op);
                    return Ok(StepEffect::Nothing);
                }
                self.agents[a].performs_for_warp = true;
                let effect = self.execute(a, pc, op)?;
                self.agents[a].performs_for_warp = false;
                self.passes(a, pc, op);
                Ok(effect)
            }
            Aligned::Lanes if me == Some(Lanes::Elected) => {
                self.passes(a, pc, op);
                Ok(StepEffect::Nothing)
            }
            _ => {
                let effect = self.execute(a, pc, op)?;
                self.passes(a, pc, op);
                Ok(effect)
            }
        }
    }

    /// The agent of a warp that holds all lanes, or all lanes but the elected one.
    pub(super) fn rest_of(&self, a: AgentId) -> AgentId {
        if self.spec.info[a as usize].lanes == Some(Lanes::Elected) { a + 1 } else { a }
    }

    /// Performs one operation for all lanes of an agent.
    fn execute(&mut self, a: AgentId, pc: u32, op: &Op) -> Result<StepEffect, Blocked> {
        instruction(op, |i| i.step(self, a, pc))
    }

    /// Number of threads that execute an instruction one by one.
    pub(super) fn lanes(&self, a: AgentId, pc: u32) -> u32 {
        if self.spec.elected_at[pc as usize] {
            return 1;
        }
        match self.spec.info[a as usize].lanes {
            None => self.spec.rules.warp_size,
            Some(Lanes::Elected) => 1,
            Some(Lanes::Rest) => self.spec.rules.warp_size - 1,
        }
    }

    /// Whether a warp is the first of its role, or of its member of the role.
    pub(super) fn leads(&self, warp: u32) -> bool {
        match self.prog.role_of(warp) {
            Some(r) => {
                let size = (r.warps.count_ones() / r.members.max(1)).max(1);
                (r.warps & ((1u64 << warp) - 1)).count_ones().is_multiple_of(size)
            }
            None => warp == 0,
        }
    }

    /// What an agent has done so far, as a row for a signal that arrives later. The agent's clock advances.
    pub(super) fn released(&mut self, a: AgentId, with: Option<Epoch>) -> u32 {
        let row = self.order.snapshot(self.spec.agent_row(a));
        if let Some(e) = with {
            self.order.raise(row, e.comp, e.clock);
        }
        self.order.tick(self.spec.agent_row(a), a);
        row
    }

    /// An agent comes to an `elect:` block.
    pub(super) fn diverge(&mut self, a: AgentId) {
        if self.spec.info[a as usize].lanes.is_some() {
            self.agents[a].diverged = true;
        }
    }

    /// An agent passed a rendezvous that joins the lanes of its warp. `orders`: each class knows what the other did.
    pub(super) fn converge(&mut self, a: AgentId, orders: bool) {
        let agent = &mut self.agents[a];
        agent.diverged = false;
        agent.unmet &= !orders;
    }

    /// A lane class of a split warp passed an operation outside of `elect:` blocks.
    pub(super) fn passes(&mut self, a: AgentId, pc: u32, op: &Op) {
        self.keeps_step(a, pc, op);
        if self.agents[a].unmet {
            return;
        }
        // The class with nearly all lanes performs what joined lanes do together.
        self.agents[a].unmet = instruction(op, |i| i.sets_apart(self, pc));
    }

    /// Whether an agent is a lane class of a warp in step, one lane of which arrives for all lanes here.
    pub(super) fn arrives_in_step(&self, a: AgentId, pc: u32, per: ArrivalsPer) -> bool {
        let (me, agent) = (self.spec.info[a as usize], &self.agents[a]);
        let joined = me.lanes.is_some() && !agent.diverged && agent.unmet && !self.spec.elected_at[pc as usize];
        joined && (per == ArrivalsPer::Warp || (per == ArrivalsPer::Once && self.leads(me.warp)))
    }

    /// Whether a lane class of a split warp waits for a state that the arrival of one lane for the warp returned.
    pub(super) fn one_lane_has(&self, a: AgentId, pc: u32, s: StateId) -> bool {
        let for_the_warp = |(at, i): (usize, &Instr)| match i {
            Instr::Op { op: Op::Arrive { state: Some(x), per, .. }, .. } if *x == s => {
                Some(*per != ArrivalsPer::Thread && !self.spec.elected_at[at])
            }
            _ => None,
        };
        let alone = self.spec.info[a as usize].lanes.is_none() || self.spec.elected_at[pc as usize];
        !alone && self.prog.code.iter().enumerate().filter_map(for_the_warp).all(|x| x)
    }

    /// The lane that arrived for its warp passes the state on to the other lanes, which wait for that lane
    /// (`shfl.sync`). Neither lane class sees the accesses of the other.
    pub(super) fn pass_on_state(&mut self, a: AgentId, pc: u32, s: StateId) -> Result<(), Blocked> {
        let passed_on = |state: Option<ArrivalState>| state.is_some_and(|state| state.passed_on);
        if self.agents[a].waits_in.is_none() && passed_on(self.agents[a].kept(s)) {
            return Ok(());
        }
        if self.elect(a, pc)? {
            // The class that comes last passes the state on for both, because each class may use its state at once.
            let rest = self.rest_of(a);
            let state = self.agents[rest - 1].kept(s).map(|state| ArrivalState { passed_on: true, ..state });
            self.agents[rest - 1].keep_state(s, state);
            self.agents[rest].keep_state(s, state);
        }
        Ok(())
    }

    /// Records that a whole warp performed an operation.
    pub(super) fn keeps_step(&mut self, a: AgentId, pc: u32, op: &Op) {
        if self.spec.rules.fences.warp_arrive != Level::Off
            && let Some(together) = instruction(op, |i| i.together())
        {
            self.agents[a].last_unjoined = (!together).then_some(pc);
        }
    }

    /// One lane arrives for its warp: the other lanes must have done what came before.
    pub(super) fn speaks_for_all(&mut self, a: AgentId, pc: u32, per: ArrivalsPer) {
        let Agent { last_unjoined: Some(last), diverged: false, .. } = self.agents[a] else { return };
        if per != ArrivalsPer::Thread && !self.spec.elected_at[pc as usize] {
            let message = "arrives by one lane, and the others may still be at what came before: no `warp.sync`, nor anything \
                           else that lanes execute together, is in between";
            let level = self.spec.rules.fences.warp_arrive;
            self.report(level, Code::LaneArrive, (a, pc), message.to_string(), Some((last, "what came before".into())));
        }
    }
}
