//! The first iteration of a loop of which each lane makes its own number: accesses that happen in one launch.
//!
//! A fault counts only if it remains without accesses that may not happen. Those of the first iteration happen in a launch
//! with large arguments, if no data decide whether lanes come there.

use crate::flow::BlockId;
use crate::lift::facts::idle::is_passive;
use crate::lift::facts::slice::writes;
use crate::lift::launch::possible::at_size;
use crate::lift::memory::anywhere::SHARED;
use crate::lift::tree::{Effect, Run, Touch};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::ptx::Error;

use super::strides::accesses;

impl Walk<'_, '_> {
    /// Adds the accesses that each lane performs in its first iteration in that launch.
    pub(crate) fn first_iteration(&mut self, l: usize) -> Result<(), Error> {
        let lanes = self.coming();
        if lanes == 0 || self.dry > 0 || self.path.iter().any(|c| self.opaque(*c)) {
            return Ok(());
        }
        let (flow, before) = (self.s.flow, self.regs.clone());
        let chain = self.passed_first(l);
        for (b, block) in flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]) {
            for at in (block.first..block.end).filter(|_| !chain.contains(&b)) {
                self.loses(at);
            }
        }
        for at in chain.iter().flat_map(|b| flow.blocks[*b].first..flow.blocks[*b].end) {
            let i = self.inst(at);
            if accesses(i) && i.op != "cp" && i.guard.is_none() && !self.s.pointers.elsewhere(i) {
                self.first_access(at, lanes)?;
            }
            if self.s.is_needed(i) && is_passive(i) && i.op != "ld" && i.guard.is_none() {
                self.compute(at, i)?;
            } else {
                self.loses(at);
            }
        }
        self.regs = before;
        Ok(())
    }

    /// The lanes that come here in the launch, as far as no data decide.
    fn coming(&mut self) -> u32 {
        let original = Default::default();
        let mut lanes = 0;
        for lane in (0..32).filter(|l| self.lanes >> l & 1 == 1) {
            let holds = |(c, holds): &(crate::lift::tree::Val, bool)| {
                at_size(&mut self.s.arena, c.at(lane), &original) == Some(i64::from(*holds))
            };
            lanes |= u32::from(self.lane_conditions.iter().all(holds)) << lane;
        }
        lanes
    }

    /// The blocks that each first iteration passes, up to a loop inside.
    fn passed_first(&self, l: usize) -> Vec<BlockId> {
        let (flow, header) = (self.s.flow, self.s.flow.loops[l].header);
        let mut chain = vec![header];
        while let Some(next) = chain.last().and_then(|b| flow.join[*b]).filter(|b| flow.loops[l].body[*b]) {
            if chain.contains(&next) || flow.header_of[next].is_some() {
                break;
            }
            chain.push(next);
        }
        chain
    }

    /// Forgets the registers that an instruction writes.
    fn loses(&mut self, at: usize) {
        let mut regs = Vec::new();
        writes(self.inst(at), &mut |r| regs.push(r));
        for r in regs {
            self.regs[r as usize] = Some(self.opaque_lanes("what a loop leaves"));
        }
    }

    fn first_access(&mut self, at: usize, lanes: u32) -> Result<(), Error> {
        let i = self.inst(at);
        let (what, n) = match i.op.as_str() {
            "st" => (Touch::Write, 0),
            "ld" => (Touch::Read, 1),
            "red" => (Touch::Atomic, 0),
            _ => (Touch::Atomic, 1),
        };
        let v = self.address(i.arg(n))?;
        let original = Default::default();
        let mut runs: Vec<Run> = Vec::new();
        for lane in (0..32).filter(|l| lanes >> l & 1 == 1) {
            let found = at_size(&mut self.s.arena, v.at(lane), &original);
            let Some(x) = found.filter(|x| (0..SHARED).contains(x)) else { return Ok(()) };
            runs.push((self.s.arena.int(x), bytes_of(i)));
        }
        runs.sort_unstable();
        runs.dedup();
        self.s.of_one_launch = true;
        let all = std::mem::replace(&mut self.lanes, lanes);
        let done = self.push(at, 0, Effect::Touch(what, runs));
        self.lanes = all;
        done
    }
}
