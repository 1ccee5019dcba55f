//! Redundant synchronization: each statement is removed, and the rest verified.

use rayon::prelude::*;
use warpline_sim::fences::Level;
use warpline_sim::ir::{Fence, Instr, Op, Program, Site};
use warpline_sim::protocol::{Rules, agents};
use warpline_sim::report::Finding;

use crate::mutation::Edit;
use crate::{Options, Outcome, Verdict, verify};

/// The result of removing a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// The kernel without the statement has this fault.
    Needed(Box<Verdict>),
    /// The kernel without the statement holds as far as the kernel itself.
    Redundant(Box<Verdict>),
    /// So it does, with a note that the kernel itself does not have.
    Advised(Box<Verdict>),
    /// Less is decided without the statement than with it.
    Undecided(Box<Verdict>),
    /// The model does not check what the statement is for; the reason.
    NotJudged(&'static str),
}

/// The removal of one statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// The statement.
    pub site: Site,
    /// The result.
    pub need: Need,
}

/// The report on all synchronization statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundancy {
    /// The verdict on the kernel itself.
    pub whole: Verdict,
    /// The removal of each statement alone, in source order.
    pub removals: Vec<Removal>,
    /// Statements that can be removed together, as indices into `removals`: each in turn, if the kernel still holds.
    pub spare: Vec<usize>,
    /// The verdict on the kernel without `spare`.
    pub minimal: Verdict,
}

/// Removes each synchronization statement of a kernel in turn; `tick` is called after each verification. A kernel that
/// does not hold itself is not examined.
pub fn redundancy(given: &Program, rules: Rules, options: Options, tick: &(dyn Fn() + Sync)) -> Redundancy {
    let whole = verify(given, rules, options);
    tick();
    if !whole.holds() {
        return Redundancy { minimal: whole.clone(), whole, removals: Vec::new(), spare: Vec::new() };
    }
    let without = |sites: &[Site]| {
        let v = verify(&without(given.clone(), sites), rules, options);
        tick();
        v
    };
    let removals: Vec<Removal> = candidates(given)
        .into_par_iter()
        .map(|(site, op)| {
            if let Some(why) = unjudged(given, rules, op) {
                return Removal { site, need: Need::NotJudged(why) };
            }
            let v = without(std::slice::from_ref(&site));
            let need = if v.outcome == Outcome::Violated {
                Need::Needed(Box::new(v))
            } else if v.covers(&whole) && new_note(&v, &whole).is_none() {
                Need::Redundant(Box::new(v))
            } else if v.covers(&whole) {
                Need::Advised(Box::new(v))
            } else {
                Need::Undecided(Box::new(v))
            };
            Removal { site, need }
        })
        .collect();
    let mut spare: Vec<usize> = Vec::new();
    let mut gone: Vec<Site> = Vec::new();
    let mut minimal = whole.clone();
    for (i, r) in removals.iter().enumerate() {
        if let Need::Redundant(alone) = &r.need {
            gone.push(r.site.clone());
            let v = if gone.len() == 1 { (**alone).clone() } else { without(&gone) };
            if v.covers(&whole) && new_note(&v, &whole).is_none() {
                spare.push(i);
                minimal = v;
            } else {
                gone.pop();
            }
        }
    }
    Redundancy { whole, removals, spare, minimal }
}

/// The first note of a verdict whose rule no note of another verdict has.
pub fn new_note<'v>(v: &'v Verdict, whole: &Verdict) -> Option<&'v Finding> {
    v.notes.iter().find(|n| whole.notes.iter().all(|w| w.code != n.code))
}

/// The statements that wait or fence, in source order. An arrival alone cannot be removed, because some agent waits for
/// it.
fn candidates(prog: &Program) -> Vec<(Site, &Op)> {
    let mut list: Vec<(Site, &Op)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        if let Instr::Op { op, .. } = i
            && waits_or_fences(op)
            && !(*op == Op::WarpSync && passes_data(prog.site(pc as u32)))
            && !list.iter().any(|(s, _)| same(s, prog.site(pc as u32)))
        {
            list.push((prog.site(pc as u32).clone(), op));
        }
    }
    list.sort_by(|(a, _), (b, _)| (&a.file, a.line, a.col).cmp(&(&b.file, b.line, b.col)));
    list
}

/// Whether a statement of a compiled kernel passes data between the lanes that it joins, as `shfl.sync.idx.b32` does. It
/// is there for the data.
fn passes_data(site: &Site) -> bool {
    site.text.contains(".sync.") && !site.text.contains("bar.warp.sync")
}

/// The reason why removing a statement would show nothing.
fn unjudged(prog: &Program, rules: Rules, op: &Op) -> Option<&'static str> {
    match op {
        Op::Fence(Fence::Async | Fence::MbarrierInit) => None,
        Op::Fence(Fence::Wgmma) if rules.fences.wgmma == Level::Error => None,
        Op::Fence(Fence::TmemBefore | Fence::TmemAfter) if rules.fences.tcgen05 == Level::Error => None,
        Op::Fence(Fence::Wgmma | Fence::TmemBefore | Fence::TmemAfter) => {
            Some("a missing one is not a fault at the current level (`--fence tcgen05=error`, `wgmma=error`)")
        }
        Op::Fence(_) => Some("the order of this fence is not modeled"),
        Op::WarpSync if agents(prog).iter().all(|a| a.lanes.is_none()) => {
            Some("the lanes of a warp are one agent in the model, so data passed between them is not checked")
        }
        _ => None,
    }
}

fn waits_or_fences(op: &Op) -> bool {
    match op {
        Op::Barrier(_)
        | Op::WarpSync
        | Op::ClusterArrive { .. }
        | Op::ClusterWait
        | Op::Wait(..)
        | Op::MbarWait { .. }
        | Op::Fence(_) => true,
        Op::Named { sync, .. } => *sync,
        _ => false,
    }
}

/// The kernel without these statements; every instruction keeps its position.
fn without(prog: Program, sites: &[Site]) -> Program {
    // A removal always applies.
    sites.iter().fold(prog, |prog, s| Edit::drop(s).apply(&prog).unwrap_or(prog))
}

fn same(a: &Site, b: &Site) -> bool {
    (a.line, a.col) == (b.line, b.col) && a.file == b.file
}
