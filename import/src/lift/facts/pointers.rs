//! Generic addresses that cannot be in shared memory: those that no address of shared memory is part of.
//!
//! Such an address comes from an argument or from memory, and is assumed not to point into shared memory.

use crate::ptx::{Arg, Entry, Inst, Module};

use super::slice::{reads, writes};

/// What registers may hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointers {
    /// Whether an address of shared memory may be part of each register's value.
    shared: Vec<bool>,
}

impl Pointers {
    /// The registers of an entry.
    pub(crate) fn of(module: &Module, entry: &Entry) -> Pointers {
        let variables = || module.shared.iter().chain(&entry.shared);
        let mut shared = vec![false; entry.regs.len()];
        loop {
            let mut changed = false;
            for i in &entry.code {
                let begins = i.op == "cvta" && !i.has("to") && i.mods.iter().any(|m| m.starts_with("shared"))
                    || matches!(i.op.as_str(), "mapa" | "call")
                    || i.args.iter().any(|a| names(a, &|n| n.contains("smem") || variables().any(|v| v.name == n)));
                // What is loaded is a pointer from memory.
                let loads = matches!(i.op.as_str(), "ld" | "ldu" | "ldmatrix" | "atom");
                let mut is = begins;
                reads(i, &mut |r| is |= shared[r as usize]);
                if is && !loads {
                    writes(i, &mut |r| changed |= !std::mem::replace(&mut shared[r as usize], true));
                }
            }
            if !changed {
                return Pointers { shared };
            }
        }
    }

    /// Whether an instruction accesses global memory, or memory by a generic address that cannot be in shared memory.
    pub(crate) fn far(&self, i: &Inst) -> bool {
        i.has("global") || self.elsewhere(i)
    }

    /// Whether an instruction accesses memory by a generic address that cannot be in shared memory.
    pub(crate) fn elsewhere(&self, i: &Inst) -> bool {
        let spaces = ["global", "local", "param", "const"];
        let generic = !i.mods.iter().any(|m| m.starts_with("shared") || spaces.contains(&m.as_str()));
        let address = match i.op.as_str() {
            "st" | "red" => i.arg(0),
            "ld" | "atom" => i.arg(1),
            // Its addresses are of other memory.
            op => return op == "multimem",
        };
        let Arg::Mem { base, .. } = address else { return false };
        let free = matches!(&**base, Arg::Reg(r) if !self.shared[*r as usize]);
        generic && free && !i.has("async") && !i.has("bulk")
    }
}

/// Whether an operand names something.
fn names(a: &Arg, f: &dyn Fn(&str) -> bool) -> bool {
    match a {
        Arg::Name(n) => f(n),
        Arg::Mem { base, .. } => names(base, f),
        Arg::List(l) => l.iter().any(|a| names(a, f)),
        _ => false,
    }
}
