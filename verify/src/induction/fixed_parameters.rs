//! Parameters that a proof does not vary, and the loops whose bounds depend on them.

use std::collections::BTreeSet;

use warpline_sim::ir::{Expr, Loop, ParamId, Program, each};

use crate::induction::loop_bounds;
use crate::induction::trip_count::counts_jobs;

/// Loops whose bounds depend on parameters that are not varied. Where nothing is varied, every such loop is listed.
pub(crate) fn fixed(prog: &Program, varied: &BTreeSet<ParamId>) -> Vec<(u32, String)> {
    let mut list = Vec::new();
    for l in &prog.loops {
        // A `let` that is itself varied hides the parameters in its definition.
        if matches!(&l.bound, Some(Expr::Param(q)) if varied.contains(q)) {
            continue;
        }
        let of = match l.bound {
            Some(_) => loop_bounds::parameters(prog, l),
            None => loop_bounds::exit_parameters(prog, l).unwrap_or_default(),
        };
        // A value that also says where or how far is design. A number of jobs or a compiled kernel's symbol is none.
        let design = |q: ParamId| !varied.is_empty() && !counts_jobs(prog, q) && !prog.opaque_globals;
        let only_counts = |q: ParamId| l.bound.is_none() && loop_bounds::counts_through_variables(prog, q);
        // How often a loop with the main loop inside runs is no design: the loop around may hold a fault of some counts.
        let grown = |x: &Loop| !loop_bounds::parameters(prog, x).is_disjoint(varied);
        let around = l.bound.is_some() && prog.loops.iter().any(|x| x.head > l.head && x.end <= l.end && grown(x));
        let fixes = |q: ParamId| !varied.contains(&q) && (!design(q) || only_counts(q) || around);
        let unvaried = of.iter().filter(|q| fixes(**q)).map(|q| &prog.symbols[*q as usize]);
        let values: Vec<String> = unvaried.map(|s| format!("{} = {}", s.name, s.value)).collect();
        // A bound that also depends on a varied parameter grows with it.
        if !values.is_empty() && of.iter().all(|q| !varied.contains(q)) {
            list.push((prog.site(l.head).line, values.join(", ")));
        }
    }
    // A symbol of a compiled kernel is one number in a launch, and may be any. If it is read with one value only, the
    // verdict is for this value. Beside a varied parameter in the bound of a loop, it is not varied with it.
    if prog.opaque_globals && !varied.is_empty() && list.is_empty() {
        let unvaried = |q: &ParamId| !varied.contains(q) && prog.symbols[*q as usize].definition.is_none();
        for q in (0..prog.symbols.len() as ParamId).filter(unvaried) {
            if let Some(line) = first_read(prog, q) {
                let s = &prog.symbols[q as usize];
                list.push((line, format!("{} = {}", s.name, s.value)));
            }
        }
    }
    list
}

/// The line that first reads a parameter, in a bound of a loop or anywhere else.
fn first_read(prog: &Program, q: ParamId) -> Option<u32> {
    let reads = |e: &Expr| prog.parameters_of(e).contains(&q);
    let bound = prog.loops.iter().find(|l| l.bound.as_ref().is_some_and(reads)).map(|l| prog.site(l.head).line);
    bound.or_else(|| {
        let read = |i| {
            let mut found = false;
            each(prog, i, &mut |_, e| found |= reads(e));
            found
        };
        (0..prog.code.len()).find(|pc| read(&prog.code[*pc])).map(|pc| prog.site(pc as _).line)
    })
}
