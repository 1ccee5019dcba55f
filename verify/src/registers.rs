//! Register reallocation (`setmaxnreg`): whether the order in which warps get registers can matter.
//!
//! `regs inc` waits until the pool has enough registers. A run has one order of the changes; other schedules have other
//! orders. The order does not matter where every `inc` gets its registers in the end. The argument:
//!
//! Barriers of all threads divide the run of every warp into the same phases. When no warp can proceed, all warps are at
//! operations of one phase. If the other warps then leave enough registers for an `inc`, that `inc` does not wait. So no
//! schedule ends at an `inc`, and every schedule ends like the one that was run.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::ir::{CounterAct, Executors, Instr, Op, Program};

/// An operation of a warp.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// A change of a warp's registers: instruction, new number, whether the warp may wait.
    Change(usize, u32, bool),
    /// A barrier of all threads.
    Barrier(Barrier),
    /// Anything else that may wait for another warp.
    Other,
}

/// A barrier of a CTA: its declaration and index, or `None` for the `barrier` of all warps.
type Barrier = Option<(u16, i64)>;

/// The reason why one run does not decide, if the order in which warps get registers can matter.
pub(crate) fn order_matters(prog: &Program) -> Option<String> {
    let mut grown = false;
    let mut again = None;
    for (pc, i) in prog.code.iter().enumerate() {
        let Instr::Op { op: Op::Regs { inc, .. }, .. } = i else { continue };
        if in_loop(prog, pc) || (!inc && grown) {
            again = again.or(Some(pc));
        }
        grown |= inc;
    }
    let reason = |pc: usize| {
        let line = prog.site(pc as u32).line;
        format!("line {line}: registers are exchanged more than once, and their order can matter")
    };
    again.and_then(|_| waits_in_some_order(prog)).map(reason)
}

fn in_loop(prog: &Program, pc: usize) -> bool {
    prog.loops.iter().any(|l| (l.head..l.end).contains(&(pc as u32)))
}

/// An `inc` for which the pool may not have enough in some order, or a change that this module cannot follow.
fn waits_in_some_order(prog: &Program) -> Option<usize> {
    let items: Vec<Vec<Item>> = match (0..prog.warps).map(|w| items(prog, w)).collect() {
        Ok(items) => items,
        Err(pc) => return Some(pc),
    };
    let phases = common_barriers(&items);
    let first = prog.regs.unwrap_or(0);
    let all = first as u64 * prog.warps as u64;
    let runs: Vec<Vec<Phase>> = items.iter().map(|list| run(list, &phases, first)).collect();
    for (w, mine) in runs.iter().enumerate() {
        for (p, phase) in mine.iter().enumerate() {
            let others = runs.iter().enumerate().filter(|(v, _)| *v != w);
            let held: u64 = others.map(|(_, theirs)| theirs.get(p).map_or(0, |x| x.held as u64)).sum();
            if let Some((pc, _)) = phase.asked.iter().find(|(_, n)| *n as u64 + held > all) {
                return Some(*pc);
            }
        }
    }
    None
}

/// A phase of a warp: the most registers that it holds where it can stop, and those it asks for.
#[derive(Clone, Debug, Default)]
struct Phase {
    held: u32,
    asked: Vec<(usize, u32)>,
}

fn run(items: &[Item], phases: &BTreeSet<Barrier>, first: u32) -> Vec<Phase> {
    let mut list = vec![Phase::default()];
    let mut now = first;
    for item in items.iter().chain([&Item::Other]) {
        let here = list.len() - 1;
        let phase = &mut list[here];
        match item {
            Item::Change(_, n, false) => now = *n,
            Item::Change(pc, n, true) => {
                phase.held = phase.held.max(now);
                phase.asked.push((*pc, *n));
                now = *n;
            }
            Item::Barrier(_) | Item::Other => phase.held = phase.held.max(now),
        }
        if matches!(item, Item::Barrier(b) if phases.contains(b)) {
            list.push(Phase::default());
        }
    }
    list
}

/// Whether an operation may wait for another warp. What a warp itself has in flight ends without the others. The lanes of a
/// warp change its registers together: where some lanes wait for the others, these stand at another operation behind the
/// same change.
fn waits_for_others(op: &Op) -> bool {
    match op {
        Op::Counter { act, .. } => matches!(act, CounterAct::Wait(_)),
        Op::Named { sync, .. } => *sync,
        Op::MbarWait { .. } | Op::Barrier(_) | Op::ClusterWait | Op::TmemAlloc { .. } | Op::Mma { .. } => true,
        _ => false,
    }
}

/// Barriers that every warp passes equally often.
fn common_barriers(items: &[Vec<Item>]) -> BTreeSet<Barrier> {
    let counts = |list: &Vec<Item>| {
        let mut counts: BTreeMap<Barrier, usize> = BTreeMap::new();
        for item in list {
            if let Item::Barrier(b) = item {
                *counts.entry(*b).or_default() += 1;
            }
        }
        counts
    };
    let all: Vec<BTreeMap<Barrier, usize>> = items.iter().map(counts).collect();
    let Some(first) = all.first() else { return BTreeSet::new() };
    first.iter().filter(|(b, n)| all.iter().all(|c| c.get(b) == Some(n))).map(|(b, _)| *b).collect()
}

/// What a warp executes, in order; an error is a change of registers under a condition or in a loop.
fn items(prog: &Program, warp: u32) -> Result<Vec<Item>, usize> {
    let threads = prog.warps as i64 * 32;
    let mut list = Vec::new();
    let mut irregular: BTreeSet<Option<u16>> = BTreeSet::new();
    // Where the innermost condition and the farthest jump end.
    let (mut pc, mut sure) = (0, 0);
    // Ahead of all operations, all warps end or none does.
    let start =
        prog.code.iter().position(|i| !matches!(i, Instr::Unless(..) | Instr::Jump(_) | Instr::End)).unwrap_or(0);
    while let Some(i) = prog.code.get(pc) {
        let here = pc;
        pc += 1;
        let may_miss = here < sure || in_loop(prog, here);
        match i {
            Instr::Only(Executors::Warps(who), to) if who >> warp & 1 == 0 && *to as usize > here => pc = *to as usize,
            Instr::Only(Executors::Warps(_), _) => {}
            Instr::Only(_, to) | Instr::Unless(_, to) | Instr::Jump(to) => sure = sure.max(*to as usize),
            Instr::End if here < start => {}
            Instr::End if !may_miss => break,
            Instr::End => sure = prog.code.len(),
            Instr::Op { op: Op::Regs { count, inc }, .. } => {
                if may_miss {
                    return Err(here);
                }
                list.push(Item::Change(here, *count, *inc));
            }
            Instr::Op { op: Op::Barrier(_), .. } if !may_miss => list.push(Item::Barrier(None)),
            Instr::Op { op: Op::Barrier(_), .. } => {
                irregular.insert(None);
                list.push(Item::Other);
            }
            Instr::Op { op: Op::Named { bar, index, threads: n, sync }, .. } => {
                match (index.constant(), may_miss || !sync || n.constant() != Some(threads)) {
                    (Some(index), false) => list.push(Item::Barrier(Some((*bar, index)))),
                    _ => {
                        irregular.insert(Some(*bar));
                        list.push(Item::Other);
                    }
                }
            }
            Instr::Op { op, .. } if waits_for_others(op) => list.push(Item::Other),
            Instr::Op { .. } | Instr::Set(..) => {}
        }
    }
    for item in &mut list {
        if matches!(item, Item::Barrier(b) if irregular.contains(&b.map(|(bar, _)| bar))) {
            *item = Item::Other;
        }
    }
    Ok(list)
}
