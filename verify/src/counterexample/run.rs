//! Runs in a given order, as far as the kernel allows this order.

use std::cell::Cell;

use warpline_sim::ir::{Instr, Op, Program};
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};
use warpline_sim::report::{Finding, FindingKind};
use warpline_sim::schedule::{Act, Move, Replay, Schedule, stuck};

use crate::Options;
use crate::budget::Budget;
use crate::execution::canonical::{self, Event, Job, Landing};

/// A turn of an agent or a flight; the kernel decides what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Agent(AgentId),
    /// Landing of the n-th flight that an agent started.
    Land(AgentId, u32),
}

/// The goal of a run.
pub(super) enum Goal<'f> {
    /// This finding, at the same two places.
    Same(&'f Finding),
    /// The same fault, in either order of its two operations.
    Alike(&'f Finding),
    /// A state in which no agent can proceed.
    Hang,
}

impl Goal<'_> {
    fn met(&self, world: &World<'_>) -> bool {
        let faults = || world.findings().iter().filter(|f| !f.note);
        match self {
            Goal::Same(g) => faults().any(|f| f.same_places(g)),
            Goal::Alike(g) => faults().any(|f| alike(f, g)),
            Goal::Hang => false,
        }
    }
}

/// Whether two findings are one fault in both orders. A race is named after the earlier access, and a read that comes
/// too late finds another tile (DEVIATIONS.md 30).
fn alike(f: &Finding, g: &Finding) -> bool {
    use FindingKind::*;
    let places = |f: &Finding| [Some(f.site), f.other.as_ref().map(|o| o.0)];
    let race = |k: FindingKind| matches!(k, Raw | War | Waw);
    let both = |f: &Finding, g: &Finding| {
        let (mut x, mut y) = (places(f), places(g));
        x.sort_unstable();
        y.sort_unstable();
        x == y
    };
    match (f.kind, g.kind) {
        (k, l) if race(k) && race(l) => both(f, g),
        // One of the two operations is at the place of the finding.
        (ParityAlias, ParityAlias) | (LifeCycle, LifeCycle) => places(g).contains(&Some(f.site)),
        _ => false,
    }
}

/// Bytes of a new world that take as long as a step.
pub(crate) const BYTES_A_STEP: u64 = 512;

/// The common parameters of runs.
pub(super) struct Setting<'p> {
    pub(super) prog: &'p Program,
    pub(super) rules: Rules,
    pub(super) cluster: i64,
    left: Cell<u64>,
}

