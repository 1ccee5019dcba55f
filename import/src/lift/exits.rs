//! Ways out of loops, and where the ways of a branch meet.

use crate::flow::BlockId;
use crate::ptx::Error;
use crate::symbolic::{Facts, Op, Term};

use super::tree::{Kind, Node, Val};
use super::walk::{Stop, Walk};

/// An exit of a loop.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    /// Nodes of the iteration before it, where every iteration comes to it.
    pub(super) before: Option<usize>,
    /// Nodes on the way to it in the iteration that leaves.
    pub(super) tail: Vec<Node>,
    /// What the loop goes on for.
    pub(super) stay: Term,
    /// Where it goes.
    pub(super) to: BlockId,
    /// Registers then.
    pub(super) regs: Vec<Option<Val>>,
    /// The branch.
    pub(super) at: usize,
}

/// A loop left by one of its exits.
#[derive(Debug)]
pub(super) struct Left {
    /// The branch.
    pub(super) at: usize,
    /// Where it goes.
    pub(super) to: BlockId,
    /// What the last iteration did.
    pub(super) tail: Vec<Node>,
    /// Registers.
    pub(super) regs: Vec<Option<Val>>,
    /// What does not hold any more.
    pub(super) left: Option<Term>,
}

/// A side of a branch, walked.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Where it stopped.
    pub(super) end: Stop,
    pub(super) nodes: Vec<Node>,
    pub(super) regs: Vec<Option<Val>>,
    pub(super) facts: Facts,
    pub(super) lanes: u32,
}

impl Walk<'_, '_> {
    /// A branch with one way out of the loop that is being walked: notes the exit and goes on inside.
    pub(super) fn leaves(
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

    /// Notes an exit of the loop that is being walked: under which condition, where to, and what is done before it goes.
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
        if self.unsure > 0 || self.group != f.group {
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
        if let Some(f) = self.frames.last_mut() {
            f.exits.push(Exit { before, tail, stay, to, regs, at });
        }
        Ok(())
    }

    /// Where both sides of a branch meet, or one of them leaves the loop.
    pub(super) fn meet(
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
                self.regs = self.merged(at, cond, (a.regs, b.regs), (&mut a.nodes, &mut b.nodes));
            }
        }
        if a.nodes == b.nodes && !a_ends {
            self.nodes.extend(a.nodes);
        } else if !(a.nodes.is_empty() && b.nodes.is_empty()) {
            if self.opaque(cond) {
                return Err(self.condition_error(inst, cond));
            }
            self.nodes.push(Node { at, part: 0, kind: Kind::If(cond, a.nodes, b.nodes) });
        }
        Ok(if a_ends { b.end } else { a.end })
    }

    /// One side of a branch goes out of the loop that is being walked, and the other goes on in it.
    fn one_leaves(&mut self, at: usize, cond: Term, a: Side, b: Side) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let outside = |s: &Self, side: &Side| match (side.end, s.frames.last()) {
            (Stop::At(to), Some(f)) if !s.s.flow.loops[f.index].body[to] => Some(to),
            _ => None,
        };
        let (leave, to, gone, stays) = match (outside(self, &a), outside(self, &b)) {
            (Some(to), None) => (cond, to, a, b),
            (None, Some(to)) => (self.s.arena.not(cond), to, b, a),
            // Both: the second is left to the rest of the way.
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

    /// Goes on behind a loop: each exit has its own way until they meet. `counts`: how often the loop goes on before each.
    pub(super) fn left(
        &mut self,
        l: usize,
        sides: Vec<Left>,
        counts: Vec<Term>,
        stops: &[BlockId],
    ) -> Result<Stop, Error> {
        let flow = self.s.flow;
        let loops = &flow.loops[l];
        let mut join = flow.join[loops.header];
        while let Some(j) = join.filter(|j| loops.body[*j]) {
            join = flow.join[j];
        }
        let join = join.unwrap_or(flow.exit());
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

    /// Whether the first of several exits is the one that a loop is left by; none where there is no other.
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
