//! Whether a kernel's expressions keep their meaning when its loops are shifted by a period and its trip count grows by
//! the same: then what holds for one long run holds for all longer ones (proof.md, formulation A, condition 1).
//!
//! The same kernel compiled for two trip counts a period apart is compared instruction by instruction: a constant that
//! grew is counted from the end, one that did not is absolute.

use std::collections::BTreeMap;

use warpline_sim::ir::{BarRef, Instr, MbarId, Op, Phase, Place, Program, Where, Who};

use crate::even::{self, Even};
use crate::exprs::global;

/// Why a kernel is not uniform.
pub(crate) type Reason = String;

/// The check of one kernel.
pub(crate) struct Shift<'p> {
    short: &'p Program,
    long: &'p Program,
    period: i64,
    /// Variables that move inside the loops that grow.
    inside: Vec<bool>,
    even: Even,
    /// How far each mbarrier's phase moves in a period, by declaration; `None` where its stages disagree.
    phases: BTreeMap<MbarId, Option<i64>>,
}

impl<'p> Shift<'p> {
    pub(crate) fn new(
        short: &'p Program,
        long: &'p Program,
        period: i64,
        inside: Vec<bool>,
        phases: BTreeMap<MbarId, Option<i64>>,
    ) -> Self {
        let even = Even { period, moving: vec![false; inside.len()], threshold: 0, sizes: even::sizes(short) };
        Shift { short, long, period, inside, even, phases }
    }

    /// Checks all code, and gives the value that moving variables must have passed for their comparisons with what
    /// stands still to have settled.
    pub(crate) fn check(&mut self) -> Result<i64, Reason> {
        let (short, long) = (self.short, self.long);
        if short.code.len() != long.code.len() || short.loops.len() != long.loops.len() {
            return Err("the kernel has other instructions at another trip count".into());
        }
        let grown = grown(short, long);
        if grown.is_empty() {
            return Err("no loop grows with the trip count".into());
        }
        let mut was_inside = false;
        for (pc, (a, b)) in short.code.iter().zip(&long.code).enumerate() {
            let inside = grown.iter().any(|g| (g.0..g.1).contains(&(pc as u32)));
            if inside || was_inside {
                // Behind a loop its variables hold what they held in it.
                for (now, moves) in self.even.moving.iter_mut().zip(&self.inside) {
                    *now |= moves;
                }
            }
            was_inside = inside;
            self.instr(a, b, inside).map_err(|why| {
                let site = short.site(pc as u32);
                format!("line {}: `{}`: {why}", site.line, site.text)
            })?;
        }
        Ok(self.even.threshold)
    }

    fn instr(&mut self, a: &Instr, b: &Instr, inside: bool) -> Result<(), Reason> {
        match (a, b) {
            (Instr::Set(v, x), Instr::Set(w, y)) if v == w => {
                let by = self.even.shift(x, y)?;
                let v = *v as usize;
                let want = if self.inside[v] { self.period } else { 0 };
                // Inside, a variable moves from step to step as the states say. Outside it holds something counted from
                // the start or from the end, whichever was written last.
                if inside && by != want {
                    return Err(format!("a variable moves by {by} in a period, not {want}"));
                }
                if by != 0 && by != self.period {
                    return Err(format!("a variable moves by {by} in a period"));
                }
                self.even.moving[v] = by != 0;
                Ok(())
            }
            (Instr::Jump(x), Instr::Jump(y)) if x == y => Ok(()),
            (Instr::Unless(x, to), Instr::Unless(y, too)) if to == too => self.still(x, y),
            (Instr::Only(Who::Cta(x), to), Instr::Only(Who::Cta(y), too)) if to == too => self.still(x, y),
            (Instr::Only(x, to), Instr::Only(y, too)) if to == too && x == y => Ok(()),
            (Instr::End, Instr::End) => Ok(()),
            (Instr::Op { op: x, .. }, Instr::Op { op: y, .. }) => self.op(x, y),
            _ => Err("the kernel has other instructions at another trip count".into()),
        }
    }

    fn still(&mut self, a: &warpline_sim::ir::Expr, b: &warpline_sim::ir::Expr) -> Result<(), Reason> {
        match self.even.shift(a, b)? {
            0 => Ok(()),
            by => Err(format!("a number that must repeat moves by {by} in a period")),
        }
    }

