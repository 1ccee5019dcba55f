//! Searches whose loop begins at the block where the loop around them begins.
//!
//! ```text
//!   loop:                                        loop:
//!     if tile < (group + 1) * tiles: goto work     goto search
//!     group += 1                                 search:
//!     goto loop                             =>     if tile < (group + 1) * tiles: goto work
//!   work:                                          group += 1
//!     <body>                                       goto search
//!     tile += ctas                               work:
//!     goto loop                                    <body>
//!                                                  tile += ctas
//!                                                  goto loop
//! ```
//!
//! Compilers merge two loops that begin at one block, and the control flow then has one natural loop with two ways
//! back. A way back that only computes is one of a search under two conditions. It reads what the work alone changes,
//! as `tile`. It changes what the work does not, as `group`. A way back that skips work for a tile changes the tile,
//! too, and is none. A jump in front of the search makes two loops of one. It does nothing, so each thread executes the
//! same instructions in the same order.

use std::collections::BTreeSet;

use crate::flow::{Block, BlockId, Ending, Flow, Loop, ending};
use crate::lift::loops::computed::is_function;
use crate::ptx::{Arg, Entry, Inst, Label, Reg};

use super::loop_parts::written;
use super::slice::reads;

/// The largest number of searches that are taken apart.
const MOST: usize = 16;

/// The entry with a jump in front of each search of this kind; `None` if there is none.
pub(crate) fn separated(entry: &Entry) -> Option<Entry> {
    let mut new: Option<Entry> = None;
    for _ in 0..MOST {
        let entry = new.as_ref().unwrap_or(entry);
        let flow = Flow::of(entry).ok()?;
        let Some(next) = flow.loops.iter().find_map(|l| apart(entry, &flow, l)) else { break };
        new = Some(next);
    }
    new
}

/// The entry in which one loop is two.
fn apart(entry: &Entry, flow: &Flow, l: &Loop) -> Option<Entry> {
    if l.latches.len() < 2 {
        return None;
    }
    let code_of = |latches: &[BlockId]| -> Vec<&Inst> {
        let blocks: BTreeSet<BlockId> = latches.iter().flat_map(|b| way_back(flow, l.header, *b)).collect();
        blocks.into_iter().flat_map(|b| &entry.code[flow.blocks[b].first..flow.blocks[b].end]).collect()
    };
    let silent = |b: &BlockId| code_of(&[*b]).into_iter().all(only_computes);
    let (inner, outer): (Vec<BlockId>, Vec<BlockId>) = l.latches.iter().partition(|b| silent(b));
    let simple = |b: &BlockId| matches!(ending(last(entry, &flow.blocks[*b])), Ending::Branch | Ending::Falls);
    if inner.is_empty() || outer.is_empty() || !inner.iter().all(simple) {
        return None;
    }
    let search = code_of(&inner);
    let of_work = code_of(&outer).into_iter().filter(|i| !search.iter().any(|x| std::ptr::eq(*i, *x)));
    let by_work: BTreeSet<Reg> = of_work.flat_map(written).collect();
    let by_search: BTreeSet<Reg> = search.iter().flat_map(|i| written(i)).collect();
    let mut read = BTreeSet::new();
    search.iter().for_each(|i| reads(i, &mut |r| read.extend([r])));
    let follows_work = read.iter().any(|r| by_work.contains(r) && !by_search.contains(r));
    let goes_on = read.iter().any(|r| by_search.contains(r) && !by_work.contains(r));
    if !follows_work || !goes_on {
        return None;
    }
    let at = flow.blocks[l.header].first;
    let search = entry.labels.len() as Label;
    let jump = Inst {
        guard: None,
        op: "bra".into(),
        mods: Vec::new(),
        args: vec![Arg::Label(search)],
        ..entry.code[at].clone()
    };
    let mut new = entry.clone();
    for b in &inner {
        for i in &mut new.code[flow.blocks[*b].first..flow.blocks[*b].end] {
            let back = |x: &Arg| matches!(x, Arg::Label(x) if entry.labels.get(*x as usize) == Some(&Some(at)));
            if ending(i) == Ending::Branch && i.args.first().is_some_and(back) {
                i.args[0] = Arg::Label(search);
            }
        }
    }
    // One of its ways back may end in front of it, and goes on there.
    let falls = inner.iter().any(|b| {
        let block = &flow.blocks[*b];
        let i = last(entry, block);
        block.end == at && (ending(i) == Ending::Falls || i.guard.is_some())
    });
    let jumps = 1 + usize::from(falls);
    new.code.splice(at..at, vec![jump; jumps]);
    for l in new.labels.iter_mut().flatten() {
        *l += match (*l).cmp(&at) {
            std::cmp::Ordering::Less => 0,
            // The loop around begins at the last jump.
            std::cmp::Ordering::Equal => jumps - 1,
            std::cmp::Ordering::Greater => jumps,
        };
    }
    new.labels.push(Some(at + jumps));
    Some(new)
}

fn last<'e>(entry: &'e Entry, block: &Block) -> &'e Inst {
    &entry.code[block.end - 1]
}

/// Whether an instruction is one of a search, not of work.
fn only_computes(i: &Inst) -> bool {
    is_function(i) && !matches!(i.op.as_str(), "st" | "red" | "trap" | "ret" | "exit")
}

/// The blocks between the beginning of a loop and one of its ways back, with both.
fn way_back(flow: &Flow, header: BlockId, latch: BlockId) -> Vec<BlockId> {
    let (mut found, mut open) = (vec![header], vec![latch]);
    while let Some(b) = open.pop() {
        if !found.contains(&b) {
            found.push(b);
            let before = flow
                .blocks
                .iter()
                .enumerate()
                .filter(|(x, block)| flow.order[*x] != usize::MAX && block.next.contains(&b));
            open.extend(before.map(|(x, _)| x));
        }
    }
    found
}
