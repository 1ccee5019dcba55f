//! A slice of the registers: those that operations, branches and addresses depend on.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{BlockId, Flow};
use crate::ptx::{Arg, Inst, Reg};

use super::in_flight::List;
use super::pointers::Pointers;

/// Registers an instruction writes.
pub(crate) fn writes(i: &Inst, f: &mut impl FnMut(Reg)) {
    let first = i.args.first();
    match i.op.as_str() {
        "bar" | "barrier" if i.has("red") => first.iter().for_each(|a| a.each_reg(f)),
        "st" | "red" | "bra" | "brx" | "bar" | "barrier" | "cp" | "fence" | "membar" | "prefetch" | "prefetchu"
        | "ret" | "exit" | "stmatrix" | "setmaxnreg" | "griddepcontrol" | "nanosleep" | "trap" | "discard"
        | "tensormap" | "applypriority" | "brkpt" | "pmevent" => {}
        "mbarrier" => {
            if !matches!(first, Some(Arg::Mem { .. })) {
                first.iter().for_each(|a| a.each_reg(f));
            }
        }
        "wgmma" if !i.has("mma_async") => {}
        "tcgen05" if !i.has("ld") => {}
        "clusterlaunchcontrol" if i.has("try_cancel") => {}
        "call" => {
            if let Some(Arg::Group(_)) = first {
                first.iter().for_each(|a| a.each_reg(f));
            }
        }
        _ => first.iter().for_each(|a| a.each_reg(f)),
    }
}

/// Registers an instruction reads, but for the accumulators that it also writes.
pub(crate) fn reads(i: &Inst, f: &mut impl FnMut(Reg)) {
    let mut result = false;
    writes(i, &mut |_| result = true);
    i.args_from(usize::from(result)).iter().for_each(|a| a.each_reg(f));
    i.guard.iter().for_each(|g| f(g.0));
}

/// Whether an instruction has an effect on shared memory, barriers or streams.
pub(crate) fn acts(i: &Inst) -> bool {
    match i.op.as_str() {
        "bar"
        | "barrier"
        | "mbarrier"
        | "fence"
        | "membar"
        | "setmaxnreg"
        | "griddepcontrol"
        | "wgmma"
        | "tcgen05"
        | "clusterlaunchcontrol"
        | "ldmatrix"
        | "stmatrix"
        | "elect"
        | "st"
        | "red"
        | "atom"
        | "multimem"
        | "tensormap" => true,
        "shfl" | "vote" | "redux" | "match" => i.has("sync"),
        "cp" => i.has("async") || i.has("reduce"),
        "ld" => !i.has("param") && !i.has("global") && !i.has("const") && !i.has("local"),
        _ => false,
    }
}

/// Whether an instruction that is not known to act could touch memory or synchronize: it has an address, or says so.
pub(crate) fn unread(i: &Inst) -> bool {
    // Of global, constant, parameter and texture memory.
    let harmless = match i.op.as_str() {
        "ld" | "ldu" | "prefetch" | "prefetchu" | "discard" | "applypriority" | "createpolicy" | "isspacep"
        | "cvta" | "mapa" | "getctarank" | "tex" | "tld4" | "suld" | "sust" | "sured" | "txq" | "suq" | "cp"
        | "call" => true,
        // Matrices of registers.
        "mma" | "movmatrix" | "shfl" | "vote" | "redux" | "match" | "activemask" => true,
        "wmma" => i.has("mma") || i.has("global"),
        _ => false,
    };
    let says =
        |m: &String| matches!(m.as_str(), "sync" | "async") || m.starts_with("shared") || m.starts_with("mbarrier");
    !harmless && (i.args.iter().any(|a| matches!(a, Arg::Mem { .. })) || i.mods.iter().any(says))
}

/// Whether an instruction loads from global memory.
fn reads_global(i: &Inst) -> bool {
    matches!(i.op.as_str(), "ld" | "ldu") && i.has("global") && !i.has("param")
}

/// Whether an instruction only writes global memory, which is not followed. An asynchronous write there signals no mbarrier.
pub(crate) fn only_global(i: &Inst) -> bool {
    matches!(i.op.as_str(), "st" | "red") && i.has("global")
}

/// Registers that operations, branches and addresses depend on, and the branches that are passed over. Addresses in
/// global memory count only where the program is timed.
#[derive(Debug)]
pub(crate) struct Slice {
    /// Whether a register is needed.
    pub(crate) need: Vec<bool>,
    /// The instructions of branches between whose sides no needed register differs and no operation stands.
    pub(crate) idle: BTreeSet<usize>,
    /// By their first blocks, the loops that write no needed register and have no operation, with the blocks behind them.
    pub(crate) idle_loops: BTreeMap<BlockId, BlockId>,
    /// The first instruction that is passed over and accesses memory by an address that is taken not to be in shared memory.
    pub(crate) generic: Option<usize>,
}

