//! The programs of a kernel whose jobs have trip counts of their own, with a place between jobs.

use std::sync::OnceLock;

use warpline_sim::ir::{Cost, Expr, Instr, Loop, Op, Program, each};

use crate::AtTurns;
use crate::induction::loop_counter::{changed_symbols, grown};
use crate::induction::refined_indices::refine;
use crate::mutation::splice::insert;

/// Largest trip count, and largest number of jobs of a CTA.
const MOST: i64 = 96;

/// Trip counts above the least one that are asked for code that only longer jobs have.
const FEW: i64 = 8;

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
        Ok(Kernels { at, heads, list, least })
    }

    /// The kernel that has all code that one of another trip count has. Runs by other kernels start as its run.
    pub(super) fn fullest(&self, jobs: i64) -> Result<&Kernel, String> {
        let mut found = self.at(self.least, jobs)?;
        for n in self.least + 1..=self.least + FEW {
            let Ok(kernel) = self.at(n, jobs) else { continue };
            let less = |(a, b): (bool, bool)| !a && b;
            if found.own.live().into_iter().zip(kernel.own.live()).any(less) {
                found = kernel;
            }
        }
        Ok(found)
    }

    /// The kernel with this trip count for all jobs, and `jobs` of them.
    pub(super) fn at(&self, n: i64, jobs: i64) -> Result<&Kernel, String> {
        let refused = || format!("the kernel refuses {n} steps or {jobs} jobs, or these are too many");
        if !(0..=MOST).contains(&n) || !(0..=MOST).contains(&jobs) {
            return Err(refused());
        }
        let make = || {
            let mut own = (self.at)(n, jobs)?;
            for at in self.heads.iter().rev() {
                insert(&mut own, *at, vec![nothing()], false);
            }
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
