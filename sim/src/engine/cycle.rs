//! Livelock: a run that repeats itself for ever.
//!
//! The engine is deterministic, so a state that recurs in full, relative to now, recurs for ever. States are kept at event
//! numbers that are powers of two (Brent's algorithm).

use crate::ir::Program;
use crate::protocol::{AgentId, Snapshot, may_recur};

use super::run::Engine;

/// The newest state that was kept, before an agent's step.
struct Kept {
    seat: usize,
    agent: AgentId,
    pc: u32,
    vars: Vec<i64>,
    times: Vec<u64>,
    worlds: Vec<Option<Snapshot>>,
}

/// A detector for one run.
pub(super) struct Cycle {
    on: bool,
    /// The event at which the next state is kept.
    next: u64,
    kept: Option<Kept>,
}

impl Cycle {
    /// A detector, at work where a run of the program can repeat itself at all.
    pub(super) fn of(prog: &Program) -> Cycle {
        Cycle { on: may_recur(prog), next: 1, kept: None }
    }

    /// Records a livelock if the state, before an agent's step, is one that was kept. Says whether it is.
    pub(super) fn closes(&mut self, e: &mut Engine<'_>, (s, agent): (usize, AgentId), now: u64) -> bool {
        if !self.on {
            return false;
        }
        let Some(w) = &e.seats[s].world else { return false };
        let (pc, vars) = (w.pc(agent), w.vars_of(agent));
        let worlds = || e.seats.iter().map(|seat| seat.world.as_ref().map(|w| w.snapshot())).collect::<Vec<_>>();
        if let Some(kept) = &self.kept
            && (kept.seat, kept.agent, kept.pc) == (s, agent, pc)
            && kept.vars == vars
            && kept.times == e.times(now)
        {
            let one = |(seat, (was, is)): (&super::run::Seat<'_>, (&Option<Snapshot>, &Option<Snapshot>))| match (
                &seat.world,
                was,
                is,
            ) {
                (Some(w), Some(was), Some(is)) => w.recurs(was, is),
                (None, None, None) => true,
                _ => false,
            };
            if e.seats.iter().zip(kept.worlds.iter().zip(&worlds())).all(one) {
                if let Some(w) = &mut e.seats[s].world {
                    w.livelock(agent);
                }
                return true;
            }
        }
        if e.events >= self.next {
            self.next = 2 * e.events;
            let vars = vars.to_vec();
            self.kept = Some(Kept { seat: s, agent, pc, vars, times: e.times(now), worlds: worlds() });
        }
        false
    }
}
