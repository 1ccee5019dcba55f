//! A barrier that is polled once before its wait. The lift assumes that the wait happens. Schedules in which the poll
//! fails are schedules of the kernel; in other schedules the same threads observe the same phase, as the poll names the
//! phase of the wait (`polls.rs`).

use crate::lift::walk::exits::Side;
use crate::lift::walk::{Stop, Walk};
use crate::ptx::Error;
use crate::symbolic::{Facts, Node as TermNode, Op, Term};

impl Walk<'_, '_> {
    /// Whether a condition is the result of polling.
    pub(crate) fn peekish(&self, t: Term) -> bool {
        if self.peeked_terms.contains(&t) {
            return true;
        }
        match self.s.arena.node(t) {
            // The low bits: a result that is kept in a small register.
            TermNode::Op(Op::Not | Op::Rem, args) => self.peekish(args[0]),
            TermNode::Op(Op::If, args) => args[1..].iter().any(|x| self.peekish(*x)),
            TermNode::Op(Op::Either | Op::Both, args) => args.iter().any(|x| self.peekish(*x)),
            TermNode::Op(Op::Eq, args) => {
                let (_, parts) = self.s.arena.parts(args[0]);
                parts.len() == 1 && self.peekish(parts[0].0)
            }
            // A choice between a constant and a poll is a constant more than one between 0 and the rest.
            TermNode::Sum(_, parts) => parts.len() == 1 && self.peekish(parts[0].0),
            _ => false,
        }
    }

    /// Whether a term has the result of a poll in any part.
    pub(crate) fn mentions_poll(&self, t: Term) -> bool {
        self.peeked_terms.iter().any(|p| match self.s.arena.node(*p) {
            TermNode::Atom(poll) => self.s.arena.mentions(t, |a| a == *poll),
            _ => false,
        })
    }

    pub(crate) fn peeks(&self, cond: Term) -> bool {
        self.peekish(cond)
    }

    /// Takes the side that waits. Where a condition skips the wait without a poll, it is a branch: `anyway` has it, and
    /// whether the first side skips the wait.
    pub(crate) fn peeked(
        &mut self,
        at: usize,
        (a, b): (Side, Side),
        anyway: Option<(Term, bool)>,
        facts: Facts,
    ) -> Result<Stop, Error> {
        let inst = self.inst(at);
        let operations = |side: &Side| side.nodes.iter().filter(|n| !n.is_work()).count();
        let first = anyway.map_or(operations(&a) <= operations(&b), |(_, first)| first);
        let (skip, wait) = if first { (a, b) } else { (b, a) };
        if operations(&skip) > 0 || (self.dry == 0 && operations(&wait) == 0) || skip.end != wait.end {
            return Err(self.s.error(
                inst,
                "what a kernel does depends on whether a barrier was complete when it was polled",
                "a wait behind a failed poll",
            ));
        }
        self.s.assume(inst.line, "a wait behind a poll of its barrier is skipped only where the poll succeeded");
        if let Some((t, _)) = anyway {
            return self.meet(at, t, skip, wait, facts);
        }
        self.nodes.extend(wait.nodes);
        (self.regs, self.facts, self.lanes) = (wait.regs, wait.facts, wait.lanes);
        Ok(wait.end)
    }
}
