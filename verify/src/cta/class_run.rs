//! Runs of one CTA class: base cases for its whole cell, and runs of its representative that are compared.

use std::sync::Arc;

use rayon::prelude::*;
use warpline_sim::ir::Program;
use warpline_sim::protocol::{Placement, Rules, may_rotate};

use crate::budget::Budget;
use crate::execution::canonical::{self, Job, Landing, RunResult};
use crate::execution::shared;
use crate::induction::jobs::any_length::Lengths;
use crate::prove::Stop;
use crate::{Options, Place, Verdict, take};

/// Whether the classes of a kernel are those of the given one: both have one grid. A kernel to which tiles are handed out
/// has one class, whatever its grid.
pub(crate) fn same_classes(given: &Program, prog: &Program) -> bool {
    prog.hands_out() || prog.grid == given.grid
}

/// The kernel to run, the CTA class, and the settings of runs.
#[derive(Clone)]
pub(crate) struct ClassRun<'a> {
    pub(crate) given: &'a Program,
    pub(crate) rules: Rules,
    pub(crate) cluster: i64,
    /// The cell of CTAs that base cases stand for.
    pub(crate) place: Option<Arc<Placement>>,
    pub(crate) options: Options,
    /// The landing order of flights.
    pub(crate) landing: Landing,
    /// Whether states and decisions of compared runs are up to a rotation of rings (lemma 12).
    pub(crate) rotates: bool,
    /// The shared budget of all runs.
    pub(crate) budget: &'a Budget,
    /// Whether to search for longer periods. Once another class is bounded, the verdict is bounded and longer periods
    /// would not change it.
    pub(crate) longer_periods: bool,
    /// Whether base cases that have another grid than the given one are decided here, for all of their CTAs. One class
    /// does that for all classes.
    pub(crate) other_grids: bool,
    /// Where each job has a trip count of its own: which ones.
    pub(crate) lengths: Option<Lengths>,
}

