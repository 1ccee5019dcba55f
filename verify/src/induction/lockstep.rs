//! Lockstep execution of several runs, with the periods that the longer runs make alone on the way.
//!
//! A pair is a short run and a run with some steps more in each pass through its main loop (`self_composition`). Two
//! pairs, the second with more iterations of the outer loop, also step in lockstep (`nested_loops`). Then all four runs
//! make one step at a time. Where the longer runs insert a period, both make it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline_sim::ir::Program;
use warpline_sim::protocol::{AgentId, Decision, Snapshot, decisions_at_launch};
use warpline_sim::report::FindingKind;

use crate::certificate::Insertion;
use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::induction::instruction_log::Log;
use crate::induction::loop_counter::grown;
use crate::induction::loop_counter::{Watch, step_of};
use crate::induction::shift_invariance::{self, Conditions};

/// The reason why lockstep execution stopped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StopReason {
    /// All of them to their ends.
    AllEnded,
    /// The goal was reached.
    GoalMet,
    /// The second pair diverged from the first.
    PairsDiverged(String),
}

/// Runs in lockstep up to one place: one run, a short and a long run, or two such pairs.
#[derive(Clone)]
pub(crate) struct Reached<'p> {
    pub(crate) runs: Vec<CanonicalRun<'p>>,
    /// The loops with more iterations in the long runs, for each agent.
    watches: Vec<Watch>,
    /// Number of parts of a period.
    parts: usize,
    /// Index of the first watched loop that grows from the first pair to the second; earlier ones grow inside a pair.
    second: Option<usize>,
    pub(crate) stop: StopReason,
    /// The conditions on the runs, and what their failures showed.
    pub(crate) conditions: Arc<Mutex<Conditions>>,
}

/// A loop, and the number of its steps until the goal.
#[derive(Clone, Debug)]
pub(crate) struct StepGoal {
    pub(crate) watch: Watch,
    pub(crate) left: usize,
}

impl StepGoal {
    fn steps(&mut self, walk: &CanonicalRun<'_>, made: &StepOutcome) {
        if self.left > 0 {
            self.left = self.left.saturating_sub(self.watch.steps(walk, made));
        }
    }
}

/// A segment in which all runs step together.
struct Segment<'p> {
    start: Rc<Reached<'p>>,
    until: Option<StepGoal>,
    /// For each watched loop, its steps.
    marks: Vec<Vec<Mark>>,
    /// Copies of the runs at intervals, so that no place is far from one.
    checkpoints: Vec<(u64, Rc<Reached<'p>>, Option<StepGoal>)>,
    at: u64,
    end: SegmentEnd<'p>,
}

/// A step of a watched loop.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Position in the segment, in steps of the runs.
    at: u64,
    /// Outline of the first run at this position.
    outline: u64,
    /// Number of the iteration that starts, and the loop's index there.
    iteration: i64,
    index: i64,
    /// Steps of the first run so far.
    steps: u64,
}

/// Steps of the walks from one checkpoint to the next, at least...
const CHECKPOINT_STEPS: u64 = 256;
/// ...and one for so many bytes of a checkpoint, so that copies never take longer than steps.
const BYTES_A_STEP: u64 = 512;

enum SegmentEnd<'p> {
    /// A short run and its long run diverged.
    Diverged(String),
    Reached(Reached<'p>, Option<StepGoal>),
}

/// Largest number of passes through loops.
const PASSES: usize = 4096;
/// Number of loops in which a period is tried.
const NEAREST: usize = 4;
/// Number of places that are tried in each loop.
const TRIES: usize = 24;
/// Number of these places with unequal states, after which the period counts as wrong.
const UNLIKE: usize = 6;

