//! Tensor memory: `tcgen05`.
//!
//! An address after shared memory stands for a lane and a column of tensor memory. A column has 64 addresses, 16 for
//! each of the four groups of 32 lanes. So tensor memory and shared memory use one kind of object.

use warpline_sim::ir::COLUMN_BYTES;

use crate::lift::facts::slice::writes;
use crate::lift::tree::{Effect, Fence, Run, TensorShape, Touch, Val};
use crate::lift::walk::Walk;
use crate::lift::walk::shared;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::Term;

use super::shapes::Shape;

/// The first address of tensor memory.
pub(crate) const TENSOR: i64 = 1 << 19;
/// Addresses of a column.
pub(crate) const COLUMN: i64 = COLUMN_BYTES;
/// Addresses of 32 lanes of a column.
const LANES: u32 = 16;
/// Columns of the metadata of a sparse product: 4 bits for each 4 elements of a row of 512 bits, or for each 8 of 4 bits.
/// Two products of 16 or 32 bits share them, and a bit of the descriptor says which half is meant.
const METADATA: u32 = 2;
/// What an address grows by from a lane to the next.
const ROW: i64 = 1 << 16;
/// The bit of an address that names the second 16 lanes of a group.
const UPPER: i64 = 1 << 20;

impl Walk<'_, '_> {
    pub(crate) fn tensor(&mut self, at: usize, i: &Inst) -> Result<bool, Error> {
        let pair = i.has("cta_group::2");
        let Some(kind) = i.mods.first().cloned() else { return Err(self.unknown(i)) };
        match kind.as_str() {
            "alloc" => {
                let to = self.same(i, i.arg(0), "address")?;
                let columns = self.number(i, i.arg(1), "columns")?;
                let base = self.s.tensor_at(to, columns);
                self.push(at, 0, Effect::Touch(Touch::Write, vec![(to, 4)]))?;
                self.push(at, 1, Effect::Tensor { alloc: true, base, columns, pair })?;
                // No lane goes on before all of its warp have executed it (PTX ISA, `.sync` of `tcgen05.alloc`).
                if self.lanes == u32::MAX {
                    self.push(at, 2, Effect::WarpSync)?;
                }
            }
            "dealloc" => {
                let t = self.same(i, i.arg(0), "address")?;
                let columns = self.number(i, i.arg(1), "columns")?;
                let base = self.s.arena.constant(t);
                if self.dry == 0 {
                    let base = base.ok_or_else(|| {
                        self.s.error(i, "what is given back is not known", "an address that `alloc` wrote")
                    })?;
                    self.push(at, 0, Effect::Tensor { alloc: false, base, columns, pair })?;
                }
            }
            "relinquish_alloc_permit" => {}
            "ld" | "st" => {
                let load = kind == "ld";
                let mem = i.args.iter().find(|a| matches!(a, Arg::Mem { .. })).cloned().unwrap_or(Arg::Sink);
                let t = match self.rows_of_lanes(i, &mem)? {
                    Some(first) => first,
                    None => self.same(i, &mem, "address")?,
                };
                let columns = columns_of(i).ok_or_else(|| self.unknown(i))?;
                let half = self.half(i, t);
                let quarter = Some((self.warp % 4, half));
                let mut runs = Vec::new();
                if i.has("16x32bx2") {
                    // Two accesses, the second so many columns behind the first.
                    let Some(Arg::Int(split)) = i.args.iter().find(|a| matches!(a, Arg::Int(_))) else {
                        return Err(self.unknown(i));
                    };
                    let second = self.s.arena.plus(t, *split);
                    runs.extend(self.columns(i, t, columns / 2, quarter)?);
                    runs.extend(self.columns(i, second, columns / 2, quarter)?);
                } else {
                    runs.extend(self.columns(i, t, columns, quarter)?);
                }
                self.push(at, 0, if load { Effect::TensorLoad(runs) } else { Effect::TensorStore(runs) })?;
                if load && !self.s.waits_for_loads {
                    let mut regs = Vec::new();
                    i.arg(0).each_reg(&mut |r| regs.push(r));
                    self.loading.push(regs, &mut self.s.loads);
                }
                return Ok(!load);
            }
            "wait::ld" | "wait::st" => self.push(at, 0, Effect::TensorWait(kind == "wait::ld"))?,
            "fence::before_thread_sync" => self.push(at, 0, Effect::Fence(Fence::TensorBefore))?,
            "fence::after_thread_sync" => self.push(at, 0, Effect::Fence(Fence::TensorAfter))?,
            "commit" => {
                let bar = self.same(i, i.arg(0), "address")?;
                let multicast = match i.args.get(1) {
                    Some(a) if i.has("multicast::cluster") => Some(self.mask(i, a)?),
                    _ => None,
                };
                let (bar, cta) = self.s.remote(bar);
                self.push(at, 0, Effect::TensorCommit { bar, multicast, cta })?;
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
                // A row of bytes from each lane.
                let shape = TensorShape { rows: lanes, columns: 0, depth: bits / 8, bits: 8 };
                self.push(at, 0, Effect::TensorProduct { a: from, at: Vec::new(), b: Vec::new(), d, pair, shape })?;
            }
            "mma" => self.tensor_product(at, i)?,
            _ => return Err(self.unknown(i)),
        }
        Ok(true)
    }

