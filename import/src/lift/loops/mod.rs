//! Loops during the walk: the value of each register in iteration i, the trip count, and the registers after the loop.
//!
//! ```text
//!   walk of the body,                   values at the start     walk of the body         trip count,
//!   with the values that   ──solve──▶   of iteration i     ──▶  with these    ──close──▶ registers after
//!   the last iteration left                                     values                   the loop
//! ```
//!
//! | file | loop |
//! |---|---|
//! | `mod`, `solve`, `close` | every loop: recurrences, then the end |
//! | `computed`, `searches` | loops that only compute: a binary search by one lane, a search by the votes of a warp |
//! | `functions`, `named`, `recurrences` | what a loop computes without a closed form, as a function with a name |
//! | `bounded` | the largest value of such a function |
//! | `one_by_one` | loops of a few iterations that only compute, such as a mask |
//! | `strides`, `first` | loops of which each lane makes its own number of iterations |
//! | `in_step` | registers that count iterations as long as the loop goes on |
//! | `only_in_last` | exits that only the last iteration can take |
//! | `implied` | loops whose end follows from a choice in their body |

mod bounded;
pub(crate) mod close;
pub(crate) mod computed;
pub(crate) mod first;
pub(crate) mod functions;
pub(crate) mod implied;
mod in_step;
pub(crate) mod named;
pub(crate) mod one_by_one;
mod only_in_last;
pub(crate) mod recurrences;
pub(crate) mod searches;
pub(crate) mod solve;
pub(crate) mod strides;

use rustc_hash::FxHashMap;

use crate::flow::BlockId;
use crate::lift::facts::slice::{acts, only_global, writes};
use crate::lift::walk::exits::Exit;
use crate::lift::walk::{Frame, Stop, Walk, shared};
use crate::ptx::{Error, Inst, Reg};
use crate::symbolic::{ALL_LANES, Atom, Facts, Node as TermNode, Op, Term};

use super::tree::{Node, Val};
use in_step::During;

/// The least bound of a trip count that does not bound the loop's counter, where the count is not one number.
const MOST_BOUND: i64 = 4096;

/// A register that becomes a variable of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopVar {
    pub(crate) reg: Reg,
    /// The lane whose value it is, or none where all lanes have one.
    pub(crate) lane: Option<u8>,
    /// The variable.
    pub(crate) var: u32,
    /// Its value before the loop.
    pub(crate) first: Term,
}

/// Registers at the start of an iteration, after the recurrences are solved.
#[derive(Debug, Default)]
pub(crate) struct Solved {
    /// Values of loop-carried registers.
    pub(crate) values: FxHashMap<Reg, Val>,
    /// Registers that become variables of the program.
    pub(crate) vars: Vec<LoopVar>,
}

impl Walk<'_, '_> {
    /// Walks a loop from its header to its exits. Where its iterations cannot be followed and it orders nothing, its lanes
    /// may each make their own.
    pub(crate) fn walk_loop(&mut self, l: usize, stops: &[BlockId]) -> Result<Stop, Error> {
        let Some(to) = self.s.own_loops.get(&self.s.flow.loops[l].header).copied() else {
            return self.follow_loop(l, stops);
        };
        // A loop that one warp cannot follow is not tried again.
        if self.s.not_followed.contains(&l) {
            self.own_iterations(l)?;
            return Ok(Stop::At(to));
        }
        let before = self.state();
        let followed = self.follow_loop(l, stops);
        let Err(e) = followed else { return followed };
        self.restore(before);
        self.own_iterations(l).map_err(|_| e)?;
        self.s.not_followed.insert(l);
        Ok(Stop::At(to))
    }

