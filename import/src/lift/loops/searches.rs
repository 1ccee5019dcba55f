//! Loops that search with all lanes of a warp, such as for the product of a group that a tile belongs to.
//!
//! ```text
//!   loop:                                    group = f(group before, sizes of each lane, tile)
//!     tiles = sum over lanes up to mine of the tiles of group + lane
//!     found = vote(start + tiles > tile)   =>
//!     if found != 0: leave
//!     start += tiles of lane 31; group += 32
//! ```
//!
//! Such a loop only computes, so what it leaves in a register is a function without a meaning (`computed.rs`). Lanes take
//! part together: values that differ by lane are one operand, and a result that differs by lane is one function a lane.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{BlockId, Flow};
use crate::lift::facts::loop_parts::{Part, When, written};
use crate::lift::facts::slice::reads;
use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::alike;
use crate::ptx::{Entry, Inst, Reg};

use super::computed::is_function;

/// Whether lanes exchange values.
pub(crate) fn exchanges(i: &Inst) -> bool {
    matches!(i.op.as_str(), "shfl" | "vote" | "redux" | "match") && i.has("sync")
}

/// The loops of a text that search together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searches {
    /// By the number of the loop, the block behind it and the registers that it leaves for other code.
    loops: BTreeMap<usize, (BlockId, Vec<Reg>)>,
    /// The registers that they read.
    pub(crate) read: BTreeSet<Reg>,
}

impl Searches {
    /// Whether the text has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The loops that only compute and whose end is decided by values that lanes exchange. `need` has the registers that
    /// are followed.
    pub(crate) fn of(entry: &Entry, flow: &Flow, need: &[bool]) -> Searches {
        let mut all = Searches::default();
        let needed = |i: &Inst| written(i).iter().any(|r| need[*r as usize]);
        for (l, found) in flow.loops.iter().enumerate() {
            let blocks = || flow.blocks.iter().zip(&found.body).filter(|(_, inside)| **inside).map(|(b, _)| b);
            let mut out: Vec<BlockId> = blocks().flat_map(|b| &b.next).copied().filter(|b| !found.body[*b]).collect();
            out.dedup();
            let code = || blocks().flat_map(|b| &entry.code[b.first..b.end]);
            let silent = code().all(|i| is_function(i) || exchanges(i)) && code().any(exchanges);
            let changed: BTreeSet<Reg> = code().flat_map(written).filter(|r| need[*r as usize]).collect();
            let ([to], Some(first), true) = (out.as_slice(), changed.first(), silent) else { continue };
            let part = |r: Reg| Part::of((entry, flow), l, (r, When::Behind), needed);
            if part(*first).decides(exchanges) {
                let mut left = BTreeSet::new();
                let outside = flow.blocks.iter().zip(&found.body).filter(|(_, inside)| !**inside).map(|(b, _)| b);
                outside.flat_map(|b| &entry.code[b.first..b.end]).for_each(|i| reads(i, &mut |r| left.extend([r])));
                let left: Vec<Reg> = changed.intersection(&left).copied().collect();
                left.iter().for_each(|r| all.read.extend(part(*r).inputs));
                all.loops.insert(l, (*to, left));
            }
        }
        all
    }
}

impl Walk<'_, '_> {
    /// Passes over a loop that searches with all lanes. Returns the block behind it.
    pub(crate) fn search(&mut self, l: usize) -> Option<BlockId> {
        let flow = self.s.flow;
        let (to, left) = self.s.searches.loops.get(&l)?.clone();
        let inside = self.frames.iter().all(|f| flow.loops[f.index].body[to]);
        if !inside || self.lanes != u32::MAX || self.timing().is_some() {
            return None;
        }
        let entry = self.regs.clone();
        let mut values = Vec::new();
        for r in self.changed(l) {
            let v = left.contains(&r).then(|| {
                let part = self.s.part(l, r, When::Behind);
                self.function(&part, &entry, None)
            });
            let v = v.flatten();
            values.push((r, v.unwrap_or_else(|| Val::Uni(self.s.arena.opaque(alike::VOTE)))));
        }
        let at = flow.blocks[flow.loops[l].header].first;
        self.s.assume(self.inst(at).line, "a loop that a value in memory ends is left at some time");
        values.into_iter().for_each(|(r, v)| self.set(r, v));
        Some(to)
    }
}