/// The slice of an entry. A program that is timed has the instructions of every branch.
pub(crate) fn slice(
    code: &[Inst],
    flow: &Flow,
    regs: usize,
    timed: bool,
    (pointers, accesses): (&Pointers, &List),
) -> Slice {
    let followed = (pointers, accesses);
    let mut loops = if timed { Vec::new() } else { super::idle::loops(code, flow, followed) };
    let mut idle = if timed { BTreeMap::new() } else { super::idle::branches(code, flow, &loops, followed) };
    loop {
        let mut passed = vec![false; code.len()];
        idle.keys().copied().chain(loops.iter().flat_map(|l| l.code(flow))).for_each(|n| passed[n] = true);
        idle.values().flat_map(|b| b.code(flow)).for_each(|n| passed[n] = true);
        let need = needed(code, regs, (timed, accesses), &|n| passed[n]);
        let before = (idle.len(), loops.len());
        let unneeded = |written: &[Reg]| written.iter().all(|r| !need[*r as usize]);
        idle.retain(|_, branch| unneeded(&branch.written));
        loops.retain(|l| unneeded(&l.written));
        if (idle.len(), loops.len()) == before {
            let idle_loops = loops.iter().map(|l| (l.header, l.to)).collect();
            let generic = (0..code.len()).find(|n| passed[*n] && pointers.elsewhere(&code[*n]));
            return Slice { need, idle: idle.into_keys().collect(), idle_loops, generic };
        }
    }
}

/// Registers that operations, addresses and branches that are not idle depend on.
fn needed(code: &[Inst], regs: usize, (timed, accesses): (bool, &List), idle: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut need = vec![false; regs];
    let mut open: Vec<Reg> = Vec::new();
    let mut by: Vec<Vec<usize>> = vec![Vec::new(); regs];
    for (n, i) in code.iter().enumerate() {
        writes(i, &mut |r| by[r as usize].push(n));
    }
    let sources = |i: &Inst, open: &mut Vec<Reg>| {
        if let Some((p, _)) = i.guard {
            open.push(p);
        }
        let only_addresses =
            matches!(i.op.as_str(), "st" | "ld" | "ldmatrix" | "stmatrix" | "red" | "atom") && !i.has("bulk");
        let data = matches!(i.op.as_str(), "wgmma" | "tcgen05");
        // The global address of a copy is not tracked.
        let global = match i.op.as_str() {
            "cp" => {
                let to_shared =
                    i.mods.iter().find(|m| m.starts_with("shared") || *m == "global").is_none_or(|m| m != "global");
                Some(to_shared as usize)
            }
            "ld" | "st" | "red" | "atom" if i.has("global") && !i.has("shared") && i.op != "ld" => {
                Some((i.op == "atom") as usize)
            }
            _ => None,
        };
        for (n, a) in i.args.iter().enumerate() {
            if !timed && global == Some(n) && !(i.op == "cp" && !i.has("bulk") && n != 1) {
                continue;
            }
            let skip = match a {
                Arg::Mem { .. } => false,
                _ if only_addresses => true,
                // Accumulators, left operands in registers, and words of tensor memory.
                Arg::List(l) => data && (l.len() > 4 || !timed && !i.has("mma")),
                _ => false,
            };
            if !skip {
                a.each_reg(&mut |r| open.push(r));
            }
        }
    };
    for (n, i) in code.iter().enumerate() {
        if idle(n) {
            continue;
        }
        if accesses.contains_key(&n) {
            open.extend(i.guard.map(|g| g.0));
        }
        if matches!(i.op.as_str(), "shfl" | "vote" | "redux" | "match") {
            open.extend(i.guard.map(|g| g.0));
        } else if acts(i) || i.op == "brx" || (timed && reads_global(i)) {
            sources(i, &mut open);
        } else if matches!(crate::flow::ending(i), crate::flow::Ending::Branch | crate::flow::Ending::Exit) {
            open.extend(i.guard.map(|g| g.0));
        }
    }
    while let Some(r) = open.pop() {
        if std::mem::replace(&mut need[r as usize], true) {
            continue;
        }
        for n in &by[r as usize] {
            sources(&code[*n], &mut open);
        }
    }
    need
}
