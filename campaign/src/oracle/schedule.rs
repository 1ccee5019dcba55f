//! One run of a cluster under one schedule.

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};

use crate::dice::Dice;

/// The choice among several agents that can proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Agents in turn, each as far as it can proceed.
    Turns,
    /// One agent proceeds only if no other agent can.
    Behind(usize),
    /// One agent proceeds whenever it can.
    Ahead(usize),
    /// Agents and landings drawn at random, each with a pace that is drawn first.
    Random(u64),
}

/// A schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The choice among agents.
    pub order: Order,
    /// Whether operations in flight land as early as possible; else as late as possible.
    pub early: bool,
}

/// Result of one run of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunResult {
    /// It ended without a fault.
    Clean {
        /// Whether an arrival could count in another phase under another schedule, so that one run does not stand for
        /// all.
        unordered: bool,
    },
    /// A fault, in words.
    Fault(String),
    /// It made more moves than allowed.
    Limit,
}

/// The state of a run, for the choice of the next move.
struct ClusterRun<'p> {
    world: World<'p>,
    waits: Vec<Option<WaitTarget>>,
    ended: Vec<bool>,
}

enum Move {
    Step(usize),
    Land(FlightId),
}

impl ClusterRun<'_> {
    fn ready(&self, a: usize) -> bool {
        !self.ended[a] && self.waits[a].is_none()
    }

    fn flight(&self) -> Option<Move> {
        if self.world.in_flight() == 0 {
            return None;
        }
        self.world.landable().first().map(|f| Move::Land(*f))
    }

    /// The next move where one agent may be preferred or held back; agent `last` continues as long as it can.
    fn fixed(&self, schedule: Schedule, last: usize) -> Option<Move> {
        let n = self.ended.len();
        let flights = || self.flight();
        let early = if schedule.early { flights() } else { None };
        let others = |not: Option<usize>| {
            (0..n).map(|k| (last + k) % n).find(|a| Some(*a) != not && self.ready(*a)).map(Move::Step)
        };
        match schedule.order {
            Order::Ahead(a) if self.ready(a) => Some(Move::Step(a)),
            Order::Behind(a) => early
                .or_else(|| others(Some(a)))
                .or_else(|| if schedule.early || !self.ready(a) { flights() } else { None })
                .or_else(|| self.ready(a).then_some(Move::Step(a)))
                .or_else(flights),
            _ => early.or_else(|| others(None)).or_else(flights),
        }
    }

    fn random(&self, dice: &mut Dice, pace: &[i64], landing: i64) -> Option<Move> {
        let flights = if self.world.in_flight() > 0 { self.world.landable() } else { Vec::new() };
        let ready: i64 = (0..pace.len()).filter(|a| self.ready(*a)).map(|a| pace[a]).sum();
        let total = ready + landing * flights.len() as i64;
        if total == 0 {
            return None;
        }
        let mut at = dice.range(0, total - 1);
        for (a, pace) in pace.iter().enumerate().filter(|(a, _)| self.ready(*a)) {
            if at < *pace {
                return Some(Move::Step(a));
            }
            at -= pace;
        }
        flights.get((at / landing) as usize).map(|f| Move::Land(*f))
    }
}

/// Runs the cluster of a launch index to its end or to its first fault, with a budget of moves.
pub fn run(prog: &Program, rules: Rules, cluster: i64, schedule: Schedule, moves: &mut u64) -> RunResult {
    let world = World::alone(prog, rules, cluster);
    let n = world.agents().len();
    let mut run = ClusterRun { world, waits: vec![None; n], ended: vec![false; n] };
    let mut dice = Dice::new(if let Order::Random(seed) = schedule.order { seed } else { 0 });
    let pace: Vec<i64> = (0..n).map(|_| 1 << dice.range(0, 7)).collect();
    let landing = 1 << dice.range(0, 7);
    let mut changed = Vec::new();
    let (mut last, mut looked_at) = (0, 0);
    loop {
        for f in &run.world.findings()[looked_at..] {
            if !f.note {
                return RunResult::Fault(format!("{} at line {}", f.kind.name(), line(prog, f.site)));
            }
        }
        looked_at = run.world.findings().len();
        if *moves == 0 {
            return RunResult::Limit;
        }
        *moves -= 1;
        let next = match schedule.order {
            Order::Random(_) => run.random(&mut dice, &pace, landing),
            _ => run.fixed(schedule, last),
        };
        match next {
            Some(Move::Land(f)) => run.world.land(f, &mut changed),
            Some(Move::Step(a)) => {
                last = a;
                match run.world.step(a as AgentId, &mut changed) {
                    Step::Performed { .. } => {}
                    Step::Blocked { on, .. } => run.waits[a] = Some(on),
                    Step::Ended => run.ended[a] = true,
                    Step::Broken => {
                        let f = run.world.findings().last();
                        let what = f.map_or("broken".to_string(), |f| f.kind.name().to_string());
                        return RunResult::Fault(what);
                    }
                }
            }
            None if run.ended.iter().all(|e| *e) => {
                return RunResult::Clean { unordered: run.world.unordered().is_some() };
            }
            None => return RunResult::Fault("hang".to_string()),
        }
        for on in changed.drain(..) {
            run.waits.iter_mut().filter(|w| **w == Some(on)).for_each(|w| *w = None);
        }
    }
}

fn line(prog: &Program, site: u32) -> u32 {
    prog.sites.get(site as usize).map_or(0, |s| s.line)
}
