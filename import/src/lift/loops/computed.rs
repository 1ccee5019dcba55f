//! Loops that only compute, such as a binary search for the sequence of a tile.
//!
//! ```text
//!   while left < right:                      left = f(left before, right before, tile, array)
//!     mid = (left + right) / 2         =>    right = g(left before, right before, tile, array)
//!     if array[mid] <= tile: left = mid + 1
//!     else: right = mid
//! ```
//!
//! If how often such a loop runs depends on what its iterations compute, the trip count has no closed form. The loop is
//! then a function without a meaning: what it leaves in a register depends on what it reads, and equal values give equal
//! results. The loop has no operation, so its trip count does not matter, if it ends. The same holds for a loop with a known
//! trip count that looks for a word, such as a sum of sizes up to the tile.

use crate::flow::{BlockId, Ending, ending};
use crate::lift::facts::loop_parts::When;
use crate::lift::facts::slice::{acts, only_global};
use crate::lift::tree::Val;
use crate::lift::walk::exits::Exit;
use crate::lift::walk::{Stop, Walk};
use crate::ptx::{Error, Inst, Reg};
use crate::symbolic::{Atom, Term};

use super::Solved;

/// Whether equal operands give equal results, in every warp and lane.
pub(crate) fn is_function(i: &Inst) -> bool {
    match i.op.as_str() {
        "ld" | "ldu" => {
            !["volatile", "acquire", "relaxed", "local", "mmio"].iter().any(|m| i.has(m))
                && ["global", "const", "param"].iter().any(|m| i.has(m))
        }
        "call" | "activemask" | "shfl" | "vote" | "redux" | "match" | "suld" | "mapa" | "isspacep" | "brx" => false,
        _ => !acts(i) || only_global(i),
    }
}

/// Where control is behind a loop that only computes.
pub(crate) struct Behind {
    pub(crate) to: BlockId,
    /// When it is there, and where it is otherwise.
    pub(crate) otherwise: Option<(Term, BlockId)>,
    /// The branch to that block.
    pub(crate) at: usize,
}

impl Walk<'_, '_> {
    /// Sets the registers behind a loop that only computes and has no trip count, and says where control is there.
    /// `nodes` are those of an iteration, `entry` has the registers before the loop.
    pub(crate) fn computed(
        &mut self,
        l: usize,
        (changed, entry, back): (&[Reg], &[Option<Val>], &[Option<Val>]),
        (exits, solved): (&[Exit], &Solved),
        empty: bool,
    ) -> Option<Behind> {
        let flow = self.s.flow;
        let own: Vec<u32> = solved.vars.iter().map(|v| v.var).collect();
        let to = exits.first()?.to;
        let header = flow.loops[l].header as u32;
        // Registers with a closed form do not depend on what an iteration computes.
        let is_own = |t: Term| self.s.arena.mentions(t, |a| matches!(a, Atom::Var(v) if own.contains(&v)));
        let follows = |r: Reg| solved.values.get(&r).is_some_and(|v| (0..32).any(|lane| is_own(v.at(lane))));
        let by_results =
            |t: Term| self.s.arena.mentions(t, |a| matches!(a, Atom::Carried(h, r, _) if h == header && follows(r)));
        let inside = self.frames.iter().all(|f| flow.loops[f.index].body[to]);
        let silent = empty && exits.iter().all(|e| e.tail.is_empty() && !self.opaque(e.stay));
        // A search may end in two ways: it finds, or it has nothing left.
        let other = exits.iter().map(|e| e.to).find(|x| *x != to);
        let one_way = exits.iter().all(|e| e.to == to);
        let two_ways = exits.iter().all(|e| e.to == to || Some(e.to) == other);
        if !silent || !(one_way && inside || two_ways && other.is_some()) {
            return None;
        }
        let ends = exits.iter().any(|e| by_results(e.stay));
        // Of registers that words of memory change, such as the place of the last smaller number, nothing else is known.
        let by_words = |r: &Reg| {
            let next = back[*r as usize].as_ref();
            follows(*r) && next.is_some_and(|v| (0..32).any(|lane| self.s.arena.reads_memory(v.at(lane))))
        };
        if !ends && one_way && !changed.iter().any(by_words) {
            return None;
        }
        let blocks = flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]);
        let code: Vec<&Inst> = blocks.flat_map(|(_, b)| &self.s.entry.code[b.first..b.end]).collect();
        for i in code {
            let needed = matches!(ending(i), Ending::Branch | Ending::Exit) || self.s.is_needed(i);
            if !is_function(i) && (needed || acts(i)) {
                return None;
            }
        }
        let mut values = Vec::new();
        for r in changed {
            let part = self.s.part(l, *r, When::Behind);
            values.push((*r, self.function(&part, entry, None)?));
        }
        let left = match other.and(changed.first()) {
            Some(r) => {
                let part = self.s.part(l, *r, When::Behind);
                let Val::Uni(t) = self.leaves_to(&part, entry, to)? else { return None };
                Some(t)
            }
            None => None,
        };
        if ends {
            let at = flow.blocks[flow.loops[l].header].first;
            self.s.assume(self.inst(at).line, "a loop that a value in memory ends is left at some time");
        }
        self.regs = entry.to_vec();
        for (r, v) in values {
            self.regs[r as usize] = Some(v);
        }
        Some(Behind { to, otherwise: left.zip(other), at: exits[0].at })
    }

    /// Continues behind a loop that only computes.
    pub(crate) fn go_on(&mut self, l: usize, found: Behind, stops: &[BlockId]) -> Result<Stop, Error> {
        let Some((c, other)) = found.otherwise else { return Ok(Stop::At(found.to)) };
        let join = self.join_of(l);
        self.fork(found.at, c, (found.to, other), join, stops)
    }
}
