//! Atomic accesses to shared memory.

use crate::ptx::{Error, Inst};

use super::slice::writes;
use super::tree::{Run, Touch};
use super::values::bytes_of;
use super::walk::Walk;

impl Walk<'_, '_> {
    /// An atomic access to shared memory at the `n`-th operand. The address may depend on data, as in a histogram.
    pub(super) fn atomic(&mut self, at: usize, i: &Inst, n: usize) -> Result<(), Error> {
        let mut decides = false;
        writes(i, &mut |r| decides |= self.s.need[r as usize]);
        if decides && n > 0 && self.s.timing.is_some() {
            let message = format!("the result of `{}` decides operations or addresses", i.name());
            return Err(self.s.error(i, message, "an atomic access whose result is data"));
        }
        // Its result is data. Threads that take turns by it, or the last one that comes, may be in order.
        if decides && n > 0 {
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