impl<'p> Setting<'p> {
    pub(super) fn new(prog: &'p Program, rules: Rules, cluster: i64, effort: u64) -> Setting<'p> {
        Setting { prog, rules, cluster, left: Cell::new(effort) }
    }

    /// Remaining steps.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Whether two statements are at one place of the text.
    pub(super) fn same_place(&self, a: u32, b: u32) -> bool {
        let (s, t) = (&self.prog.sites[a as usize], &self.prog.sites[b as usize]);
        (s.line, s.col, &s.file) == (t.line, t.col, &t.file)
    }
}

/// The turns of the run that decides for all schedules.
pub(super) fn turns(set: &Setting<'_>, max_steps: u64) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut started: Vec<u32> = Vec::new();
    let mut name: Vec<(AgentId, u32)> = Vec::new();
    let mut stood: Vec<Option<(u32, WaitTarget)>> = Vec::new();
    let (prog, rules, cluster) = (set.prog, set.rules, set.cluster);
    let budget = &Budget::new(&Options { max_steps, ..Options::default() });
    let job = Job { prog, rules, cluster, place: None, landing: Landing::Late, rotates: false, budget };
    canonical::observed(job, &mut |world, event| {
        started.resize(world.agents().len(), 0);
        stood.resize(world.agents().len(), None);
        match event {
            Event::Step(a, Step::Blocked { pc, on, .. }) => {
                // A repeated wait changes nothing.
                if stood[a as usize].replace((*pc, *on)) != Some((*pc, *on)) {
                    turns.push(Turn::Agent(a));
                }
            }
            Event::Step(a, step) => {
                stood[a as usize] = None;
                if let Step::Performed { effect, .. } = step {
                    for f in effect.flights() {
                        name.resize(name.len().max(f as usize + 1), (0, 0));
                        name[f as usize] = (a, started[a as usize]);
                        started[a as usize] += 1;
                    }
                }
                turns.push(Turn::Agent(a));
            }
            Event::Land(f) => turns.push(Turn::Land(name[f as usize].0, name[f as usize].1)),
        }
    });
    turns
}

/// The turn of a move.
pub(super) fn turn_of(m: &Move) -> Turn {
    match m.act {
        Act::Lands(n) => Turn::Land(m.agent, n),
        _ => Turn::Agent(m.agent),
    }
}

/// Gives agents and flights their turns in this order; a blocked agent misses its turn. Returns the moves up to the
/// goal; `None` if the run does not reach it. A `free` attempt does not count against the limit of steps.
pub(super) fn attempt(set: &Setting<'_>, turns: &[Turn], goal: &Goal<'_>, free: bool) -> Option<Vec<Move>> {
    if !free && set.left() == 0 {
        return None;
    }
    let mut world = World::alone(set.prog, set.rules, set.cluster);
    let n = world.agents().len();
    let mut started: Vec<Vec<Option<FlightId>>> = vec![Vec::new(); n];
    let mut stood: Vec<Option<(u32, WaitTarget)>> = vec![None; n];
    let mut moves = Vec::new();
    if !free {
        // A step can join the clocks of all agents, and a new world has a row of clocks for each agent.
        let (steps, agents) = (turns.len() as u64, n as u64);
        // So has each piece of shared memory, of which a compiled kernel has many.
        let pieces = if set.prog.opaque_globals { world.bytes() / BYTES_A_STEP } else { 0 };
        let effort = steps * (1 + agents / 64) + agents * agents / 8 + pieces;
        let left = set.left().checked_sub(effort);
        set.left.set(left.unwrap_or(0));
        left?;
    }
    for &turn in turns {
        let met = world.findings().len();
        match turn {
            Turn::Agent(a) => {
                let ended = world.agent_ended(a);
                let act = match world.step(a, &mut ()) {
                    Step::Performed { effect, .. } => {
                        started[a as usize].extend(effect.flights().into_iter().map(Some));
                        stood[a as usize] = None;
                        Some(Act::Does)
                    }
                    Step::Blocked { pc, on, .. } => {
                        let came = stood[a as usize].replace((pc, on)) != Some((pc, on)) && arrives(set.prog, pc, on);
                        (came || world.findings().len() > met).then_some(Act::Waits)
                    }
                    Step::Ended => (!ended).then_some(Act::Ends),
                    Step::Broken => Some(Act::Breaks),
                };
                if let Some(act) = act {
                    let pc = world.pc(a) - (act == Act::Does) as u32;
                    moves.push(Move { agent: a, site: set.prog.at[pc as usize], act });
                }
            }
            Turn::Land(a, nth) => {
                let flight = started[a as usize].get_mut(nth as usize);
                if let Some(place) = flight
                    && let Some(f) = *place
                    && world.may_land(f)
                {
                    *place = None;
                    let pc = world.flight(f)?.pc;
                    world.land(f, &mut ());
                    moves.push(Move { agent: a, site: set.prog.at[pc as usize], act: Act::Lands(nth) });
                }
            }
        }
        if world.findings().len() > met && goal.met(&world) {
            return Some(moves);
        }
        if matches!(moves.last(), Some(Move { act: Act::Breaks, .. })) {
            return None;
        }
    }
    stuck(&world)?;
    world.missing_bytes();
    (matches!(goal, Goal::Hang) || goal.met(&world)).then_some(moves)
}

/// Whether a wait is also an arrival that others count.
fn arrives(prog: &Program, pc: u32, on: WaitTarget) -> bool {
    let waits = matches!(prog.code[pc as usize], Instr::Op { op: Op::ClusterWait, .. });
    matches!(on, WaitTarget::Rendezvous(_)) && !waits
}

/// Whether a read of these moves finds the wrong tile.
pub(super) fn stale(set: &Setting<'_>, moves: &[Move]) -> bool {
    let schedule = Schedule { cluster: set.cluster, moves: moves.to_vec() };
    let mut replay = Replay::new(set.prog, set.rules, &schedule);
    replay.to_the_end().is_ok() && replay.world.findings().iter().any(|f| f.kind == FindingKind::Stale)
}
