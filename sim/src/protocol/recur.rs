//! Recurrence of a run's state: a run that reaches the same state again never ends.

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::ir::{Instr, Op, Phase, Program};

use super::snapshot::{Entry, Family, Snapshot};
use super::vocabulary::AgentId;
use super::world::World;

/// Whether a program has a loop without a counter. Only such a loop can repeat a state.
pub fn may_recur(prog: &Program) -> bool {
    prog.loops.iter().any(|l| l.var.is_none())
}

impl World<'_> {
    /// Whether two snapshots of this world, the second taken later, are one state. Every agent is at the same
    /// instruction with the same variables and tiles. Only clocks have moved, each by one amount wherever the clock is
    /// known. Phases of an mbarrier may move by an even number where every wait names a parity. All further decisions
    /// are then the same as before.
    pub fn recurs(&self, earlier: &Snapshot, now: &Snapshot) -> bool {
        let mut moved: FxHashMap<u32, i64> = FxHashMap::default();
        let one = |(x, y): (&Entry, &Entry)| match (x, y) {
            (Entry::Same(x), Entry::Same(y)) => x == y,
            (Entry::Count(f, x), Entry::Count(g, y)) if f == g => match f {
                _ if x == y => true,
                Family::Clock(comp) => *moved.entry(*comp).or_insert(y - x) == y - x,
                _ => false,
            },
            _ => false,
        };
        earlier.entries.len() == now.entries.len()
            && earlier.entries.iter().zip(&now.entries).all(one)
            && (0..self.mbars.len() as u32).all(|ix| match moved.get(&self.spec.mbar_comp(ix)) {
                Some(by) => by % 2 == 0 && !self.names_phases(ix),
                None => true,
            })
    }

    /// All numbers that stand still where a state recurs: variables, values of mailboxes, counters, tiles still to hand
    /// out.
    pub fn variables(&self) -> impl Iterator<Item = i64> {
        let counters = self.global.counters.iter().map(|c| c.value);
        self.agents.all_vars().iter().chain(self.memory.words()).copied().chain(counters).chain([self
            .global
            .more_tiles
            .len()
            as i64])
    }

    /// Whether some wait for an mbarrier names a phase by its number.
    fn names_phases(&self, ix: u32) -> bool {
        let decl = self.mbar_decl(ix);
        self.prog.code.iter().any(|i| match i {
            Instr::Op { op: Op::MbarWait { bar, phase: Phase::Absolute(_) }, .. } => bar.bar == decl,
            _ => false,
        })
    }

    /// Records that a run repeats its state without end, at the innermost loop without a counter around an agent's
    /// instruction.
    pub fn livelock(&mut self, a: AgentId) {
        let pc = self.agents[a].pc;
        let around = self.prog.loops.iter().filter(|l| l.var.is_none() && (l.head..l.end).contains(&pc));
        let head = around.min_by_key(|l| l.end - l.head).map_or(pc, |l| l.head);
        let message = "goes on for ever: every agent repeats its steps, and no variable changes".to_string();
        self.find(Code::Livelock, a, head, message, None);
    }
}
