//! Tensor maps of copies, by the operands that name them.

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
}
