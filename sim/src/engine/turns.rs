//! Runs that follow a schedule: a move needs its turn in addition to its time.
//!
//! ```text
//!   event ──▶ its turn? ── yes ──▶ the move is made, the next one's owner may go on
//!                  └────── no ───▶ parked (agent) or held (flight) until it is
//! ```
//!
//! A move starts at its own time or at the start of the move before it, whichever is later. The world decides what a
//! move does, as in every run. A kernel that makes another move than the schedule's ends the run.

use std::collections::BTreeSet;

use crate::protocol::{AgentId, FlightId, Step};
use crate::report::Outcome;
use crate::schedule::{Misfit, Move, Order, Schedule, stuck};
use crate::timeline::{SpanKind, Stall};

use super::queue::EventKind;
use super::run::Engine;

/// The progress along a schedule, and the agents and flights that wait for a turn.
pub(super) struct Turns {
    order: Order,
    parked: BTreeSet<AgentId>,
    held: BTreeSet<FlightId>,
    /// The first move that the kernel does not make.
    pub(super) misfit: Option<Misfit>,
}

impl Turns {
    /// The state before the first move.
    pub(super) fn new(schedule: &Schedule, agents: usize) -> Turns {
        Turns { order: Order::new(schedule, agents), parked: BTreeSet::new(), held: BTreeSet::new(), misfit: None }
    }
}

impl Engine<'_> {
    /// Whether an agent may proceed now; if not, it is parked until its turn.
    pub(super) fn may_go(&mut self, a: AgentId) -> bool {
        let Some(t) = &mut self.turns else { return true };
        let turn = t.order.turn_of(a);
        if !turn {
            t.parked.insert(a);
        }
        turn
    }

    /// Whether a flight may land now; if not, it is held until its turn.
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

    /// Records a move.
    fn note(&mut self, s: usize, made: Option<Move>, now: u64) {
        let seat = &self.seats[s];
        if let (Some(r), Some(w), Some(made)) = (&mut self.recorder, &seat.world, made) {
            let who = w.agents()[made.agent as usize];
            r.made(seat.number * self.prog.cluster + who.cta, who, made, now);
        }
    }

    /// Compares an agent's step with the schedule. Returns false where they differ.
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

    /// Accounts for the time that an agent was parked.
    pub(super) fn was_held(&mut self, s: usize, a: AgentId, now: u64) {
        if self.turns.is_some() {
            let pc = self.seats[s].world.as_ref().map_or(0, |w| w.pc(a).saturating_sub(1));
            self.account(s, a, pc, now, SpanKind::Stall(Stall::Held), String::new());
        }
    }

    /// After an event, the agent or flight whose turn it is proceeds. Returns the run's outcome at the end of the
    /// schedule.
    pub(super) fn next_turn(&mut self, now: u64) -> Option<Outcome> {
        let t = self.turns.as_mut()?;
        if t.misfit.is_some() {
            return Some(Outcome::Stopped);
        }
        let Some(next) = t.order.next() else { return Some(self.stop(now)) };
        // No agent moves before the launch.
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

    /// Records a misfit: the event queue is empty and moves are left.
    pub(super) fn starved(&mut self) {
        if let Some(t) = &mut self.turns
            && t.misfit.is_none()
        {
            let message = format!("move {} never happens: no event is left before it", t.order.made() + 1);
            t.misfit = Some(Misfit { at: t.order.made(), message });
        }
    }

    /// Ends the run at the end of the schedule; every agent stays where it is.
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

    /// Accounts for the remaining time of agents, for a run that stops at the end of its schedule.
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
