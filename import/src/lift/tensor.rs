//! Tensor memory: `tcgen05`.
//!
//! A lane and column of tensor memory is an address behind shared memory: 64 a column, 16 for each of the four groups of 32
//! lanes, so that one kind of object serves both.

use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::Term;

use super::tree::{Effect, Fence, Run, Touch, Val};
use super::walk::Walk;

/// Where tensor memory begins among addresses.
pub(super) const TENSOR: i64 = 1 << 19;
/// Addresses of a column.
const COLUMN: i64 = 64;
/// Addresses of 32 lanes of a column.
const LANES: u32 = 16;

impl Walk<'_, '_> {
    pub(super) fn tensor(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        if i.has("cta_group::2") {
            return Err(self.unknown(i));
        }
        let Some(kind) = i.mods.first().cloned() else { return Err(self.unknown(i)) };
        match kind.as_str() {
            "alloc" => {
                let to = self.same(i, i.arg(0), "address")?;
                let columns = self.number(i, i.arg(1), "columns")?;
                let base = self.s.tensor_at(to, columns);
                self.push(at, 0, Effect::Touch(Touch::Write, vec![(to, 4)]))?;
                self.push(at, 1, Effect::TensorAlloc(base, columns))?;
            }
            "dealloc" => {
                let t = self.same(i, i.arg(0), "address")?;
                let columns = self.number(i, i.arg(1), "columns")?;
                let base = self.s.arena.constant(t);
                if self.dry == 0 {
                    let base = base.ok_or_else(|| {
                        self.s.error(i, "what is given back is not known", "an address that `alloc` wrote")
                    })?;
                    self.push(at, 0, Effect::TensorFree(base, columns))?;
                }
            }
            "relinquish_alloc_permit" => {}
            "ld" | "st" => {
                let load = kind == "ld";
                let mem = i.args.iter().find(|a| matches!(a, Arg::Mem { .. })).cloned().unwrap_or(Arg::Sink);
                let t = self.same(i, &mem, "address")?;
                let columns = columns_of(i).ok_or_else(|| self.unknown(i))?;
                let runs = self.columns(i, t, columns, Some(self.warp % 4))?;
                self.push(at, 0, if load { Effect::TensorLoad(runs) } else { Effect::TensorStore(runs) })?;
                return Ok(!load);
            }
            "wait::ld" | "wait::st" => self.push(at, 0, Effect::TensorWait(kind == "wait::ld"))?,
            "fence::before_thread_sync" => self.push(at, 0, Effect::Fence(Fence::TensorBefore))?,
            "fence::after_thread_sync" => self.push(at, 0, Effect::Fence(Fence::TensorAfter))?,
            "commit" => {
                let bar = self.same(i, i.arg(0), "address")?;
                if i.args.len() > 1 {
                    return Err(self.unknown(i));
                }
                self.push(at, 0, Effect::TensorCommit(bar))?;
            }
            "cp" => {
                let to = self.same(i, i.arg(0), "address")?;
                let shape = i.mods.iter().find_map(|m| {
                    m.split_once('x')
                        .and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.trim_end_matches('b').parse::<u32>().ok()?)))
                });
                let (lanes, bits) = shape.ok_or_else(|| self.unknown(i))?;
                let from = self.described(i, i.arg(1), lanes, bits / 8, 8, false, bits / 8)?;
                let d = self.columns(i, to, (bits / 32).max(1), None)?;
                self.push(at, 0, Effect::TensorProduct { a: from, at: Vec::new(), b: Vec::new(), d })?;
            }
            "mma" => self.tensor_product(at, i)?,
            _ => return Err(self.unknown(i)),
        }
        Ok(true)
    }

    fn tensor_product(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        if i.has("sp") || i.has("ws") {
            return Err(self.unknown(i));
        }
        let (bits, k) = if i.has("kind::f16") {
            (16, 16)
        } else if i.has("kind::tf32") {
            (32, 8)
        } else if i.mods.iter().any(|m| m.starts_with("kind::mxf4")) {
            (4, 64)
        } else {
            (8, 32)
        };
        let scaled = i.has("block_scale");
        let idesc = self.number(i, i.arg(3), "instruction descriptor")?;
        if self.dry > 0 {
            return Ok(());
        }
        let n = ((idesc >> 17 & 63) * 8) as u32;
        let m = if scaled { 128 } else { ((idesc >> 24 & 31) * 16) as u32 };
        let (trans_a, trans_b) = (idesc >> 15 & 1 == 1, idesc >> 16 & 1 == 1);
        let d = self.same(i, i.arg(0), "address")?;
        let d = self.columns(i, d, n, None)?;
        let (a, mut reads) = match i.arg(1) {
            mem @ Arg::Mem { .. } => {
                let t = self.same(i, mem, "address")?;
                (Vec::new(), self.columns(i, t, 32 / 4, None)?)
            }
            a => (self.described(i, a, m, 32, bits, trans_a, k)?, Vec::new()),
        };
        let b = self.described(i, i.arg(2), n, 32, bits, trans_b, k)?;
        // Scales stand in tensor memory, a few columns each.
        for arg in i.args_from(4).iter().filter(|a| scaled && matches!(a, Arg::Mem { .. })) {
            let t = self.same(i, arg, "address")?;
            reads.extend(self.columns(i, t, 4, None)?);
        }
        self.push(at, 0, Effect::TensorProduct { a, at: reads, b, d })
    }

    /// The addresses of columns: of one group of lanes, or of all.
    fn columns(&mut self, i: &Inst, t: Term, n: u32, quarter: Option<u32>) -> Result<Vec<Run>, Error> {
        if self.dry > 0 {
            return Ok(Vec::new());
        }
        let (k, parts) = self.s.arena.parts(t);
        let (low, high) = self.s.arena.range(t);
        if low < 0 || high >= 1 << 23 || parts.iter().any(|(_, c)| c.abs() >= 1 << 16) {
            let message = format!("the address in tensor memory is not followed: {}", self.s.arena.show(t));
            return Err(self.s.error(i, message, "a lane that is known and a column over loop counters"));
        }
        let columns: Vec<(Term, i64)> = parts.iter().map(|(t, c)| (*t, c * COLUMN)).collect();
        let first = TENSOR + (k & 0xffff) * COLUMN;
        Ok(match quarter {
            None => vec![(self.s.arena.sum(first, columns), n * COLUMN as u32)],
            Some(q) => (0..n as i64)
                .map(|c| (self.s.arena.sum(first + c * COLUMN + (q * LANES) as i64, columns.clone()), LANES))
                .collect(),
        })
    }

    /// What a load of an address that `alloc` wrote gives.
    pub(super) fn allocated_at(&mut self, v: &Val) -> Option<Term> {
        let base = *self.s.tensors.get(&v.uniform(self.lanes)?)?;
        Some(self.s.arena.int(base))
    }
}

impl super::walk::Shared<'_> {
    /// The first column that an allocation gets: behind those before it.
    fn tensor_at(&mut self, to: Term, columns: i64) -> i64 {
        if let Some(base) = self.tensors.get(&to) {
            return *base;
        }
        let base = self.columns;
        self.tensors.insert(to, base);
        self.columns += columns;
        base
    }
}

/// Columns that `ld` and `st` move.
fn columns_of(i: &Inst) -> Option<u32> {
    let times: u32 = i.mods.iter().find_map(|m| m.strip_prefix('x')?.parse().ok())?;
    let each = i.mods.iter().find_map(|m| match m.as_str() {
        "32x32b" => Some(1),
        "16x64b" | "16x32bx2" => Some(2),
        "16x128b" => Some(4),
        "16x256b" => Some(8),
        _ => None,
    })?;
    Some(times * each)
}
