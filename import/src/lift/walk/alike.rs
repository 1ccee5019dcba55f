//! Branches by data that wait for barriers and signal nothing, such as the rescaling of attention that waits for the
//! product before it.
//!
//! Whether such a branch is taken may differ each time. Both outcomes are checked, each for all of these branches of the
//! kernel, and a proof is BOUNDED.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::flow::BlockId;
use crate::lift::facts::slice::{acts, only_global};
use crate::ptx::Inst;
use crate::symbolic::{Atom, Term};

use super::Walk;

/// The largest number of blocks of such a branch.
const MOST_BLOCKS: usize = 200;

/// The reason of an opaque value that is a vote of the lanes of a warp.
pub(crate) const VOTE: &str = "a vote";

impl Walk<'_, '_> {
    /// A condition of a branch. Where data decide it, and both ways to `join` wait for barriers and signal nothing, the
    /// condition has one outcome in a launch.
    pub(crate) fn alike(&mut self, at: usize, cond: Term, ways: (BlockId, BlockId), join: BlockId) -> Term {
        if !self.opaque(cond) || self.mentions_poll(cond) || !self.only_wait(ways, join) {
            return cond;
        }
        let line = self.inst(at).line;
        self.s.assume(line, "branches by data that wait and signal nothing are all taken, or none of them is");
        let any = match self.s.taken {
            Some(t) => t,
            None => {
                self.s.data += 1;
                let data = self.s.arena.atom(Atom::Data(self.s.data));
                self.s.arena.ge(data)
            }
        };
        self.s.taken = Some(any);
        // A condition over votes and over values that are followed keeps the latter.
        let mut with = FxHashMap::default();
        let mut votes = true;
        let mut list = Vec::new();
        self.s.arena.each_atom(cond, &mut |a| list.extend(matches!(a, Atom::Opaque(_)).then_some(a)));
        for a in list {
            let Atom::Opaque(n) = a else { continue };
            votes &= self.s.arena.why(n) == Some(VOTE);
            with.insert(self.s.arena.atom(a), any);
        }
        if votes { self.s.arena.replace(cond, &with, &mut FxHashMap::default()) } else { any }
    }

    /// Whether code up to `join` waits for barriers, accesses memory, and does nothing else that other code could see.
    fn only_wait(&self, (taken, falls): (BlockId, BlockId), join: BlockId) -> bool {
        let flow = self.s.flow;
        let (mut open, mut seen) = (vec![taken, falls], BTreeSet::from([join]));
        let mut waits = false;
        while let Some(b) = open.pop() {
            if !seen.insert(b) {
                continue;
            }
            let around = self.frames.iter().any(|f| flow.loops[f.index].header == b || !flow.loops[f.index].body[b]);
            if b == flow.exit() || around || seen.len() > MOST_BLOCKS {
                return false;
            }
            let block = &flow.blocks[b];
            for i in &self.s.entry.code[block.first..block.end] {
                waits |= is_wait(i);
                if i.op == "call" || acts(i) && !only_global(i) && !is_wait(i) && !only_accesses(i) {
                    return false;
                }
            }
            open.extend(&block.next);
        }
        waits
    }
}

fn is_wait(i: &Inst) -> bool {
    i.op == "mbarrier" && (i.has("try_wait") || i.has("test_wait"))
}

fn only_accesses(i: &Inst) -> bool {
    match i.op.as_str() {
        "ld" | "st" | "ldmatrix" | "stmatrix" | "fence" | "membar" | "elect" | "shfl" | "vote" | "redux" | "match" => {
            true
        }
        "bar" => i.has("warp"),
        "tcgen05" => i
            .mods
            .first()
            .is_some_and(|m| matches!(m.as_str(), "ld" | "st") || m.starts_with("wait") || m.starts_with("fence")),
        _ => false,
    }
}
