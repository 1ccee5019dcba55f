//! Brute force: a kernel at many values, in every CTA, under several schedules.
//!
//! The oracle uses the transition function ([`warpline_sim::protocol::World`]) and the compiler of the kernel language,
//! and nothing of the verifier.

mod alike;
mod schedule;
mod stores;
mod subject;

use std::collections::BTreeSet;

pub use schedule::{Order, RunResult, Schedule, run};
pub use subject::{Dimension, Subject, Values, comment};

use crate::dice::Dice;
use alike::Alike;
use warpline_sim::ir::Program;

/// A point at which a kernel has a fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Values of the varied numbers.
    pub values: Values,
    /// Launch index of the cluster.
    pub cluster: i64,
    /// The fault, in words.
    pub what: String,
}

/// The result of brute force.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// A fault within the claim.
    pub inside: Option<Fault>,
    /// A fault at values outside of the claim.
    pub outside: Option<Fault>,
    /// Whether the budget ended before all points were checked.
    pub partial: bool,
    /// Moves made.
    pub moves: u64,
}

/// The budget of moves for one kernel is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBudget;

/// Budget for one kernel, in moves of agents.
const BUDGET: u64 = 4_000_000;
/// What compiling a kernel at other values costs, in moves of about the same time.
const COMPILE: u64 = 500;
/// Largest number of points that are products of small values.
const PRODUCTS: i64 = 1000;
/// Largest trip count that is run.
const LARGEST: i64 = 4200;
/// Trip counts below this are all run.
const ALL: i64 = 40;
/// Largest trip count at which every CTA is run. Above, a few CTAs run and those that the text asks for.
const EVERY_CTA: i64 = 64;
/// Largest trip count at which every point runs under several schedules.
const MANY: i64 = 6;

impl Subject {
    /// Every point to check: the given values first, then small values before large ones.
    pub fn points(&self) -> Vec<Values> {
        let mut dice = Dice::new(self.constants.iter().sum::<i64>() as u64);
        let given = self.given();
        let lists: Vec<Vec<i64>> = self.dimensions.iter().map(|d| self.list(d, &mut dice)).collect();
        let mut all: BTreeSet<Vec<i64>> = BTreeSet::new();
        let own: Vec<i64> = self.dimensions.iter().map(|d| d.given).collect();
        for (k, list) in lists.iter().enumerate() {
            for v in list {
                let mut point = own.clone();
                point[k] = *v;
                all.insert(point);
            }
        }
        // Products of small values, and of the numbers in the text with small values of the others.
        if lists.len() > 1 {
            let mut small = vec![vec![]];
            let products = |most: i64| (most + 1).checked_pow(lists.len() as u32);
            let most = (1..=8).rev().find(|most| products(*most).is_some_and(|n| n <= PRODUCTS)).unwrap_or(0);
            for d in &self.dimensions {
                let values = (0..=most).map(|n| n * d.unit);
                let with = |p: &Vec<i64>, v: i64| p.iter().copied().chain([v]).collect::<Vec<i64>>();
                small = small.iter().flat_map(|p| values.clone().map(move |v| with(p, v))).collect();
            }
            all.extend(small);
        }
        for tried in &self.tries {
            for more in 0..=2 {
                let value = |d: &Dimension| tried.get(&d.name).map_or(d.given, |v| v + more * d.unit);
                all.insert(self.dimensions.iter().map(value).collect());
                for k in 0..self.dimensions.len() {
                    let d = &self.dimensions[k];
                    let mut point: Vec<i64> =
                        self.dimensions.iter().map(|d| *tried.get(&d.name).unwrap_or(&d.given)).collect();
                    point[k] += more * d.unit;
                    all.insert(point);
                }
            }
        }
        let size = |p: &Vec<i64>| p.iter().zip(&self.dimensions).map(|(v, d)| v / d.unit + 1).product::<i64>();
        let mut all: Vec<Vec<i64>> = all.into_iter().filter(|p| *p != own && size(p) <= 8 * LARGEST).collect();
        all.sort_by_key(|p| (size(p), p.clone()));
        let named = |p: Vec<i64>| self.dimensions.iter().map(|d| d.name.clone()).zip(p).collect();
        std::iter::once(given).chain(all.into_iter().map(named)).collect()
    }