    fn tensor_product(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        // Half of the elements of a sparse operand are left out. The address of its metadata stands before the descriptor.
        let sparse = i.has("sp");
        let behind = usize::from(sparse);
        // A weight-stationary product of fewer rows spreads its columns over all lanes.
        let stationary = i.has("ws");
        let (bits, mut k) = if i.has("kind::f16") {
            (16, 16)
        } else if i.has("kind::tf32") {
            (32, 8)
        } else if i.mods.iter().any(|m| m.starts_with("kind::mxf4")) {
            (4, 64)
        } else {
            (8, 32)
        };
        let scaled = i.has("block_scale");
        let idesc = self.same(i, i.arg(3 + behind), "instruction descriptor")?;
        if self.dry > 0 {
            return Ok(());
        }
        let Shape { m, n, trans_a, trans_b, longer } = self.shape(i, idesc, scaled)?;
        if i.mods.iter().any(|m| m.ends_with("f8f6f4")) {
            self.note_elements(at, idesc);
        }
        // Bytes along k: 32, or 48 in the longer form.
        let longer = longer && bits == 4;
        if sparse && (stationary || longer) {
            return Err(self.unknown(i));
        }
        if longer {
            k = 96;
        }
        let depth = if longer { 48 } else { 32 };
        let d = self.same(i, i.arg(0), "address")?;
        // Each CTA of a pair holds half of the rows. With 128 rows, it holds half of the columns side by side. It also
        // holds half of the rows of the right operand.
        let pair = i.has("cta_group::2");
        let half = |n: u32| if pair { n / 2 } else { n };
        // 64 rows are 16 lanes of each group.
        let packed = m == 64 && !pair && !stationary;
        let columns = match (stationary, pair && m == 128 && !scaled) {
            (true, _) => (n * m).div_ceil(128),
            (false, true) => n / 2,
            (false, false) => n,
        };
        let d = self.rows(i, d, columns, packed)?;
        let (a, mut reads) = match i.arg(1) {
            mem @ Arg::Mem { .. } => {
                let t = self.same(i, mem, "address")?;
                (Vec::new(), self.rows(i, t, 32 / 4, packed)?)
            }
            a => (self.described(i, a, if scaled { 128 } else { half(m) }, depth, bits, trans_a, k)?, Vec::new()),
        };
        let denser = if sparse { 2 } else { 1 };
        let b = self.described(i, i.arg(2), half(n), depth * denser, bits, trans_b, k * denser)?;
        if sparse {
            let t = self.same(i, i.arg(3), "address")?;
            self.s.assume(i.line, "the metadata of a sparse product takes two columns");
            reads.extend(self.columns(i, t, METADATA, None)?);
        }
        // Scale factors are in tensor memory: a column for each 32 rows of A, then one for each 32 columns of B.
        let scales = i.args_from(4 + behind).iter().filter(|a| scaled && matches!(a, Arg::Mem { .. }));
        for (arg, rows) in scales.zip([128, n]) {
            let t = self.same(i, arg, "address")?;
            reads.extend(self.columns(i, t, rows.div_ceil(32), None)?);
            if longer && i.has("block16") {
                // Six factors of a row: four in these columns, and two in those of the next 64 elements.
                self.s.assume(i.line, "the last scale factors of a product of 96 elements along k are 4 columns behind the first, for each 128 rows");
                let next = self.s.arena.plus(t, i64::from(rows.div_ceil(128) * 4));
                reads.extend(self.columns(i, next, rows.div_ceil(32), None)?);
            }
        }
        let shape =
            TensorShape { rows: if scaled { 128 } else { half(m) }, columns: half(n), depth: depth * 8 / bits, bits };
        self.push(at, 0, Effect::TensorProduct { a, at: reads, b, d, pair, shape })
    }

