//! Launches with other values of parameters, where a proof settles nothing.
//!
//! A verdict that is bounded to the given values of a parameter says nothing of its other values. One of them may show a
//! fault, and a fault that is shown is worth more than a bound. No proof relies on the choice of values.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, ParamId, Program, each};
use warpline_sim::protocol::Rules;

use crate::budget::Budget;
use crate::cta::singled_out::{each_number, is_comparison, singled_out};
use crate::execution::run_time;
use crate::induction::loop_bounds;
use crate::{Options, Outcome, Verdict, prove};

/// Steps of all runs together: a part of a second.
const STEPS: u64 = 300_000;
/// Largest value that is tried of a parameter, if no constant of the text is larger.
const TRIED: i64 = 12;
/// Largest constant of the text that gives a value.
const FARTHEST: i64 = 64;
/// Largest value of two parameters that are tried together.
const TOGETHER: i64 = 16;

/// A fault with other values of one or two parameters, with the kernel that has these values.
pub(crate) fn fault(prog: &Program, rules: Rules, options: Options, budget: &Budget) -> Option<Verdict> {
    // Values of a compiled kernel have relations that its symbols do not state.
    if prog.opaque_globals {
        return None;
    }
    let few = Budget::new(&Options { max_steps: options.max_steps.min(STEPS), ..options });
    let found = kernels(prog).into_iter().find_map(|(names, other)| {
        few.check().ok()?;
        let mut v = prove::as_given(&other, (rules, &few), options);
        let x = v.violation.as_mut().filter(|_| v.outcome == Outcome::Violated)?;
        // Matrices may have no place for larger values.
        if run_time::of_blocks(x) {
            return None;
        }
        x.class += &format!("; {names}");
        v.kernel = Some(Box::new(other));
        Some(v)
    });
    budget.take_steps(few.used()).ok()?;
    found
}

/// The kernels to run, with the values in words. Values of one parameter come before those of two.
fn kernels(prog: &Program) -> Vec<(String, Program)> {
    let most = largest_constant(prog) + 2;
    let of: Vec<(ParamId, &str)> = parameters(prog).into_iter().map(|p| (p, &*prog.symbols[p as usize].name)).collect();
    let mut list = Vec::new();
    let given = |p: ParamId| prog.symbols[p as usize].value;
    for (p, name) in &of {
        let at = |v: i64| prog.with(&[(name, v)]).filter(|_| v != given(*p));
        let mut some = singled_out(at, 0..=most);
        if some.is_empty() {
            some = (0..=most).collect();
        }
        list.extend(some.into_iter().filter_map(|v| Some((format!("{name} is {v}"), at(v)?))));
    }
    let most = most.min(TOGETHER);
    for (i, (p, first)) in of.iter().enumerate() {
        for (q, second) in &of[i + 1..] {
            let values = |v: i64| (v / (most + 1), v % (most + 1));
            let at = |v: i64| {
                let (a, b) = values(v);
                prog.with(&[(first, a), (second, b)]).filter(|_| a != given(*p) && b != given(*q))
            };
            let some = singled_out(at, 0..=(most + 1) * (most + 1) - 1);
            let words = |v: i64| format!("{first} is {} and {second} is {}", values(v).0, values(v).1);
            list.extend(some.into_iter().filter_map(|v| Some((words(v), at(v)?))));
        }
    }
    list
}

/// The parameters that a bound of a loop or a comparison reads.
fn parameters(prog: &Program) -> Vec<ParamId> {
    let mut read: BTreeSet<ParamId> = BTreeSet::new();
    prog.loops.iter().for_each(|l| read.extend(loop_bounds::parameters(prog, l)));
    for i in &prog.code {
        each(prog, i, &mut |_, e| {
            e.visit(&mut |x| {
                if is_comparison(x) {
                    read.extend(prog.parameters_of(x));
                }
            });
        });
    }
    let plain = |p: &ParamId| {
        let s = &prog.symbols[*p as usize];
        s.definition.is_none() && s.tape.is_none()
    };
    read.into_iter().filter(plain).collect()
}

/// The largest constant, up to [`FARTHEST`], that a number of the launch is compared with or divided by.
fn largest_constant(prog: &Program) -> i64 {
    let mut largest = TRIED;
    let mut of = |e: &Expr| {
        e.visit(&mut |x| {
            let Expr::Binary(op, pair) = x else { return };
            let decides = is_comparison(x) || matches!(op, Binary::Div | Binary::Rem);
            if decides && pair.0.is_launch_constant() {
                largest = pair.1.constant().filter(|c| *c <= FARTHEST).map_or(largest, |c| largest.max(c));
            }
        });
    };
    each_number(prog, &mut of);
    largest
}
