//! Atomic accesses to shared memory.

use crate::lift::facts::slice::{reads, writes};
use crate::lift::tree::{Run, Touch};
use crate::lift::walk::Walk;
use crate::lift::walk::values::bytes_of;
use crate::ptx::{Arg, Error, Inst};

impl Walk<'_, '_> {
    /// Whether a branch that is followed, or what other threads read, depends on the result of an instruction. All warps
    /// get one answer.
    fn orders(&mut self, at: usize, i: &Inst) -> bool {
        if let Some(known) = self.s.orders.get(&at) {
            return *known;
        }
        let found = self.found_to_order(i);
        self.s.orders.insert(at, found);
        found
    }

    fn found_to_order(&self, i: &Inst) -> bool {
        let code = &self.s.entry.code;
        let mut known = vec![false; self.s.need.len()];
        writes(i, &mut |r| known[r as usize] = true);
        loop {
            let mut changed = false;
            for (_, x) in code.iter().enumerate().filter(|(at, _)| !self.s.idle.contains(at)) {
                let guarded = x.guard.is_some_and(|(p, _)| known[p as usize]);
                let global = self.s.pointers.far(x);
                let mut read = false;
                reads(x, &mut |r| read |= known[r as usize]);
                let stored = matches!(x.op.as_str(), "st" | "atom" | "red" | "bar" | "barrier") && !global;
                let mut value = false;
                let operands = x.args_from(usize::from(matches!(x.op.as_str(), "atom" | "bar" | "barrier")));
                for a in operands.iter().filter(|a| !matches!(a, Arg::Mem { .. })) {
                    a.each_reg(&mut |r| value |= known[r as usize]);
                }
                if guarded || stored && value {
                    return true;
                }
                // What is loaded from a place that the result chooses is data of another thread.
                if read && !matches!(x.op.as_str(), "ld" | "atom") {
                    writes(x, &mut |r| changed |= !std::mem::replace(&mut known[r as usize], true));
                }
            }
            if !changed {
                return false;
            }
        }
    }

    /// An atomic access to shared memory at the `n`-th operand. The address may depend on data, as in a histogram.
    pub(crate) fn atomic(&mut self, at: usize, i: &Inst, n: usize) -> Result<(), Error> {
        let decides = self.s.is_needed(i);
        let orders = decides && n > 0 && self.orders(at, i);
        if decides && n > 0 && self.s.timing.is_some() {
            let message = format!("the result of `{}` decides operations or addresses", i.name());
            return Err(self.s.error(i, message, "an atomic access whose result is data"));
        }
        // Its result is data. Threads that take turns by it, or the last one that comes, may be in order.
        if orders {
            self.s.ordered_at.get_or_insert(i.line);
        }
        let v = self.address(i.arg(n))?;
        let bytes = bytes_of(i);
        let mut somewhere: Vec<Run> = Vec::new();
        let mut known = self.lanes;
        let executing = self.lanes;
        for l in (0..32).filter(|l| executing >> l & 1 == 1) {
            let t = v.at(l);
            if !self.opaque(t) && !self.s.arena.reads_memory(t) {
                continue;
            }
            let (low, high) = self.bounds(t, l);
            if (0..=high).contains(&low) && high < 1 << 20 {
                somewhere.push((self.s.arena.int(low), (high - low) as u32 + bytes));
                known &= !(1 << l);
            }
        }
        let all = std::mem::replace(&mut self.lanes, known);
        let placed = self.placed(i, &v, bytes, 32);
        let runs = if matches!(placed, Some((_, true))) { Ok(Vec::new()) } else { self.runs(i, &v, bytes, 32) };
        self.lanes = all;
        let mut runs = runs?;
        if let Some((anywhere, true)) = placed {
            runs.extend(anywhere);
            runs.extend(somewhere);
            return self.scatter(at, Touch::Atomic, runs, true);
        }
        if !somewhere.is_empty() {
            self.s.assume(
                i.line,
                "a word that says where an atomic access goes is any that the branches around it allow",
            );
        }
        runs.extend(somewhere);
        runs.sort_unstable();
        runs.dedup();
        self.access(at, i, Touch::Atomic, runs, None)
    }
}
