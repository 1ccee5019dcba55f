//! `pipelined` loops: lowered here as plain loops, for shapes and names; the pipelining pass expands them.

use super::{Lower, Members};
use crate::ast::{Expr, Pipelined, Span, Staged};

/// Facts about a `pipelined` loop that the pass needs beside its tree.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Byte range of the loop; the key of this record.
    pub(crate) extent: Span,
    /// Value of `stages`, if given.
    pub(crate) stages: Option<i64>,
    /// Value of `producers`, if given.
    pub(crate) producers: Option<i64>,
    /// First value of the index.
    pub(crate) from: Option<i64>,
    /// Whether the range has a step.
    pub(crate) stepped: bool,
    /// The warps that execute it, as bits.
    pub(crate) mask: u64,
    /// Warps of a role member, and number of members; all warps and 1 without members.
    pub(crate) member: (u32, u32),
    /// Whether the loop is inside `elect:`.
    pub(crate) elect: bool,
    /// Number of loops around it.
    pub(crate) around: usize,
    /// Stage and order of every `stage` head, as written.
    pub(crate) staged: Vec<(Option<i64>, Option<i64>)>,
}

impl Lower<'_> {
    pub(super) fn pipelined(&mut self, p: &Pipelined) {
        let stages = p.stages.as_ref().and_then(|e| self.bounded(e, "the number of stages", 0, 64));
        let producers = p.producers.as_ref().and_then(|e| self.bounded(e, "the number of producer warps", 1, 16));
        let from = self.number(&p.range.from);
        let member = match self.ctx.members {
            Some(Members { size, count, .. }) => (size, count),
            None => (self.ctx.mask.count_ones(), 1),
        };
        let pc = self.pc();
        let around =
            self.program.loops.iter().filter(|l| l.head <= pc && (l.end == u32::MAX || l.end <= l.head)).count();
        let found = Found {
            extent: p.extent.clone(),
            stages,
            producers,
            from,
            stepped: p.range.step.is_some(),
            mask: self.ctx.mask,
            member,
            elect: self.ctx.elect,
            around,
            staged: Vec::new(),
        };
        if self.last_walk {
            self.pipelined.push(found);
        }
        self.for_loop(std::slice::from_ref(&p.range), &p.body);
    }

    pub(super) fn staged(&mut self, s: &Staged) {
        let stage = self.bounded(&s.stage, "a stage", 0, 64);
        let order = s.order.as_ref().and_then(|e| self.bounded(e, "a place in the order", 0, 1 << 16));
        if self.last_walk
            && let Some(p) = self.pipelined.last_mut()
        {
            p.staged.push((stage, order));
        }
        self.statements(&s.body);
    }

    /// The value of an expression, if it is known at load; reports nothing.
    fn number(&mut self, e: &Expr) -> Option<i64> {
        let errors = self.errors.len();
        let value = self.expr(e).and_then(|e| e.constant());
        self.errors.truncate(errors);
        value
    }
}
