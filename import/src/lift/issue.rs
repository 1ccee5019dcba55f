//! The time of instructions that only compute, for one warp alone: a list schedule over their dependences.
//!
//! The assembler orders independent instructions freely. So the schedule takes the ready instruction with the longest
//! path behind it, one a cycle. How long units are occupied, by this warp and others, is left to the engine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::ptx::Reg;

/// A unit of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Integer arithmetic, logic, comparisons and conversions.
    Int,
    /// Floating-point arithmetic.
    Fma,
    /// Special functions.
    Special,
}

/// An instruction that only computes.
#[derive(Clone, Debug)]
struct Step {
    /// Steps whose results it needs.
    needs: Vec<u32>,
    /// Machine instructions for each unit.
    units: Vec<(Unit, u32)>,
    /// Cycles from its issue to the first instruction that can use its result.
    latency: u64,
}

/// The instructions of one warp since its last operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    steps: Vec<Step>,
    /// The last step that wrote each register.
    writers: BTreeMap<Reg, u32>,
}

impl Block {
    /// Adds an instruction that reads and writes these registers.
    pub(super) fn add(&mut self, reads: &[Reg], writes: &[Reg], units: Vec<(Unit, u32)>, latency: u64) {
        let mut needs: Vec<u32> = reads.iter().filter_map(|r| self.writers.get(r).copied()).collect();
        needs.sort_unstable();
        needs.dedup();
        let at = self.steps.len() as u32;
        self.steps.push(Step { needs, units, latency });
        self.writers.extend(writes.iter().map(|r| (*r, at)));
    }

    /// Takes out the instructions that these registers' values depend on. The others stay.
    pub(super) fn take(&mut self, registers: &[Reg]) -> Block {
        let mut needed = vec![false; self.steps.len()];
        let mut open: Vec<u32> = registers.iter().filter_map(|r| self.writers.get(r).copied()).collect();
        while let Some(i) = open.pop() {
            if !std::mem::replace(&mut needed[i as usize], true) {
                open.extend(&self.steps[i as usize].needs);
            }
        }
        let mut place = vec![0; needed.len()];
        let (mut taken, mut left) = (Block::default(), Block::default());
        for (i, mut step) in std::mem::take(&mut self.steps).into_iter().enumerate() {
            // Results of instructions that were taken out are there.
            step.needs.retain(|p| needed[*p as usize] == needed[i]);
            step.needs.iter_mut().for_each(|p| *p = place[*p as usize]);
            let block = if needed[i] { &mut taken } else { &mut left };
            place[i] = block.steps.len() as u32;
            block.steps.push(step);
        }
        let writers = std::mem::take(&mut self.writers).into_iter().filter(|(_, i)| !needed[*i as usize]);
        left.writers = writers.map(|(r, i)| (r, place[i as usize])).collect();
        *self = left;
        taken
    }

    /// Machine instructions for a unit.
    pub(super) fn instructions(&self, unit: Unit) -> u32 {
        self.steps.iter().flat_map(|s| &s.units).filter(|(u, _)| *u == unit).map(|(_, n)| n).sum()
    }

    /// The cycles until the last result.
    pub(super) fn cycles(&self) -> u64 {
        let n = self.steps.len();
        // The longest path from each step to the end.
        let mut behind = vec![0; n];
        let (mut users, mut open) = (vec![Vec::new(); n], vec![0; n]);
        for (i, s) in self.steps.iter().enumerate().rev() {
            behind[i] += s.latency;
            for p in &s.needs {
                behind[*p as usize] = behind[*p as usize].max(behind[i]);
                users[*p as usize].push(i);
            }
            open[i] = s.needs.len();
        }
        // Steps whose operands are being computed, by the cycle in which they are there; steps that can issue.
        let mut waiting: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut ready: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
        waiting.extend((0..n).filter(|i| open[*i] == 0).map(|i| Reverse((0, i))));
        let (mut now, mut end, mut there) = (0, 0, vec![0; n]);
        loop {
            while let Some(Reverse((_, i))) = waiting.peek().copied().filter(|r| r.0.0 <= now) {
                waiting.pop();
                ready.push((behind[i], Reverse(i)));
            }
            let Some((_, Reverse(i))) = ready.pop() else {
                let Some(Reverse((next, _))) = waiting.peek() else { break };
                now = *next;
                continue;
            };
            let issued: u64 = self.steps[i].units.iter().map(|(_, n)| u64::from(*n)).sum();
            let done = now + issued.saturating_sub(1) + self.steps[i].latency;
            end = end.max(done);
            for user in &users[i] {
                there[*user] = there[*user].max(done);
                open[*user] -= 1;
                if open[*user] == 0 {
                    waiting.push(Reverse((there[*user], *user)));
                }
            }
            // Copies of registers, which the assembler removes, take no slot.
            now += issued;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(steps: &[(&[Reg], Reg, Unit)]) -> u64 {
        let mut b = Block::default();
        for (reads, writes, unit) in steps {
            b.add(reads, &[*writes], vec![(*unit, 1)], 4);
        }
        b.cycles()
    }

    #[test]
    fn a_chain_takes_its_latencies_and_independent_instructions_a_cycle_each() {
        let chain: Vec<([Reg; 1], Reg, Unit)> = (0..10).map(|i| ([i], i + 1, Unit::Fma)).collect();
        let chain: Vec<(&[Reg], Reg, Unit)> = chain.iter().map(|(r, w, u)| (r.as_slice(), *w, *u)).collect();
        assert_eq!(block(&chain), 40);
        let apart: Vec<(&[Reg], Reg, Unit)> = (0..10).map(|i| (&[][..], i as Reg, Unit::Int)).collect();
        assert_eq!(block(&apart), 13);
    }

    #[test]
    fn phases_that_need_each_other_do_not_overlap() {
        let mut phases = Block::default();
        (0..10).for_each(|i| phases.add(&[], &[i], vec![(Unit::Int, 1)], 4));
        phases.add(&(0..10).collect::<Vec<_>>(), &[30], vec![(Unit::Int, 1)], 4);
        (0..10).for_each(|i| phases.add(&[30], &[i + 40], vec![(Unit::Special, 1)], 16));
        assert_eq!(phases.cycles(), 9 + 4 + 4 + 9 + 16);
    }

    #[test]
    fn what_a_register_needs_is_taken_out_and_the_rest_stays() {
        let mut b = Block::default();
        b.add(&[], &[1], vec![(Unit::Int, 1)], 4);
        b.add(&[1], &[2], vec![(Unit::Fma, 1)], 4);
        b.add(&[1], &[3], vec![(Unit::Special, 1)], 16);
        let taken = b.take(&[2]);
        assert_eq!((taken.cycles(), taken.instructions(Unit::Int), taken.instructions(Unit::Special)), (8, 1, 0));
        assert_eq!((b.cycles(), b.instructions(Unit::Int), b.instructions(Unit::Special)), (16, 0, 1));
    }
}
