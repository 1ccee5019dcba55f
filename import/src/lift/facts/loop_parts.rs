//! The part of a loop that a register depends on.
//!
//! ```text
//!   while tile >= end:
//!     wait full[slot]                  =>    of `end`: the loop without the wait
//!     group += 1; end += tiles[group]
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{BlockId, Flow};
use crate::ptx::{Entry, Inst, Reg};

use super::slice::{reads, writes};

/// Which value of a register is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Behind the loop.
    Behind,
    /// At the start of each iteration.
    Each,
}

/// The instructions of a loop that a register depends on.
pub(crate) struct Part<'a> {
    entry: &'a Entry,
    flow: &'a Flow,
    pub(crate) l: usize,
    pub(crate) when: When,
    /// The register.
    pub(crate) of: Reg,
    /// The instructions, without branches.
    pub(crate) code: BTreeSet<usize>,
    /// The blocks whose branches decide which of them are executed.
    pub(crate) branches: BTreeSet<BlockId>,
    /// The registers that it reads and that the loop does not set first.
    pub(crate) inputs: BTreeSet<Reg>,
}

/// The registers that an instruction writes.
pub(crate) fn written(i: &Inst) -> Vec<Reg> {
    let mut list = Vec::new();
    writes(i, &mut |x| list.push(x));
    list
}

/// The blocks of loop `l` that a branch at the end of block `b` executes or leaves out.
fn decided(flow: &Flow, l: usize, b: BlockId) -> BTreeSet<BlockId> {
    let (body, header) = (&flow.loops[l].body, flow.loops[l].header);
    let mut open = flow.blocks[b].next.clone();
    let mut found = BTreeSet::new();
    while let Some(x) = open.pop() {
        if body[x] && Some(x) != flow.join[b] && x != header && found.insert(x) {
            open.extend(&flow.blocks[x].next);
        }
    }
    found
}