    /// A use of a register that `tcgen05.ld` loads, in a text that never waits for loads: loads of a warp arrive in
    /// order.
    pub(crate) fn loaded(&mut self, at: usize, i: &Inst) -> Result<(), Error> {
        let mut last = None;
        let mut written = Vec::new();
        writes(i, &mut |r| written.push(r));
        let args = if written.is_empty() { &i.args[..] } else { i.args_from(1) };
        args.iter().for_each(|a| a.each_reg(&mut |r| last = last.max(self.loading.newest(r))));
        let Some(n) = last else { return Ok(()) };
        if self.unsure > 0 {
            // The wait stands behind the branch, where it also counts for lanes that do not use the registers.
            self.loading.used_behind(n, i.line);
            return Ok(());
        }
        let all = self.loading.arrived(n);
        if all {
            self.s.assume(i.line, "`tcgen05.ld` has loaded a register when an instruction uses it, as this text has no `tcgen05.wait::ld`");
            self.push(at, 7, Effect::TensorWait(true))?;
        }
        Ok(())
    }

    /// The addresses of columns of an operand: of all lanes, or of 16 lanes of each group.
    fn rows(&mut self, i: &Inst, t: Term, n: u32, packed: bool) -> Result<Vec<Run>, Error> {
        if !packed {
            return self.columns(i, t, n, None);
        }
        let half = Some(self.upper(t));
        let mut runs = Vec::new();
        for group in 0..4 {
            runs.extend(self.columns(i, t, n, Some((group, half)))?);
        }
        Ok(runs)
    }

    /// Whether an address names the second 16 lanes of a group.
    fn upper(&self, t: Term) -> u32 {
        (self.s.arena.parts(t).0 >> 20 & 1) as u32
    }

    /// Which half of its group of lanes a warp accesses, where an instruction accesses 16 lanes.
    fn half(&self, i: &Inst, t: Term) -> Option<u32> {
        let halves = i.mods.iter().any(|m| m.starts_with("16x"));
        halves.then(|| self.upper(t))
    }

    /// The first lane's address, where each lane adds the row that `32x32b` gives to it. PTX wants one address of all lanes
    /// and says nothing of this case. The row of a lane is the same by its own address and by the first one.
    fn rows_of_lanes(&mut self, i: &Inst, mem: &Arg) -> Result<Option<Term>, Error> {
        let Val::Lanes(list) = self.operand(mem)? else { return Ok(None) };
        if !i.has("32x32b") || self.lanes != u32::MAX || self.dry > 0 {
            return Ok(None);
        }
        for (lane, t) in (0..).zip(list.iter()) {
            let more = self.s.arena.sub(*t, list[0]);
            if self.s.arena.constant(more) != Some(lane * ROW) {
                return Ok(None);
            }
        }
        let what =
            "where each lane adds its row to the address of `tcgen05.ld` and `st`, the first lane's address counts";
        self.s.assume(i.line, what);
        Ok(Some(list[0]))
    }

