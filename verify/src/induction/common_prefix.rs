//! Runs the common prefix of all numbers of outer iterations once, then continues each from its point of divergence.
//!
//! ```text
//!   prefix   ●──●──●──●──●──●──●──●──●──●──●── ...     ● the head of a turn; the kernel of the most turns
//!                        └ t   └ t + 1    └ t + q      where kernels of fewer part from it, near their ends
//!                  m└──── q turns ───┐
//!   beside         ●──●──●──●── ...  │                 t turns, and t + q, from where they are one state but for a
//!                  ●──●──●──●── ... ◀┘                 shift: again one prefix for all t, from which each parts
//! ```
//!
//! For each `t` of a period, a kernel of `t` outer iterations is compared with one of `q` more (`self_composition`,
//! `nested_loops`). These kernels have one text with different numbers, so they start from one state and stay in one
//! state while they make the same steps. This common prefix is run once. Only steps that depend on a differing number
//! can end it; they are recorded (`instruction_log`), and decide which kernels still follow it and whether two of them
//! agree on all decisions. All pairs of one main loop share a prefix in the same way (`carry_over`): its iterations are
//! the turns.
//!
//! The comparison of `t` and `t + q` outer iterations needs two runs. Up to mark `m + q` both are the prefix, and they
//! agree. Then the run of `t` continues from `m` and the other from `m + q`. Up to mark `m + q` the first run is the
//! prefix again, which was checked. The second run made the outer iterations from `m` to `m + q` alone. The states at
//! the two marks are equal up to a shift, and from there the runs step together to their ends. The prefix may itself be
//! a pair of runs, with `n` and `n + p` steps. The same then holds for four runs, in two pairs that share the prefix.
//!
//! So this check accepts a pair of kernels only where their own runs (`self_composition`) step together. They differ by one
//! period, between two states that are equal up to a shift. Each step before that period, and each step in it, is compared
//! for both kernels. A step that reads no number that differs has equal decisions in both. Any other step is in the log, and
//! its decisions by both kernels are compared as those of the runs would be. The kernels themselves make the steps behind
//! the period. Faults of the prefix itself are faults of the runs that go on from it.

use std::cell::OnceCell;
use std::rc::Rc;

use rayon::prelude::*;
use warpline_sim::ir::{Loop, Program};
use warpline_sim::protocol::Snapshot;

use crate::execution::canonical::CanonicalRun;
use crate::induction::instruction_log::{Log, SharedExtent};
use crate::induction::lockstep::{Reached, StepGoal, StopReason, launch_values_agree, uneven};
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::shift_invariance;

/// Runs in lockstep, and the kernels that follow them.
pub(crate) struct SharedPrefix<'p> {
    /// The runs at the start, and at the start of each outer iteration.
    marks: Vec<Mark<'p>>,
    turns: TurnLoop,
    log: Log,
    /// The end of the runs, once reached.
    stop: Option<Result<StopReason, String>>,
}

/// A loop that is executed in each outer iteration.
pub(crate) struct TurnLoop {
    pub(crate) until: StepGoal,
    /// Its steps in one outer iteration.
    pub(crate) steps: usize,
}

impl TurnLoop {
    /// A loop that grows by `by` with `turns` outer iterations, if each of them makes the same whole number of its
    /// steps.
    pub(crate) fn of(prog: &Program, l: &Loop, by: i64, turns: i64) -> Option<TurnLoop> {
        let each = step_of(prog, l) * turns;
        let watch = Watch::of(prog, l, None, 0).filter(|_| by >= each && by % each == 0)?;
        Some(TurnLoop { until: StepGoal { watch, left: 0 }, steps: (by / each) as usize })
    }

    fn on(&self, walk: &CanonicalRun<'_>) -> TurnLoop {
        TurnLoop { until: StepGoal { watch: self.until.watch.on(walk), left: 0 }, steps: self.steps }
    }
}

/// A place on the prefix.
struct Mark<'p> {
    runs: Rc<Reached<'p>>,
    /// The outer iteration that starts, relative to a fixed number. Iterations without an operation have no mark.
    iteration: i64,
    /// The states of the runs, computed on demand.
    states: OnceCell<Vec<Snapshot>>,
}

