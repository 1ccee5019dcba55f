//! Numbered barriers: `bar.sync` and `bar.arrive`, which count threads of any warps.
//!
//! The warps that meet in one generation must not depend on the schedule (Weft's safe recycling). So each arrival must
//! know of all arrivals of the generation before. An arrival that does not could come before one of those and take its
//! place.

use crate::code::Code;
use crate::ir::{Instr, NamedId, Op};
use crate::timeline::Lanes;

use super::rendezvous::RendezvousKind;
use super::vocabulary::{AgentId, Blocked, Fault, RendezvousIx, WaitTarget};
use super::world::World;

impl World<'_> {
    /// `bar.sync` and `bar.arrive`.
    pub(super) fn named_barrier(
        &mut self,
        a: AgentId,
        pc: u32,
        bar: NamedId,
        index: i64,
        threads: i64,
        sync: bool,
    ) -> Result<bool, Blocked> {
        let decl = &self.prog.named[bar as usize];
        if index < 0 || index >= decl.len as i64 {
            return Err(Fault::Named { bar, index }.into());
        }
        if threads <= 0 || threads % self.spec.rules.warp_size as i64 != 0 {
            return Err(Fault::Threads(threads).into());
        }
        let ix = self.rendezvous_of(RendezvousKind::Named(bar, index as u32, self.spec.info[a as usize].cta));
        let weight = self.threads_of(a);
        if sync {
            self.meet(a, pc, ix, weight, threads as u32, true)
        } else {
            Ok(self.arrive_at(a, pc, ix, weight, threads as u32, true))
        }
    }

    /// Threads that an agent brings: all threads of a whole warp, or the lanes of a split warp's class.
    fn threads_of(&self, a: AgentId) -> u32 {
        let size = self.spec.rules.warp_size;
        match self.spec.info[a as usize].lanes {
            None => size,
            Some(Lanes::Elected) => 1,
            Some(Lanes::Rest) => size - 1,
        }
    }

    /// Holds an arrival to being after all arrivals of the generation before, in every schedule.
    pub(super) fn comes_in_turn(&mut self, a: AgentId, pc: u32, ix: RendezvousIx) {
        if self.order.is_off() {
            return;
        }
        let (row, generation) = (self.spec.agent_row(a), self.rendezvous[ix as usize].generation);
        let knows = self.order.reached(row, self.spec.meet_comp(ix)) >= generation;
        let new = self.own_access(a, pc);
        let [now, before] = &mut self.rendezvous[ix as usize].recent;
        now.insert(now.partition_point(|x| x.epoch <= new.epoch), new);
        let unknown = before.iter().find(|x| !knows && self.order.reached(row, x.epoch.comp) < x.epoch.clock);
        if let Some(x) = unknown.copied() {
            self.results.note_unordered(a, pc, WaitTarget::Rendezvous(ix));
            let message = format!(
                "arrives at {}, and nothing orders it after {}, who came the time before: which of them meets the others \
                 depends on the schedule",
                self.meet_name(ix),
                self.agent_name(x.agent)
            );
            self.find(Code::Mixed, a, pc, message, Some((x.pc, "that one's arrival".into())));
        }
    }

    /// The numbered barrier that an agent is about to arrive at: the rendezvous, the threads that the agent brings, and
    /// the threads that the barrier is for. Used by a search, where several arrivals could come next.
    pub fn arrives_next(&self, a: AgentId) -> Option<(u32, u32, u32)> {
        let agent = &self.agents[a];
        let Instr::Op { op: Op::Named { bar, index, threads, .. }, .. } = &self.prog.code[agent.pc as usize] else {
            return None;
        };
        let (index, threads) = (self.number(a, index).ok()?, self.number(a, threads).ok()?);
        let known = (0..self.prog.named[*bar as usize].len as i64).contains(&index) && threads > 0;
        let ix = known
            .then(|| self.rendezvous_of(RendezvousKind::Named(*bar, index as u32, self.spec.info[a as usize].cta)))?;
        (agent.waits_in.is_none()).then(|| (ix, self.threads_of(a), threads as u32))
    }
}