    /// The addresses of columns: of all lanes, or of one group of lanes or its first or second half.
    fn columns(&mut self, i: &Inst, t: Term, n: u32, quarter: Option<(u32, Option<u32>)>) -> Result<Vec<Run>, Error> {
        if self.dry > 0 {
            return Ok(Vec::new());
        }
        let (k, parts) = self.s.arena.parts(t);
        // The warp determines the lanes, but for the half of 16 lanes; the column is the lower half of an address.
        let (halves, parts): (Vec<_>, Vec<_>) = parts.iter().copied().partition(|(_, c)| c % UPPER == 0);
        let upper = self.s.arena.sum(k >> 20 & 1, halves.iter().map(|(t, c)| (*t, c / UPPER)).collect());
        let in_halves = halves.is_empty() || matches!(quarter, Some((_, Some(_)))) && self.s.arena.is_boolean(upper);
        let column = self.s.arena.sum(k & 0xffff, parts.clone());
        let (low, high) = self.s.arena.range(column);
        if low < 0 || high >= 1 << 16 || parts.iter().any(|(_, c)| c.abs() >= 1 << 16) || !in_halves {
            let message = format!("the address in tensor memory is not followed: {}", self.s.arena.show(t));
            return Err(self.s.error(i, message, "a lane that is known and a column over loop counters"));
        }
        let halves = halves.into_iter().map(|(t, c)| (t, c / UPPER * i64::from(LANES / 2)));
        let columns: Vec<(Term, i64)> = parts.iter().map(|(t, c)| (*t, c * COLUMN)).chain(halves).collect();
        let first = TENSOR + (k & 0xffff) * COLUMN;
        Ok(match quarter {
            None => vec![(self.s.arena.sum(first, columns), n * COLUMN as u32)],
            Some((q, half)) => {
                let lanes = if half.is_some() { LANES / 2 } else { LANES };
                let from = (q * LANES + half.unwrap_or(0) * lanes) as i64;
                let one = |c: i64| (self.s.arena.sum(first + c * COLUMN + from, columns.clone()), lanes);
                (0..n as i64).map(one).collect()
            }
        })
    }

    /// The result of a load from an address that `alloc` wrote, where nothing else was stored there before.
    pub(crate) fn allocated_at(&mut self, at: usize, v: &Val) -> Option<Term> {
        let to = v.uniform(self.lanes)?;
        let base = *self.s.tensors.get(&to)?;
        let flow = self.s.flow;
        let stored = self.s.overwritten.get(&to).is_some_and(|list| list.iter().any(|s| flow.reaches(*s, at)));
        (!stored).then(|| self.s.arena.int(base))
    }

    /// Notes a store to an address that `alloc` writes.
    pub(crate) fn overwrites(&mut self, at: usize, e: &Effect) {
        let runs = match e {
            Effect::Touch(Touch::Read, _) => return,
            Effect::Touch(_, runs) if self.inst(at).op != "tcgen05" => runs,
            _ => return,
        };
        let arena = &self.s.arena;
        // In a loop that is being solved, addresses other than constants are not known yet.
        let known = |t: Term| self.dry == 0 || arena.constant(t).is_some();
        let meets =
            |to: i64, (t, n): &Run| known(*t) && arena.range(*t).0 < to + 4 && to < arena.range(*t).1 + i64::from(*n);
        let to = |t: &Term| arena.constant(*t).is_none_or(|to| runs.iter().any(|run| meets(to, run)));
        let found: Vec<Term> = self.s.tensors.keys().copied().filter(to).collect();
        for t in found {
            self.s.overwritten.entry(t).or_default().insert(at);
        }
    }
}

impl shared::Shared<'_> {
    /// The first column of an allocation: after those of earlier allocations.
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