    /// Walks a loop of which all lanes of the warp make the same iterations.
    fn follow_loop(&mut self, l: usize, stops: &[BlockId]) -> Result<Stop, Error> {
        if let Some(to) = self.polling(l)? {
            return Ok(Stop::At(to));
        }
        let flow = self.s.flow;
        let header = flow.loops[l].header;
        let first_at = flow.blocks[header].first;
        if let Some(to) = self.s.idle_loops.get(&header).copied() {
            self.s.assume(self.inst(first_at).line, "a loop that a value in memory ends is left at some time");
            self.assume_no_trap(l);
            return Ok(Stop::At(to));
        }
        if let Some(to) = self.search(l) {
            return Ok(Stop::At(to));
        }
        let changed = self.changed(l);
        let mut entry_regs = self.regs.clone();
        self.choose(&changed, &mut entry_regs);
        // What is known of variables that the loop may set does not hold in it.
        let set = self.s.set_in(l);
        self.s.arena.forget(&mut self.facts, |a| matches!(a, Atom::Var(v) if set.contains(&v)));
        let entry_facts = self.facts.clone();
        let mark = self.s.arena.opaque("a mark");
        let lanes = self.lanes;
        let peeked = self.peeked_terms.clone();
        let (before, open) = (self.history, self.open);
        let (wrote, stored) = (self.wrote, self.stored(l));
        // First pass: an iteration as a function of the values that the previous one left.
        let (stop, mut exits, silent) = loop {
            self.forget_skipped(header as u32);
            for r in &changed {
                let Some(old) = &entry_regs[*r as usize] else { continue };
                self.regs[*r as usize] = Some(match old {
                    Val::Uni(_) => Val::Uni(self.s.arena.atom(Atom::Carried(header as u32, *r, 0))),
                    Val::Lanes(_) => Val::of(std::array::from_fn(|i| {
                        self.s.arena.atom(Atom::Carried(header as u32, *r, i as u8 + 1))
                    })),
                });
            }
            self.remember((first_at, 0, 0));
            self.wrote = wrote || stored;
            let (stop, nodes, exits) = self.iteration(l, true)?;
            if !self.widened(&changed, &mut entry_regs) {
                break (stop, exits, nodes.is_empty());
            }
            // Again, with a value of each lane for registers that only some lanes change.
            self.regs = entry_regs.clone();
            self.facts = entry_facts.clone();
            self.lanes = lanes;
            self.peeked_terms = peeked.clone();
            (self.history, self.open) = (before, open);
        };
        // What one iteration leaves open, the next one begins with.
        let begins = wrote || self.wrote;
        self.open = self.open.or(open);
        // An iteration begins behind all those before it.
        self.remember_loop(first_at, before);
        let mut back = std::mem::take(&mut self.regs);
        if stop != Stop::At(header) && exits.is_empty() {
            // The loop is always left in its first iteration.
            self.regs = entry_regs;
            self.facts = entry_facts;
            self.lanes = lanes;
            self.peeked_terms = peeked;
            self.wrote = wrote;
            let (stop, nodes, _) = self.iteration(l, false)?;
            self.nodes.extend(nodes);
            return Ok(stop);
        }
        let first = self.inst(flow.blocks[header].first);
        if exits.is_empty() {
            return Err(self.s.error(first, "this loop has no exit", "a loop that ends"));
        }
        if let Some(e) = exits.iter().find(|e| self.peekish(e.stay)) {
            return Err(self.s.error(
                self.inst(e.at),
                "a loop that is left once a barrier is complete does something else too",
                "a loop that only waits",
            ));
        }
        if stop == Stop::At(header) {
            self.split_stays(header as u32, &changed, &entry_regs, &mut back, &mut exits);
        }
        let mut back = if stop == Stop::At(header) { back } else { entry_regs.clone() };
        self.begins = self.first_begins(header, &entry_facts, (&exits, &entry_regs));
        let mut solved = self.solve(header as u32, &changed, &entry_regs, &back, mark);
        if stop == Stop::At(header) && self.goes_back(header as u32, &solved, &mut back) {
            solved = self.solve(header as u32, &changed, &entry_regs, &back, mark);
        }
        let mut now = self.during(header as u32, (&entry_regs, &entry_facts), &solved, &exits);
        if let Some(counted) = self.in_step(header as u32, (&solved, &back), &now.by_iteration, &now.begins_with) {
            back = counted;
            solved = self.solve(header as u32, &changed, &entry_regs, &back, mark);
            now = self.during(header as u32, (&entry_regs, &entry_facts), &solved, &exits);
        }
        let During { by_iteration, stays, begins_with, goes_on } = now;
        let (before, after) = ((entry_regs.as_slice(), &entry_facts), (back.as_slice(), &goes_on));
        self.compare_carried(header as u32, &changed, (before, after), &by_iteration)?;
        self.bound_counter(header as u32, &stays);
        self.facts = entry_facts.clone();
        if let Some(found) = self.computed(l, (&changed, &entry_regs, &back), (&exits, &solved), silent) {
            self.lanes = lanes;
            self.wrote = wrote;
            return self.go_on(l, found, stops);
        }
        if stop == Stop::At(header)
            && let Some(to) = self.one_by_one(l, (&changed, &entry_regs, &back), (&exits, &solved))
        {
            self.lanes = lanes;
            self.wrote = wrote;
            return Ok(Stop::At(to));
        }
        // Second pass: the same with values as functions of the iteration.
        self.regs = entry_regs.clone();
        for (r, v) in &solved.values {
            self.regs[*r as usize] = Some(v.clone());
        }
        self.facts = begins_with;
        self.lanes = lanes;
        self.wrote = begins;
        let (stop, nodes, mut exits) = self.iteration(l, false)?;
        // An exit can be ahead of what brings lanes together.
        self.wrote = wrote || stored;
        let mut back = std::mem::take(&mut self.regs);
        if stop == Stop::At(header) {
            self.split_stays(header as u32, &changed, &entry_regs, &mut back, &mut exits);
        }
        if stop != Stop::At(header) {
            // A path that reaches the end leaves there.
            let to = match stop {
                Stop::At(to) => to,
                Stop::End => flow.exit(),
            };
            let stay = self.s.arena.int(0);
            let at = exits.last().map_or(flow.blocks[header].first, |e| e.at);
            let (tail, regs) = (nodes.clone(), back.clone());
            exits.push(Exit { before: None, tail, stay, to, regs, at });
        }
        if exits.is_empty() {
            return Err(self.s.error(
                first,
                "this loop is not left in the way that was found first",
                "a loop with an exit",
            ));
        }
        self.facts = entry_facts;
        self.lanes = lanes;
        self.close(l, nodes, exits, solved, back, stops)
    }

