//! Numbered barriers: `bar.sync` and `bar.arrive`, which count threads and take whoever comes.
//!
//! Which warps meet in a generation must not depend on the schedule (Weft's safe recycling): each arrival knows of all those
//! of the generation before. One that does not can come before one of them, and take its place.

use crate::code::Code;
use crate::ir::{Instr, NamedId, Op};
use crate::timeline::Lanes;

use super::AgentId;
use super::meet::{MeetIx, MeetKind};
use super::step::Blocked;
use super::world::{Fault, On, World};

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
        if threads <= 0 || threads % self.rules.warp_size as i64 != 0 {
            return Err(Fault::Threads(threads).into());
        }
        let ix = self.meet_of(MeetKind::Named(bar, index as u32, self.info[a as usize].cta));
        let weight = self.threads_of(a);
        if sync {
            self.meet(a, pc, ix, weight, threads as u32, true)
        } else {
            Ok(self.arrive_at(a, pc, ix, weight, threads as u32, true))
        }
    }

    /// Threads that an agent brings: a warp arrives as a whole, a split warp's classes bring their lanes.
    fn threads_of(&self, a: AgentId) -> u32 {
        let size = self.rules.warp_size;
        match self.info[a as usize].lanes {
            None => size,
            Some(Lanes::Elected) => 1,
            Some(Lanes::Rest) => size - 1,
        }
    }

    /// An arrival comes behind all of the generation before, in every schedule.
    pub(super) fn comes_in_turn(&mut self, a: AgentId, pc: u32, ix: MeetIx) {
        if self.rows.is_off() {
            return;
        }
        let row = self.agent_row(a);
        let m = &self.meets[ix as usize];
        if self.rows.reached(row, self.meet_comp(ix)) < m.generation
            && let Some(x) = m.came[1].iter().find(|x| self.rows.reached(row, x.epoch.comp) < x.epoch.clock).copied()
        {
            self.unordered.get_or_insert((a, pc, On::Meet(ix)));
            let message = format!(
                "arrives at {}, and nothing orders it after {}, who came the time before: which of them meets the others \
                 depends on the schedule",
                self.meet_name(ix),
                self.agent_name(x.agent)
            );
            self.find(Code::Mixed, a, pc, message, Some((x.pc, "that one's arrival".into())));
        }
        let x = self.own_access(a, pc);
        let list = &mut self.meets[ix as usize].came[0];
        list.insert(list.partition_point(|y| y.epoch <= x.epoch), x);
    }

    /// Where an agent is about to arrive at a numbered barrier: which rendezvous, and the threads that it brings and that it
    /// gives as those of the barrier. For a search, in which an arrival is one of several that could come next.
    pub fn arrives_next(&self, a: AgentId) -> Option<(u32, u32, u32)> {
        let agent = &self.agents[a as usize];
        let Instr::Op { op: Op::Named { bar, index, threads, .. }, .. } = &self.prog.code[agent.pc as usize] else {
            return None;
        };
        let (index, threads) = (self.number(a, index).ok()?, self.number(a, threads).ok()?);
        let known = (0..self.prog.named[*bar as usize].len as i64).contains(&index) && threads > 0;
        let ix = known.then(|| self.meet_of(MeetKind::Named(*bar, index as u32, self.info[a as usize].cta)))?;
        (agent.waits_in.is_none()).then(|| (ix, self.threads_of(a), threads as u32))
    }
}
