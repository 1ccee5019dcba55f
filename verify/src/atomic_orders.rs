//! Kernels in which the agent that comes last decides: each adds to a counter by `atom`, and the value says which one it
//! is. Every order of the first `atom` of these agents is decided by itself (`sim/src/protocol/atomic_order.rs`).

use rayon::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Rules};

use crate::budget::Budget;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::{Engine, Options, Outcome, Verdict};

/// Largest number of agents whose orders are decided: 120 orders.
const MOST: usize = 5;

/// The verdict for all orders of `atom`, each decided by `one`. `None` where these do not decide either.
pub(crate) fn decide(
    program: &Program,
    rules: Rules,
    (options, budget): (Options, &Budget),
    one: impl Fn(&Program) -> Verdict + Sync,
) -> Option<Verdict> {
    let agents = agents(program, rules, options, budget)?;
    let kernels: Vec<Program> =
        orders(&agents).into_iter().map(|atomic_order| Program { atomic_order, ..program.clone() }).collect();
    // Most faults are faults of each order.
    let first = one(kernels.first()?);
    let rest: Vec<Verdict> = if first.holds() { kernels[1..].par_iter().map(&one).collect() } else { Vec::new() };
    let number = kernels.len();
    let (mut v, mut left) = (first, kernels.into_iter());
    let mut kernel = left.next()?;
    for (other, of) in rest.into_iter().zip(left) {
        v.steps += other.steps;
        if weaker(&other.outcome) > weaker(&v.outcome) {
            (v, kernel) = (Verdict { steps: v.steps, ..other }, of);
        }
    }
    match v.outcome {
        Outcome::GaveUp { .. } => return None,
        Outcome::Violated => v.kernel = Some(Box::new(kernel)),
        Outcome::Proved | Outcome::Bounded { .. } => {
            v.orders = number;
            v.classes.iter_mut().for_each(|class| *class += &format!(", in each of {number} orders"));
        }
    }
    Some(v)
}

fn weaker(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Proved => 0,
        Outcome::Bounded { .. } => 1,
        Outcome::GaveUp { .. } => 2,
        Outcome::Violated => 3,
    }
}

/// The agents whose first `atom` nothing else orders in the run with the given values, if they are few.
fn agents(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Option<Vec<AgentId>> {
    if options.engine == Engine::Search || !program.atomic_order.is_empty() {
        return None;
    }
    let given = program.bind();
    let mut run = CanonicalRun::new(ClassRun::of_cluster(&given, rules, 0, options, budget).job(&given));
    while !matches!(run.next(), StepOutcome::RunEnded(_)) {}
    let agents = run.open_atomics();
    (2..=MOST).contains(&agents.len()).then_some(agents)
}

/// All orders of some agents, in lexicographic order.
fn orders(agents: &[AgentId]) -> Vec<Vec<AgentId>> {
    if agents.is_empty() {
        return vec![Vec::new()];
    }
    let behind = |i: usize| {
        let rest: Vec<AgentId> = agents.iter().copied().filter(|a| *a != agents[i]).collect();
        orders(&rest).into_iter().map(move |order| [vec![agents[i]], order].concat())
    };
    (0..agents.len()).flat_map(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_are_listed_once() {
        let list = orders(&[2, 5, 7]);
        assert_eq!(list.len(), 6);
        assert_eq!((list[0].as_slice(), list[5].as_slice()), ([2, 5, 7].as_slice(), [7, 5, 2].as_slice()));
    }
}
