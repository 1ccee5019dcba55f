//! Split-K without synchronization: the partial sums that CTAs store must together have every block once.
//!
//! A run follows one CTA, which sees that its sum is a part. So all CTAs of a small grid run, with the given values and
//! with short trip counts, and their parts of each sum are put together.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_sim::code::Code;
use warpline_sim::ir::{ObjId, Program};
use warpline_sim::protocol::{PartialSum, Rules};
use warpline_sim::report::Finding;

use crate::budget::Budget;
use crate::cta::class_run::ClassRun;
use crate::{Options, Trips, Verdict, Violation};

/// Largest grid all CTAs of which run.
const CTAS: i64 = 256;
/// Largest trip count that is tried, and the largest grid with which it is tried.
const SHORT: (i64, i64) = (16, 64);

/// Partial sums that lack a block, or have one twice.
pub(crate) fn incomplete(
    prog: &Program,
    (rules, budget): (Rules, &Budget),
    options: Options,
    v: &Verdict,
) -> Option<Violation> {
    let given = prog.bind();
    // CTAs of a cluster and of a cooperative launch may add their sums.
    let apart = given.cluster == 1 && !given.cooperative && !given.opaque_globals && !given.hands_out();
    if !apart || given.grid.len() > CTAS || !v.notes.iter().any(|f| f.code == Code::SumBlocks) {
        return None;
    }
    let of = |prog: &Program, trips| of_grid(prog, (rules, budget), options, trips);
    let short = || {
        let trips = Trips::find(prog).filter(|_| given.grid.len() <= SHORT.1)?;
        (0..=SHORT.0).find_map(|n| {
            let prog = trips.at(n)?.bind();
            if prog.grid.len() > SHORT.1 { None } else { of(&prog, Some(n)) }
        })
    };
    of(&given, None).or_else(short)
}

/// The sum that a part belongs to: matrix, contracted dimension, depth of a product, place, piece of the accumulator.
type Whole = (ObjId, (ObjId, u8), i64, [i64; 2], usize);

fn of_grid(
    prog: &Program,
    (rules, budget): (Rules, &Budget),
    options: Options,
    trips: Option<i64>,
) -> Option<Violation> {
    let mut parts: BTreeMap<Whole, Vec<(i64, PartialSum)>> = BTreeMap::new();
    budget.check().ok()?;
    let of = |cluster| ClassRun::of_cluster(prog, rules, cluster, options, budget).once(prog).partial_sums;
    let all: Vec<Vec<PartialSum>> = (0..prog.grid.len()).into_par_iter().map(of).collect();
    budget.check().ok()?;
    for (cluster, p) in (0..).zip(all).flat_map(|(cluster, sums)| sums.into_iter().map(move |p| (cluster, p))) {
        parts.entry((p.to, p.dim, p.granule, p.at, p.piece)).or_default().push((cluster, p));
    }
    // Where CTAs divide a product in different pieces, the pieces are not comparable.
    let each = parts.values().next()?.len();
    if parts.values().any(|list| list.len() != each) {
        return None;
    }
    parts.values().find_map(|list| {
        let blocks = list[0].1.granules as usize;
        let times = |g: usize| list.iter().filter(|(_, p)| p.seen[g / 64] >> (g % 64) & 1 == 1).count();
        let block = (0..blocks).find(|g| times(*g) != 1)?;
        let (cluster, part) = &list[list.len() - 1];
        Some(violation(prog, trips, *cluster, part, (block, times(block))))
    })
}

fn violation(
    prog: &Program,
    trips: Option<i64>,
    cluster: i64,
    part: &PartialSum,
    (block, times): (usize, usize),
) -> Violation {
    let (obj, axis) = part.dim;
    let dim = &prog.objects[obj as usize].dims[axis as usize];
    let first = block as i64 * part.granule;
    let how = if times == 0 { "do not add".to_string() } else { format!("add {times} times") };
    let message = format!(
        "the partial sums in {} of the product at row {}, column {} {how} elements {first}..{} of `{dim}`",
        prog.objects[part.to as usize].name,
        part.at[0],
        part.at[1],
        first + part.granule
    );
    let site = prog.at[part.pc as usize];
    let agent = format!("CTA {cluster}");
    let finding = Finding {
        code: Code::SumBlocks,
        kind: Code::SumBlocks.kind(),
        message,
        site,
        other: None,
        agent: agent.clone(),
        cycle: -1.0,
        times: 1,
        note: false,
    };
    let steps = vec![(agent.clone(), site)];
    let (findings, sites) = (vec![finding], prog.sites.clone());
    let lengths = Vec::new();
    Violation {
        trips,
        turns: None,
        jobs: None,
        lengths,
        run_time: BTreeMap::new(),
        class: agent,
        cluster,
        findings,
        hang: Vec::new(),
        steps,
        sites,
    }
}