    fn op(&mut self, a: &Op, b: &Op) -> Result<(), Reason> {
        let other = || Err("the kernel has other instructions at another trip count".to_string());
        match (a, b) {
            (
                Op::Move { src: s, dst: d, signals: g, multicast: m, how: h, crew: c, .. },
                Op::Move { src: s2, dst: d2, signals: g2, multicast: m2, how: h2, crew: c2, .. },
            ) if h == h2 && c == c2 => {
                self.place(s, s2)?;
                self.place(d, d2)?;
                match (g, g2) {
                    (Some(x), Some(y)) => self.bar(x, y)?,
                    (None, None) => {}
                    _ => return other(),
                }
                match (m, m2) {
                    (Some(x), Some(y)) => self.still(x, y),
                    (None, None) => Ok(()),
                    _ => other(),
                }
            }
            (Op::Mma { a, b, acc, kind: k }, Op::Mma { a: a2, b: b2, acc: acc2, kind: k2 }) if k == k2 => {
                self.place(a, a2)?;
                self.place(b, b2)?;
                self.place(acc, acc2)
            }
            (Op::Wait(q, n), Op::Wait(q2, n2)) if q == q2 => self.still(n, n2),
            (Op::MbarWait { bar, phase }, Op::MbarWait { bar: bar2, phase: phase2 }) => {
                self.bar(bar, bar2)?;
                self.phase(bar, phase, phase2)
            }
            (
                Op::Arrive { bar, count, expect, per, relaxed, cluster },
                Op::Arrive { bar: bar2, count: count2, expect: expect2, per: p2, relaxed: r2, cluster: c2 },
            ) if (per, relaxed, cluster) == (p2, r2, c2) => {
                self.bar(bar, bar2)?;
                self.still(count, count2)?;
                match (expect, expect2) {
                    (Some(x), Some(y)) => self.still(x, y),
                    (None, None) => Ok(()),
                    _ => Err("the bytes expected do not repeat".into()),
                }
            }
            (Op::Expect { bar, bytes }, Op::Expect { bar: bar2, bytes: bytes2 }) => {
                self.bar(bar, bar2)?;
                self.still(bytes, bytes2)
            }
            (Op::CpArrive { bar, noinc }, Op::CpArrive { bar: bar2, noinc: n2 }) if noinc == n2 => self.bar(bar, bar2),
            (Op::CommitUmma(x), Op::CommitUmma(y)) if x.len() == y.len() => {
                x.iter().zip(y).try_for_each(|(x, y)| self.bar(x, y))
            }
            (
                Op::Named { bar, index: i, threads: t, sync },
                Op::Named { bar: b2, index: i2, threads: t2, sync: s2 },
            ) if (bar, sync) == (b2, s2) => {
                self.still(i, i2)?;
                self.still(t, t2)
            }
            (Op::Alu { reads: r, writes: w, count: c, .. }, Op::Alu { reads: r2, writes: w2, count: c2, .. })
                if r.len() == r2.len() && w.len() == w2.len() =>
            {
                self.still(c, c2)?;
                r.iter().zip(r2).chain(w.iter().zip(w2)).try_for_each(|(x, y)| self.place(x, y))
            }
            (Op::Zero(x), Op::Zero(y)) => self.place(x, y),
            (Op::Put { .. } | Op::Get { .. } | Op::NextTile { .. }, _) => {
                Err("values computed at run time decide".into())
            }
            // What is left has no expression in it.
            (x, y) if x == y => Ok(()),
            _ => other(),
        }
    }

    fn phase(&mut self, bar: &BarRef, a: &Phase, b: &Phase) -> Result<(), Reason> {
        match (a, b) {
            (Phase::Absolute(x), Phase::Absolute(y)) => {
                let by = self.even.shift(x, y)?;
                match self.phases.get(&bar.bar) {
                    Some(Some(moved)) if *moved == by => Ok(()),
                    _ => Err(format!("the phase waited for moves by {by} in a period, the barrier otherwise")),
                }
            }
            (Phase::Parity(x), Phase::Parity(y)) if self.even.shift(x, y)? % 2 == 0 => Ok(()),
            _ => Err("the parity waited for does not repeat".into()),
        }
    }

    fn bar(&mut self, a: &BarRef, b: &BarRef) -> Result<(), Reason> {
        self.still(&a.stage, &b.stage)?;
        match (&a.at, &b.at) {
            (Where::Cta(x), Where::Cta(y)) | (Where::Ctas(x), Where::Ctas(y)) => self.still(x, y),
            (Where::Own, Where::Own) => Ok(()),
            _ => Err("the CTA signalled does not repeat".into()),
        }
    }

    /// Slots and parts repeat; tiles move on.
    fn place(&mut self, a: &Place, b: &Place) -> Result<(), Reason> {
        let global = global(self.short, a);
        if a.at.len() != b.at.len() || a.tile.is_some() != b.tile.is_some() {
            return Err("the kernel has other instructions at another trip count".into());
        }
        for (x, y) in a.at.iter().zip(&b.at) {
            let by = self.even.shift(x, y)?;
            if by != 0 && !(global && by == self.period) {
                return Err(format!("an index moves by {by} in a period"));
            }
            if by != 0 {
                self.even.reaches_back(x);
            }
        }
        if let (Some(x), Some(y)) = (&a.cta, &b.cta) {
            self.still(x, y)?;
        }
        self.parts(&a.sel, &b.sel)?;
        if let (Some(x), Some(y)) = (&a.tile, &b.tile) {
            for (x, y) in x.at.iter().zip(&y.at) {
                let by = self.even.shift(x, y)?;
                if by != 0 && by != self.period {
                    return Err(format!("the tile expected moves by {by} in a period"));
                }
            }
            self.parts(&x.sel, &y.sel)?;
        }
        Ok(())
    }

    fn parts(&mut self, a: &warpline_sim::ir::Sel, b: &warpline_sim::ir::Sel) -> Result<(), Reason> {
        let parts = a.rows.iter().zip(&b.rows).chain(a.cols.iter().zip(&b.cols));
        for (x, y) in parts {
            self.still(&x.index, &y.index)?;
        }
        Ok(())
    }
}

/// First and last instruction of the loops whose bounds differ between two trip counts.
pub(crate) fn grown(short: &Program, long: &Program) -> Vec<(u32, u32)> {
    let pairs = short.loops.iter().zip(&long.loops);
    pairs.filter(|(a, b)| a.bound != b.bound).map(|(a, _)| (a.head, a.end)).collect()
}
