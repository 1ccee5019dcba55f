//! Loops of a few iterations that only compute, followed one by one.
//!
//! ```text
//!   mask = 0                                 mask = 1 << 0 | 1 << 2
//!   for y in 0..2:                    ─▶
//!     mask |= 1 << 2 * y
//! ```
//!
//! What such a loop collects has no form over the number of the iteration. Where the number of iterations is known, the
//! values behind the loop are those of the last one.

use rustc_hash::FxHashMap;

use crate::flow::BlockId;
use crate::lift::facts::slice::acts;
use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::lift::walk::exits::Exit;
use crate::ptx::Reg;
use crate::symbolic::{Arena, Atom, Op, Term};

use super::Solved;

/// The largest number of iterations.
const MOST: usize = 16;

/// A number shifted to the left by a value that a loop carries: a bit of a mask.
pub(crate) fn collected(a: &mut Arena, number: Term, by: Term, bits: u32) -> Option<Term> {
    let carried = a.mentions(by, |x| matches!(x, Atom::Carried(..)));
    if a.constant(number).is_none() || !carried || bits > 32 {
        return None;
    }
    let (all, size) = (a.op(Op::Shl, &[number, by]), a.int(1 << bits));
    Some(a.rem(all, size))
}

impl Walk<'_, '_> {
    /// Sets the registers behind a loop of a few iterations of which the recurrences have no form, and returns the block
    /// there. `entry` has the registers before the loop, `back` those that an iteration leaves.
    pub(crate) fn one_by_one(
        &mut self,
        l: usize,
        (changed, entry, back): (&[Reg], &[Option<Val>], &[Option<Val>]),
        (exits, solved): (&[Exit], &Solved),
    ) -> Option<BlockId> {
        let flow = self.s.flow;
        let header = flow.loops[l].header;
        let [exit] = exits else { return None };
        let inside = self.frames.iter().all(|f| flow.loops[f.index].body[exit.to]);
        let open = |r: &Reg| solved.values.get(r).is_none_or(|v| (0..32).any(|lane| self.opaque(v.at(lane))));
        let blocks = flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]);
        let acting = |at: usize| acts(self.inst(at)) || self.s.accesses.contains_key(&at);
        let acting = blocks.flat_map(|(_, b)| b.first..b.end).any(acting);
        if acting
            || self.s.timing.is_some()
            || !inside
            || !exit.tail.is_empty()
            || solved.vars.is_empty() && !changed.iter().any(open)
        {
            return None;
        }
        let mut now = entry.to_vec();
        for _ in 0..=MOST {
            let with = self.values_of(header as u32, changed, &now);
            let mut memo = FxHashMap::default();
            let stay = self.s.arena.replace(exit.stay, &with, &mut memo);
            let goes_on = self.s.arena.constant(stay)? != 0;
            let next = if goes_on { back } else { &exit.regs };
            let mut new = entry.to_vec();
            for (old, slot) in next.iter().zip(&mut new) {
                *slot = old.as_ref().map(|v| self.at_values(v, &with, &mut memo));
            }
            let carried =
                |t: Term| self.s.arena.mentions(t, |a| matches!(a, Atom::Carried(h, ..) if h as usize == header));
            if new.iter().flatten().any(|v| (0..32).any(|lane| carried(v.at(lane)))) {
                return None;
            }
            if !goes_on {
                // What the loop leaves is known, and no register that a load still brings is a part of it.
                let known = |r: &Reg| new[*r as usize].as_ref().is_none_or(|v| (0..32).all(|x| !self.opaque(v.at(x))));
                if !changed.iter().all(known) {
                    return None;
                }
                self.regs = new;
                return Some(exit.to);
            }
            now = new;
        }
        None
    }

    /// A value with other terms in place of some.
    fn at_values(&mut self, v: &Val, with: &FxHashMap<Term, Term>, memo: &mut FxHashMap<Term, Term>) -> Val {
        match v {
            Val::Uni(t) => Val::Uni(self.s.arena.replace(*t, with, memo)),
            Val::Lanes(_) => Val::of(std::array::from_fn(|lane| self.s.arena.replace(v.at(lane), with, memo))),
        }
    }
}
