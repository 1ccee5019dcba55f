//! The account of every agent's time: each tick is work or exactly one stall.

use crate::timeline::{Stall, Work};

/// Number of kinds of work, and of stalls.
const WORK: usize = Work::ALL.len();
const STALL: usize = Stall::ALL.len();

/// Ticks by kind, for each agent of a cluster and for each instruction. Clusters that ran are added up.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    work: Vec<[u64; WORK]>,
    stall: Vec<[u64; STALL]>,
    /// Stalls by agent, instruction and cause.
    at: Vec<u64>,
    code: usize,
}

impl Ledger {
    /// An empty ledger.
    pub(super) fn new(agents: usize, code: usize) -> Self {
        Ledger {
            work: vec![[0; WORK]; agents],
            stall: vec![[0; STALL]; agents],
            at: vec![0; agents * code * STALL],
            code,
        }
    }

    /// Adds ticks of work.
    pub(super) fn work(&mut self, agent: usize, kind: Work, ticks: u64) {
        self.work[agent][kind as usize] += ticks;
    }

    /// Adds ticks of a stall at an instruction.
    pub(super) fn stall(&mut self, agent: usize, pc: u32, kind: Stall, ticks: u64) {
        self.stall[agent][kind as usize] += ticks;
        self.at[(agent * self.code + pc as usize) * STALL + kind as usize] += ticks;
    }

    /// The sum of all ticks of an agent.
    pub(super) fn total(&self, agent: usize) -> u64 {
        self.work[agent].iter().sum::<u64>() + self.stall[agent].iter().sum::<u64>()
    }

    /// Ticks of an agent's work, by kind.
    pub(super) fn work_of(&self, agent: usize) -> [u64; WORK] {
        self.work[agent]
    }

    /// Ticks of an agent's stalls, by cause.
    pub(super) fn stall_of(&self, agent: usize) -> [u64; STALL] {
        self.stall[agent]
    }

    /// Ticks of an agent's stalls at an instruction, by cause.
    pub(super) fn stall_at(&self, agent: usize, pc: usize) -> &[u64] {
        let i = (agent * self.code + pc) * STALL;
        &self.at[i..i + STALL]
    }
}

impl Ledger {
    /// Adds the difference to an older ledger another `n` times.
    pub(super) fn repeat(&mut self, old: &Ledger, n: u64) {
        let add = |now: &mut u64, then: &u64| *now += n * (*now - then);
        self.work.as_flattened_mut().iter_mut().zip(old.work.as_flattened()).for_each(|(x, y)| add(x, y));
        self.stall.as_flattened_mut().iter_mut().zip(old.stall.as_flattened()).for_each(|(x, y)| add(x, y));
        self.at.iter_mut().zip(&old.at).for_each(|(x, y)| add(x, y));
    }
}
