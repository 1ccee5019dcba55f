//! Mutations: small changes of a kernel, as data. A change has its statement, the kind of change, and a description in
//! words.
//!
//! A change names its statement by the place in the text, so it applies at every trip count. Where the statement was
//! folded away, the change does nothing. [`edits`] lists the mutations: a synchronization dropped, doubled or moved to
//! the next stage, a phase or a count off by one. The search for redundant barriers, repair, and the measurement of the
//! verifier all use these changes.
//!
//! ```text
//!   Program ── edits ──▶ [Edit { site, change, words }] ── apply ──▶ Program, or why no kernel says that
//! ```

mod list;
pub(crate) mod splice;

use std::ops::Range;

use warpline_sim::ir::{
    ArrivalsPer, BarRef, Binary, Class, Expr, Instr, MbarId, Op, Order, Phase, Place, Program, Site,
};

pub use list::{edits, synchronizes};

/// The kind of a change. Numbers are added to those of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The statement is dropped.
    Drop,
    /// The statement is doubled.
    Double,
    /// The statement is swapped with the next one, or with the next block if that has no loop.
    Swap,
    /// An mbarrier or numbered barrier is replaced by another one of its array, modulo the array's length.
    Stage {
        /// Index of the barrier among those of the statement, from 0.
        nth: usize,
        /// Distance in the array.
        by: i64,
    },
    /// A place on chip is moved to another slot, modulo the number of slots.
    Slot {
        /// Index of the place among those with several slots, from 0.
        nth: usize,
        /// Distance in slots.
        by: i64,
    },
    /// A wait is for another phase.
    Phase(i64),
    /// An arrival has another count, or a numbered barrier has another number of threads.
    Count(i64),
    /// An initialized barrier needs another number of arrivals.
    Declared(MbarId, i64),
    /// An expected byte count is changed.
    Bytes(i64),
    /// A wait allows another number of outstanding groups.
    Outstanding(i64),
    /// An operation is inserted before the statement.
    Before(Op),
    /// An operation is inserted after the statement.
    Behind(Op),
    /// Other threads arrive: every thread, one of each warp, or one of the role.
    Per(ArrivalsPer),
    /// An arrival has `.cluster` scope and release semantics.
    Releases,
    /// A barrier orders this memory.
    Orders(Order),
    /// Every agent that reaches the statement executes it: the condition or choice of warps that guards only this
    /// statement is dropped.
    Always,
}

/// One change to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Place of the statement.
    pub site: Site,
    /// The kind of change.
    pub change: Change,
    /// The change in words: `line 31: at most 2 outstanding instead of 1`.
    pub words: String,
}

/// The reason why no kernel text has this change: the compiler would reject it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inapplicable(pub String);

impl Edit {
    /// A change to the statement at this place.
    pub fn new(site: &Site, change: Change, words: impl AsRef<str>) -> Edit {
        Edit { site: site.clone(), change, words: format!("line {}: {}", site.line, words.as_ref()) }
    }

    /// Drops the statement.
    pub fn drop(site: &Site) -> Edit {
        Edit::new(site, Change::Drop, format!("`{}` left out", site.text))
    }

    /// The kernel with this change; unchanged where it does not have the statement.
    ///
    /// # Errors
    /// The changed kernel has no valid text.
    pub fn apply(&self, prog: &Program) -> Result<Program, Inapplicable> {
        let mut prog = prog.clone();
        let copies = self.copies(&prog);
        if copies.is_empty() {
            return Ok(prog);
        }
        if let Change::Declared(bar, by) = &self.change {
            let b = &mut prog.mbars[*bar as usize];
            b.count = u32::try_from(b.count as i64 + by)
                .ok()
                .filter(|n| (1..1 << 20).contains(n))
                .ok_or_else(|| Inapplicable(format!("`{}` would need {} arrivals", b.name, b.count as i64 + by)))?;
            return Ok(prog);
        }
        // From the last on: a change moves only what stands behind it.
        copies.into_iter().rev().try_for_each(|copy| self.change_copy(&mut prog, copy))?;
        Ok(prog)
    }

    /// The copies of the statement in the code: the compiler repeats a statement where it unrolls a loop. Each copy is
    /// one operation or several in a row.
    fn copies(&self, prog: &Program) -> Vec<Range<usize>> {
        let mut copies: Vec<Range<usize>> = Vec::new();
        for pc in (0..prog.code.len()).filter(|pc| self.is_at(prog, *pc)) {
            match copies.last_mut() {
                Some(copy) if copy.end == pc => copy.end += 1,
                _ => copies.push(pc..pc + 1),
            }
        }
        copies
    }

