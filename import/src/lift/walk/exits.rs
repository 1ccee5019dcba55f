//! Exits of loops, and the blocks where the sides of a branch join.

use crate::flow::BlockId;
use crate::lift::memory::anywhere::Unknown;
use crate::lift::tree::{Kind, Node, Val};
use crate::ptx::Error;
use crate::symbolic::{Facts, Op, Term};

use super::optional::accesses;
use super::{Stop, Walk};

/// An exit of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    /// The number of nodes of the iteration before the exit, if every iteration reaches it.
    pub(crate) before: Option<usize>,
    /// Nodes between these and the exit in the last iteration.
    pub(crate) tail: Vec<Node>,
    /// The condition for which the loop continues.
    pub(crate) stay: Term,
    /// Where it goes.
    pub(crate) to: BlockId,
    /// Registers at the exit.
    pub(crate) regs: Vec<Option<Val>>,
    /// The branch instruction.
    pub(crate) at: usize,
}

/// A loop left by one of its exits.
#[derive(Debug)]
pub(crate) struct Left {
    /// The branch instruction.
    pub(crate) at: usize,
    /// Where it goes.
    pub(crate) to: BlockId,
    /// The nodes of the last iteration.
    pub(crate) tail: Vec<Node>,
    /// Registers.
    pub(crate) regs: Vec<Option<Val>>,
    /// The condition that does not hold any more.
    pub(crate) left: Option<Term>,
}

/// One side of a branch after its walk.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Where its walk stopped.
    pub(crate) end: Stop,
    pub(crate) nodes: Vec<Node>,
    pub(crate) regs: Vec<Option<Val>>,
    pub(crate) facts: Facts,
    pub(crate) lanes: u32,
}

impl Walk<'_, '_> {
    /// A branch with one side outside the current loop: records the exit and continues inside.
    pub(crate) fn leaves(
        &mut self,
        at: usize,
        cond: Term,
        taken: BlockId,
        falls: BlockId,
    ) -> Result<Option<Stop>, Error> {
        let Some(f) = self.frames.last() else { return Ok(None) };
        let body = &self.s.flow.loops[f.index].body;
        let (to, inside, stay) = match (body[taken], body[falls]) {
            (true, false) => (falls, taken, cond),
            (false, true) => (taken, falls, self.s.arena.not(cond)),
            _ => return Ok(None),
        };
        let leave = self.s.arena.not(stay);
        let regs = self.regs.clone();
        self.exit(at, leave, to, &[], regs)?;
        let mut facts = std::mem::take(&mut self.facts);
        self.s.arena.learn(stay, true, &mut facts);
        self.facts = facts;
        Ok(Some(Stop::At(inside)))
    }

    /// Records an exit of the current loop: its condition, its target, and the nodes before it.
    fn exit(
        &mut self,
        at: usize,
        leave: Term,
        to: BlockId,
        done: &[Node],
        regs: Vec<Option<Val>>,
    ) -> Result<(), Error> {
        let inst = self.inst(at);
        let Some(f) = self.frames.last() else { return Err(self.s.error(inst, "no loop is left here", "a loop")) };
        if self.unsure != f.unsure || self.group != f.group {
            return Err(self.s.error(
                inst,
                "some lanes of a warp leave a loop here and others stay",
                "a condition that all lanes of a warp share",
            ));
        }
        let (path, levels) = (f.path, f.levels);
        let direct = self.path.len() == path && done.is_empty();
        let mut leave = leave;
        for n in path..self.path.len() {
            leave = self.s.arena.both(self.path[n], leave);
        }
        let mut tail: Vec<Node> = self.outer[levels..].iter().flatten().cloned().collect();
        tail.extend(self.nodes.iter().cloned());
        tail.extend(done.iter().cloned());
        let before = direct.then_some(self.nodes.len());
        let stay = self.s.arena.not(leave);
        let open = self.open;
        if let Some(f) = self.frames.last_mut() {
            f.open = f.open.or(open);
            f.exits.push(Exit { before, tail, stay, to, regs, at });
        }
        Ok(())
    }

