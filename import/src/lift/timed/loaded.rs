//! Loads whose results no instruction has used yet.

use std::collections::BTreeMap;

use crate::lift::facts::slice::{reads, writes};
use crate::ptx::{Inst, Reg};

/// The loads of which registers have the result.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The number of the load, by register.
    of: BTreeMap<Reg, u32>,
}

impl Loaded {
    /// The loads that an instruction is the first to use, in the order of their numbers. A copy of a register is no use:
    /// it has the same result. Registers that the instruction writes have no load's result behind it.
    pub(crate) fn used(&mut self, i: &Inst) -> Vec<u32> {
        if self.of.is_empty() {
            return Vec::new();
        }
        let mut written = Vec::new();
        writes(i, &mut |r| written.push(r));
        let mut found: Vec<u32> = Vec::new();
        reads(i, &mut |r| found.extend(self.of.get(&r)));
        found.sort_unstable();
        found.dedup();
        if i.op == "mov" {
            for r in written {
                match found.first() {
                    Some(load) => self.of.insert(r, *load),
                    None => self.of.remove(&r),
                };
            }
            return Vec::new();
        }
        self.of.retain(|r, load| !found.contains(load) && !written.contains(r));
        found
    }

    /// Marks the registers that a load writes.
    pub(crate) fn load(&mut self, i: &Inst, number: u32) {
        i.arg(0).each_reg(&mut |r| {
            self.of.insert(r, number);
        });
    }
}

/// Whether an instruction loads global memory to registers.
pub(crate) fn loads_global(i: &Inst) -> bool {
    matches!(i.op.as_str(), "ld" | "ldu") && i.has("global") && !i.has("param")
}
