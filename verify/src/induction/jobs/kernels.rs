//! The programs of a kernel whose jobs have trip counts of their own, with a place between jobs.

use std::sync::OnceLock;

use warpline_sim::ir::{Cost, Expr, Instr, Loop, Op, Program, each};

use crate::AtTurns;
use crate::induction::loop_counter::{changed_symbols, grown};
use crate::induction::refined_indices::refine;
use crate::mutation::splice::insert;

/// Largest trip count, and largest number of jobs of a CTA.
const MOST: i64 = 96;

/// Trip counts that are asked for their code.
const FEW: i64 = 16;

/// A kernel for a trip count and a number of jobs.
#[derive(Debug)]
pub(super) struct Kernel {
    /// As written.
    pub(super) own: Program,
    /// With indices of tiles refined, for compared runs.
    pub(super) refined: Program,
}

/// The kernels by trip count and number of jobs of each CTA. Each loop over jobs starts with an instruction without an
/// effect, before the test whether there is another job. Runs pause there.
pub(super) struct Kernels<'a> {
    at: AtTurns<'a>,
    /// The first instructions of loops over jobs.
    heads: Vec<usize>,
    list: Vec<OnceLock<Option<Kernel>>>,
    pub(super) least: i64,
    /// For each instruction, whether jobs of some trip count come to it. A run goes on from job to job, so that the facts
    /// of its clusters are of the code of all jobs.
    live: Vec<bool>,
}

impl<'a> Kernels<'a> {
    /// The error says why jobs have no common start.
    pub(super) fn of(at: AtTurns<'a>) -> Result<Kernels<'a>, String> {
        let least = (0..MOST).find(|n| at(*n, 1).is_some()).ok_or("no trip count is accepted")?;
        let none = || "the kernel refuses some trip counts or numbers of jobs".to_string();
        let [one, two, longer] = [(least, 1), (least, 2), (least + 1, 1)].map(|(n, t)| at(n, t));
        let (one, two, longer) = (one.ok_or_else(none)?, two.ok_or_else(none)?, longer.ok_or_else(none)?);
        let over: Vec<&Loop> = grown(&one, &two).into_iter().map(|(l, _)| l).collect();
        let inside = |a: &Loop, b: &Loop| b.head < a.head && a.end < b.end;
        if over.is_empty() || over.iter().any(|a| one.loops.iter().any(|b| inside(a, b))) {
            return Err("the loop over jobs is inside another loop".into());
        }
        // Between jobs, no number depends on the length of a job.
        let lengths = changed_symbols(&one, &longer);
        for (pc, i) in one.code.iter().enumerate() {
            let mut reads = false;
            each(&one, i, &mut |_, e| reads |= !one.parameters_of(e).is_disjoint(&lengths));
            if reads && !over.iter().any(|l| (l.head as usize + 1..l.end as usize).contains(&pc)) {
                return Err(format!("line {} reads the trip count of a job outside of it", one.site(pc as u32).line));
            }
        }
        if one.grid != longer.grid || one.objects != longer.objects {
            return Err("the trip count of a job sets the grid or the end of a matrix".into());
        }
        let mut heads: Vec<usize> = over.iter().map(|l| l.head as usize).collect();
        heads.sort_unstable();
        let list = (0..(MOST + 1) * (MOST + 1)).map(|_| OnceLock::new()).collect();
        let mut kernels = Kernels { at, heads, list, least, live: Vec::new() };
        let few = (least..least + FEW).filter_map(|n| Some(kernels.pausing(n, 2)?.live()));
        let either = |all: Vec<bool>, more: Vec<bool>| all.into_iter().zip(more).map(|(a, b)| a || b).collect();
        kernels.live = few.reduce(either).unwrap_or_default();
        Ok(kernels)
    }

    /// The kernel as written, with the places between jobs.
    fn pausing(&self, n: i64, jobs: i64) -> Option<Program> {
        let mut own = (self.at)(n, jobs)?;
        for at in self.heads.iter().rev() {
            insert(&mut own, *at, vec![nothing()], false);
        }
        Some(own)
    }

    /// The kernel with this trip count for all jobs, and `jobs` of them.
    pub(super) fn at(&self, n: i64, jobs: i64) -> Result<&Kernel, String> {
        let refused = || format!("the kernel refuses {n} steps or {jobs} jobs, or these are too many");
        if !(0..=MOST).contains(&n) || !(0..=MOST).contains(&jobs) {
            return Err(refused());
        }
        let make = || {
            let mut own = self.pausing(n, jobs)?;
            own.forms.other_live = self.live.clone();
            Some(Kernel { refined: refine(&own), own })
        };
        self.list[(n * (MOST + 1) + jobs) as usize].get_or_init(make).as_ref().ok_or_else(refused)
    }
}

/// An instruction without an effect.
fn nothing() -> Instr {
    let op = Op::Alu { unit: "int".into(), count: Expr::Const(0), reads: vec![], writes: vec![], mix: None };
    Instr::Op { op, cost: Cost::default() }
}
