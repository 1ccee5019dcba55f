//! The time of instructions that only compute, for one warp alone: a list schedule over their dependences.
//!
//! The assembler orders independent instructions freely. So the schedule takes the ready instruction with the longest
//! path behind it, one a cycle. How long units are occupied, by this warp and others, is left to the engine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use warpline_sim::ir::Instructions;

use crate::ptx::Reg;

/// Cycles of a chain of additions for each instruction (calibrate/probes/latency.cu). The engine takes chains in these.
pub(crate) const LATENCY: u64 = 4;

/// An instruction that only computes.
#[derive(Clone, Debug)]
struct Step {
    /// Steps whose results it needs.
    needs: Vec<u32>,
    /// Machine instructions, by unit.
    work: Instructions,
    /// Cycles from its issue to the first instruction that can use its result.
    latency: u64,
}

/// The instructions of one warp since its last operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    steps: Vec<Step>,
    /// The last step that wrote each register.
    writers: BTreeMap<Reg, u32>,
}

impl Block {
    /// Adds an instruction that reads and writes these registers.
    pub(crate) fn add(&mut self, reads: &[Reg], writes: &[Reg], work: Instructions, latency: u64) {
        let mut needs: Vec<u32> = reads.iter().filter_map(|r| self.writers.get(r).copied()).collect();
        needs.sort_unstable();
        needs.dedup();
        let at = self.steps.len() as u32;
        self.steps.push(Step { needs, work, latency });
        self.writers.extend(writes.iter().map(|r| (*r, at)));
    }

    /// Takes out the instructions that these registers' values depend on. The others stay.
    pub(crate) fn take(&mut self, registers: &[Reg]) -> Block {
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

    /// The special functions and what needs these, and apart from them all other instructions, which come first.
    pub(crate) fn parts(&self) -> (Block, Block) {
        let (mut first, mut second) = (Block::default(), Block::default());
        let (mut late, mut place) = (vec![false; self.steps.len()], vec![0; self.steps.len()]);
        for (i, step) in self.steps.iter().enumerate() {
            late[i] = step.work.special > 0 || step.needs.iter().any(|p| late[*p as usize]);
            let block = if late[i] { &mut second } else { &mut first };
            // Results of the first part are there when the second begins.
            let needs = step.needs.iter().filter(|p| late[**p as usize] == late[i]);
            let needs = needs.map(|p| place[*p as usize]).collect();
            place[i] = block.steps.len() as u32;
            block.steps.push(Step { needs, ..*step });
        }
        (first, second)
    }

    /// Instructions, with the latencies of the longest chain.
    pub(crate) fn scheduled(&self) -> Instructions {
        Instructions { chain: self.cycles().div_ceil(LATENCY) as u32, ..self.work() }
    }

    /// Machine instructions of all, by unit.
    pub(crate) fn work(&self) -> Instructions {
        self.steps.iter().fold(Instructions::default(), |sum, s| sum.and(s.work))
    }

    /// The cycles until the last result.
    pub(crate) fn cycles(&self) -> u64 {
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
            let Instructions { int, fma, special, .. } = self.steps[i].work;
            let issued = u64::from(int + fma + special);
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

    const NONE: Instructions = Instructions { int: 0, fma: 0, special: 0, chain: 0 };
    const INT: Instructions = Instructions { int: 1, ..NONE };
    const FMA: Instructions = Instructions { fma: 1, ..NONE };
    const SPECIAL: Instructions = Instructions { special: 1, ..NONE };

    #[test]
    fn a_chain_takes_its_latencies_and_independent_instructions_a_cycle_each() {
        let (mut chain, mut apart) = (Block::default(), Block::default());
        for i in 0..10 {
            chain.add(&[i], &[i + 1], FMA, 4);
            apart.add(&[], &[i], INT, 4);
        }
        assert_eq!((chain.cycles(), apart.cycles()), (40, 13));
    }

    #[test]
    fn phases_that_need_each_other_do_not_overlap() {
        let mut phases = Block::default();
        (0..10).for_each(|i| phases.add(&[], &[i], INT, 4));
        phases.add(&(0..10).collect::<Vec<_>>(), &[30], INT, 4);
        (0..10).for_each(|i| phases.add(&[30], &[i + 40], SPECIAL, 16));
        assert_eq!(phases.cycles(), 9 + 4 + 4 + 9 + 16);
    }

    #[test]
    fn what_a_register_needs_is_taken_out_and_the_rest_stays() {
        let mut b = Block::default();
        b.add(&[], &[1], INT, 4);
        b.add(&[1], &[2], FMA, 4);
        b.add(&[1], &[3], SPECIAL, 16);
        let taken = b.take(&[2]);
        assert_eq!((taken.cycles(), taken.work().int, taken.work().special), (8, 1, 0));
        assert_eq!((b.cycles(), b.work().int, b.work().special), (16, 0, 1));
    }
}
