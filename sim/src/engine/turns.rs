//! Keeping to a schedule: beside its time, a move needs its turn.
//!
//! ```text
//!   event ──▶ its turn? ── yes ──▶ the move is made, the next one's owner may go on
//!                  └────── no ───▶ parked (agent) or held (flight) until it is
//! ```
//!
//! A move starts at its own time or when the one before it has started, whichever is later. What a move does is the
//! world's business here as everywhere; a kernel that makes another move than the schedule says ends the run.

use std::collections::BTreeSet;

use crate::protocol::{AgentId, FlightId, Step};
use crate::report::Outcome;
use crate::schedule::{Misfit, Move, Order, Schedule, stuck};
use crate::timeline::{SpanKind, Stall};

use super::queue::EventKind;
use super::run::Engine;

/// How far the schedule has come, and who waits for a turn.
pub(super) struct Turns {
    order: Order,
    parked: BTreeSet<AgentId>,
    held: BTreeSet<FlightId>,
    /// The first move that the kernel does not make.
    pub(super) misfit: Option<Misfit>,
}

impl Turns {
    /// Before the first move.
    pub(super) fn new(schedule: &Schedule, agents: usize) -> Turns {
        Turns { order: Order::new(schedule, agents), parked: BTreeSet::new(), held: BTreeSet::new(), misfit: None }
    }
}

impl Engine<'_> {
    /// Whether an agent may go on now; else it is parked until its turn.
    pub(super) fn may_go(&mut self, a: AgentId) -> bool {
        let Some(t) = &mut self.turns else { return true };
        let turn = t.order.turn_of(a);
        if !turn {
            t.parked.insert(a);
        }
        turn
    }

    /// Whether a flight may land now; else it is held until its turn.
    pub(super) fn may_land(&mut self, s: usize, f: FlightId, now: u64) -> bool {
        let (Some(t), Some(w)) = (&mut self.turns, &self.seats[s].world) else { return true };
        let turn = matches!(t.order.landing(w), Ok(Some(g)) if g == f);
        if turn {
            let made = t.order.next();
            t.order.landed();
            self.note(s, made, now);
        } else {
            t.held.insert(f);
        }
        turn
    }

    /// Records a move that was made.
    fn note(&mut self, s: usize, made: Option<Move>, now: u64) {
        let seat = &self.seats[s];
        if let (Some(r), Some(w), Some(made)) = (&mut self.recorder, &seat.world, made) {
            let who = w.agents()[made.agent as usize];
            r.made(seat.number * self.prog.cluster + who.cta, who, made, now);
        }
    }

    /// Holds what an agent did to the schedule; false where it is something else.
    pub(super) fn kept(&mut self, s: usize, a: AgentId, step: &Step, now: u64) -> bool {
        let (Some(t), Some(w)) = (&mut self.turns, &self.seats[s].world) else { return true };
        let made = t.order.next();
        match t.order.stepped(w, a, step) {
            Ok(()) => {
                self.note(s, made, now);
                true
            }
            Err(misfit) => {
                t.misfit = Some(misfit);
                false
            }
        }
    }

    /// Accounts for the time an agent was parked.
    pub(super) fn was_held(&mut self, s: usize, a: AgentId, now: u64) {
        if self.turns.is_some() {
            let pc = self.seats[s].world.as_ref().map_or(0, |w| w.pc(a).saturating_sub(1));
            self.account(s, a, pc, now, SpanKind::Stall(Stall::Held), String::new());
        }
    }

    /// After an event: whoever's turn it is goes on. Says how the run ends, where the schedule does.
    pub(super) fn next_turn(&mut self, now: u64) -> Option<Outcome> {
        let t = self.turns.as_mut()?;
        if t.misfit.is_some() {
            return Some(Outcome::Stopped);
        }
        let Some(next) = t.order.next() else { return Some(self.stop(now)) };
        // Nothing moves before the launch.
        let w = self.seats[0].world.as_ref()?;
        match t.order.landing(w) {
            Ok(Some(flight)) if t.held.remove(&flight) => self.queue.push(now, EventKind::Land { seat: 0, flight }),
            Ok(None) if t.parked.remove(&next.agent) => {
                self.queue.push(now, EventKind::Go { seat: 0, agent: next.agent });
            }
            Ok(_) => {}
            Err(misfit) => {
                t.misfit = Some(misfit);
                return Some(Outcome::Stopped);
            }
        }
        None
    }

    /// The queue is empty and moves are left.
    pub(super) fn starved(&mut self) {
        if let Some(t) = &mut self.turns
            && t.misfit.is_none()
        {
            let message =
                format!("move {} never gets its turn: nothing is left to happen before it", t.order.made() + 1);
            t.misfit = Some(Misfit { at: t.order.made(), message });
        }
    }

    /// The schedule is over: everybody stays where they are.
    fn stop(&mut self, now: u64) -> Outcome {
        self.end = self.end.max(now);
        let Some(w) = &self.seats[0].world else { return Outcome::Finished };
        match stuck(w) {
            None => {
                self.keep_findings(0);
                Outcome::Stopped
            }
            Some(waiting) => {
                for (a, pc, on) in waiting {
                    let stall = self.cause(0, a, pc, on);
                    self.seats[0].runs[a as usize].waits = Some((pc, stall, on));
                }
                Outcome::Hung(self.diagnose())
            }
        }
    }

    /// Where a run that keeps to a schedule stops before its agents end: every cycle up to there gets its reason.
    pub(super) fn close(&mut self) {
        if self.turns.is_none() || self.seats[0].world.is_none() {
            return;
        }
        let accounted = self.seats[0].runs.iter().map(|r| r.upto).max();
        self.end = self.end.max(accounted.unwrap_or(0));
        for a in 0..self.seats[0].runs.len() as AgentId {
            let run = &self.seats[0].runs[a as usize];
            let at = self.seats[0].world.as_ref().map_or(0, |w| w.pc(a));
            let (pc, stall) = match (run.ended, run.waits) {
                (Some(_), _) => (at, Stall::Ended),
                (None, Some((pc, stall, _))) => (pc, stall),
                (None, None) => (at, Stall::Held),
            };
            self.account(0, a, pc, self.end, SpanKind::Stall(stall), String::new());
        }
        if let Some(r) = &mut self.recorder {
            r.cut(self.end);
        }
    }
}
