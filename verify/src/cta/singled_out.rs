//! Launches that a condition of the text singles out, such as `if jobs != 9`.
//!
//! Such a condition compares numbers that a launch fixes. Launches with equal results of all these comparisons take
//! equal decisions on them. So two launches of each list of results run before the search for an induction. That search
//! names no fault where a launch between two others has one. No proof relies on the choice.

use std::collections::BTreeMap;

use warpline_sim::ir::{Binary, Expr, Program, each};

/// Lists of results of one line whose launches are run.
const MOST: usize = 16;

/// The smallest and the largest number of each list of results, of the numbers that the kernel accepts. There is none
/// where the text has no such comparison.
pub(crate) fn singled_out(at: impl Fn(i64) -> Option<Program>, all: std::ops::RangeInclusive<i64>) -> Vec<i64> {
    let mut seen: BTreeMap<Vec<Option<i64>>, (i64, i64)> = BTreeMap::new();
    for (i, prog) in all.filter_map(|i| Some((i, at(i)?))) {
        let results = results(&prog);
        if results.is_empty() {
            return Vec::new();
        }
        if seen.len() < MOST || seen.contains_key(&results) {
            seen.entry(results).or_insert((i, i)).1 = i;
        }
    }
    let mut some: Vec<i64> = seen.values().flat_map(|(first, last)| [*first, *last]).collect();
    some.sort_unstable();
    some.dedup();
    some
}

/// The results of all comparisons of numbers that a launch fixes.
fn results(prog: &Program) -> Vec<Option<i64>> {
    let mut all = Vec::new();
    let mut of = |e: &Expr| {
        e.visit(&mut |x| {
            if is_comparison(x) && x.constant().is_none() && x.is_launch_constant() {
                all.push(prog.launch_value(x));
            }
        });
    };
    each_number(prog, &mut of);
    all
}

/// Calls `f` with every expression of definitions and of the code.
pub(crate) fn each_number(prog: &Program, f: &mut impl FnMut(&Expr)) {
    prog.symbols.iter().filter_map(|s| s.definition.as_ref()).for_each(&mut *f);
    for i in &prog.code {
        each(prog, i, &mut |_, e| f(e));
    }
}

/// Whether the outermost operator of an expression compares two numbers.
pub(crate) fn is_comparison(e: &Expr) -> bool {
    use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(e, Expr::Binary(Lt | Le | Gt | Ge | Eq | Ne, _))
}
