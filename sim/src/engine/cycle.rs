//! Livelock: a run whose state recurs.
//!
//! The engine is deterministic, so a state that recurs in full, relative to the current time, recurs for ever. States
//! are kept at event numbers that are powers of two (Brent's algorithm).

use crate::ir::Program;
use crate::protocol::{AgentId, Snapshot, may_recur};

use super::run::Engine;

/// The newest kept state, taken before a step of an agent.
struct Kept {
    seat: usize,
    agent: AgentId,
    pc: u32,
    vars: Vec<i64>,
    times: Vec<u64>,
    worlds: Vec<Option<Snapshot>>,
}

/// The detector of a run.
pub(super) struct Cycle {
    on: bool,
    /// Number of the event at which the next state is kept.
    next: u64,
    kept: Option<Kept>,
}

impl Cycle {
    /// The detector for a program; inactive where a run cannot repeat itself.
    pub(super) fn of(prog: &Program) -> Cycle {
        Cycle { on: may_recur(prog), next: 1, kept: None }
    }

    /// Compares the state before an agent's step with the kept one. Records a livelock if they are equal, and returns
    /// whether they are.
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
