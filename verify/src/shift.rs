//! Whether a kernel's expressions keep their meaning when its loops are shifted by a period and its trip count grows by
//! the same: then what holds for one long run holds for all longer ones (proof.md, formulation A, condition 1).
//!
//! The same kernel compiled for two trip counts a period apart is compared instruction by instruction: a constant that
//! grew by the period is a bound, one that did not is absolute.

use std::collections::BTreeMap;

use warpline_sim::ir::{BarRef, Binary, Expr, Instr, MbarId, Op, Phase, Place, Program};

/// Why a kernel is not uniform.
pub(crate) type Reason = String;

/// The check of one kernel.
pub(crate) struct Shift<'p> {
    short: &'p Program,
    long: &'p Program,
    period: i64,
    /// Variables that move with the loop, or hold a bound.
    moving: Vec<bool>,
    /// How far each mbarrier's phase moves in a period, by declaration; `None` where its stages disagree.
    phases: BTreeMap<MbarId, Option<i64>>,
    /// Largest constant that a moving number is compared with.
    pub(crate) threshold: i64,
}

impl<'p> Shift<'p> {
    pub(crate) fn new(
        short: &'p Program,
        long: &'p Program,
        period: i64,
        mut moving: Vec<bool>,
        phases: BTreeMap<MbarId, Option<i64>>,
    ) -> Self {
        for (a, b) in short.code.iter().zip(&long.code) {
            if let (Instr::Set(v, Expr::Const(x)), Instr::Set(_, Expr::Const(y))) = (a, b)
                && y - x == period
            {
                moving[*v as usize] = true;
            }
        }
        Shift { short, long, period, moving, phases, threshold: 0 }
    }

    /// Checks the bodies of all loops whose bound grows with the trip count.
    pub(crate) fn check(&mut self) -> Result<(), Reason> {
        if self.short.code.len() != self.long.code.len() {
            return Err("the kernel has other instructions at another trip count".into());
        }
        let bodies: Vec<_> =
            self.short.loops.iter().filter(|l| l.var.is_some_and(|v| self.moving[v as usize])).cloned().collect();
        if bodies.is_empty() {
            return Err("no loop grows with the trip count".into());
        }
        for l in &bodies {
            for pc in l.head..l.end {
                let (a, b) = (&self.short.code[pc as usize], &self.long.code[pc as usize]);
                self.instr(a, b).map_err(|why| {
                    let site = self.short.site(pc);
                    format!("line {}: `{}`: {why}", site.line, site.text)
                })?;
            }
        }
        Ok(())
    }

    fn instr(&mut self, a: &Instr, b: &Instr) -> Result<(), Reason> {
        match (a, b) {
            (Instr::Set(v, x), Instr::Set(w, y)) if v == w => {
                let by = self.shift(x, y)?;
                let want = if self.moving[*v as usize] { self.period } else { 0 };
                // An inner loop's index starts afresh in each step; it stands still from state to state.
                if by == want { Ok(()) } else { Err(format!("a variable moves by {by} in a period, not {want}")) }
            }
            (Instr::Jump(x), Instr::Jump(y)) if x == y => Ok(()),
            (Instr::Unless(x, to), Instr::Unless(y, too)) if to == too => self.still(x, y),
            (Instr::Only(x, to), Instr::Only(y, too)) if to == too && x == y => Ok(()),
            (Instr::End, Instr::End) => Ok(()),
            (Instr::Op { op: x, .. }, Instr::Op { op: y, .. }) => self.op(x, y),
            _ => Err("the kernel has other instructions at another trip count".into()),
        }
    }

    fn still(&mut self, a: &Expr, b: &Expr) -> Result<(), Reason> {
        match self.shift(a, b)? {
            0 => Ok(()),
            by => Err(format!("a number that must repeat moves by {by} in a period")),
        }
    }