    /// What is known where the first iteration of a loop begins: it goes on at exits that are ahead of all else.
    fn first_begins(&mut self, header: BlockId, facts: &Facts, (exits, entry): (&[Exit], &[Option<Val>])) -> Facts {
        let mut known = facts.clone();
        let block = &self.s.flow.blocks[header];
        let code = &self.s.entry.code;
        let ahead = |e: &&Exit| (block.first..block.end).contains(&e.at) && !code[block.first..e.at].iter().any(acts);
        for e in exits.iter().filter(ahead) {
            let mut first = FxHashMap::default();
            self.s.arena.each_atom(e.stay, &mut |x| {
                if let Atom::Carried(h, r, lane @ 0..=32) = x
                    && h as usize == header
                    && let Some(v) = &entry[r as usize]
                {
                    first.insert(x, v.at(usize::from(lane.saturating_sub(1))));
                }
            });
            let first = first.into_iter().map(|(x, t)| (self.s.arena.atom(x), t)).collect();
            let stays = self.s.arena.replace(e.stay, &first, &mut FxHashMap::default());
            self.s.arena.learn(stays, true, &mut known);
        }
        known
    }

    /// Gives registers that an iteration leaves with different values in its lanes one value for each lane; says whether
    /// there are any.
    fn widened(&mut self, changed: &[Reg], entry: &mut [Option<Val>]) -> bool {
        let mut any = false;
        for r in changed {
            let (Some(Val::Uni(first)), Some(back @ Val::Lanes(_))) = (&entry[*r as usize], &self.regs[*r as usize])
            else {
                continue;
            };
            if (0..32).all(|l| !self.opaque(back.at(l))) && !self.opaque(*first) {
                entry[*r as usize] = Some(Val::Lanes(std::rc::Rc::new([*first; 32])));
                any = true;
            }
        }
        any
    }

    /// Bounds the counter of a loop with a trip count that has a bound.
    fn bound_counter(&mut self, header: u32, stays: &[Term]) {
        let mut known = None;
        let mut open = stays.to_vec();
        while let Some(stay) = open.pop() {
            let count = self.stays(header, stay);
            // Of two conditions, each bounds it.
            if let (None, TermNode::Op(Op::Both, both)) = (count, self.s.arena.node(stay)) {
                open.extend(both.iter());
            }
            let most = count.map(|q| self.s.arena.range(q));
            // A count that is not negative, or not by much, wraps around nothing.
            let capped = count.is_some_and(|q| self.is_capped(q));
            let fits = |low: i64, high: i64| (low > -MOST_BOUND || capped) && high < MOST_BOUND || low == high;
            let q = most.and_then(|(low, high)| fits(low, high).then_some(high));
            if capped && most.is_some_and(|(low, _)| low < 0) {
                let line = self.inst(self.s.flow.blocks[header as usize].first).line;
                self.s.assume(line, "sizes that set trip counts are not negative");
            }
            known = known.into_iter().chain(q).min();
        }
        match known {
            Some(q) => self.s.arena.bound_counter(header, Some(q.max(0))),
            None => self.s.arena.bound_counter(header, None),
        }
    }

