//! One schedule drawn at random: who steps next, and which flight lands.
//!
//! A single walk decides nothing; a thousand of them are a cheap check of a proof, and of the simulator's own semantics. The
//! schedule is a function of the seed alone, on every machine.

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, FlightId, Rules, Step, WaitTarget, World};
use warpline_sim::report::Finding;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// Every agent ended and every flight landed.
    Finished,
    /// Nobody can go on.
    Hung,
    /// An operation had no meaning; a finding tells what.
    Broken,
    /// More moves than allowed.
    Limit,
}

/// What one schedule met.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// How it ended.
    pub end: WalkEnd,
    /// What it met, notes among it, in order.
    pub findings: Vec<Finding>,
    /// Moves of agents and flights.
    pub moves: u64,
}

impl Walk {
    /// Whether it ran to its end without a fault.
    pub fn clean(&self) -> bool {
        self.end == WalkEnd::Finished && self.findings.iter().all(|f| f.note)
    }
}

/// Weights of agents and flights are 2^0 to 2^(this - 1), so that some walks starve one and rush another.
const PACES: u64 = 8;

/// One schedule of a cluster, by its launch index; it stops at the first fault, or after `max_moves` moves.
///
/// Each walk draws how fast every agent is and how fast flights land, then draws move after move by these.
pub fn walk(prog: &Program, rules: Rules, cluster: i64, seed: u64, max_moves: u64) -> Walk {
    let mut dice = Dice(seed);
    let mut world = World::alone(prog, rules, cluster);
    let n = world.agents().len();
    let pace: Vec<u64> = (0..n).map(|_| 1 << dice.below(PACES)).collect();
    let landing = 1 << dice.below(PACES);
    // What an agent waits for; one that has ended waits for ever.
    let mut waits: Vec<Option<WaitTarget>> = vec![None; n];
    let mut ended = vec![false; n];
    let mut moves = 0;
    let end = loop {
        if world.findings.iter().any(|f| !f.note) {
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
            Move::Land(f) => world.land(f),
            Move::Step(a) => match world.step(a as AgentId) {
                Step::Performed { .. } => {}
                Step::Blocked { on, .. } => waits[a] = Some(on),
                Step::Ended => ended[a] = true,
                Step::Broken => break WalkEnd::Broken,
            },
        }
        for on in std::mem::take(&mut world.touched) {
            waits.iter_mut().filter(|w| **w == Some(on)).for_each(|w| *w = None);
        }
    };
    Walk { end, findings: world.findings, moves }
}

enum Move {
    Step(usize),
    Land(FlightId),
}

/// The move that the number falls on: agents by their pace, then flights, each of the same weight.
fn pick(mut at: u64, ready: impl Iterator<Item = (usize, u64)>, flights: &[FlightId], landing: u64) -> Move {
    for (a, pace) in ready {
        if at < pace {
            return Move::Step(a);
        }
        at -= pace;
    }
    Move::Land(flights[(at / landing) as usize])
}

/// SplitMix64 (Steele, Lea, Flood 2014). By hand, because a seed must mean the same schedule for ever, and the libraries'
/// generators change with their versions.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is small: the bias of the remainder does not matter here.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
