//! A log of the steps at which another kernel of the same text could behave differently, recorded while runs step in
//! lockstep.
//!
//! Kernels of one text differ in some of their numbers (`shared`). Suppose that no instruction on the way to an agent's
//! next operation reads such a number. Then each kernel makes the same step from the same state, with the same
//! decisions. So only the other steps decide whether other kernels also step in lockstep. These steps are recorded with
//! the agent's variables, and then checked for each kernel.
//!
//! An instruction reads these numbers of a kernel, and no others:
//!
//! - the symbols of its expressions. `each` lists them all, with the coordinates that a proof compares with the ends of a
//!   matrix;
//! - the ends of the matrices that it reaches;
//! - the number of tiles that are left.
//!
//! Everything else that a step depends on is in the state, or is equal in all kernels that start from one world
//! (`shared::of_one`).

use warpline_sim::ir::{Binary, ExprUse, Instr, ParamId, Program, each};
use warpline_sim::protocol::{AgentId, Decision};

use crate::execution::canonical::{CanonicalRun, StepOutcome};
use crate::execution::live_variables::LiveVariables;
use crate::execution::shared::{differs, hands, symbols_read, told_apart, unlike};
use crate::induction::shift_invariance;

/// The steps that depend on numbers that differ between kernels.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// For each instruction of each run's kernel, whether it differs in a kernel that may follow the run.
    differing: Vec<Vec<bool>>,
    /// For each instruction of each run's kernel, the symbols that it reads.
    read: Vec<Vec<Vec<ParamId>>>,
    /// For each matrix of each run's kernel, whether it ends elsewhere in a kernel that may follow the run.
    other_ends: Vec<Vec<bool>>,
    /// For each run's kernel, the variables that agents may still read.
    live: Vec<LiveVariables>,
    /// For each instruction, whether an agent there can reach one that differs.
    reaches_differing: Vec<Vec<bool>>,
    /// Number of marks that the runs have passed.
    marks: usize,
    notes: Vec<LoggedStep>,
    /// The parts of the current step.
    now: Vec<AgentStep>,
}

/// How far kernels make the same steps as the runs and agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedExtent {
    /// The last mark before the difference.
    pub(crate) mark: usize,
    /// The operation of the runs at the difference.
    pub(crate) at: Option<u32>,
}

/// A step of all runs together, or a step that a long run makes alone.
#[derive(Clone, Debug)]
struct LoggedStep {
    /// Number of marks before the step.
    marks: usize,
    together: bool,
    steps: Vec<AgentStep>,
}

/// A step of an agent in one of the runs.
#[derive(Clone, Debug)]
struct AgentStep {
    run: usize,
    agent: AgentId,
    /// Instruction and variables before the step.
    from: (u32, Vec<i64>),
    /// Instruction and variables of the next operation.
    to: Option<(u32, Vec<i64>)>,
    /// Whether an instruction on the way differs between kernels.
    counts: bool,
    /// Decisions of the operation, without those on the way to it.
    operation: Vec<Decision>,
    /// Number of tiles that `clc` had left.
    left: usize,
}