impl<'p> Mark<'p> {
    fn of(runs: Reached<'p>, iteration: i64) -> Mark<'p> {
        Mark { runs: Rc::new(runs), iteration, states: OnceCell::new() }
    }

    fn states(&self) -> &[Snapshot] {
        self.states.get_or_init(|| self.runs.runs.iter().map(CanonicalRun::state).collect())
    }
}

/// Why kernels are not shown to carry over.
pub(crate) struct Unshown {
    pub(crate) why: String,
    /// Whether states recur, and the runs diverge behind them.
    pub(crate) diverges: bool,
}

/// Largest number of marks that are tried as the place where the longer runs become a shift of the shorter ones.
const TRIES: usize = 6;

/// Lists of kernels whose runs continue side by side: each keeps a copy of its runs.
const SIDE_BY_SIDE: usize = 8;

impl<'p> SharedPrefix<'p> {
    /// A prefix of runs by the kernels with the most outer iterations. `others` are the other kernels, for each run in
    /// turn.
    pub(crate) fn new(start: Reached<'p>, turns: TurnLoop, others: &[&Program]) -> SharedPrefix<'p> {
        let log = Log::of(&start.runs, others);
        SharedPrefix { marks: vec![Mark::of(start, 0)], turns, log, stop: None }
    }

    /// Continues until the mark with this number. Returns whether it exists.
    pub(crate) fn extend_to_mark(&mut self, number: usize) -> bool {
        while self.marks.len() <= number && self.stop.is_none() {
            self.turns.until.left = self.turns.steps;
            let last = self.marks[self.marks.len() - 1].runs.clone();
            match last.continue_until(Some(&mut self.turns.until), Some(&mut self.log)) {
                Ok(reached) if reached.stop == StopReason::GoalMet => {
                    let iteration = self.turns.until.watch.iteration() / self.turns.steps as i64;
                    // The first mark shows how iterations are numbered.
                    if let [start] = &mut self.marks[..] {
                        start.iteration = iteration - 1;
                    }
                    self.marks.push(Mark::of(reached, iteration));
                    self.log.pass_mark();
                }
                other => self.stop = Some(other.map(|reached| reached.stop)),
            }
        }
        number < self.marks.len()
    }

    /// Continues to the end of all runs, or as far as they have a common prefix.
    pub(crate) fn extended_to_end(mut self) -> Result<SharedPrefix<'p>, String> {
        self.extend_to_mark(usize::MAX);
        match self.stop {
            Some(Err(why)) => Err(why),
            _ => Ok(self),
        }
    }

    /// The runs' own kernels.
    pub(crate) fn programs(&self) -> Vec<&'p Program> {
        self.marks[0].runs.runs.iter().map(|walk| walk.world.program()).collect()
    }

    /// Number of marks.
    pub(crate) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The number of outer iterations from one mark to another.
    pub(crate) fn iterations(&self, mark: usize, other: usize) -> i64 {
        self.marks[other].iteration - self.marks[mark].iteration
    }

