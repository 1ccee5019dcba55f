//! Where the longer of two compared runs makes its periods alone.

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

use crate::budget::Budget;
use crate::certificate::Order;
use crate::execution::canonical::Job;
use crate::induction::{self, carry_over::PARTS, refined_indices::refine, self_composition};
use crate::{Options, Trips};

/// A place in the shorter run: an agent comes to an iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// The loop grows from the first pair of runs to the second; else from the shorter run of a pair to the longer.
    pub second: bool,
    /// In how many equal parts the longer run makes its period...
    pub parts: u64,
    /// ...and how many of them it makes here.
    pub made: u64,
    /// The loop, in the order of the text.
    pub of: usize,
    /// The agent.
    pub agent: u32,
    /// The loop's index there.
    pub index: i64,
    /// How many times the agent has come to this index since the insertion before, this time counted.
    pub pass: u64,
    /// Steps of agents that the run has made.
    pub steps: u64,
}

/// Lays a kernel beside the same one with a period more, and finds where the longer run makes it; none where the longer run
/// does not carry on.
pub fn insertions(
    [short, long]: [&Program; 2],
    (rules, cluster, order): (Rules, i64, Order),
    periods: Option<i64>,
) -> Option<Vec<Insertion>> {
    let budget = &Budget::new(&Options::default());
    let job = |prog| Job { prog, rules, cluster, place: None, landing: order.into(), budget };
    let refined = [short, long].map(refine);
    let find = |short, long, parts| self_composition::beside(job(short), job(long), periods, parts);
    let of = |parts| find(&refined[0], &refined[1], parts).or_else(|_| find(short, long, parts)).ok();
    [1].into_iter().chain(PARTS).find_map(of).map(|conditions| conditions.inserted)
}

/// How trip counts are varied in the proof of a kernel.
pub fn varied(program: &Program) -> Option<Trips> {
    Trips::find(&induction::normal_form(program))
}
