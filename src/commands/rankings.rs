//! How good a choice by simulated time is: `warpline validate --rows`, where rows name their `problem`.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A first choice is good if it takes at most this share more than the best configuration.
const FIRST: f64 = 0.05;
/// The best of the first [`FEW`] is good if it takes at most this share more.
const BEST_OF_FEW: f64 = 0.02;
/// The number of configurations that a user would time.
const FEW: usize = 3;

/// A configuration of a problem: measured and simulated time, in one unit.
pub(super) struct Configuration<'a> {
    pub(super) problem: &'a str,
    pub(super) name: &'a str,
    pub(super) measured: f64,
    pub(super) simulated: f64,
}

/// A table with the choice for each problem, and how many are good; empty without configurations.
pub(super) fn text(configurations: &[Configuration]) -> String {
    let mut problems: BTreeMap<&str, Vec<&Configuration>> = BTreeMap::new();
    configurations.iter().for_each(|c| problems.entry(c.problem).or_default().push(c));
    if problems.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\nchoice by simulated time; what it takes more than the best\n\n{:<28}{:<32}{:>8}{:>16}\n",
        "problem", "first choice", "first", "best of three"
    );
    let (mut good_first, mut good_few) = (0, 0);
    for (problem, list) in &mut problems {
        // Equal times are ordered by name.
        list.sort_by(|a, b| a.simulated.total_cmp(&b.simulated).then(a.name.cmp(b.name)));
        let fastest = |of: &[&Configuration]| of.iter().map(|c| c.measured).fold(f64::INFINITY, f64::min);
        let best = fastest(list);
        let first = list[0].measured / best - 1.0;
        let few = fastest(&list[..FEW.min(list.len())]) / best - 1.0;
        good_first += usize::from(first <= FIRST);
        good_few += usize::from(few <= BEST_OF_FEW);
        let name = list[0].name;
        let _ = writeln!(out, "{problem:<28}{name:<32}{:>7.1}%{:>15.1}%", 100.0 * first, 100.0 * few);
    }
    let (n, limits) = (problems.len(), [FIRST, BEST_OF_FEW].map(|x| 100.0 * x));
    let _ = writeln!(
        out,
        "\nThe first choice is within {} % of the best for {good_first} of {n} problems, the best of three within {} % for {good_few}.",
        limits[0], limits[1]
    );
    out
}