    /// The first of the runs at a mark.
    pub(crate) fn run(&self, mark: usize) -> &CanonicalRun<'p> {
        &self.marks[mark].runs.runs[0]
    }

    fn runs(&self) -> usize {
        self.marks[0].runs.runs.len()
    }

    /// For each list of kernels, one for each run, the runs that continue with these kernels. They start at the last
    /// mark up to which each kernel follows its run and all agree. `None` where a matrix of such a kernel ends where
    /// the run stored something.
    fn diverging_runs<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<Option<Reached<'q>>>
    where
        'p: 'q,
    {
        let parted = |(of, upto): (&Vec<&'q Program>, SharedExtent)| {
            let start: &Reached<'q> = &self.marks[upto.mark].runs;
            let runs = start.runs.iter().zip(of).map(|(walk, prog)| walk.continued_by(prog));
            Some(start.with(runs.collect::<Option<_>>()?))
        };
        all.iter().zip(self.shared_extents(all)).map(parted).collect()
    }

    /// Checks that the runs of each list of kernels, one for each run, step together to their ends.
    pub(crate) fn all_end<'q>(&self, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        let end = |runs: Option<Reached<'q>>| runs.ok_or("the runs diverge")?.run_to_end();
        all.chunks(SIDE_BY_SIDE).try_for_each(|few| {
            let ends: Vec<Result<(), String>> = self.diverging_runs(few).into_par_iter().map(end).collect();
            ends.into_iter().collect()
        })
    }

    /// For each list of kernels, for each run in turn, the last mark up to which each kernel follows its run and all
    /// agree.
    fn shared_extents<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<SharedExtent>
    where
        'p: 'q,
    {
        let mut runs: Vec<CanonicalRun<'q>> = self.marks[0].runs.runs.clone();
        all.iter().map(|of| self.log.shared_extent(&mut runs, &self.by_run(of), usize::MAX)).collect()
    }

    /// The first of the least of [`SharedPrefix::shared_extents`].
    fn least_shared_extent<'q>(&self, all: &[Vec<&'q Program>]) -> Option<SharedExtent>
    where
        'p: 'q,
    {
        let mut runs: Vec<CanonicalRun<'q>> = self.marks[0].runs.runs.clone();
        all.iter().fold(None, |least: Option<SharedExtent>, of| {
            let most = least.map_or(usize::MAX, |least| least.mark);
            let extent = self.log.shared_extent(&mut runs, &self.by_run(of), most);
            least.filter(|least| least.mark <= extent.mark).or(Some(extent))
        })
    }

    /// The run that each kernel of a list follows, and the kernel.
    fn by_run<'q>(&self, of: &[&'q Program]) -> Vec<(usize, &'q Program)> {
        of.iter().enumerate().map(|(i, prog)| (i % self.runs(), *prog)).collect()
    }

    /// Whether the states at two marks are equal up to a shift.
    pub(crate) fn alike(&self, mark: usize, other: usize) -> bool {
        let (here, then) = (&self.marks[mark], &self.marks[other]);
        let outlines = |mark: &Mark<'_>| mark.runs.runs.iter().map(CanonicalRun::outline).collect::<Vec<_>>();
        let states = || here.states().iter().chain(then.states()).collect::<Vec<_>>();
        outlines(here) == outlines(then) && shift_invariance::states(&states())
    }

    /// Compares kernels with those of `turns` more outer iterations. Each list has a kernel for each run, then as many
    /// with more outer iterations. The last list has the most.
    pub(crate) fn carries_over<'q>(&self, turns: usize, all: &[Vec<&'q Program>]) -> Result<(), Unshown>
    where
        'p: 'q,
    {
        let unlike = |why| Unshown { why, diverges: false };
        for of in all {
            launch_values_agree(of, &self.marks[0].runs.conditions).map_err(unlike)?;
        }
        // The list with the fewest outer iterations decides.
        let least = self.least_shared_extent(all).ok_or_else(|| unlike("none".into()))?;
        let behind = |mark: usize| (mark..=least.mark).find(|other| self.iterations(mark, *other) == turns as i64);
        let pairs = (0..=least.mark).rev().filter_map(|mark| Some((mark, behind(mark)?)));
        let mut diverges = false;
        for (mark, other) in pairs.take(TRIES) {
            if self.alike(mark, other) {
                diverges = true;
                if self.steps_in_lockstep(mark, other, all).is_ok() {
                    return Ok(());
                }
            }
        }
        Err(Unshown { why: uneven(self.programs()[0], least.at), diverges })
    }

    /// Steps the shorter kernels from one mark and the longer kernels from the other in lockstep, to their ends.
    fn steps_in_lockstep<'q>(&self, mark: usize, longer: usize, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        let no = || "the states differ".to_string();
        let last = all.last().ok_or_else(no)?;
        let (here, then) = (&self.marks[mark].runs, &self.marks[longer].runs);
        let runs = here.runs.iter().chain(&then.runs).zip(last).map(|(walk, prog)| walk.continued_by(prog));
        let runs = runs.collect::<Option<Vec<_>>>().ok_or_else(no)?;
        let turns = self.turns.on(&runs[0]);
        let start = if self.runs() == 1 { Reached::start(runs) } else { here.with(runs) };
        let others: Vec<&Program> = all.iter().flatten().copied().collect();
        let longer_prefix: SharedPrefix<'q> = SharedPrefix::new(start, turns, &others).extended_to_end()?;
        if longer_prefix.stop != Some(Ok(StopReason::AllEnded)) {
            return Err(no());
        }
        longer_prefix.all_end(&all[..all.len() - 1])
    }
}