impl<'a> Part<'a> {
    /// What a register of loop `l` depends on. `needed` says which instructions are followed.
    pub(crate) fn of(
        (entry, flow): (&'a Entry, &'a Flow),
        l: usize,
        (of, when): (Reg, When),
        needed: impl Fn(&Inst) -> bool,
    ) -> Part<'a> {
        let body: Vec<BlockId> = (0..flow.blocks.len()).filter(|b| flow.loops[l].body[*b]).collect();
        let is_exit = |b: BlockId| flow.blocks[b].next.iter().any(|n| !flow.loops[l].body[*n]);
        let decides = |b: &BlockId| flow.blocks[*b].next.len() > 1 && (when == When::Behind || !is_exit(*b));
        let mut deciders: BTreeMap<BlockId, Vec<BlockId>> = BTreeMap::new();
        for b in body.iter().copied().filter(decides) {
            decided(flow, l, b).into_iter().for_each(|x| deciders.entry(x).or_default().push(b));
        }
        let mut writers: BTreeMap<Reg, Vec<(usize, BlockId)>> = BTreeMap::new();
        for b in &body {
            for n in flow.blocks[*b].first..flow.blocks[*b].end {
                let i = &entry.code[n];
                if needed(i) {
                    written(i).into_iter().for_each(|r| writers.entry(r).or_default().push((n, *b)));
                }
            }
        }
        let (code, branches, inputs) = Default::default();
        let mut part = Part { entry, flow, l, when, of, code, branches, inputs };
        let (mut seen, mut open) = (BTreeSet::from([of]), vec![of]);
        let mut blocks: Vec<BlockId> = Vec::new();
        if when == When::Behind {
            part.branches = body.iter().copied().filter(|b| is_exit(*b)).collect();
            blocks.extend(&part.branches);
            part.branches.iter().for_each(|b| {
                reads(&entry.code[flow.blocks[*b].end - 1], &mut |r| open.extend(seen.insert(r).then_some(r)));
            });
        }
        loop {
            if let Some(b) = blocks.pop() {
                for d in deciders.get(&b).into_iter().flatten().copied().filter(|d| part.branches.insert(*d)) {
                    blocks.push(d);
                    reads(&entry.code[flow.blocks[d].end - 1], &mut |r| open.extend(seen.insert(r).then_some(r)));
                }
            } else if let Some(r) = open.pop() {
                for (n, b) in writers.get(&r).into_iter().flatten() {
                    if part.code.insert(*n) {
                        reads(&entry.code[*n], &mut |x| open.extend(seen.insert(x).then_some(x)));
                        blocks.push(*b);
                    }
                }
            } else {
                part.inputs = part.read_first();
                return part;
            }
        }
    }

    /// Its instructions, without branches.
    pub(crate) fn code(&self) -> impl Iterator<Item = &'a Inst> + '_ {
        self.numbered().map(|(_, i)| i)
    }

    /// The same with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &'a Inst)> + '_ {
        self.code.iter().map(|n| (*n, &self.entry.code[*n]))
    }

    /// Whether an exit of the loop depends on an instruction for which `f` is true.
    pub(crate) fn decides(&self, f: impl Fn(&Inst) -> bool) -> bool {
        let (code, body) = (&self.entry.code, &self.flow.loops[self.l].body);
        let is_exit = |b: &&BlockId| self.flow.blocks[**b].next.iter().any(|n| !body[*n]);
        let mut open: Vec<Reg> = Vec::new();
        self.branches
            .iter()
            .filter(is_exit)
            .for_each(|b| reads(&code[self.flow.blocks[*b].end - 1], &mut |r| open.push(r)));
        let mut seen = BTreeSet::new();
        while let Some(r) = open.pop() {
            if !seen.insert(r) {
                continue;
            }
            for i in self.code().filter(|i| written(i).contains(&r)) {
                if f(i) {
                    return true;
                }
                reads(i, &mut |r| open.push(r));
            }
        }
        false
    }

    /// Its instructions and its branches.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'a Inst> + '_ {
        let branches = self.branches.iter().map(|b| self.flow.blocks[*b].end - 1);
        self.code.iter().copied().chain(branches).map(|n| &self.entry.code[n])
    }

    /// Its instructions in a block.
    pub(crate) fn code_of(&self, b: BlockId) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let block = &self.flow.blocks[b];
        self.code.range(block.first..block.end).copied().collect::<Vec<_>>().into_iter()
    }

    /// Where control is behind a block whose branch decides nothing of the part.
    pub(crate) fn after(&self, b: BlockId) -> Option<BlockId> {
        let inside: Vec<BlockId> =
            self.flow.blocks[b].next.iter().copied().filter(|n| self.flow.loops[self.l].body[*n]).collect();
        match inside.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => self.flow.join[b],
        }
    }

    /// Whether an inner loop has some of its code.
    pub(crate) fn has_code(&self, l: usize) -> bool {
        let body = &self.flow.loops[l].body;
        (0..body.len()).any(|b| body[b] && (self.branches.contains(&b) || self.code_of(b).next().is_some()))
    }

    /// Whether its code outside of an inner loop reads a register, or the register is the part's own.
    pub(crate) fn reads_outside(&self, l: usize, r: Reg) -> bool {
        let (blocks, body) = (&self.flow.blocks, &self.flow.loops[l].body);
        let inside = |n: &usize| body[self.flow.block_at(*n)];
        let branches = self.branches.iter().map(|b| blocks[*b].end - 1);
        let mut found = r == self.of;
        for n in self.code.iter().copied().chain(branches).filter(|n| !inside(n)) {
            reads(&self.entry.code[n], &mut |x| found |= x == r);
        }
        found
    }

    /// The registers that it sets in a loop.
    pub(crate) fn changed(&self, l: usize) -> BTreeSet<Reg> {
        let body = &self.flow.loops[l].body;
        let blocks = (0..body.len()).filter(|b| body[*b]);
        blocks.flat_map(|b| self.code_of(b)).flat_map(|n| written(&self.entry.code[n])).collect()
    }

    fn read_first(&self) -> BTreeSet<Reg> {
        let (flow, body) = (self.flow, &self.flow.loops[self.l].body);
        let mut blocks: Vec<BlockId> = (0..body.len()).filter(|b| body[*b]).collect();
        blocks.sort_unstable_by_key(|b| std::cmp::Reverse(flow.order[*b]));
        let mut live: BTreeMap<BlockId, BTreeSet<Reg>> = BTreeMap::new();
        let mut changed = true;
        while changed {
            changed = false;
            for b in &blocks {
                let mut now: BTreeSet<Reg> =
                    flow.blocks[*b].next.iter().filter_map(|n| live.get(n)).flatten().copied().collect();
                now.insert(self.of);
                let end = flow.blocks[*b].end - 1;
                let branch = self.branches.contains(b).then_some(end);
                for n in branch.into_iter().chain(self.code_of(*b).rev()) {
                    let i = &self.entry.code[n];
                    if i.guard.is_none() {
                        written(i).iter().for_each(|r| {
                            now.remove(r);
                        });
                    }
                    reads(i, &mut |r| now.extend([r]));
                }
                changed |= live.get(b) != Some(&now);
                live.insert(*b, now);
            }
        }
        let mut inputs = live.remove(&flow.loops[self.l].header).unwrap_or_default();
        inputs.insert(self.of);
        inputs
    }
}
