//! Stores to tensor memory over columns that an earlier load of the same warp may still read.
//!
//! `tcgen05.ld` is asynchronous, and only `tcgen05.wait::ld` of the same warp waits for it. Where no way through the text
//! from the load to the store has such a wait, no argument and no word of memory adds one.

use crate::flow::Flow;
use crate::ptx::{Entry, Inst};

/// Whether control can come from a load at one line to a store at another one, and meets no `tcgen05.wait::ld` in between,
/// whichever way it takes.
pub fn never_waited_for(entry: &Entry, load: u32, store: u32) -> bool {
    let Ok(flow) = Flow::of(entry) else { return false };
    let at = |line: u32, kind: &str| -> Vec<usize> {
        let is = |i: &Inst| i.line == line && i.op == "tcgen05" && i.has(kind);
        (0..entry.code.len()).filter(|n| is(&entry.code[*n])).collect()
    };
    let (loads, stores) = (at(load, "ld"), at(store, "st"));
    if loads.is_empty() || stores.is_empty() {
        return false;
    }
    let ends = |n: usize| loads.contains(&n) || stores.contains(&n);
    let before = predecessors(entry, &flow);
    let behind_load = reached((&loads, entry.code.len()), |n| successors(entry, &flow, n), ends);
    let ahead_of_store = reached((&stores, entry.code.len()), |n| before[n].clone(), ends);
    let waits = |n: usize| entry.code[n].op == "tcgen05" && entry.code[n].has("wait::ld");
    stores.iter().any(|n| behind_load[*n])
        && !(0..entry.code.len()).any(|n| behind_load[n] && ahead_of_store[n] && waits(n))
}

/// The instructions that can follow one.
pub(super) fn successors(entry: &Entry, flow: &Flow, n: usize) -> Vec<usize> {
    let block = &flow.blocks[flow.block_at(n)];
    if n + 1 < block.end {
        return vec![n + 1];
    }
    block.next.iter().map(|b| flow.blocks[*b].first).filter(|n| *n < entry.code.len()).collect()
}

/// For each instruction, those that it can follow.
pub(super) fn predecessors(entry: &Entry, flow: &Flow) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); entry.code.len()];
    for n in 0..entry.code.len() {
        successors(entry, flow, n).into_iter().for_each(|next| all[next].push(n));
    }
    all
}

/// The instructions that are reached by steps from some of them. No step leads on from an instruction that `ends`.
pub(super) fn reached(
    (from, size): (&[usize], usize),
    next: impl Fn(usize) -> Vec<usize>,
    ends: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut open: Vec<usize> = from.iter().flat_map(|n| next(*n)).collect();
    let mut seen = vec![false; size];
    while let Some(n) = open.pop() {
        if !std::mem::replace(&mut seen[n], true) && !ends(n) {
            open.extend(next(n));
        }
    }
    seen
}
