//! Values that are computed from the number of jobs, for every number of jobs.
//!
//! [`row_classes`](super::row_classes) compares two launches whose numbers of jobs are multiples of the grid. A value such
//! as `jobs < 3` or `jobs / 4 * 4` says there what a sum would say, and something else for other numbers. So each value
//! that is no sum by its form is computed for every number of jobs up to some multiple of the grid. Beyond that, each
//! comparison and quotient in it must go on as in the launch with one job less for each CTA.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, Grid, ParamId, Program, each};
use warpline_sim::protocol::decisions_at_launch;

use crate::AtTurns;
use crate::induction::loop_counter::changed_symbols;
use crate::induction::row_classes::{TURNS, every_value, some_trips};
use crate::induction::shift_invariance::{self, Conditions};
use crate::induction::uneven_jobs::Text;

/// Largest number of launches that are computed.
const LAUNCHES: i64 = 1 << 13;
/// Numbers of jobs that are named, of those with values of their own.
const NAMED: usize = 8;

/// A value that some numbers of jobs have in their own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnValue {
    pub(crate) line: u32,
    /// The first of these numbers of jobs; none where they are not known.
    pub(crate) jobs: Vec<i64>,
}

/// The first value that is not linear in the number of jobs for all numbers of jobs. `prog` and `next` are launches with
/// some jobs for each of `ctas` CTAs, and with one job more for each.
pub(crate) fn own_value(prog: &Program, next: &Program, jobs: Option<AtTurns<'_>>, ctas: i64) -> Option<OwnValue> {
    if ctas == 1 || every_value(prog, next) {
        return None;
    }
    let text = Text::of(prog, next);
    let own = |line| OwnValue { line, jobs: Vec::new() };
    let Some(launches) = jobs.and_then(|jobs| Launches::of(jobs, ctas)) else {
        return nonlinear(prog, &text, &BTreeSet::new()).first().map(|(line, _)| own(*line));
    };
    let values = nonlinear(prog, &text, &launches.varied);
    let (first, _) = values.first()?;
    let varied = |e: &Expr| !prog.parameters_of(e).is_disjoint(&launches.varied);
    if let Some((line, _)) = values.iter().find(|(_, e)| varied(e)) {
        return Some(own(*line));
    }
    if launches.last() > LAUNCHES {
        return Some(own(*first));
    }
    values.iter().find_map(|(line, e)| launches.own(e).map(|jobs| OwnValue { line: *line, jobs }))
}

/// The values that are computed from the number of jobs and are not linear in it, with their lines. A factor that
/// `varied` symbols set is no constant.
fn nonlinear(prog: &Program, text: &Text<'_>, varied: &BTreeSet<ParamId>) -> Vec<(u32, Expr)> {
    let mut list: Vec<(u32, Expr)> = Vec::new();
    for (pc, i) in prog.code.iter().enumerate() {
        let line = prog.site(pc as u32).line;
        each(prog, i, &mut |_, e| {
            for e in constants(e) {
                if !linear(prog, text, varied, e) && !list.iter().any(|(_, x)| x == e) {
                    list.push((line, e.clone()));
                }
            }
        });
    }
    list
}

/// The largest parts of an expression that are computed at launch.
fn constants(e: &Expr) -> Vec<&Expr> {
    if e.is_launch_constant() { vec![e] } else { e.operands().flat_map(constants).collect() }
}

fn linear(prog: &Program, text: &Text<'_>, varied: &BTreeSet<ParamId>, e: &Expr) -> bool {
    let varies = |e: &Expr| !prog.parameters_of(e).is_disjoint(varied);
    let mut products = false;
    e.visit(&mut |x| {
        if let Expr::Binary(Binary::Mul, p) = x {
            products |= text.reads(&p.0) && varies(&p.1) || text.reads(&p.1) && varies(&p.0);
        }
    });
    text.linear(e) && !products
}

/// The kernel for each number of jobs, with one trip count.
struct Launches<'a> {
    jobs: AtTurns<'a>,
    /// The trip count.
    n: i64,
    ctas: i64,
    grid: Grid,
    /// Jobs of each CTA in the launch that others are compared with.
    turns: i64,
    /// The symbols that another trip count changes.
    varied: BTreeSet<ParamId>,
}

impl<'a> Launches<'a> {
    fn of(jobs: AtTurns<'a>, ctas: i64) -> Option<Launches<'a>> {
        let even = |n: i64, t: i64| jobs(n, ctas.checked_mul(t)?);
        let at = |t: i64| some_trips(|n| even(n, t).zip(even(n, t + 1)).map(|(prog, _)| (n, prog)));
        let (turns, (n, prog)) = TURNS.into_iter().find_map(|t| Some((t, at(t)?)))?;
        let other = even(n + 1, turns).or_else(|| even(n - 1, turns));
        let varied = other.map_or_else(BTreeSet::new, |other| changed_symbols(&prog, &other));
        Some(Launches { jobs, n, ctas, grid: prog.grid, turns, varied })
    }

    /// The kernel for a number of jobs. Launches with another grid are decided by themselves (`smaller_grids`).
    fn at(&self, j: i64) -> Option<Program> {
        (self.jobs)(self.n, j).filter(|prog| prog.grid == self.grid)
    }

    /// The largest number of jobs that is computed.
    fn last(&self) -> i64 {
        (self.turns + 2).saturating_mul(self.ctas)
    }

    /// The numbers of jobs for which a value is another one than a linear value. An empty list: of larger numbers.
    fn own(&self, e: &Expr) -> Option<Vec<i64>> {
        let value = |j: i64| self.at(j)?.launch_value(e);
        let (at, later) = (self.turns * self.ctas, (self.turns + 1) * self.ctas);
        let (Some(first), Some(second)) = (value(at), value(later)) else { return Some(Vec::new()) };
        let Some(by) = second.checked_sub(first).filter(|by| by % self.ctas == 0) else { return Some(Vec::new()) };
        let differs = |j: &i64| value(*j).is_some_and(|x| x != first + (j - at) * (by / self.ctas));
        let own: Vec<i64> = (1..=self.last()).filter(differs).take(NAMED).collect();
        if !own.is_empty() {
            return Some(own);
        }
        let goes_on = |j: i64| {
            let (Some(a), Some(b)) = (self.at(j), self.at(j + self.ctas)) else { return true };
            let lists = [decisions_at_launch(&a, [e]), decisions_at_launch(&b, [e])];
            shift_invariance::decided(&[&lists[0], &lists[1]], &mut Conditions::default())
        };
        if (at..later).all(goes_on) { None } else { Some(Vec::new()) }
    }
}
