//! Induction over the trip counts of two consecutive loops, both varied.
//!
//! The kernels of `n` and `t` iterations are decided like those of nested loops (`nested_loops`): base cases, lines
//! along `t` for each small `n`, pairs along `n` for each small `t`, and squares of four runs for the rest. A square is
//! four runs in lockstep: `(n - p, t - q)`, `(n, t - q)`, `(n - p, t)`, `(n, t)`. In the first loop the runs with
//! larger `n` make a period alone, in the second loop those with larger `t`.

use rayon::prelude::*;
use warpline_sim::ir::Program;

use crate::cta::class_run::ClassRun;
use crate::execution::canonical::CanonicalRun;
use crate::induction::carry_over::{self, Proof, Region};
use crate::induction::lockstep::Reached;
use crate::{AtTurns, induction::refused, induction::self_composition};

/// The inductions. Base cases are all kernels with fewer iterations of both loops than these need.
pub(crate) struct Plane {
    pub(crate) first: Proof,
    pub(crate) second: Proof,
}

/// Iterations of one loop while the period of the other is searched for.
const FEW: i64 = 2;

/// Searches for the periods of both loops, and proves that base cases decide all kernels.
pub(crate) fn find(run: &ClassRun<'_>, at: AtTurns<'_>) -> Result<Plane, String> {
    let along = |line: &(dyn Fn(i64) -> Option<Program> + Sync)| {
        carry_over::find(run, line, Region::ALL).map_err(|failed| failed.why)
    };
    let first = along(&|n| at(n, FEW))?;
    let second = along(&|t| at(FEW, t))?;
    // With more iterations of the other loop, a period may start later.
    let (p, q) = (first.period, second.period);
    let first = Proof { first: first.first + p, ..first };
    let second = Proof { first: second.first + q, ..second };
    let pair = |short: (i64, i64), long: (i64, i64)| -> Result<(), String> {
        match [at(short.0, short.1), at(long.0, long.1)] {
            [Some(a), Some(b)] => carry_over::either([a, b], |[a, b]| {
                self_composition::alike(run.job(a), run.job(b), None, 1).map_err(|(why, _)| why)
            }),
            [_, None] => {
                let along = |k: i64| at(short.0 + k * (long.0 - short.0), short.1 + k * (long.1 - short.1));
                if refused::near(&along, 1) {
                    return Ok(());
                }
                refused::held(&along, 1, 1).map_err(str::to_string)
            }
            [None, _] => Err("the kernel refuses some trip counts".into()),
        }
    };
    let square = |n: i64, t: i64| -> Result<(), String> {
        let of = [(n - p, t - q), (n, t - q), (n - p, t), (n, t)].map(|(n, t)| at(n, t));
        let [Some(a), Some(b), Some(c), Some(d)] = of else { return Err("the kernel refuses some trip counts".into()) };
        carry_over::either([a, b, c, d], |all| {
            Reached::sequential(all.map(|prog| CanonicalRun::new(run.job(prog))).into()).run_to_end()
        })
    };
    let window = |of: Proof| of.first..of.first + of.period;
    let lines = (0..first.first).flat_map(|n| window(second).map(move |t| (n, t)));
    let lines: Vec<_> = lines.map(|(n, t)| ((n, t - q), (n, t))).collect();
    let pairs = (0..second.first).flat_map(|t| window(first).map(move |n| (n, t)));
    let pairs: Vec<_> = pairs.map(|(n, t)| ((n - p, t), (n, t))).collect();
    let sides: Vec<Result<(), String>> =
        lines.into_par_iter().chain(pairs).map(|(short, long)| pair(short, long)).collect();
    sides.into_iter().collect::<Result<(), _>>()?;
    let squares: Vec<_> = window(first).flat_map(|n| window(second).map(move |t| (n, t))).collect();
    let squares: Vec<Result<(), String>> = squares.into_par_iter().map(|(n, t)| square(n, t)).collect();
    squares.into_iter().collect::<Result<(), _>>()?;
    Ok(Plane { first, second })
}