    /// Whether a count is a size, but at most a number: `min(n, 6)`.
    fn is_capped(&self, count: Term) -> bool {
        let a = &self.s.arena;
        let [(least, 1)] = *a.parts(count).1 else { return false };
        let TermNode::Op(Op::Min, args) = a.node(least) else { return false };
        let is_size = |t: Term| !a.reads_memory(t) && !a.mentions(t, |x| !matches!(x, Atom::Param(..)));
        args.iter().any(|t| a.constant(*t).is_some()) && args.iter().all(|t| is_size(*t))
    }

    /// The values of registers at the start of an iteration as functions of its number, where they are known.
    fn by_iteration(&mut self, header: u32, entry: &[Option<Val>], solved: &Solved) -> FxHashMap<Term, Term> {
        let mut with = FxHashMap::default();
        for (r, v) in &solved.values {
            let lanes = matches!(entry[*r as usize], Some(Val::Lanes(_)));
            for l in 0..if lanes { 32 } else { 1 } {
                let x = self.s.arena.atom(Atom::Carried(header, *r, if lanes { l + 1 } else { 0 }));
                with.insert(x, v.at(l as usize));
            }
            if lanes && self.s.arena.reads_lanes(header, *r) {
                let x = self.s.arena.atom(Atom::Carried(header, *r, ALL_LANES));
                with.insert(x, self.s.arena.lanes(&std::array::from_fn(|l| v.at(l))));
            }
        }
        with
    }

    /// Walks one iteration; a `dry` walk adds no nodes.
    fn iteration(&mut self, l: usize, dry: bool) -> Result<(Stop, Vec<Node>, Vec<Exit>), Error> {
        let flow = self.s.flow;
        let header = flow.loops[l].header;
        self.apart |= self.touched(l);
        let outer = std::mem::take(&mut self.nodes);
        let (path, levels, group) = (self.path.len(), self.outer.len(), self.group);
        let unsure = self.unsure;
        self.frames.push(Frame { index: l, exits: Vec::new(), path, levels, group, unsure, open: self.open });
        self.dry += dry as u32;
        let mut stops = vec![header];
        let body = &flow.loops[l].body;
        let inside = flow.blocks.iter().zip(body).filter(|(_, inside)| **inside);
        let next = inside.flat_map(|(block, _)| block.next.iter().copied());
        let mut left: Vec<BlockId> = next.filter(|b| body.get(*b) == Some(&false)).collect();
        left.sort_unstable();
        left.dedup();
        stops.extend(left);
        let end = self.run(header, &stops);
        self.dry -= dry as u32;
        let frame = self.frames.pop();
        self.open = frame.as_ref().map_or(self.open, |f| f.open.or(self.open));
        let nodes = std::mem::replace(&mut self.nodes, outer);
        Ok((end?, nodes, frame.map(|f| f.exits).unwrap_or_default()))
    }