    /// Values of one dimension: all small ones, the neighborhood of each number of the text, and a few others.
    fn list(&self, d: &Dimension, dice: &mut Dice) -> Vec<i64> {
        let mut steps: BTreeSet<i64> = (0..=ALL).collect();
        for c in &self.constants {
            for n in [*c, c / d.unit] {
                steps.extend([n - 1, n, n + 1]);
            }
        }
        steps.extend((0..4).map(|_| dice.range(ALL + 1, 200)));
        let values = steps.into_iter().filter(|n| (0..=LARGEST).contains(n)).map(|n| n * d.unit);
        let mut values: Vec<i64> = values.collect();
        if d.unit > 1 {
            values.extend([d.unit / 2, 3 * d.unit + 1, 7 * d.unit - 1]);
        }
        values
    }

    /// Searches for a fault at every point; `claimed` says whether the verdict under test covers a point.
    pub fn truth(&self, claimed: &dyn Fn(&Values) -> bool) -> Truth {
        let mut truth = Truth::default();
        let mut left = BUDGET;
        for (k, values) in self.points().iter().enumerate() {
            let inside = claimed(values);
            if !inside && truth.outside.is_some() {
                continue;
            }
            left = left.saturating_sub(COMPILE);
            let Some(prog) = self.compile(values) else { continue };
            let steps = self.steps(values);
            let many = steps <= MANY || steps <= ALL && (k == 0 || self.tries.iter().any(|t| t == values));
            match self.fault_at(&prog, steps, many, &mut left) {
                Ok(None) => {}
                Ok(Some((cluster, what))) => {
                    let fault = Fault { values: values.clone(), cluster, what };
                    if inside {
                        truth.inside = Some(fault);
                        break;
                    }
                    truth.outside = Some(fault);
                }
                Err(OutOfBudget) => {
                    truth.partial = true;
                    break;
                }
            }
        }
        truth.moves = BUDGET - left;
        truth
    }

    /// Values at which the kernel bound from its symbolic form behaves differently from the kernel compiled with the
    /// values.
    pub fn bound_otherwise(&self) -> Option<Values> {
        if self.dimensions.iter().any(|d| d.tape) {
            return None;
        }
        let points = self.points();
        let every = (points.len() / 8).max(1);
        let mut looked_at = points.into_iter().step_by(every).filter(|p| self.steps(p) <= EVERY_CTA);
        looked_at.find(|values| {
            let (Some(compiled), Some(bound)) = (self.compile(values), self.bound(values)) else { return false };
            let last = compiled.grid.len() - 1;
            let done = |prog: &Program, cluster: i64| {
                let mut left = BUDGET;
                let schedule = Schedule { order: Order::Turns, early: false };
                (run(prog, self.rules, cluster, schedule, &mut left), left)
            };
            compiled.grid != bound.grid
                || last >= 0 && [0, last].iter().any(|c| done(&compiled, *c) != done(&bound, *c))
        })
    }

    /// Approximate trip count of a loop at these values.
    fn steps(&self, values: &Values) -> i64 {
        self.dimensions.iter().filter_map(|d| Some(values.get(&d.name)? / d.unit)).max().unwrap_or(0)
    }

