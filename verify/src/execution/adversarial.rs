//! Adversarial schedules: one warp is held back as long as anything else can proceed, or one warp runs ahead of all
//! others.
//!
//! Where an arrival can count in more than one phase, one run does not decide for all schedules. Happens-before says
//! nothing about schedules that count the arrival elsewhere. But each run is a schedule of the kernel, so its faults
//! are faults of the kernel. These runs search for faults and prove nothing. Such a bug appears when a warp is late by
//! one round of its ring (docs/rules.md 10), which these orders produce.

use std::collections::{BTreeSet, VecDeque};

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};
use warpline_sim::report::{Finding, Waiting};

use crate::counterexample::Turn;
use crate::execution::canonical::{Trail, diagnose};

/// A schedule with a fault.
#[derive(Clone, Debug)]
pub(crate) struct FailedRun {
    pub(crate) findings: Vec<Finding>,
    pub(crate) hang: Vec<Waiting>,
    /// The last operations before the fault: agent and site.
    pub(crate) trail: Vec<(String, u32)>,
    /// The turns of agents and flights from the start.
    pub(crate) turns: Vec<Turn>,
}

/// The first fault in any of these orders.
pub(crate) fn wrong(prog: &Program, rules: Rules, cluster: i64, max_steps: u64) -> Option<FailedRun> {
    let first = World::alone(prog, rules, cluster);
    let agents = || 0..first.agents().len() as AgentId;
    let warps: BTreeSet<(u32, u32)> = first.agents().iter().map(|a| (a.cta, a.warp)).collect();
    let of = |warp: (u32, u32)| {
        agents().partition::<Vec<_>, _>(|a| {
            let who = first.agents()[*a as usize];
            (who.cta, who.warp) == warp
        })
    };
    // Orders that hold a warp back come first, because most such bugs need these.
    let orders = warps.iter().map(|w| of(*w)).map(|(one, rest)| (rest, one));
    let orders = orders.chain(warps.iter().map(|w| of(*w)));
    orders.into_iter().find_map(|(ahead, behind)| AdversarialRun::new(first.clone(), max_steps).go(&ahead, &behind))
}

/// A run in an adversarial order, with the record to repeat it.
pub(crate) struct AdversarialRun<'p> {
    world: World<'p>,
    /// Flights, each with the turn in which it lands.
    flying: VecDeque<(FlightId, Turn)>,
    /// For each agent, the number of flights that it started and that have not landed.
    started: Vec<u32>,
    blocked: Vec<Option<(u32, WaitTarget)>>,
    trail: Trail,
    turns: Vec<Turn>,
    steps: u64,
    max_steps: u64,
}

impl<'p> AdversarialRun<'p> {
    pub(crate) fn new(world: World<'p>, max_steps: u64) -> AdversarialRun<'p> {
        let n = world.agents().len();
        let (started, blocked) = (vec![0; n], vec![None; n]);
        let (flying, turns) = (VecDeque::new(), Vec::new());
        AdversarialRun { world, flying, started, blocked, trail: Trail::default(), turns, steps: 0, max_steps }
    }

    /// Agents ahead proceed as far as they can; then flights land, oldest first; then one agent behind performs one
    /// operation.
    pub(crate) fn go(mut self, ahead: &[AgentId], behind: &[AgentId]) -> Option<FailedRun> {
        loop {
            let moved = ahead.iter().any(|a| self.step(*a)) || self.land() || behind.iter().any(|a| self.step(*a));
            if self.faulty() {
                return Some(self.wrong(Vec::new()));
            }
            if self.steps > self.max_steps || (self.world.ended() && self.flying.is_empty()) {
                return None;
            }
            if !moved && !self.world.release_atomics() {
                self.world.missing_bytes();
                let hang = diagnose(&self.world, &self.blocked);
                return Some(self.wrong(hang));
            }
        }
    }

    /// Performs one operation. Returns whether anything changed.
    pub(crate) fn step(&mut self, a: AgentId) -> bool {
        self.steps += 1;
        let ended = self.world.agent_ended(a);
        let moved = match self.world.step(a, &mut ()) {
            Step::Performed { effect, pc, .. } => {
                self.trail.push(a, pc);
                for f in effect.flights() {
                    let n = &mut self.started[a as usize];
                    self.flying.push_back((f, Turn::Land(a, *n)));
                    *n += 1;
                }
                self.blocked[a as usize] = None;
                true
            }
            Step::Blocked { pc, on, .. } => {
                // An arrival at a rendezvous counts, since others may wait for it.
                self.blocked[a as usize].replace((pc, on)) != Some((pc, on))
            }
            Step::Ended => {
                self.blocked[a as usize] = None;
                !ended
            }
            Step::Broken => true,
        };
        self.turns.extend(moved.then_some(Turn::Agent(a)));
        moved
    }

    fn land(&mut self) -> bool {
        let Some((flight, turn)) = self.flying.pop_front() else { return false };
        self.world.land(flight, &mut ());
        self.turns.push(turn);
        true
    }

    /// Lands the flight at this position among an agent's flights; `None` where there is none.
    pub(crate) fn land_of(&mut self, a: AgentId, place: usize) -> Option<()> {
        let flight = *self.world.flights_of(a).get(place)?;
        let at = self.flying.iter().position(|(f, _)| *f == flight)?;
        let (flight, turn) = self.flying.remove(at)?;
        self.world.land(flight, &mut ());
        self.turns.push(turn);
        Some(())
    }

    /// Whether the run has a fault.
    pub(crate) fn faulty(&self) -> bool {
        self.world.findings().iter().any(|f| !f.note)
    }

    pub(crate) fn wrong(self, hang: Vec<Waiting>) -> FailedRun {
        let trail = self.trail.named(&self.world);
        let findings = self.world.findings().iter().filter(|f| !f.note).cloned().collect();
        FailedRun { findings, hang, trail, turns: self.turns }
    }
}
