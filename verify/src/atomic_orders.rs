//! Kernels in which the agent that comes last decides: each adds to a counter by `atom`, and the value says which one it
//! is. Every order of the first `atom` of these agents is decided by itself (`sim/src/protocol/atomic_order.rs`).

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_sim::ir::{OrderOfAtomics, Program};
use warpline_sim::protocol::{AgentId, Rules};

use crate::budget::Budget;
use crate::cta::class_run::ClassRun;
use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::{Engine, Options, Outcome, Verdict};

/// Largest number of orders: those of five agents on one word.
const MOST: usize = 120;

/// The verdict for all orders of `atom`, each decided by `one`. `None` where these do not decide either.
pub(crate) fn decide(
    program: &Program,
    rules: Rules,
    (options, budget): (Options, &Budget),
    one: impl Fn(&Program) -> Verdict + Sync,
) -> Option<Verdict> {
    let words = open(program, rules, options, budget)?;
    let mut together: Vec<AgentId> = words.values().flatten().copied().collect();
    together.sort_unstable();
    together.dedup();
    let together = BTreeMap::from([(None, together)]);
    let apart: BTreeMap<_, _> = words.into_iter().map(|(word, agents)| (Some(word), agents)).collect();
    // Orders for each word are fewer. CTAs that use other words need orders for all words together.
    let apart = Some(apart).filter(|apart| apart.len() > 1);
    apart.into_iter().chain([together]).find_map(|agents| of_orders(program, &orders(&agents)?, &one))
}

/// The verdict for these orders, each decided by `one`. `None` where these do not decide.
fn of_orders(
    program: &Program,
    orders: &[Vec<OrderOfAtomics>],
    one: impl Fn(&Program) -> Verdict + Sync,
) -> Option<Verdict> {
    let kernels: Vec<Program> =
        orders.iter().map(|order| Program { atomic_order: order.clone(), ..program.clone() }).collect();
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

/// The agents whose first `atom` on a word nothing else orders in the run with the given values, by word.
fn open(program: &Program, rules: Rules, options: Options, budget: &Budget) -> Option<BTreeMap<u32, Vec<AgentId>>> {
    if options.engine == Engine::Search || !program.atomic_order.is_empty() {
        return None;
    }
    let given = program.bind();
    let mut run = CanonicalRun::new(ClassRun::of_cluster(&given, rules, 0, options, budget).job(&given));
    while !matches!(run.next(), StepOutcome::RunEnded(_)) {}
    let words = run.open_atomics();
    (!words.is_empty()).then_some(words)
}

/// Each choice of one order for each word, in lexicographic order, if these are few.
fn orders(words: &BTreeMap<Option<u32>, Vec<AgentId>>) -> Option<Vec<Vec<OrderOfAtomics>>> {
    let of_word = |agents: &Vec<AgentId>| (1..=agents.len()).try_fold(1usize, usize::checked_mul);
    let number = words.values().map(of_word).try_fold(1usize, |all, n| all.checked_mul(n?));
    number.filter(|n| *n <= MOST)?;
    let mut all = vec![Vec::new()];
    for (word, agents) in words {
        let lists = permutations(agents);
        let more = |before: &Vec<OrderOfAtomics>| {
            let one = |agents: &Vec<AgentId>| OrderOfAtomics { word: *word, agents: agents.clone() };
            lists.iter().map(|agents| [before.clone(), vec![one(agents)]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(more).collect();
    }
    Some(all)
}

/// All orders of some agents, in lexicographic order.
fn permutations(agents: &[AgentId]) -> Vec<Vec<AgentId>> {
    if agents.is_empty() {
        return vec![Vec::new()];
    }
    let behind = |i: usize| {
        let rest: Vec<AgentId> = agents.iter().copied().filter(|a| *a != agents[i]).collect();
        permutations(&rest).into_iter().map(move |order| [vec![agents[i]], order].concat())
    };
    (0..agents.len()).flat_map(behind).collect()
}
