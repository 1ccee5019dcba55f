//! One run for all numbers of turns, as far as they are one; where each parts from it, it is gone on with.
//!
//! ```text
//!   trunk    ●──●──●──●──●──●──●──●──●──●──●── ...     ● the head of a turn; the kernel of the most turns
//!                        └ t   └ t + 1    └ t + q      where kernels of fewer part from it, near their ends
//!                  m└──── q turns ───┐
//!   beside         ●──●──●──●── ...  │                 t turns, and t + q, from where they are one state but for a
//!                  ●──●──●──●── ... ◀┘                 shift: again one trunk for all t, from which each parts
//! ```
//!
//! A kernel of t turns and one of q turns more are held beside each other for each t of a period (`self_composition`, `nested_loops`). All of
//! these are one text with other numbers in it, so they start as one world and stay one while each goes as the others do:
//! the run of any of them is that of the others up to there. So it is made once. Which kernels still follow it, and whether
//! two of them decide alike on the way however far that goes on, is asked of the steps at which their numbers count (`instruction_log`).
//!
//! What is shown of t and t + q turns is what two runs beside each other show. Up to mark m + q both are the trunk, and
//! decide alike. Then the run of t turns goes on from m, the other from m + q: up to m + q the first is the trunk again,
//! which it was seen to be, and the second made the turns from m to m + q alone. Their states there are one but for a shift,
//! and from there they step together to their ends. Where the trunk is a pair of runs, of n steps and of p steps more, all
//! of this is said of four runs, two and two of which are one world on the trunk.

use std::cell::OnceCell;
use std::rc::Rc;

use rayon::prelude::*;
use warpline_sim::ir::{Loop, Program};
use warpline_sim::protocol::Snapshot;

use crate::execution::canonical::Walk;
use crate::induction::instruction_log::{Log, Upto};
use crate::induction::lockstep::{Came, Reached, Until, launches, uneven};
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::shift_invariance;

/// Runs that step together, and kernels that follow them.
pub(crate) struct Trunk<'p> {
    /// The runs as they began, and at the head of each turn.
    marks: Vec<Mark<'p>>,
    turns: Turns,
    log: Log,
    /// How they ended, once they did.
    came: Option<Result<Came, String>>,
}

/// A loop that is gone through with each turn.
pub(crate) struct Turns {
    until: Until,
    /// Its steps in a turn.
    steps: usize,
}

impl Turns {
    /// A loop that grows by so much with these turns, if each makes as many whole steps of it.
    pub(crate) fn of(prog: &Program, l: &Loop, by: i64, turns: i64) -> Option<Turns> {
        let each = step_of(prog, l) * turns;
        let watch = Watch::of(prog, l, None, 0).filter(|_| by >= each && by % each == 0)?;
        Some(Turns { until: Until { watch, left: 0 }, steps: (by / each) as usize })
    }

    fn on(&self, walk: &Walk<'_>) -> Turns {
        Turns { until: Until { watch: self.until.watch.on(walk), left: 0 }, steps: self.steps }
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
        self.states.get_or_init(|| self.runs.runs.iter().map(Walk::state).collect())
    }
}

/// Marks at which the longer runs may begin to be a shift of the shorter, at most.
const TRIES: usize = 6;