    fn op(&mut self, a: &Op, b: &Op) -> Result<(), Reason> {
        match (a, b) {
            (
                Op::Move { src: s, dst: d, signals: g, multicast: m, how: h, crew: c, .. },
                Op::Move { src: s2, dst: d2, signals: g2, multicast: m2, how: h2, crew: c2, .. },
            ) if h == h2 && c == c2 => {
                self.place(s, s2)?;
                self.place(d, d2)?;
                if let (Some(x), Some(y)) = (g, g2) {
                    self.bar(x, y)?;
                }
                if let (Some(x), Some(y)) = (m, m2) {
                    self.still(x, y)?;
                }
                Ok(())
            }
            (Op::Mma { a, b, acc, .. }, Op::Mma { a: a2, b: b2, acc: acc2, .. }) => {
                self.place(a, a2)?;
                self.place(b, b2)?;
                self.place(acc, acc2)
            }
            (Op::Wait(q, n), Op::Wait(q2, n2)) if q == q2 => self.still(n, n2),
            (Op::MbarWait { bar, phase }, Op::MbarWait { bar: bar2, phase: phase2 }) => {
                self.bar(bar, bar2)?;
                match (phase, phase2) {
                    (Phase::Absolute(x), Phase::Absolute(y)) => {
                        let by = self.shift(x, y)?;
                        match self.phases.get(&bar.bar) {
                            Some(Some(moved)) if *moved == by => Ok(()),
                            _ => Err(format!("the phase waited for moves by {by} in a period, the barrier otherwise")),
                        }
                    }
                    (Phase::Parity(x), Phase::Parity(y)) if self.shift(x, y)? % 2 == 0 => Ok(()),
                    _ => Err("the parity waited for does not repeat".into()),
                }
            }
            (Op::Arrive { bar, count, expect, .. }, Op::Arrive { bar: bar2, count: count2, expect: expect2, .. }) => {
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
            (Op::CpArrive { bar, .. }, Op::CpArrive { bar: bar2, .. }) => self.bar(bar, bar2),
            (Op::CommitUmma(x), Op::CommitUmma(y)) => x.iter().zip(y).try_for_each(|(x, y)| self.bar(x, y)),
            (Op::Named { index: i, threads: t, .. }, Op::Named { index: i2, threads: t2, .. }) => {
                self.still(i, i2)?;
                self.still(t, t2)
            }
            (Op::Alu { reads: r, writes: w, .. }, Op::Alu { reads: r2, writes: w2, .. }) => {
                r.iter().zip(r2).chain(w.iter().zip(w2)).try_for_each(|(x, y)| self.place(x, y))
            }
            (Op::Zero(x), Op::Zero(y)) => self.place(x, y),
            (Op::Put { .. } | Op::Get { .. } | Op::NextTile { .. }, _) => {
                Err("values computed at run time decide".into())
            }
            (x, y) if x == y => Ok(()),
            _ => Err("the kernel has other instructions at another trip count".into()),
        }
    }

    fn bar(&mut self, a: &BarRef, b: &BarRef) -> Result<(), Reason> {
        self.still(&a.stage, &b.stage)
    }

    /// Slots and parts repeat; tiles move on.
    fn place(&mut self, a: &Place, b: &Place) -> Result<(), Reason> {
        let global = self.short.objects[a.obj as usize].class == warpline_sim::ir::Class::Global;
        for (x, y) in a.at.iter().zip(&b.at) {
            let by = self.shift(x, y)?;
            if by != 0 && !(global && by == self.period) {
                return Err(format!("an index moves by {by} in a period"));
            }
        }
        let parts = a.sel.rows.iter().zip(&b.sel.rows).chain(a.sel.cols.iter().zip(&b.sel.cols));
        for (x, y) in parts {
            self.still(&x.index, &y.index)?;
        }
        if let (Some(x), Some(y)) = (&a.tile, &b.tile) {
            for (x, y) in x.at.iter().zip(&y.at) {
                let by = self.shift(x, y)?;
                if by != 0 && by != self.period {
                    return Err(format!("the tile expected moves by {by} in a period"));
                }
            }
        }
        Ok(())
    }

    /// How far an expression moves in a period.
    fn shift(&mut self, a: &Expr, b: &Expr) -> Result<i64, Reason> {
        let odd = || Err("a number does not move evenly with the loop".to_string());
        match (a, b) {
            (Expr::Const(x), Expr::Const(y)) if y - x == 0 || y - x == self.period => Ok(y - x),
            (Expr::Var(v), Expr::Var(w)) if v == w => Ok(if self.moving[*v as usize] { self.period } else { 0 }),
            (Expr::Env(x), Expr::Env(y)) if x == y => Ok(0),
            (Expr::Unary(o, x), Expr::Unary(p, y)) if o == p => match self.shift(x, y)? {
                0 => Ok(0),
                by if *o == warpline_sim::ir::Unary::Neg => Ok(-by),
                _ => odd(),
            },
            (Expr::If(p), Expr::If(q)) => {
                self.still(&p.0, &q.0)?;
                let (x, y) = (self.shift(&p.1, &q.1)?, self.shift(&p.2, &q.2)?);
                if x == y { Ok(x) } else { odd() }
            }
            (Expr::Binary(o, p), Expr::Binary(o2, q)) if o == o2 => {
                let (x, y) = (self.shift(&p.0, &q.0)?, self.shift(&p.1, &q.1)?);
                let by_const = p.1.constant().filter(|c| *c != 0 && y == 0);
                match o {
                    Binary::Add => Ok(x + y),
                    Binary::Sub => Ok(x - y),
                    Binary::Mul if y == 0 && x == 0 => Ok(0),
                    Binary::Mul => by_const.map_or_else(odd, |c| Ok(x * c)),
                    Binary::Div if x == 0 && y == 0 => Ok(0),
                    Binary::Div => match by_const {
                        Some(c) if x % c == 0 => Ok(x / c),
                        _ => odd(),
                    },
                    Binary::Rem if x == 0 && y == 0 => Ok(0),
                    Binary::Rem => match by_const {
                        Some(c) if x % c == 0 => Ok(0),
                        _ => odd(),
                    },
                    Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne if x == y => Ok(0),
                    Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                        // Compared with something that stands still: the answer settles once and for all.
                        match (p.0.constant(), p.1.constant()) {
                            (Some(c), _) | (_, Some(c)) => {
                                self.threshold = self.threshold.max(c.abs() + 1);
                                Ok(0)
                            }
                            _ => odd(),
                        }
                    }
                    _ if x == 0 && y == 0 => Ok(0),
                    Binary::Min | Binary::Max if x == y => Ok(x),
                    _ => odd(),
                }
            }
            _ => odd(),
        }
    }
}