impl<'a> ClassRun<'a> {
    /// Runs of one cluster alone, with late landings.
    pub(crate) fn of_cluster(
        given: &'a Program,
        rules: Rules,
        cluster: i64,
        options: Options,
        budget: &'a Budget,
    ) -> ClassRun<'a> {
        ClassRun {
            given,
            rules,
            cluster,
            place: None,
            options,
            landing: Landing::Late,
            rotates: false,
            budget,
            longer_periods: true,
            other_grids: false,
            lengths: None,
        }
    }

    /// Whether a kernel has the given grid, whose classes are decided.
    pub(crate) fn has_given_grid(&self, prog: &Program) -> bool {
        same_classes(self.given, prog)
    }

    /// A run of the representative alone, for comparison with another run.
    pub(crate) fn job<'p>(&self, prog: &'p Program) -> Job<'p>
    where
        'a: 'p,
    {
        let ClassRun { rules, cluster, landing, rotates, budget, .. } = *self;
        Job { prog, rules, cluster, place: None, landing, rotates, budget }
    }

    /// A base case, for the whole cell.
    pub(crate) fn base<'p>(&'p self, prog: &'p Program) -> Job<'p> {
        Job { place: self.place.as_ref(), ..self.job(prog) }
    }

    /// The same settings, with states and decisions up to a rotation of rings. `None` where no ring rotates.
    pub(crate) fn rotating(&self) -> Option<Self> {
        may_rotate(self.given).then(|| ClassRun { rotates: true, ..self.clone() })
    }

    /// The same settings with aligned outer iterations.
    pub(crate) fn turning(&self) -> Self {
        ClassRun { landing: Landing::Turns, ..self.clone() }
    }

    /// The same settings with aligned outer iterations, and aligned iterations inside.
    pub(crate) fn stepping(&self) -> Self {
        ClassRun { landing: Landing::Steps, ..self.clone() }
    }

    /// The same settings with early landings.
    pub(crate) fn early(&self) -> Self {
        ClassRun { landing: Landing::Early, ..self.clone() }
    }

    /// The same settings with immediate landings.
    pub(crate) fn at_once(&self) -> Self {
        ClassRun { landing: Landing::AtOnce, ..self.clone() }
    }

    /// Runs a base case in a table of forms of its own: which of several runs meets an obstacle first is not left to
    /// threads.
    pub(super) fn case(&self, prog: &Program) -> BaseCase {
        let place = self.place.as_ref().map(|place| Arc::new(place.afresh()));
        let seen = canonical::run(Job { place: place.as_ref(), ..self.job(prog) });
        BaseCase { seen, place }
    }

    /// Base cases by what names each, several at a time.
    pub(super) fn cases<K: Sync>(
        &self,
        few: &[K],
        of: impl Fn(&K) -> Option<(Place, Program)> + Sync,
    ) -> Vec<(Place, Program, BaseCase)> {
        let one = |k: &K| {
            let (place, prog) = of(k)?;
            let case = self.case(&prog);
            Some((place, prog, case))
        };
        let all: Vec<Option<_>> = few.par_iter().map(one).collect();
        all.into_iter().flatten().collect()
    }

    /// Base cases that share one run while they make the same steps; `None` unless all of them are right, for the whole
    /// cell.
    pub(super) fn cases_together(&self, of: &[(Place, Program)]) -> Option<Vec<RunResult>> {
        let place = self.place.as_ref().map(|place| Arc::new(place.afresh()));
        let jobs: Vec<Job<'_>> = of.iter().map(|(_, prog)| Job { place: place.as_ref(), ..self.job(prog) }).collect();
        shared::clean_runs(&jobs)
    }

    pub(crate) fn once(&self, prog: &Program) -> RunResult {
        canonical::run(self.base(prog))
    }

    /// Runs a base case and adds its result to the verdict.
    pub(crate) fn check(&self, v: &mut Verdict, prog: &Program, place: Place, class: &str) -> Result<(), Stop> {
        self.taken_case(v, prog, self.case(prog), place, class)
    }

    /// Takes over what a base case showed that was run in its own table of forms.
    pub(super) fn taken_case(
        &self,
        v: &mut Verdict,
        prog: &Program,
        case: BaseCase,
        place: Place,
        class: &str,
    ) -> Result<(), Stop> {
        self.adopt(case.place.as_ref());
        self.taken(v, prog, &case.seen, place, class)
    }

    pub(super) fn adopt(&self, other: Option<&Arc<Placement>>) {
        if let (Some(own), Some(other)) = (&self.place, other) {
            own.adopt(other);
        }
    }

    /// Base cases of a trip count of the main loop, in a table of forms of their own: kernels that differ in the trip count
    /// of another loop. They run together while they make the same steps.
    pub(super) fn line(&self, trips: i64, of: Vec<(i64, Program)>) -> Line {
        let place = self.place.as_ref().map(|place| Arc::new(place.afresh()));
        let jobs: Vec<Job<'_>> = of.iter().map(|(_, prog)| Job { place: place.as_ref(), ..self.job(prog) }).collect();
        let seen = shared::runs(&jobs);
        Line { trips, cases: of.into_iter().zip(seen).map(|((t, prog), seen)| (t, prog, seen)).collect(), place }
    }

    /// Takes over what a line of base cases showed. Whether the runs stand for the whole cell ([`Self::is_one`]) is checked
    /// by the caller.
    pub(super) fn take_line(&self, v: &mut Verdict, line: &Line, class: &str) -> Result<(), Stop> {
        for (t, prog, seen) in &line.cases {
            take(v, prog, seen, Place { trips: Some(line.trips), turns: Some(*t), jobs: None }, class)?;
        }
        self.adopt(line.place.as_ref());
        Ok(())
    }

    /// Checks that the runs so far stand for the whole cell.
    pub(super) fn is_one(&self) -> Result<(), Stop> {
        if self.ctas_differ() { Err(Stop::Split) } else { Ok(()) }
    }

    /// Whether a run so far has told CTAs of the cell apart.
    pub(crate) fn ctas_differ(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.obstacle().is_some())
    }

    /// Adds the result of a base case to the verdict, or reports that the run does not stand for the whole cell.
    pub(super) fn taken(
        &self,
        v: &mut Verdict,
        prog: &Program,
        seen: &RunResult,
        place: Place,
        class: &str,
    ) -> Result<(), Stop> {
        take(v, prog, seen, place, class)?;
        self.is_one()
    }
}

/// Base cases of one trip count of the main loop.
pub(super) struct Line {
    trips: i64,
    /// Iterations of the other loop, with the kernel and its run.
    cases: Vec<(i64, Program, RunResult)>,
    place: Option<Arc<Placement>>,
}

/// What a base case showed, and what it learned of its cell.
pub(super) struct BaseCase {
    seen: RunResult,
    place: Option<Arc<Placement>>,
}
