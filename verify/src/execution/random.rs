//! Random schedules: the next agent or flight is drawn at random.
//!
//! One random walk decides nothing, but a thousand of them are a cheap check of a proof, and of the simulator's own
//! semantics. The schedule is a function of the seed alone, on every machine.

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};
use warpline_sim::report::Finding;

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// Every agent ended and every flight landed.
    Finished,
    /// No agent can proceed.
    Hung,
    /// An operation has no meaning; a finding says why.
    Broken,
    /// The walk reached its limit of moves.
    Limit,
}

/// The result of one random schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The end.
    pub end: WalkEnd,
    /// Findings in order, with notes.
    pub findings: Vec<Finding>,
    /// Number of moves of agents and flights.
    pub moves: u64,
}

impl Walk {
    /// Whether the walk finished without a fault.
    pub fn clean(&self) -> bool {
        self.end == WalkEnd::Finished && self.findings.iter().all(|f| f.note)
    }
}

/// Weights of agents and flights are 2^0 to 2^(PACES - 1), so that some walks starve one agent and rush another.
const PACES: u64 = 8;

/// One random schedule of a cluster, by its launch index. It stops at the first fault, or after `max_moves` moves.
///
/// Each walk draws a speed for every agent and for flights, then draws its moves with these weights.
pub fn walk(prog: &Program, rules: Rules, cluster: i64, seed: u64, max_moves: u64) -> Walk {
    let mut dice = Dice(seed);
    let mut world = World::alone(prog, rules, cluster);
    let n = world.agents().len();
    let pace: Vec<u64> = (0..n).map(|_| 1 << dice.below(PACES)).collect();
    let landing = 1 << dice.below(PACES);
    // The wait of each agent; an agent that has ended waits for ever.
    let mut waits: Vec<Option<WaitTarget>> = vec![None; n];
    let mut ended = vec![false; n];
    let mut changed = Vec::new();
    let mut moves = 0;
    let end = loop {
        if world.findings().iter().any(|f| !f.note) {
            break WalkEnd::Broken;
        }
        if moves >= max_moves {
            break WalkEnd::Limit;
        }
        let flights = world.landable();
        let ready = (0..n).filter(|&a| !ended[a] && waits[a].is_none());
        let total: u64 = ready.clone().map(|a| pace[a]).sum::<u64>() + landing * flights.len() as u64;
        if total == 0 {
            if ended.iter().all(|e| *e) {
                break WalkEnd::Finished;
            }
            world.missing_bytes();
            break WalkEnd::Hung;
        }
        moves += 1;
        match pick(dice.below(total), ready.map(|a| (a, pace[a])), &flights, landing) {
            Move::Land(f) => world.land(f, &mut changed),
            Move::Step(a) => match world.step(a as AgentId, &mut changed) {
                Step::Performed { .. } => {}
                Step::Blocked { on, .. } => waits[a] = Some(on),
                Step::Ended => ended[a] = true,
                Step::Broken => break WalkEnd::Broken,
            },
        }
        for on in changed.drain(..) {
            waits.iter_mut().filter(|w| **w == Some(on)).for_each(|w| *w = None);
        }
    };
    Walk { end, findings: world.take_findings(), moves }
}

enum Move {
    Step(usize),
    Land(FlightId),
}

/// The move that a random number selects: agents by their weights, then flights, which have equal weights.
fn pick(mut at: u64, ready: impl Iterator<Item = (usize, u64)>, flights: &[FlightId], landing: u64) -> Move {
    for (a, pace) in ready {
        if at < pace {
            return Move::Step(a);
        }
        at -= pace;
    }
    Move::Land(flights[(at / landing) as usize])
}

/// SplitMix64 (Steele, Lea, Flood 2014). Written by hand, because a seed must give the same schedule for ever, and
/// generators of libraries change with their versions.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`. The bias of the remainder does not matter for small `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