    /// Whether lanes access shared memory in a loop, each its own bytes.
    pub(crate) fn touched(&self, l: usize) -> bool {
        let flow = self.s.flow;
        let own = |i: &Inst| match i.op.as_str() {
            "ld" | "st" | "ldmatrix" | "stmatrix" | "red" | "atom" => acts(i) && !i.has("global"),
            "cp" => !i.has("bulk"),
            _ => false,
        };
        let blocks = flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]);
        let mut code = blocks.flat_map(|(_, block)| &self.s.entry.code[block.first..block.end]);
        code.any(own)
    }

    /// Whether lanes store to shared memory in a loop, each its own bytes.
    pub(crate) fn stored(&self, l: usize) -> bool {
        let flow = self.s.flow;
        let stores = |i: &Inst| match i.op.as_str() {
            "st" | "stmatrix" | "red" | "atom" => acts(i) && !i.has("global"),
            "cp" => !i.has("bulk"),
            _ => false,
        };
        let mut blocks = flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]);
        blocks.any(|(_, block)| self.s.entry.code[block.first..block.end].iter().any(stores))
    }

    /// Needed registers that a loop writes.
    pub(crate) fn changed(&self, l: usize) -> Vec<Reg> {
        let flow = self.s.flow;
        let mut list = Vec::new();
        for (b, block) in flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]) {
            let _ = b;
            for i in &self.s.entry.code[block.first..block.end] {
                writes(i, &mut |r| list.push(r));
            }
        }
        list.retain(|r| self.s.need[*r as usize]);
        list.sort_unstable();
        list.dedup();
        list
    }

    /// Turns a loop that only polls a barrier into one wait; returns the block after it.
    fn polling(&mut self, l: usize) -> Result<Option<BlockId>, Error> {
        let flow = self.s.flow;
        let mut wait: Option<usize> = None;
        let mut out = None;
        for (b, block) in flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]) {
            let _ = b;
            for at in block.first..block.end {
                let i = self.inst(at);
                if i.op == "mbarrier" && (i.has("try_wait") || i.has("test_wait")) && wait.is_none() {
                    wait = Some(at);
                } else if acts(i) && !only_global(i) || i.op == "call" {
                    return Ok(None);
                }
            }
            for to in &block.next {
                if !flow.loops[l].body[*to] {
                    if out.is_some_and(|o| o != *to) {
                        return Ok(None);
                    }
                    out = Some(*to);
                }
            }
        }
        let (Some(at), Some(out)) = (wait, out) else { return Ok(None) };
        // A loop around a loop that polls waits several times.
        if flow.is_in_inner(l, flow.block_at(at)) {
            return Ok(None);
        }
        // Operands that are computed in the loop have the values of its first iteration.
        let (dry, nodes) = (self.dry, self.nodes.len());
        let block = flow.blocks[flow.loops[l].header].clone();
        for n in block.first..block.end.min(at) {
            self.instruction(n)?;
        }
        // For a run, the instructions ahead of the poll count once.
        debug_assert!(dry == self.dry && (nodes == self.nodes.len() || self.timing().is_some()));
        let i: &Inst = self.inst(at);
        self.wait(at, i)?;
        let changed = self.changed(l);
        let constant = self.constant(l, &changed, block.first..block.end.min(at));
        for r in changed.into_iter().filter(|r| !constant.contains(r)) {
            let any = self.s.arena.opaque("what a polling loop leaves");
            self.set(r, Val::Uni(any));
        }
        Ok(Some(out))
    }

    /// Registers that some instructions of a loop compute from what the loop does not change, and that no other writes.
    fn constant(&self, l: usize, changed: &[Reg], code: std::ops::Range<usize>) -> Vec<Reg> {
        let flow = self.s.flow;
        let blocks = flow.blocks.iter().enumerate().filter(|(b, _)| flow.loops[l].body[*b]);
        let mut writers: Vec<Reg> = Vec::new();
        for n in blocks.flat_map(|(_, b)| b.first..b.end) {
            writes(self.inst(n), &mut |r| writers.push(r));
        }
        let once = |r: &Reg| writers.iter().filter(|w| *w == r).count() == 1;
        let mut constant = Vec::new();
        for i in code.map(|n| self.inst(n)) {
            let (mut written, mut same) = (Vec::new(), i.guard.is_none());
            writes(i, &mut |r| written.push(r));
            let mut reads = |r: Reg| same &= !changed.contains(&r) || constant.contains(&r);
            i.args_from(1).iter().for_each(|a| a.each_reg(&mut reads));
            if same {
                constant.extend(written.into_iter().filter(once));
            }
        }
        constant
    }
}

impl shared::Shared<'_> {
    /// A variable of the program for a register of a loop.
    pub(crate) fn var(&mut self, header: u32, reg: Reg, kind: u32) -> u32 {
        if let Some(v) = self.var_ids.get(&(header, reg, kind)) {
            return *v;
        }
        let id = self.vars.len() as u32;
        let name = self.entry.regs.get(reg as usize).map_or("v", |n| n.trim_start_matches('%'));
        self.vars.push(format!("{name}_{id}"));
        self.var_ids.insert((header, reg, kind), id);
        id
    }
}