    /// Changes one copy of the statement.
    fn change_copy(&self, prog: &mut Program, copy: Range<usize>) -> Result<(), Inapplicable> {
        let (start, end) = (copy.start, copy.end);
        match &self.change {
            // Every other instruction keeps its place, so that two trip counts stay comparable.
            Change::Drop => copy.for_each(|pc| prog.code[pc] = Instr::Jump(pc as u32 + 1)),
            Change::Double => {
                let again = prog.code[copy].to_vec();
                splice::insert(prog, end, again, true);
            }
            Change::Swap => {
                let behind = splice::unit(prog, end).filter(|u| splice::closed(prog, start, u.end));
                let behind = behind.ok_or_else(|| Inapplicable("no statement follows it in its block".into()))?;
                splice::swap(prog, start, behind);
            }
            Change::Always => {
                let guard = start.checked_sub(1).filter(|&pc| splice::guards(&prog.code[pc], end));
                let guard = guard.ok_or_else(|| Inapplicable("no condition guards only this statement".into()))?;
                prog.code[guard] = Instr::Jump(start as u32);
            }
            Change::Before(op) => splice::insert(prog, start, vec![plain(op)], false),
            Change::Behind(op) => splice::insert(prog, end, vec![plain(op)], true),
            _ => copy.into_iter().try_for_each(|pc| self.operand(prog, pc))?,
        }
        Ok(())
    }

    /// Whether the operation at `pc` belongs to the statement.
    fn is_at(&self, prog: &Program, pc: usize) -> bool {
        let s = prog.site(pc as u32);
        let same = (s.line, s.col) == (self.site.line, self.site.col) && s.file == self.site.file;
        same && matches!(prog.code[pc], Instr::Op { .. })
    }

    /// Changes an operand.
    fn operand(&self, prog: &mut Program, pc: usize) -> Result<(), Inapplicable> {
        let Program { code, mbars, named, objects, .. } = prog;
        let Instr::Op { op, .. } = &mut code[pc] else { return Ok(()) };
        match (&self.change, op) {
            (Change::Stage { by, .. }, Op::Named { bar, index, .. }) => round(index, *by, named[*bar as usize].len),
            (Change::Stage { nth, by }, op) => {
                if let Some(b) = bars(op).into_iter().nth(*nth) {
                    round(&mut b.stage, *by, mbars[b.bar as usize].stages);
                }
            }
            (Change::Slot { nth, by }, op) => {
                let slots = |p: &Place| objects[p.obj as usize].slots;
                let many = |p: &&mut Place| objects[p.obj as usize].class != Class::Global && slots(p) > 1;
                if let Some(p) = places(op).into_iter().filter(many).nth(*nth) {
                    let n = slots(p);
                    p.at.iter_mut().take(1).for_each(|e| round(e, *by, n));
                }
            }
            (Change::Phase(by), Op::MbarWait { phase: Phase::Absolute(e) | Phase::Parity(e), .. }) => add(e, *by),
            (Change::Count(by), Op::Arrive { count: e, .. } | Op::Named { threads: e, .. }) => {
                at_least(e, *by, 1, "a count")?;
            }
            (Change::Bytes(by), Op::Arrive { expect: Some(e), .. } | Op::Expect { bytes: e, .. }) => add(e, *by),
            (Change::Per(new), Op::Arrive { per, .. }) => *per = *new,
            (Change::Releases, Op::Arrive { relaxed, cluster, .. }) => (*relaxed, *cluster) = (false, true),
            (Change::Releases, Op::ClusterArrive { relaxed }) => *relaxed = false,
            (Change::Orders(new), Op::Barrier(order)) => *order = *new,
            (Change::Outstanding(by), Op::Wait(_, e)) => at_least(e, *by, 0, "what may be outstanding")?,
            _ => {}
        }
        Ok(())
    }
}

/// An operation without a stated cost.
fn plain(op: &Op) -> Instr {
    Instr::Op { op: op.clone(), cost: Default::default() }
}

fn add(e: &mut Expr, by: i64) {
    *e = Expr::binary(Binary::Add, e.clone(), Expr::Const(by));
}

/// Moves an index by `by`, modulo `n`.
fn round(e: &mut Expr, by: i64, n: u32) {
    add(e, by);
    *e = Expr::binary(Binary::Rem, e.clone(), Expr::Const(n as i64));
}

/// Adds to a number, and rejects a known result below `least`.
fn at_least(e: &mut Expr, by: i64, least: i64, what: &str) -> Result<(), Inapplicable> {
    add(e, by);
    match e.constant() {
        Some(n) if n < least => Err(Inapplicable(format!("{what} would be {n}"))),
        _ => Ok(()),
    }
}

/// The mbarriers of an operation, in source order.
fn bars(op: &mut Op) -> Vec<&mut BarRef> {
    match op {
        Op::Move { signals: Some(b), .. }
        | Op::CpArrive { bar: b, .. }
        | Op::Arrive { bar: b, .. }
        | Op::Expect { bar: b, .. }
        | Op::MbarWait { bar: b, .. }
        | Op::NextTile { signals: b, .. } => vec![b],
        Op::CommitUmma(all) => all.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// The places of an operation, in source order.
fn places(op: &mut Op) -> Vec<&mut Place> {
    match op {
        Op::Move { src, dst, .. } => vec![src, dst],
        Op::Mma { a, b, acc, .. } => vec![a, b, acc],
        Op::Alu { reads, writes, .. } => reads.iter_mut().chain(writes).collect(),
        Op::Zero(p) | Op::Put { dst: p, .. } | Op::Get { src: p, .. } | Op::NextTile { dst: p, .. } => vec![p],
        _ => Vec::new(),
    }
}