impl<'p> Trunk<'p> {
    /// Of runs by kernels of the most turns, for others of each in turn.
    pub(crate) fn new(start: Reached<'p>, turns: Turns, others: &[&Program]) -> Trunk<'p> {
        let log = Log::of(&start.runs, others);
        Trunk { marks: vec![Mark::of(start)], turns, log, came: None }
    }

    /// Goes on until there is a mark of this number, if there is.
    pub(crate) fn mark(&mut self, number: usize) -> bool {
        while self.marks.len() <= number && self.came.is_none() {
            self.turns.until.left = self.turns.steps;
            let last = self.marks[self.marks.len() - 1].runs.clone();
            match last.go_on(Some(&mut self.turns.until), Some(&mut self.log)) {
                Ok(reached) if reached.came == Came::Until => {
                    self.marks.push(Mark::of(reached));
                    self.log.marked();
                }
                other => self.came = Some(other.map(|reached| reached.came)),
            }
        }
        number < self.marks.len()
    }

    /// Goes on to the end of all, or as far as they are one.
    pub(crate) fn grown(mut self) -> Result<Trunk<'p>, String> {
        self.mark(usize::MAX);
        match self.came {
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
    pub(crate) fn run(&self, mark: usize) -> &Walk<'p> {
        &self.marks[mark].runs.runs[0]
    }

    fn runs(&self) -> usize {
        self.marks[0].runs.runs.len()
    }

    /// For each of these, as many kernels as there are runs, these instead of the runs' own from the last mark up to which
    /// each follows its run, and all decide alike; none where a matrix of theirs ends where something was stored.
    pub(crate) fn parted<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<Option<Reached<'q>>>
    where
        'p: 'q,
    {
        let parted = |(of, upto): (&Vec<&'q Program>, Upto)| {
            let start: &Reached<'q> = &self.marks[upto.mark].runs;
            let runs = start.runs.iter().zip(of).map(|(walk, prog)| walk.gone_on_by(prog));
            Some(start.with(runs.collect::<Option<_>>()?))
        };
        all.iter().zip(self.upto(all)).map(parted).collect()
    }

    /// For each of these, kernels of each run in turn, and again, the last mark up to which each follows its run, and all
    /// decide alike.
    fn upto<'q>(&self, all: &[Vec<&'q Program>]) -> Vec<Upto>
    where
        'p: 'q,
    {
        let mut runs: Vec<Walk<'q>> = self.marks[0].runs.runs.clone();
        let by = |of: &Vec<&'q Program>| -> Vec<(usize, &'q Program)> {
            of.iter().enumerate().map(|(i, prog)| (i % self.runs(), *prog)).collect()
        };
        all.iter().map(|of| self.log.upto(&mut runs, &by(of))).collect()
    }

    /// Whether the states at two marks are one but for a shift.
    pub(crate) fn alike(&self, mark: usize, other: usize) -> bool {
        let (here, then) = (&self.marks[mark], &self.marks[other]);
        let outlines = |mark: &Mark<'_>| mark.runs.runs.iter().map(Walk::outline).collect::<Vec<_>>();
        let states = || here.states().iter().chain(then.states()).collect::<Vec<_>>();
        outlines(here) == outlines(then) && shift_invariance::states(&states())
    }

    /// Holds kernels beside those of so many turns more: each of `all` is as many kernels as there are runs, and as many of
    /// more turns. The last of all has the most.
    pub(crate) fn carries<'q>(&self, turns: usize, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        for of in all {
            launches(of, &self.marks[0].runs.ask)?;
        }
        // Those of the fewest turns.
        let least = self.upto(all).into_iter().min_by_key(|upto| upto.mark).ok_or("none")?;
        let why = || uneven(self.programs()[0], least.at);
        let latest = least.mark.checked_sub(turns).ok_or_else(why)?;
        let tried = (0..=latest).rev().take(TRIES).filter(|mark| self.alike(*mark, mark + turns));
        tried.map(|mark| self.beside(mark, mark + turns, all)).find_map(Result::ok).ok_or_else(why)
    }

    /// The shorter ones from one mark beside the longer ones from the other, to their ends.
    fn beside<'q>(&self, mark: usize, longer: usize, all: &[Vec<&'q Program>]) -> Result<(), String>
    where
        'p: 'q,
    {
        let no = || "the states are not one".to_string();
        let last = all.last().ok_or_else(no)?;
        let (here, then) = (&self.marks[mark].runs, &self.marks[longer].runs);
        let runs = here.runs.iter().chain(&then.runs).zip(last).map(|(walk, prog)| walk.gone_on_by(prog));
        let runs = runs.collect::<Option<Vec<_>>>().ok_or_else(no)?;
        let turns = self.turns.on(&runs[0]);
        let start = if self.runs() == 1 { Reached::start(runs) } else { here.with(runs) };
        let others: Vec<&Program> = all.iter().flatten().copied().collect();
        let beside: Trunk<'q> = Trunk::new(start, turns, &others).grown()?;
        if beside.came != Some(Ok(Came::Over)) {
            return Err(no());
        }
        let ends = beside.parted(&all[..all.len() - 1]);
        let ends: Vec<Result<(), String>> = ends.into_par_iter().map(|end| end.ok_or_else(no)?.over()).collect();
        ends.into_iter().collect()
    }
}
