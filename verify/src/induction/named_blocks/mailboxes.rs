//! Mailboxes that pass values known only at run time on: one agent reads a table of pages, others copy the pages.
//!
//! A mailbox passes the values of one name on if each `put` writes such a value, or one that another such mailbox gave.
//! The variable of each `get` then stands for a value of that name.

use std::collections::BTreeMap;

use warpline_sim::ir::{Expr, Instr, ObjId, Op, Program, TapeId, VarId};

use crate::induction::while_loops::sets;

/// The mailboxes and variables that hold values known only at run time.
#[derive(Default)]
pub(super) struct Mailboxes {
    /// By mailbox, the name of its values.
    words: BTreeMap<ObjId, TapeId>,
    /// By variable, the name of its values.
    variables: BTreeMap<VarId, TapeId>,
}

impl Mailboxes {
    pub(super) fn of(prog: &Program) -> Mailboxes {
        let mut found = Mailboxes::default();
        loop {
            let more = found.next(prog);
            if more.words == found.words && more.variables == found.variables {
                return if found.is_closed(prog) { found } else { Mailboxes::default() };
            }
            found = more;
        }
    }

    /// The mailboxes and variables that hold a value by one step from those known so far.
    fn next(&self, prog: &Program) -> Mailboxes {
        let mut next = Mailboxes::default();
        let ops = || prog.code.iter();
        for i in ops() {
            match i {
                Instr::Op { op: Op::Put { dst, value }, .. } => {
                    if let Some(name) = self.name(value) {
                        next.words.insert(dst.obj, name);
                    }
                }
                Instr::Op { op: Op::Get { src, var }, .. } => {
                    if let Some(name) = self.words.get(&src.obj) {
                        next.variables.insert(*var, *name);
                    }
                }
                _ => {}
            }
        }
        next.words.retain(|obj, name| {
            ops().all(|i| match i {
                Instr::Op { op: Op::Put { dst, value }, .. } => dst.obj != *obj || self.name(value) == Some(*name),
                Instr::Op { op: Op::NextTile { dst, .. }, .. } => dst.obj != *obj,
                _ => true,
            })
        });
        next.variables.retain(|var, name| {
            ops().filter(|i| sets(i) == Some(*var)).all(|i| match i {
                Instr::Op { op: Op::Get { src, .. }, .. } => self.words.get(&src.obj) == Some(name),
                _ => false,
            })
        });
        next
    }

    /// Whether each variable that receives such a value holds nothing else, and no such value names a mailbox.
    fn is_closed(&self, prog: &Program) -> bool {
        prog.code.iter().all(|i| match i {
            Instr::Op { op: Op::Get { src, var }, .. } => {
                !self.words.contains_key(&src.obj) || self.variables.contains_key(var)
            }
            Instr::Op { op: Op::Put { dst, .. }, .. } => {
                !self.words.contains_key(&dst.obj) || !dst.at.iter().any(|e| e.any(|x| self.name(x).is_some()))
            }
            _ => true,
        })
    }

    /// The name of the value that an expression is.
    fn name(&self, e: &Expr) -> Option<TapeId> {
        match e {
            Expr::Tape(name, _) => Some(*name),
            Expr::Var(v) => self.variable(*v),
            _ => None,
        }
    }

    /// The name of the values that a variable holds.
    pub(super) fn variable(&self, v: VarId) -> Option<TapeId> {
        self.variables.get(&v).copied()
    }

    /// Whether an instruction writes a value into such a mailbox.
    pub(super) fn passes_on(&self, i: &Instr) -> bool {
        matches!(i, Instr::Op { op: Op::Put { dst, .. }, .. } if self.words.contains_key(&dst.obj))
    }
}
