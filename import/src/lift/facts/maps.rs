//! Tensor maps of copies, by the operands that name them.

use std::collections::BTreeSet;

use crate::ptx::{Arg, Inst, Reg};

use super::slice::writes;

/// The instructions of a kernel, and how many of them write each register.
pub(crate) struct Maps<'c> {
    code: &'c [Inst],
    writes: Vec<u32>,
}

impl<'c> Maps<'c> {
    pub(crate) fn of(code: &'c [Inst]) -> Maps<'c> {
        let mut count: Vec<u32> = Vec::new();
        let mut add = |r: Reg| {
            let r = r as usize;
            count.resize(count.len().max(r + 1), 0);
            count[r] += 1;
        };
        code.iter().for_each(|i| writes(i, &mut add));
        Maps { code, writes: count }
    }

    /// Whether two copies are by one instruction or name one tensor map by the same operand.
    pub(crate) fn one(&self, x: usize, y: usize) -> bool {
        x == y || self.operand(x).is_some_and(|o| self.operand(y) == Some(o))
    }

    /// The address of a copy's tensor map, where it has one value.
    fn operand(&self, at: usize) -> Option<(&Arg, i64)> {
        let i = self.code.get(at).filter(|i| i.has("tensor"))?;
        let Arg::Mem { base, offset, .. } = i.args.get(1)? else { return None };
        match **base {
            Arg::Reg(r) if self.writes.get(r as usize).is_some_and(|n| *n > 1) => None,
            _ => Some((&**base, *offset)),
        }
    }

    /// The tensor maps of copies: where each address comes from. `None` where one has no map of one value.
    pub(crate) fn all(&self, copies: impl Iterator<Item = usize>) -> Option<BTreeSet<(Reg, i64)>> {
        copies
            .map(|at| {
                let (mut from, offset) = self.operand(at)?;
                // Copies of an address.
                for _ in 0..4 {
                    let writer = |i: &&Inst| matches!(i.op.as_str(), "cvta" | "mov") && i.arg(0) == from;
                    let Some(i) = self.code.iter().find(writer) else { break };
                    match i.arg(1) {
                        Arg::Reg(r) if self.writes.get(*r as usize) == Some(&1) => from = i.arg(1),
                        _ => break,
                    }
                }
                if let Arg::Reg(r) = from { Some((*r, offset)) } else { None }
            })
            .collect()
    }
}