    /// The first fault of a kernel in any of its clusters; with `many`, under many schedules.
    fn fault_at(
        &self,
        prog: &Program,
        steps: i64,
        many: bool,
        left: &mut u64,
    ) -> Result<Option<(i64, String)>, OutOfBudget> {
        if let Some(fault) = stores::stored_twice(prog, self.rules) {
            return Ok(Some(fault));
        }
        let n = prog.grid.len();
        let look = prog.code.len() as u64;
        // If only tiles depend on the CTA, the first, the last and one in between stand for all.
        let few = |c: i64| c > 0 && c + 1 < n && c != n / 2;
        let mut alike = Alike::new(prog);
        let asked = |c: i64| self.tried_ctas.iter().any(|cta| cta / i64::from(prog.cluster) == c);
        for cluster in 0..n {
            if self.alike && few(cluster) {
                continue;
            }
            if steps > EVERY_CTA
                && n > 4
                && cluster > 0
                && cluster + 1 < n
                && !asked(cluster)
                && cluster % 7 != steps % 7
            {
                continue;
            }
            // A launch of thousands of CTAs takes long to look at even where few of them run.
            *left = left.checked_sub(look).ok_or(OutOfBudget)?;
            let several = many && (n <= 4 || cluster % 3 == 0 || cluster + 1 == n);
            if alike.has_run(cluster, several) {
                continue;
            }
            match run(prog, self.rules, cluster, Schedule { order: Order::Turns, early: false }, left) {
                RunResult::Fault(what) => return Ok(Some((cluster, what))),
                RunResult::Limit => return Err(OutOfBudget),
                RunResult::Clean { unordered } => {
                    if (unordered || several)
                        && let Some(what) = self.other_schedules(prog, cluster, if unordered { 12 } else { 2 }, left)?
                    {
                        return Ok(Some((cluster, what)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The first fault of a cluster under schedules that hold one agent back, send one ahead, or are random.
    pub fn other_schedules(
        &self,
        prog: &Program,
        cluster: i64,
        random: u64,
        left: &mut u64,
    ) -> Result<Option<String>, OutOfBudget> {
        let agents = warpline_sim::protocol::agents(prog).len();
        let fixed = (0..agents).flat_map(|a| [Order::Behind(a), Order::Ahead(a)]);
        let fixed = fixed.flat_map(|order| [false, true].map(|early| Schedule { order, early }));
        let turns = Schedule { order: Order::Turns, early: true };
        let random = (0..random).map(|seed| Schedule { order: Order::Random(seed), early: false });
        for schedule in std::iter::once(turns).chain(fixed).chain(random) {
            match run(prog, self.rules, cluster, schedule, left) {
                RunResult::Fault(what) => return Ok(Some(what)),
                RunResult::Limit => return Err(OutOfBudget),
                RunResult::Clean { .. } => {}
            }
        }
        Ok(None)
    }

    /// The fault at one point that a verdict names; `cluster` where it names one. Its jobs have these lengths, if any are
    /// given.
    pub fn replay(&self, values: &Values, cluster: Option<i64>, lengths: &[i64]) -> Option<Fault> {
        // At some values the compiler finds a name that no statement sets any more.
        let mut prog = self.compile(values).or_else(|| self.bound(values))?;
        if !lengths.is_empty() {
            self.set_lengths(&mut prog, cluster.unwrap_or(0), lengths);
        }
        if let Some((cluster, what)) = stores::stored_twice(&prog, self.rules) {
            return Some(Fault { values: values.clone(), cluster, what });
        }
        let clusters = cluster.map_or(0..prog.grid.len(), |c| c..c + 1);
        clusters.into_iter().find_map(|cluster| {
            let mut left = 2 * BUDGET;
            let schedule = Schedule { order: Order::Turns, early: false };
            let what = match run(&prog, self.rules, cluster, schedule, &mut left) {
                RunResult::Fault(what) => Some(what),
                RunResult::Limit => Some(format!("does not end within {} moves", 2 * BUDGET)),
                RunResult::Clean { .. } => self.other_schedules(&prog, cluster, 200, &mut left).ok().flatten(),
            }?;
            Some(Fault { values: values.clone(), cluster, what })
        })
    }
}
