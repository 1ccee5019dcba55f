//! Registers that a loop carries from tile to tile and that data change, as sequences without a meaning.
//!
//! ```text
//!   group = 0; end = tiles[0]                group(i) = f(i, tiles, first tile, ...)
//!   for each tile:                     =>
//!     while tile >= end: group += 1; end += tiles[group]
//!     ... steps[group] steps ...             steps[f(i, ...)] steps
//! ```
//!
//! The value at the start of iteration i is a function of i, of the registers before the loop and of memory that does not
//! change. The text of the instructions names the function (`loop_parts.rs`), so roles that search in the same way have
//! one sequence. Only registers that decide where their own next value is loaded from are such a search: the slot of a ring
//! that a loaded count moves on is a variable.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::lift::facts::loop_parts::{Part, When, written};
use crate::lift::facts::slice::{acts, only_global, reads};
use crate::lift::tree::Val;
use crate::lift::walk::Walk;
use crate::ptx::{Inst, Reg};
use crate::symbolic::{ALL_LANES, Atom, Term};

use super::searches::exchanges;

/// Whether an instruction brings data.
fn is_data(i: &Inst) -> bool {
    matches!(i.op.as_str(), "ld" | "ldu") && !i.has("param") || matches!(i.op.as_str(), "shfl" | "vote" | "redux")
}

impl Walk<'_, '_> {
    /// The values at the start of iteration `i` of those registers of a loop that search.
    pub(crate) fn recurrences(
        &mut self,
        header: u32,
        i: Term,
        entry: &[Option<Val>],
        registers: &BTreeSet<Reg>,
    ) -> FxHashMap<Term, Term> {
        let mut found = FxHashMap::default();
        let Some(l) = self.s.flow.header_of[header as usize].filter(|_| self.timing().is_none()) else { return found };
        // A loop that only computes is a function itself.
        if !self.does_more(l) {
            return found;
        }
        // What is loaded where a search ends follows from the search in most cases.
        for searches in [true, false] {
            if !found.is_empty() {
                break;
            }
            for r in registers {
                let part = self.s.part(l, *r, When::Each);
                if searches && !self.searches(l, &part) || !searches && !self.holds(l, *r) && !self.by_search(l, *r) {
                    continue;
                }
                let Some(v) = self.function(&part, entry, Some(i)) else { continue };
                self.sequence(header, (*r, &entry[*r as usize]), &v, &mut found);
            }
        }
        found
    }

    /// Adds the values of a register, which begins with `entry`, at the start of each iteration.
    fn sequence(&mut self, header: u32, (r, entry): (Reg, &Option<Val>), v: &Val, found: &mut FxHashMap<Term, Term>) {
        match (entry, v) {
            (Some(Val::Uni(_)), Val::Uni(t)) => {
                found.insert(self.s.arena.atom(Atom::Carried(header, r, 0)), *t);
            }
            (Some(Val::Lanes(_)), _) => {
                let all = std::array::from_fn(|lane| v.at(lane));
                for (lane, t) in (1u8..).zip(all) {
                    found.insert(self.s.arena.atom(Atom::Carried(header, r, lane)), t);
                }
                let together = self.s.arena.lanes(&all);
                found.insert(self.s.arena.atom(Atom::Carried(header, r, ALL_LANES)), together);
            }
            _ => {}
        }
    }
}

impl Walk<'_, '_> {
    /// Whether a loop does more than compute.
    fn does_more(&self, l: usize) -> bool {
        let flow = self.s.flow;
        let blocks = flow.blocks.iter().zip(&flow.loops[l].body).filter(|(_, inside)| **inside);
        let mut code = blocks.flat_map(|(b, _)| &self.s.entry.code[b.first..b.end]);
        code.any(|i| acts(i) && !exchanges(i) && !only_global(i))
    }

    /// Whether a register keeps what a load brought in some iteration, such as the sizes of a group: nothing else sets it.
    fn holds(&self, l: usize, r: Reg) -> bool {
        let flow = self.s.flow;
        let blocks = flow.blocks.iter().zip(&flow.loops[l].body).filter(|(_, inside)| **inside);
        let mut code = blocks.flat_map(|(b, _)| &self.s.entry.code[b.first..b.end]).filter(|i| written(i).contains(&r));
        code.all(|i| i.op == "ld" && i.has("global"))
    }

    /// Whether only searches inside of a loop set a register, such as the number of a group.
    fn by_search(&self, l: usize, r: Reg) -> bool {
        let flow = self.s.flow;
        let inner: Vec<usize> = (0..flow.loops.len())
            .filter(|x| *x != l && flow.loops[l].body[flow.loops[*x].header] && !self.does_more(*x))
            .collect();
        let sets = |b: &crate::flow::Block| self.s.entry.code[b.first..b.end].iter().any(|i| written(i).contains(&r));
        let blocks = flow.blocks.iter().enumerate().filter(|(b, block)| flow.loops[l].body[*b] && sets(block));
        let mut blocks = blocks.map(|(b, _)| inner.iter().any(|x| flow.loops[*x].body[b])).peekable();
        blocks.peek().is_some() && blocks.all(|inside| inside)
    }

    /// Whether data that a register depends on depend on the register.
    fn searches(&mut self, l: usize, part: &Part<'_>) -> bool {
        if let Some(known) = self.s.searching.get(&(l, part.of)) {
            return *known;
        }
        let mut from = BTreeSet::new();
        part.code().filter(|i| is_data(i)).for_each(|i| reads(i, &mut |r| from.extend([r])));
        let found = from.into_iter().any(|r| {
            let mut read = r == part.of;
            self.s.part(l, r, When::Each).all().for_each(|i| reads(i, &mut |r| read |= r == part.of));
            read
        });
        self.s.searching.insert((l, part.of), found);
        found
    }
}
