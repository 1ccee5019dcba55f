//! A barrier that is polled once ahead of its wait. The wait is taken to happen: schedules in which the poll fails are
//! schedules of the kernel, and in others the same threads know of the same phase.

use crate::ptx::{Error, Inst};
use crate::symbolic::{Facts, Node as TermNode, Op, Term};

use super::tree::{Node, Val};
use super::walk::{Stop, Walk};

/// A side of a branch: where it stopped, its nodes, registers, facts and lanes.
type Side = (Stop, Vec<Node>, Vec<Option<Val>>, Facts, u32);

impl Walk<'_, '_> {
    /// Whether a condition is the result of polling.
    pub(super) fn peekish(&self, t: Term) -> bool {
        if self.peeked_terms.contains(&t) {
            return true;
        }
        match self.s.arena.node(t) {
            TermNode::Op(Op::Not, args) => self.peekish(args[0]),
            TermNode::Op(Op::If, args) => args[1..].iter().any(|x| self.peekish(*x)),
            TermNode::Op(Op::Either | Op::Both, args) => args.iter().any(|x| self.peekish(*x)),
            TermNode::Op(Op::Eq, args) => {
                let (_, parts) = self.s.arena.parts(args[0]);
                parts.len() == 1 && self.peekish(parts[0].0)
            }
            _ => false,
        }
    }

    pub(super) fn peeks(&self, cond: Term) -> bool {
        self.peekish(cond)
    }

    /// Goes the way that waits.
    pub(super) fn peeked(&mut self, inst: &Inst, _cond: Term, a: Side, b: Side) -> Result<Stop, Error> {
        let (skip, wait) = if a.1.len() <= b.1.len() { (a, b) } else { (b, a) };
        if !skip.1.is_empty() || (self.dry == 0 && wait.1.is_empty()) || skip.0 != wait.0 {
            return Err(self.s.error(
                inst,
                "what a kernel does depends on whether a barrier was complete when it was polled",
                "a wait behind a failed poll",
            ));
        }
        self.s.assume(inst.line, "a barrier that is polled once and waited for where that fails is waited for");
        let (end, nodes, regs, facts, lanes) = wait;
        self.nodes.extend(nodes);
        (self.regs, self.facts, self.lanes) = (regs, facts, lanes);
        Ok(end)
    }
}
