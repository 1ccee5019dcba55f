//! Small changes to a kernel, as data: which statement, what about it, and the change in words.
//!
//! A change names its statement by its place in the text, so the same one is made at every trip count; where the statement
//! was folded away there is nothing to change. [`edits`] lists the mutations: a synchronisation left out,
//! written twice, on the next stage, a phase or a count off by one. Taking barriers out, suggesting repairs and measuring
//! what the verifier catches all use these.
//!
//! ```text
//!   Program ── edits ──▶ [Edit { site, change, words }] ── apply ──▶ Program, or why no kernel says that
//! ```

mod list;
pub(crate) mod splice;

use warpline_sim::ir::{
    ArrivalsPer, BarRef, Binary, Class, Expr, Instr, MbarId, Op, Order, Phase, Place, Program, Site,
};

pub use list::{edits, synchronises};

/// What is changed about a statement. Numbers are added to what the kernel says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It is left out.
    Drop,
    /// It stands twice, one behind the other.
    Double,
    /// It changes places with the statement, or the block without a loop, behind it.
    Swap,
    /// Its n-th mbarrier, or its numbered barrier, is another of the array, round its end.
    Stage {
        /// Which of the barriers it names, from 0.
        nth: usize,
        /// How many further.
        by: i64,
    },
    /// Its n-th place on chip is in another slot, round the end.
    Slot {
        /// Which of the places with several slots, from 0.
        nth: usize,
        /// How many further.
        by: i64,
    },
    /// It waits for another phase.
    Phase(i64),
    /// It arrives another number of times, or a numbered barrier has other threads.
    Count(i64),
    /// The barrier that it initialises needs another number of arrivals.
    Declared(MbarId, i64),
    /// It expects other bytes.
    Bytes(i64),
    /// It lets another number stay outstanding.
    Outstanding(i64),
    /// This operation stands in front of it.
    Before(Op),
    /// This operation stands behind it.
    Behind(Op),
    /// Its threads arrive by other rules: all of them, one of a warp, one of the role.
    Per(ArrivalsPer),
    /// It arrives with `.cluster` scope and releases what was done before it.
    Releases,
    /// The barrier orders this memory.
    Orders(Order),
    /// Everybody who comes by executes it: the condition or the choice of warps around it alone is left out.
    Always,
}

/// One change to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The statement.
    pub site: Site,
    /// What about it.
    pub change: Change,
    /// The change in words: `line 31: at most 2 outstanding instead of 1`.
    pub words: String,
}

/// No kernel text says that: the compiler would refuse it. With the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inapplicable(pub String);

impl Edit {
    /// A change to the statement at this place.
    pub fn new(site: &Site, change: Change, words: impl AsRef<str>) -> Edit {
        Edit { site: site.clone(), change, words: format!("line {}: {}", site.line, words.as_ref()) }
    }

    /// The statement left out.
    pub fn drop(site: &Site) -> Edit {
        Edit::new(site, Change::Drop, format!("`{}` left out", site.text))
    }

    /// The kernel with this change; as it is where it has no such statement.
    ///
    /// # Errors
    /// A kernel that cannot be written.
    pub fn apply(&self, prog: &Program) -> Result<Program, Inapplicable> {
        let mut prog = prog.clone();
        let here: Vec<usize> = (0..prog.code.len()).filter(|&pc| self.is_at(&prog, pc)).collect();
        let (Some(&first), Some(&last)) = (here.first(), here.last()) else { return Ok(prog) };
        match &self.change {
            // Every other instruction keeps its place, so that two trip counts can still be compared.
            Change::Drop => here.iter().for_each(|&pc| prog.code[pc] = Instr::Jump(pc as u32 + 1)),
            Change::Double => {
                let again = prog.code[first..=last].to_vec();
                splice::insert(&mut prog, last + 1, again, true);
            }
            Change::Swap => {
                let behind = splice::unit(&prog, last + 1).filter(|u| splice::closed(&prog, first, u.end));
                let behind = behind.ok_or_else(|| Inapplicable("nothing stands behind it in its block".into()))?;
                splice::swap(&mut prog, first, behind);
            }
            Change::Always => {
                let guard = first.checked_sub(1).filter(|&pc| splice::guards(&prog.code[pc], last + 1));
                let guard = guard.ok_or_else(|| Inapplicable("no condition stands around it alone".into()))?;
                prog.code[guard] = Instr::Jump(first as u32);
            }
            Change::Before(op) => splice::insert(&mut prog, first, vec![plain(op)], false),
            Change::Behind(op) => splice::insert(&mut prog, last + 1, vec![plain(op)], true),
            Change::Declared(bar, by) => {
                let b = &mut prog.mbars[*bar as usize];
                b.count = u32::try_from(b.count as i64 + by)
                    .ok()
                    .filter(|n| (1..1 << 20).contains(n))
                    .ok_or_else(|| Inapplicable(format!("`{}` would need {} arrivals", b.name, b.count as i64 + by)))?;
            }
            _ => here.iter().try_for_each(|&pc| self.operand(&mut prog, pc))?,
        }
        Ok(prog)
    }

    /// Whether the operation at `pc` belongs to the statement.
    fn is_at(&self, prog: &Program, pc: usize) -> bool {
        let s = prog.site(pc as u32);
        let same = (s.line, s.col) == (self.site.line, self.site.col) && s.file == self.site.file;
        same && matches!(prog.code[pc], Instr::Op { .. })
    }

    /// A change to an operand.
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

/// An operation without a cost of its own.
fn plain(op: &Op) -> Instr {
    Instr::Op { op: op.clone(), cost: Default::default() }
}

fn add(e: &mut Expr, by: i64) {
    *e = Expr::binary(Binary::Add, e.clone(), Expr::Const(by));
}

/// The index `by` further in an array of `n`.
fn round(e: &mut Expr, by: i64, n: u32) {
    add(e, by);
    *e = Expr::binary(Binary::Rem, e.clone(), Expr::Const(n as i64));
}

/// Adds, and refuses a number below `least` where it is known.
fn at_least(e: &mut Expr, by: i64, least: i64, what: &str) -> Result<(), Inapplicable> {
    add(e, by);
    match e.constant() {
        Some(n) if n < least => Err(Inapplicable(format!("{what} would be {n}"))),
        _ => Ok(()),
    }
}

/// The mbarriers an operation names, in the order of the text.
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

/// The places an operation reads and writes, in the order of the text.
fn places(op: &mut Op) -> Vec<&mut Place> {
    match op {
        Op::Move { src, dst, .. } => vec![src, dst],
        Op::Mma { a, b, acc, .. } => vec![a, b, acc],
        Op::Alu { reads, writes, .. } => reads.iter_mut().chain(writes).collect(),
        Op::Zero(p) | Op::Put { dst: p, .. } | Op::Get { src: p, .. } | Op::NextTile { dst: p, .. } => vec![p],
        _ => Vec::new(),
    }
}