impl<'p> Reached<'p> {
    pub(crate) fn start(runs: Vec<CanonicalRun<'p>>) -> Reached<'p> {
        Reached::in_parts(runs, 1)
    }

    /// [`Self::start`] with a period that the long run makes in `parts` parts, each at its own place.
    pub(crate) fn in_parts(runs: Vec<CanonicalRun<'p>>, parts: usize) -> Reached<'p> {
        let watches = match &runs[..] {
            [short, long, ..] => watches(short, long, parts),
            _ => Vec::new(),
        };
        Reached { runs, watches, parts, second: None, stop: StopReason::GoalMet, conditions: Arc::default() }
    }

    /// Two pairs of runs. The second has more iterations of another loop, which is neither inside nor around the loop
    /// of a pair.
    pub(crate) fn sequential(runs: Vec<CanonicalRun<'p>>) -> Reached<'p> {
        let mut start = Reached::start(runs);
        start.second = Some(start.watches.len());
        start.watches.extend(watches(&start.runs[0], &start.runs[2], 1));
        start
    }

    /// Runs that step together throughout: none makes a period more than another.
    pub(crate) fn abreast(runs: Vec<CanonicalRun<'p>>) -> Reached<'p> {
        Reached { watches: Vec::new(), ..Reached::start(runs) }
    }

    /// The same watched loops for other runs at the same place.
    pub(crate) fn with(&self, runs: Vec<CanonicalRun<'p>>) -> Reached<'p> {
        let watches = self.watches.iter().map(|w| w.on(&runs[0])).collect();
        Reached {
            runs,
            watches,
            parts: self.parts,
            second: self.second,
            stop: StopReason::GoalMet,
            conditions: self.conditions.clone(),
        }
    }

    /// Continues to the ends of all runs.
    pub(crate) fn run_to_end(self) -> Result<(), String> {
        let programs: Vec<&Program> = self.runs.iter().map(|run| run.world.program()).collect();
        launch_values_agree(&programs, &self.conditions)?;
        match Rc::new(self).continue_until(None, None)?.stop {
            StopReason::AllEnded => Ok(()),
            StopReason::GoalMet => Err("the runs diverge".into()),
            StopReason::PairsDiverged(why) => Err(why),
        }
    }

    /// Continues to the end, or until a loop has made so many steps in the first run. The error says where a short run
    /// and its long run diverge.
    pub(crate) fn continue_until(
        self: &Rc<Self>,
        until: Option<&mut StepGoal>,
        mut log: Option<&mut Log>,
    ) -> Result<Reached<'p>, String> {
        let mut now = self.step_together(until.as_deref().cloned(), log.as_deref_mut());
        let mut back = 0;
        for _ in 0..PASSES {
            let why = match now.end {
                SegmentEnd::Reached(reached, left) => {
                    if let (Some(until), Some(left)) = (until, left) {
                        *until = left;
                    }
                    return Ok(reached);
                }
                SegmentEnd::Diverged(ref why) => why.clone(),
            };
            now = now.insert_period(&mut back, log.as_deref_mut()).ok_or(why)?;
        }
        Err("a run has too many passes through its loops".into())
    }

    /// Steps all runs until they diverge, end, or reach the goal.
    fn step_together(self: &Rc<Self>, mut until: Option<StepGoal>, mut log: Option<&mut Log>) -> Segment<'p> {
        let from = until.clone();
        let Reached { mut runs, mut watches, parts, conditions, second, .. } = Reached::clone(self);
        let mut marks = vec![Vec::new(); watches.len()];
        let mut checkpoints = Vec::new();
        runs.iter_mut().for_each(|w| w.record.record_decisions());
        let mut made = Vec::with_capacity(shift_invariance::RUNS);
        // Runs without watched loops insert no period.
        let bytes = || runs.iter().map(|run| run.world.bytes()).sum::<u64>();
        let spacing = if watches.is_empty() { u64::MAX } else { CHECKPOINT_STEPS.max(bytes() / BYTES_A_STEP) };
        let mut at = 0;
        let end = loop {
            if until.as_ref().is_some_and(|u| u.left == 0) {
                break SegmentEnd::Reached(
                    Reached { runs, watches, parts, second, stop: StopReason::GoalMet, conditions },
                    until,
                );
            }
            if at % spacing == 0 && at > 0 {
                let (runs, watches, conditions) = (runs.clone(), watches.clone(), conditions.clone());
                let reached = Reached { runs, watches, parts, second, stop: StopReason::GoalMet, conditions };
                checkpoints.push((at, Rc::new(reached), until.clone()));
            }
            made.clear();
            match &mut log {
                Some(log) => made.extend(runs.iter_mut().enumerate().map(|(i, run)| log.next(run, i))),
                None => made.extend(runs.iter_mut().map(CanonicalRun::next)),
            }
            let apart = divergence(&runs, &made, &conditions);
            if let Some(log) = &mut log {
                if apart.is_none() { log.commit(true) } else { log.discard() }
            }
            match apart {
                None => {}
                Some((Divergence::BetweenPairs, why)) if second.is_none() => {
                    break SegmentEnd::Reached(
                        Reached { runs, watches, parts, second, stop: StopReason::PairsDiverged(why), conditions },
                        until,
                    );
                }
                Some((_, why)) => break SegmentEnd::Diverged(why),
            }
            at += 1;
            if made[0] == StepOutcome::JobBegins {
                break SegmentEnd::Reached(
                    Reached { runs, watches, parts, second, stop: StopReason::GoalMet, conditions },
                    until,
                );
            }
            if let StepOutcome::RunEnded(_) = made[0] {
                break match runs.iter().find_map(|run| Some((run, fault(run)?))) {
                    Some((run, why)) => {
                        locked(&conditions).fault = true;
                        run.note_fault();
                        SegmentEnd::Diverged(why)
                    }
                    None => SegmentEnd::Reached(
                        Reached { runs, watches, parts, second, stop: StopReason::AllEnded, conditions },
                        until,
                    ),
                };
            }
            let first = &runs[0];
            if let Some(u) = &mut until {
                u.steps(first, &made[0]);
            }
            count(&mut watches, first, &made[0], |i, w| {
                let (iteration, index) = (w.iteration(), w.last.unwrap_or(0));
                marks[i].push(Mark { at, outline: first.outline(), iteration, index, steps: first.steps });
            });
        };
        Segment { start: self.clone(), until: from, marks, checkpoints, at, end }
    }
}

/// Counts a step of a run in the loops that its agent watches. `advanced` receives each watch that advanced, with its
/// index.
fn count(watches: &mut [Watch], run: &CanonicalRun<'_>, made: &StepOutcome, mut advanced: impl FnMut(usize, &Watch)) {
    let StepOutcome::Performed { agent, .. } = *made else { return };
    // `watches` lists each loop for all agents in turn.
    for i in (agent as usize..watches.len()).step_by(run.world.agents().len()) {
        if watches[i].steps(run, made) > 0 {
            advanced(i, &watches[i]);
        }
    }
}

/// The loops with more iterations in the long run: each loop for all agents in turn.
fn watches(short: &CanonicalRun<'_>, long: &CanonicalRun<'_>, parts: usize) -> Vec<Watch> {
    let prog = short.world.program();
    let mut list: Vec<Watch> = Vec::new();
    for (l, by) in grown(prog, long.world.program()) {
        let step = step_of(prog, l) * parts as i64;
        if by % step == 0 {
            let agents = 0..short.world.agents().len() as AgentId;
            list.extend(agents.filter_map(|a| Watch::of(prog, l, Some(a), (by / step) as usize)));
        }
    }
    list
}

/// Checks that values known at launch decide alike in kernels of one text: two, or two pairs.
pub(crate) fn launch_values_agree(programs: &[&Program], conditions: &Mutex<Conditions>) -> Result<(), String> {
    let first = programs[0];
    if !first.hands_out() && programs.iter().any(|prog| prog.grid != first.grid) {
        return Err("the grid grows too".into());
    }
    // All longer kernels have this grid too, if no decision in the form of its size changes.
    let of = |prog: &Program| {
        let grid = prog.forms.grid.iter().flatten().filter(|_| !first.hands_out());
        decisions_at_launch(prog, prog.forms.extents.iter().flatten().flatten().chain(grid))
    };
    let lists: Vec<Vec<Decision>> = programs.iter().map(|prog| of(prog)).collect();
    let lists: Vec<&[Decision]> = lists.iter().map(Vec::as_slice).collect();
    if shift_invariance::decided(&lists, &mut locked(conditions)) {
        Ok(())
    } else {
        Err("values computed at launch do not grow evenly".into())
    }
}

fn locked(conditions: &Mutex<Conditions>) -> MutexGuard<'_, Conditions> {
    conditions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runs that diverge.
enum Divergence {
    /// A short run and its long run.
    InPair,
    /// The second pair from the first.
    BetweenPairs,
}

/// The divergence of the last steps.
fn divergence(
    runs: &[CanonicalRun<'_>],
    made: &[StepOutcome],
    conditions: &Mutex<Conditions>,
) -> Option<(Divergence, String)> {
    if runs.len() == 1 {
        return None;
    }
    let one = |is: &[usize]| {
        let lists: [&[Decision]; shift_invariance::RUNS] =
            std::array::from_fn(|i| runs[is.get(i).copied().unwrap_or(0)].decisions());
        is.iter().all(|i| made[*i] == made[is[0]])
            && shift_invariance::decided(&lists[..is.len()], &mut locked(conditions))
    };
    let apart = match runs.len() {
        2 if one(&[0, 1]) => return None,
        4 if one(&[0, 1, 2, 3]) => return None,
        4 if one(&[0, 1]) && one(&[2, 3]) && !(one(&[0, 2]) && one(&[1, 3])) => Divergence::BetweenPairs,
        _ => Divergence::InPair,
    };
    let at = match made[0] {
        StepOutcome::Performed { pc, .. } | StepOutcome::Blocked { pc, .. } | StepOutcome::Landed { pc, .. } => {
            Some(pc)
        }
        _ => None,
    };
    Some((apart, uneven(runs[0].world.program(), at)))
}

/// The message for runs that diverge at an instruction.
pub(crate) fn uneven(prog: &Program, at: Option<u32>) -> String {
    let site = at.map(|pc| prog.site(pc));
    let at = site.map_or(String::new(), |site| format!("line {}: `{}`: ", site.line, site.text));
    at + "its decisions do not carry over from step to step"
}

/// A fault of a run, without faults of coverage, which other runs check.
pub(crate) fn fault(walk: &CanonicalRun<'_>) -> Option<String> {
    let faults = walk.world.findings().iter();
    let worst = faults.filter(|f| !f.note && f.kind != FindingKind::Coverage).map(|f| f.message.clone()).next();
    worst.or_else(|| walk.unordered())
}

impl<'p> Segment<'p> {
    /// The segment after the long runs have inserted a period. `back` is how many marks before the divergence the last
    /// insertion was.
    fn insert_period(&self, back: &mut usize, mut log: Option<&mut Log>) -> Option<Segment<'p>> {
        // The loops with the nearest last steps.
        let mut order: Vec<usize> = (0..self.marks.len()).filter(|w| !self.marks[*w].is_empty()).collect();
        order.sort_by_key(|w| std::cmp::Reverse(self.marks[*w].last().map(|m| m.at)));
        // One place can take several of the parts.
        let made = 1..self.start.parts.max(2);
        for (w, made) in order.into_iter().take(NEAREST).flat_map(|w| made.clone().map(move |made| (w, made))) {
            let (marks, period) = (&self.marks[w], self.start.watches[w].period * made);
            // The long run makes the next period alone; the comparison of this period showed that both runs agree in
            // it.
            let behind = |m: &Mark| {
                let end = m.iteration + period as i64;
                let from = marks.partition_point(|x| x.at <= m.at);
                marks[from..].iter().find(|x| x.iteration >= end).filter(|x| x.iteration == end)
            };
            let Some(latest) = (0..marks.len()).rev().find(|i| behind(&marks[*i]).is_some()) else { continue };
            let tries = (*back..=latest).chain(0..(*back).min(latest + 1));
            let like = |b: &usize| {
                let mark = &marks[latest - b];
                behind(mark).is_some_and(|x| x.outline == mark.outline)
            };
            let (mut unlike, useless) = (0, Cell::new(usize::MAX));
            for b in tries.filter(|b| *b < useless.get() && like(b)).take(TRIES) {
                let at = marks[latest - b].at;
                let noted = log.as_ref().map(|log| log.len());
                match self.insert_at((w, period), at, log.as_deref_mut()) {
                    Some(next) if matches!(next.end, SegmentEnd::Reached(..)) || at + next.at > self.at => {
                        *back = b;
                        let second = self.start.second.is_some_and(|second| w >= second);
                        let pass = marks[..=latest - b].iter().filter(|m| m.index == marks[latest - b].index).count();
                        locked(&self.start.conditions).inserted.push(Insertion {
                            second,
                            parts: self.start.parts as u64,
                            made: made as u64,
                            of: self.start.watches[w].number(self.start.runs[0].world.program()),
                            agent: self.start.watches[w].agent.unwrap_or(0),
                            index: marks[latest - b].index,
                            pass: pass as u64,
                            steps: marks[latest - b].steps,
                        });
                        return Some(next);
                    }
                    // The runs diverge no later than before. Inserted earlier, the period leads to this place again:
                    // each run has one path, and the long run is a period ahead on it in either case.
                    Some(_) => useless.set(b),
                    None => unlike += 1,
                }
                // A failed trial is not part of the runs.
                if let (Some(log), Some(noted)) = (log.as_deref_mut(), noted) {
                    log.truncate(noted);
                }
                if unlike == UNLIKE {
                    break;
                }
            }
        }
        None
    }

    /// Lets the long runs insert a period at a mark.
    fn insert_at(&self, (w, period): (usize, usize), at: u64, mut log: Option<&mut Log>) -> Option<Segment<'p>> {
        let near = self.checkpoints.iter().rev().find(|checkpoints| checkpoints.0 <= at);
        let (from, start, until) = near.map_or((0, &self.start, &self.until), |(at, start, until)| (*at, start, until));
        let Reached { mut runs, mut watches, parts, conditions, second, .. } = Reached::clone(start);
        let mut until = until.clone();
        for _ in from..at {
            let x = runs[0].next();
            runs.iter_mut().skip(1).for_each(|w| drop(w.next()));
            let first = &runs[0];
            count(&mut watches, first, &x, |_, _| {});
            if let Some(u) = &mut until {
                u.steps(first, &x);
            }
        }
        // The short and the long runs with respect to the watched loop.
        let by = if second.is_some_and(|second| w >= second) { 2 } else { 1 };
        let short: Vec<usize> = (0..runs.len()).filter(|i| i & by == 0).collect();
        let long: Vec<usize> = short.iter().map(|i| i + by).collect();
        // Most unequal states already differ in their outlines.
        if short.iter().zip(&long).any(|(x, y)| runs[*x].outline() != runs[*y].outline()) {
            return None;
        }
        let states =
            |runs: &[CanonicalRun<'_>], of: &[usize]| of.iter().map(|i| runs[*i].state()).collect::<Vec<Snapshot>>();
        let (here, was) = (states(&runs, &short), states(&runs, &long));
        let like = |x: &[Snapshot], y: &[Snapshot]| x.iter().zip(y).all(|(x, y)| shift_invariance::states(&[x, y]));
        if !like(&here, &was) {
            return None;
        }
        for i in &long {
            let run = &mut runs[*i];
            let mut watch = watches[w].on(run);
            let mut left = period;
            while left > 0 {
                let y = match &mut log {
                    Some(log) => log.next(run, *i),
                    None => run.next(),
                };
                if let StepOutcome::RunEnded(_) | StepOutcome::JobBegins = y {
                    return None;
                }
                if let Some(log) = &mut log {
                    log.commit(false);
                }
                left = left.checked_sub(watch.steps(run, &y))?;
            }
        }
        let then = states(&runs, &long);
        let square = match by {
            1 => squares(&here, &then),
            _ => shift_invariance::states(&here.iter().chain(&then).collect::<Vec<_>>()),
        };
        if !like(&was, &then) || !square {
            return None;
        }
        Some(
            Rc::new(Reached { runs, watches, parts, second, stop: StopReason::GoalMet, conditions })
                .step_together(until, log),
        )
    }
}

/// Whether two pairs of states are equal up to a shift in both directions at once; always true for one pair.
pub(crate) fn squares(short: &[Snapshot], long: &[Snapshot]) -> bool {
    match (short, long) {
        ([a, c], [b, d]) => shift_invariance::states(&[a, b, c, d]),
        _ => true,
    }
}
