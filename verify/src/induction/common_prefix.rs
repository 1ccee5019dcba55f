//! Runs the common prefix of all numbers of turns once, then continues each from its point of divergence.
//!
//! ```text
//!   prefix   ●──●──●──●──●──●──●──●──●──●──●── ...     ● the head of a turn; the kernel of the most turns
//!                        └ t   └ t + 1    └ t + q      where kernels of fewer part from it, near their ends
//!                  m└──── q turns ───┐
//!   beside         ●──●──●──●── ...  │                 t turns, and t + q, from where they are one state but for a
//!                  ●──●──●──●── ... ◀┘                 shift: again one prefix for all t, from which each parts
//! ```
//!
//! A kernel of t turns and one of q turns more are held beside each other for each t of a period (`self_composition`, `nested_loops`). All of
//! these are one text with other numbers in it, so they start as one world and stay one while each goes as the others do:
//! the run of any of them is that of the others up to there. So it is made once. Which kernels still follow it, and whether
//! two of them decide alike on the way however far that goes on, is asked of the steps at which their numbers count (`instruction_log`).
//!
//! What is shown of t and t + q turns is what two runs beside each other show. Up to mark m + q both are the prefix, and
//! decide alike. Then the run of t turns goes on from m, the other from m + q: up to m + q the first is the prefix again,
//! which it was seen to be, and the second made the turns from m to m + q alone. Their states there are one but for a shift,
//! and from there they step together to their ends. Where the prefix is a pair of runs, of n steps and of p steps more, all
//! of this is said of four runs, two and two of which are one world on the prefix.

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

/// Runs that step together, and kernels that follow them.
pub(crate) struct SharedPrefix<'p> {
    /// The runs as they began, and at the head of each turn.
    marks: Vec<Mark<'p>>,
    turns: TurnLoop,
    log: Log,
    /// How they ended, once they did.
    stop: Option<Result<StopReason, String>>,
}

/// A loop that is gone through with each turn.
pub(crate) struct TurnLoop {
    until: StepGoal,
    /// Its steps in a turn.
    steps: usize,
}

impl TurnLoop {
    /// A loop that grows by so much with these turns, if each makes as many whole steps of it.
    pub(crate) fn of(prog: &Program, l: &Loop, by: i64, turns: i64) -> Option<TurnLoop> {
        let each = step_of(prog, l) * turns;
        let watch = Watch::of(prog, l, None, 0).filter(|_| by >= each && by % each == 0)?;
        Some(TurnLoop { until: StepGoal { watch, left: 0 }, steps: (by / each) as usize })
    }

    fn on(&self, walk: &CanonicalRun<'_>) -> TurnLoop {
        TurnLoop { until: StepGoal { watch: self.until.watch.on(walk), left: 0 }, steps: self.steps }
    }
}

/// A place on it.
struct Mark<'p> {
    runs: Rc<Reached<'p>>,
    /// Their states, once somebody asked.
    states: OnceCell<Vec<Snapshot>>,
}

impl<'p> Mark<'p> {
    fn of(runs: Reached<'p>) -> Mark<'p> {
        Mark { runs: Rc::new(runs), states: OnceCell::new() }
    }

    fn states(&self) -> &[Snapshot] {
        self.states.get_or_init(|| self.runs.runs.iter().map(CanonicalRun::state).collect())
    }
}

/// Marks at which the longer runs may begin to be a shift of the shorter, at most.
const TRIES: usize = 6;

impl<'p> SharedPrefix<'p> {
    /// Of runs by kernels of the most turns, for others of each in turn.
    pub(crate) fn new(start: Reached<'p>, turns: TurnLoop, others: &[&Program]) -> SharedPrefix<'p> {
        let log = Log::of(&start.runs, others);
        SharedPrefix { marks: vec![Mark::of(start)], turns, log, stop: None }
    }

    /// Goes on until there is a mark of this number, if there is.
    pub(crate) fn extend_to_mark(&mut self, number: usize) -> bool {
        while self.marks.len() <= number && self.stop.is_none() {
            self.turns.until.left = self.turns.steps;
            let last = self.marks[self.marks.len() - 1].runs.clone();
            match last.continue_until(Some(&mut self.turns.until), Some(&mut self.log)) {
                Ok(reached) if reached.stop == StopReason::GoalMet => {
                    self.marks.push(Mark::of(reached));
                    self.log.pass_mark();
                }
                other => self.stop = Some(other.map(|reached| reached.stop)),
            }
        }
        number < self.marks.len()
    }

    /// Goes on to the end of all, or as far as they are one.
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

    /// How many marks there are.
    pub(crate) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The first of the runs at a mark.
    pub(crate) fn run(&self, mark: usize) -> &CanonicalRun<'p> {
        &self.marks[mark].runs.runs[0]
    }

    fn runs(&self) -> usize {
        self.marks[0].runs.runs.len()
    }

    /// For each of these, as many kernels as there are runs, these instead of the runs' own from the last mark up to which
    /// each follows its run, and all decide alike; none where a matrix of theirs ends where something was stored.
    pub(crate) fn diverging_runs<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<Option<Reached<'q>>>
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

    /// For each of these, kernels of each run in turn, and again, the last mark up to which each follows its run, and all
    /// decide alike.
    fn shared_extents<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<SharedExtent>
    where
        'p: 'q,
    {
        let mut runs: Vec<CanonicalRun<'q>> = self.marks[0].runs.runs.clone();
        let by = |of: &Vec<&'q Program>| -> Vec<(usize, &'q Program)> {
            of.iter().enumerate().map(|(i, prog)| (i % self.runs(), *prog)).collect()
        };
        all.iter().map(|of| self.log.shared_extent(&mut runs, &by(of))).collect()
    }

    /// Whether the states at two marks are one but for a shift.
    pub(crate) fn alike(&self, mark: usize, other: usize) -> bool {
        let (here, then) = (&self.marks[mark], &self.marks[other]);
        let outlines = |mark: &Mark<'_>| mark.runs.runs.iter().map(CanonicalRun::outline).collect::<Vec<_>>();
        let states = || here.states().iter().chain(then.states()).collect::<Vec<_>>();
        outlines(here) == outlines(then) && shift_invariance::states(&states())
    }

    /// Holds kernels beside those of so many turns more: each of `all` is as many kernels as there are runs, and as many of
    /// more turns. The last of all has the most.
    pub(crate) fn carries_over<'q>(&self, turns: usize, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        for of in all {
            launch_values_agree(of, &self.marks[0].runs.conditions)?;
        }
        // Those of the fewest turns.
        let least = self.shared_extents(all).into_iter().min_by_key(|upto| upto.mark).ok_or("none")?;
        let why = || uneven(self.programs()[0], least.at);
        let latest = least.mark.checked_sub(turns).ok_or_else(why)?;
        let tried = (0..=latest).rev().take(TRIES).filter(|mark| self.alike(*mark, mark + turns));
        tried.map(|mark| self.steps_in_lockstep(mark, mark + turns, all)).find_map(Result::ok).ok_or_else(why)
    }

    /// The shorter ones from one mark beside the longer ones from the other, to their ends.
    fn steps_in_lockstep<'q>(&self, mark: usize, longer: usize, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        let no = || "the states are not one".to_string();
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
        let ends = longer_prefix.diverging_runs(&all[..all.len() - 1]);
        let ends: Vec<Result<(), String>> = ends.into_par_iter().map(|end| end.ok_or_else(no)?.run_to_end()).collect();
        ends.into_iter().collect()
    }
}