impl Log {
    /// The log of runs, for kernels that may follow them. `others` lists the kernels for each run in turn.
    pub(crate) fn of(runs: &[CanonicalRun<'_>], others: &[&Program]) -> Log {
        let of = |run: usize| -> Vec<&Program> { others.iter().skip(run).step_by(runs.len()).copied().collect() };
        let own = |run: usize| runs[run].world.program();
        let read: Vec<Vec<Vec<ParamId>>> = (0..runs.len()).map(|i| symbols_read(own(i))).collect();
        let other_ends: Vec<Vec<bool>> = (0..runs.len()).map(|i| other_ends(own(i), &of(i))).collect();
        let differs = |i: usize| {
            let unlike = unlike(own(i), &read[i], &of(i)).into_iter();
            let differs = |(unlike, instr): (bool, &Instr)| unlike || reaches(own(i), instr, &other_ends[i]);
            unlike.zip(&own(i).code).map(differs).collect()
        };
        let differing: Vec<Vec<bool>> = (0..runs.len()).map(differs).collect();
        let reaches_differing =
            differing.iter().enumerate().map(|(i, differing)| told_apart(own(i), differing)).collect();
        let live = (0..runs.len()).map(|i| LiveVariables::of(own(i))).collect();
        Log { differing, read, other_ends, live, reaches_differing, marks: 1, notes: Vec::new(), now: Vec::new() }
    }

    /// Records that the runs have passed another mark.
    pub(crate) fn pass_mark(&mut self) {
        self.marks += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    /// Removes all but the first `len` records.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.notes.truncate(len);
        self.now.clear();
    }

    /// Makes and records the next step of one of the runs.
    pub(crate) fn next(&mut self, walk: &mut CanonicalRun<'_>, run: usize) -> StepOutcome {
        if let Some(made) = walk.before_agent_step(&mut |_, _| {}) {
            return made;
        }
        if !self.reaches_differing[run][walk.pc() as usize] {
            return walk.agent_step(&mut |_, _| {});
        }
        let (mut step, way) = self.before_step(walk, run);
        let made = walk.agent_step(&mut |_, _| {});
        step.operation = walk.decisions().get(way..).unwrap_or_default().to_vec();
        self.now.push(step);
        made
    }

    /// The record before a step, and the number of decisions on the way to its operation.
    fn before_step(&self, walk: &mut CanonicalRun<'_>, run: usize) -> (AgentStep, usize) {
        let (own, agent) = (walk.world.program(), walk.turn());
        let from = (walk.pc(), walk.world.vars_of(agent).to_vec());
        let mut counts = false;
        walk.record.record_decisions();
        let to = walk.way(own, |pc| counts |= self.differing[run][pc as usize]);
        let way = walk.decisions().len();
        walk.record.record_decisions();
        let left = walk.world.tiles_left();
        (AgentStep { run, agent, from, to, counts, operation: Vec::new(), left }, way)
    }

    /// Keeps the current step as one of all runs together, or of a long run alone.
    pub(crate) fn commit(&mut self, together: bool) {
        let steps = std::mem::take(&mut self.now);
        if steps.iter().any(|step| step.counts) {
            self.notes.push(LoggedStep { marks: self.marks, together, steps });
        }
    }

    /// Drops the current step.
    pub(crate) fn discard(&mut self) {
        self.now.clear();
    }

    /// The last mark up to which other kernels make the same steps as the runs, and agree in all steps that the runs
    /// make together (`shift_invariance`). Each kernel in `by` replaces that of one of the runs; `runs` evaluate what
    /// another kernel does. Differences behind the mark `most` are not searched.
    pub(crate) fn shared_extent<'p>(
        &self,
        runs: &mut [CanonicalRun<'p>],
        by: &[(usize, &'p Program)],
        most: usize,
    ) -> SharedExtent {
        let fits = |(run, prog): &(usize, &Program)| {
            let own = runs[*run].world.program();
            let instructions = self.differing[*run].iter().zip(&self.read[*run]);
            instructions.into_iter().all(|(known, read)| *known || !differs(own, prog, read))
                && other_ends(own, &[prog]).iter().zip(&self.other_ends[*run]).all(|(other, known)| *known || !other)
        };
        if !by.iter().all(fits) {
            return SharedExtent { mark: 0, at: None };
        }
        let mut alike = |note: &LoggedStep| {
            let mut lists: Vec<Vec<Decision>> = Vec::with_capacity(by.len());
            for (run, prog) in by {
                let Some(step) = note.steps.iter().find(|step| step.run == *run) else { continue };
                let Some(decisions) = step.made_by(&mut runs[*run], (&self.read[*run], &self.live[*run]), prog) else {
                    return false;
                };
                lists.push(decisions);
            }
            let lists: Vec<&[Decision]> = lists.iter().map(Vec::as_slice).collect();
            !note.together
                || lists.len() == by.len()
                    && shift_invariance::decided(&lists, &mut shift_invariance::Conditions::default())
        };
        let searched = self.notes.iter().take_while(|note| note.marks - 1 < most);
        match searched.into_iter().find(|note| !alike(note)) {
            Some(note) => SharedExtent { mark: note.marks - 1, at: note.steps[0].to.as_ref().map(|(pc, _)| *pc) },
            None => SharedExtent { mark: self.marks - 1, at: None },
        }
    }
}

/// For each object, whether it ends elsewhere in one of the other kernels, if that decides something.
fn other_ends(own: &Program, others: &[&Program]) -> Vec<bool> {
    let ends = |prog: &Program, obj: usize| prog.objects.get(obj).map(|o| (o.rows, o.cols));
    let other = |obj: usize| others.iter().any(|prog| ends(prog, obj) != ends(own, obj));
    (0..own.objects.len()).map(|obj| own.compares_ends() && other(obj)).collect()
}

/// Whether an instruction has a place in one of these matrices.
fn reaches(prog: &Program, i: &Instr, matrices: &[bool]) -> bool {
    let mut found = false;
    each(prog, i, &mut |what, _| {
        if let ExprUse::Tile(obj, _) = what {
            found |= matrices[obj as usize];
        }
    });
    found
}

/// The decision of a kernel whose matrices may end elsewhere, if it has the same result.
fn with_ends_of(decision: Decision, by: &Program) -> Option<Decision> {
    let Decision::End { obj, axis, first, end } = decision else { return Some(decision) };
    let o = by.objects.get(obj as usize)?;
    let other = if axis == 0 { o.rows } else { o.cols };
    ((first < end) == (first < other)).then_some(Decision::End { obj, axis, first, end: other })
}

impl AgentStep {
    /// The decisions of this step by another kernel, if that kernel makes the same step.
    fn made_by<'p>(
        &self,
        walk: &mut CanonicalRun<'p>,
        (read, live): (&[Vec<ParamId>], &LiveVariables),
        by: &'p Program,
    ) -> Option<Vec<Decision>> {
        let own = walk.world.program();
        walk.record.record_decisions();
        let way = walk.world.way(self.agent, (self.from.0, &self.from.1), by, &mut walk.record, |_| {});
        let (at, _) = self.to.as_ref().filter(|to| live.one_place(way.as_ref(), Some(to)))?;
        let next = &own.code[*at as usize];
        if differs(own, by, &read[*at as usize]) {
            return None;
        }
        let mut decisions = walk.decisions().to_vec();
        let operation = self.operation.iter().map(|x| with_ends_of(*x, by));
        let mut operation = operation.collect::<Option<Vec<Decision>>>()?;
        if hands(next) {
            // A smaller grid has fewer tiles left, but at least one where there was one.
            let left = (self.left as i64 - (own.grid.len() - by.grid.len())).max(0);
            if (left > 0) != (self.left > 0) {
                return None;
            }
            let asked = Decision::Op(Binary::Gt, self.left as i64, 0);
            operation.iter_mut().filter(|x| **x == asked).for_each(|x| *x = Decision::Op(Binary::Gt, left, 0));
        }
        decisions.extend(operation);
        Some(decisions)
    }
}
