//! The places where the longer of two compared runs makes its periods alone.

use warpline_sim::ir::Program;
use warpline_sim::protocol::{Rules, may_rotate};

use crate::budget::Budget;
use crate::certificate::Order;
use crate::execution::canonical::Job;
use crate::induction::{self, carry_over::PARTS, refined_indices::refine, self_composition};
use crate::{Options, Trips};

/// A place in the shorter run, where an agent reaches an iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Whether the loop grows from the first pair of runs to the second. If not, it grows from the shorter to the
    /// longer run of a pair.
    pub second: bool,
    /// Number of equal parts of the longer run's period.
    pub parts: u64,
    /// Number of these parts that the longer run makes here.
    pub made: u64,
    /// The loop, as its position in the text.
    pub of: usize,
    /// The agent.
    pub agent: u32,
    /// The loop's index at the place.
    pub index: i64,
    /// How many times the agent has reached this index since the previous insertion, including this time.
    pub pass: u64,
    /// Steps of agents in the run before this place.
    pub steps: u64,
}

/// Compares a kernel with the same kernel of one period more. Returns the places where the longer run makes the period;
/// `None` where the runs do not carry on.
pub fn insertions(
    [short, long]: [&Program; 2],
    (rules, cluster, order): (Rules, i64, Order),
    periods: Option<i64>,
) -> Option<Vec<Insertion>> {
    let budget = &Budget::new(&Options::default());
    let refined = [short, long].map(refine);
    let of = |parts, rotates| {
        let job = |prog| Job { prog, rules, cluster, place: None, landing: order.into(), rotates, budget };
        let find = |short, long| self_composition::beside(job(short), job(long), periods, parts);
        find(&refined[0], &refined[1]).or_else(|_| find(short, long)).ok()
    };
    let ways: &[bool] = if may_rotate(short) { &[true, false] } else { &[false] };
    let all = [1].into_iter().chain(PARTS).flat_map(|parts| ways.iter().map(move |rotates| (parts, *rotates)));
    all.into_iter().find_map(|(parts, rotates)| of(parts, rotates)).map(|conditions| conditions.inserted)
}

/// The variation of trip counts in the proof of a kernel.
pub fn varied(program: &Program) -> Option<Trips> {
    Trips::find(&induction::normal_form(program))
}