    /// Walks to the block where both sides of a branch join, unless one side leaves the loop.
    pub(crate) fn meet(
        &mut self,
        at: usize,
        cond: Term,
        mut a: Side,
        mut b: Side,
        facts: Facts,
    ) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let (a_ends, b_ends) = (a.end == Stop::End, b.end == Stop::End);
        if !a_ends && !b_ends && a.end != b.end {
            return self.one_leaves(at, cond, a, b);
        }
        if a_ends {
            a.nodes.push(Node { at, part: 1, kind: Kind::End });
        }
        if b_ends {
            b.nodes.push(Node { at, part: 2, kind: Kind::End });
        }
        match (a_ends, b_ends) {
            (true, true) => {}
            (true, false) => (self.regs, self.facts, self.lanes) = (b.regs, b.facts, b.lanes),
            (false, true) => (self.regs, self.facts, self.lanes) = (a.regs, a.facts, a.lanes),
            (false, false) => {
                self.lanes = a.lanes;
                self.facts = facts;
                self.regs = self.merged(at, cond, (a.regs, b.regs, a.end), (&mut a.nodes, &mut b.nodes));
            }
        }
        if a.nodes == b.nodes && !a_ends {
            self.nodes.extend(a.nodes);
        } else if !(a.nodes.is_empty() && b.nodes.is_empty()) {
            if self.opaque(cond) {
                if !self.optional(&a.nodes) || !self.optional(&b.nodes) {
                    return Err(self.condition_error(inst, cond));
                }
                // In a launch, the data choose one side.
                if self.s.unknown != Unknown::OfLaunch {
                    self.nodes.extend(accesses(a.nodes.into_iter().chain(b.nodes)));
                }
                return Ok(if a_ends { b.end } else { a.end });
            }
            self.nodes.push(Node { at, part: 0, kind: Kind::If(cond, a.nodes, b.nodes) });
        }
        Ok(if a_ends { b.end } else { a.end })
    }

    /// One side of a branch leaves the current loop, and the other continues in it.
    fn one_leaves(&mut self, at: usize, cond: Term, a: Side, b: Side) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let outside = |s: &Self, side: &Side| match (side.end, s.frames.last()) {
            (Stop::At(to), Some(f)) if !s.s.flow.loops[f.index].body[to] => Some(to),
            _ => None,
        };
        let (leave, to, gone, stays) = match (outside(self, &a), outside(self, &b)) {
            (Some(to), None) => (cond, to, a, b),
            (None, Some(to)) => (self.s.arena.not(cond), to, b, a),
            // Both leave: the rest of the walk handles the second.
            (Some(to), Some(_)) => (cond, to, a, b),
            (None, None) => {
                return Err(self.s.error(inst, "the ways of this branch do not meet", "structured control flow"));
            }
        };
        self.exit(at, leave, to, &gone.nodes, gone.regs)?;
        (self.regs, self.facts, self.lanes) = (stays.regs, stays.facts, stays.lanes);
        self.nodes.extend(stays.nodes);
        Ok(stays.end)
    }

    /// The block where all ways out of a loop meet.
    pub(crate) fn join_of(&self, l: usize) -> BlockId {
        let flow = self.s.flow;
        let loops = &flow.loops[l];
        let mut join = flow.join[loops.header];
        while let Some(j) = join.filter(|j| loops.body[*j]) {
            join = flow.join[j];
        }
        join.unwrap_or(flow.exit())
    }

    /// Continues after a loop: each exit has its own path until the paths join. `counts` has the iterations before each
    /// exit.
    pub(crate) fn left(
        &mut self,
        l: usize,
        sides: Vec<Left>,
        counts: Vec<Term>,
        stops: &[BlockId],
    ) -> Result<Stop, Error> {
        let join = self.join_of(l);
        let inner: Vec<BlockId> = stops.iter().copied().chain([join]).collect();
        let facts = self.facts.clone();
        let (lanes, n) = (self.lanes, sides.len());
        let mut rest: Option<Side> = None;
        for (k, side) in sides.into_iter().enumerate().rev() {
            let mut known = facts.clone();
            if let Some(t) = side.left {
                self.s.arena.learn(t, false, &mut known);
            }
            let same = rest.as_ref().is_none_or(|r| r.end == Stop::At(side.to));
            if n == 1 || (same && (side.to == join || stops.contains(&side.to))) || n == 1 {
                let one = Side { end: Stop::At(side.to), nodes: side.tail, regs: side.regs, facts: known, lanes };
                rest = Some(self.or_else(side.at, one, rest, &counts[k..], &facts)?);
                continue;
            }
            let outer = std::mem::replace(&mut self.nodes, side.tail);
            self.outer.push(outer);
            let first = self.first(&counts[k..]);
            if let Some(c) = first {
                self.path.push(c);
            }
            (self.regs, self.facts, self.lanes) = (side.regs, known, lanes);
            let end = if side.to == join || stops.contains(&side.to) {
                Stop::At(side.to)
            } else {
                self.run(side.to, &inner)?
            };
            if first.is_some() {
                self.path.pop();
            }
            let outer = self.outer.pop().unwrap_or_default();
            let nodes = std::mem::replace(&mut self.nodes, outer);
            let one =
                Side { end, nodes, regs: std::mem::take(&mut self.regs), facts: self.facts.clone(), lanes: self.lanes };
            rest = Some(self.or_else(side.at, one, rest, &counts[k..], &facts)?);
        }
        let Some(side) = rest else { return Ok(Stop::At(join)) };
        self.nodes.extend(side.nodes);
        (self.regs, self.facts, self.lanes) = (side.regs, side.facts, side.lanes);
        Ok(side.end)
    }

    /// The condition that the loop takes the first of several exits; `None` if there is only one.
    fn first(&mut self, counts: &[Term]) -> Option<Term> {
        let (one, others) = counts.split_first()?;
        let least = others.iter().copied().reduce(|m, q| self.s.arena.op(Op::Min, &[m, q]))?;
        let d = self.s.arena.sub(least, *one);
        Some(self.s.arena.ge(d))
    }

    fn or_else(
        &mut self,
        at: usize,
        one: Side,
        rest: Option<Side>,
        counts: &[Term],
        facts: &Facts,
    ) -> Result<Side, Error> {
        let Some(rest) = rest else { return Ok(one) };
        let Some(cond) = self.first(counts) else { return Ok(one) };
        match self.s.arena.constant(cond) {
            Some(0) => return Ok(rest),
            Some(_) => return Ok(one),
            None => {}
        }
        let outer = std::mem::take(&mut self.nodes);
        self.outer.push(outer);
        let end = self.meet(at, cond, one, rest, facts.clone())?;
        let outer = self.outer.pop().unwrap_or_default();
        let nodes = std::mem::replace(&mut self.nodes, outer);
        Ok(Side { end, nodes, regs: std::mem::take(&mut self.regs), facts: self.facts.clone(), lanes: self.lanes })
    }
}
