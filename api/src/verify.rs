//! Decides a kernel's barrier protocol for every schedule and trip count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use warpline_scenarios::Expect;
use warpline_sim::ir::Program;
use warpline_sim::report::FindingKind;
use warpline_verify::{Engine, Options, Outcome, RepairReport, Trips, Verdict, Violation, Witness};

use crate::error::Error;
use crate::least_step::LeastStep;
use crate::load::Subject;
use crate::possible::without_impossible_fault;
use crate::repair::Repair;
use crate::status::Status;

/// The method and the limits of a proof.
#[derive(Clone, Copy, Debug)]
pub struct ProofOptions {
    /// Largest trip count that is tried one by one.
    pub max_trips: i64,
    /// Largest number of agent steps in all runs together; beyond it nothing is decided.
    pub max_steps: u64,
    /// Largest memory use in bytes; beyond it nothing is decided.
    pub max_memory: u64,
    /// The method: happens-before over one run, a search of every order, or the search where one run does not decide.
    pub engine: Engine,
    /// Largest number of states of a search; beyond it nothing is decided.
    pub max_states: usize,
    /// Whether to search for a small change that repairs a fault, and verify the change.
    pub suggest: bool,
}

impl Default for ProofOptions {
    fn default() -> ProofOptions {
        ProofOptions {
            max_trips: Options::MAX_TRIPS,
            max_steps: Options::MAX_STEPS,
            max_memory: Options::MAX_MEMORY,
            engine: Engine::Auto,
            max_states: Options::MAX_STATES,
            suggest: true,
        }
    }
}

impl ProofOptions {
    /// The options of the verifier.
    fn verifier(&self) -> Options {
        let ProofOptions { max_trips, max_steps, max_memory, engine, max_states, .. } = *self;
        Options { max_trips, max_steps, max_memory, engine, max_states, as_written: false }
    }

    /// The limits alone, with the verifier's default method, for redundancy, repair and planning.
    pub(crate) fn limits(&self) -> Options {
        let ProofOptions { max_trips, max_steps, max_memory, .. } = *self;
        Options { max_trips, max_steps, max_memory, ..Options::default() }
    }
}

/// A kernel and its verdict.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The kernel and machine.
    pub subject: Subject,
    /// The verdict: proved, bounded, violated or undecided.
    pub verdict: Verdict,
    /// The limits within which the verdict was reached.
    pub limits: Options,
    /// The parameter that was varied; `None` where no parameter sets a trip count.
    pub varied: Option<Varied>,
    /// The verdict on a compiled kernel with the fence rule `init` as a note, where nothing but that rule is violated.
    pub without_init: Option<Verdict>,
    /// The kernel at the trip count of its fault.
    pub faulty: Option<Program>,
    /// A schedule that leads to the fault.
    pub witness: Option<Witness>,
    /// A change that repairs the fault, if one was searched for.
    pub suggested: Option<RepairReport>,
    /// The kernel's text with that change, verified as written.
    pub repair: Option<Repair>,
    /// Seconds that the decision took.
    pub wall_s: f64,
}

/// The parameter that sets the trip count of the main loop.
#[derive(Clone, Debug)]
pub struct Varied {
    /// Its name.
    pub name: String,
    /// The relation to the trip count n: `k = n x 64`.
    pub meaning: String,
    /// The value that sets the trip count of the loop around the main loop, where there is one.
    pub outer: Option<OuterLoop>,
}

/// The value that sets the trip count of the loop around the main loop.
#[derive(Clone, Debug)]
pub struct OuterLoop {
    /// Its name.
    pub name: String,
    /// The relation to the trip count t: `jobs = t x 132`.
    pub meaning: String,
}

impl Varied {
    /// The varied parameters of a kernel's trip counts.
    pub(crate) fn of(trips: &Trips) -> Varied {
        let outer = trips.turns_name().zip(trips.turns_meaning());
        let outer = outer.map(|(name, meaning)| OuterLoop { name: name.to_string(), meaning });
        Varied { name: trips.name.clone(), meaning: trips.meaning(), outer }
    }

    /// The same, with the values from which the verdict varied parameters by the same steps.
    pub(crate) fn with_others(mut self, verdict: &Verdict) -> Varied {
        if verdict.outcome == Outcome::Proved && !verdict.others.is_empty() {
            self.meaning += &format!(", and in the same steps from {}", verdict.others.join(", "));
        }
        self
    }
}

/// The trip counts of a kernel, if a parameter sets them.
pub fn trips(subject: &Subject) -> Option<Trips> {
    Trips::find(subject.symbolic())
}

impl Verification {
    /// The relation of the outer trip count, if the verdict is for all of them or the fault depends on it.
    pub fn outer(&self) -> Option<&OuterLoop> {
        let of = |x: &Violation| x.turns.or(x.jobs);
        let turns = self.verdict.turns.or_else(|| of(self.verdict.violation.as_ref()?));
        turns.and_then(|_| self.varied.as_ref()?.outer.as_ref())
    }

    /// The parameters that were not varied, with their values: the verdict is for these values.
    pub fn bound(&self) -> BTreeMap<&str, i64> {
        let outer = self.outer().map(|o| o.name.as_str());
        let inner = self.varied.as_ref().map(|v| v.name.as_str());
        let all = self.subject.program.params.iter().map(|(name, value)| (name.as_str(), *value));
        let both = self.both_outcomes();
        let (every, sizes) = (self.every_value(), &self.verdict.sizes);
        let of_loops = |name: &str| inner == Some(name) || outer == Some(name);
        all.filter(|(name, _)| !of_loops(name) && !both.iter().chain(every).chain(sizes).any(|c| c == name)).collect()
    }

    /// The assumptions of this verdict, and what is not modeled: of every proof, about global memory, and of the reader
    /// of a compiled kernel, with lines.
    pub fn assumptions(&self) -> Vec<String> {
        let every = ASSUMPTIONS.iter().map(|a| a.to_string());
        let run_time = match (self.verdict.any_jobs, self.verdict.any_length) {
            (Some(line), _) => Some(format!(
                "values known only at run time choose blocks inside their matrices, and no two jobs store one block \
                 (line {line})"
            )),
            (None, Some(_)) => None,
            (None, None) if !self.verdict.any_blocks.is_empty() => None,
            (None, None) => Some(GIVEN_AT_RUN_TIME.to_string()),
        };
        let named = (!self.verdict.any_blocks.is_empty()).then(|| {
            let names: Vec<String> = self.verdict.any_blocks.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "values of {}, known only at run time, name blocks inside their matrices; other such values are those \
                 the kernel gives",
                names.join(", ")
            )
        });
        let chosen = (!self.verdict.chosen_blocks.is_empty()).then(|| {
            let names = self.verdict.chosen_blocks.join(", ");
            format!("blocks of {names} that a choice by the place of the CTA names are inside for other values, too")
        });
        // A proof for every size lists what it assumes of the largest grid.
        let (symbolic, sizes) = (self.subject.symbolic(), &self.verdict.sizes);
        let any = if sizes.is_empty() { None } else { warpline_verify::any_size(symbolic, sizes) };
        let varied = warpline_verify::varied(any.as_ref().unwrap_or(symbolic));
        let program = match (&varied, any) {
            (Some(trips), _) => trips.given(),
            (None, Some(any)) => &any.bind(),
            (None, None) => &self.subject.program,
        };
        let memory = warpline_verify::assumed(program, self.subject.rules());
        let smaller = varied.as_ref().filter(|_| self.verdict.turns.is_some()).and_then(Trips::smaller_grids_assumed);
        let smaller = smaller.map(|line| {
            format!(
                "a launch of fewer jobs than CTAs does what one job for each CTA does (line {line} reads the size of \
                 the grid; a few were run)"
            )
        });
        let turned = varied.as_ref().filter(|_| self.verdict.turns.is_some());
        let later = turned.map(|trips| warpline_verify::assumed_inside(symbolic, trips)).into_iter().flatten().map(
            |(name, line)| {
                format!(
                    "blocks of {name} begin inside the matrix for other numbers of jobs and steps, too (line {line})"
                )
            },
        );
        let smaller = smaller.into_iter().chain(later);
        let least = varied.as_ref().and_then(|trips| {
            let least = trips.least_assumed()?;
            Some(format!("`{}` is at least {least}: some steps are made before the main loop", trips.name))
        });
        let read = self.subject.imported.iter().flat_map(|i| &i.assumptions);
        every
            .chain(run_time)
            .chain(named)
            .chain(chosen)
            .chain(memory)
            .chain(smaller)
            .chain(least)
            .chain(read.map(|(what, line)| format!("{what} (line {line})")))
            .collect()
    }

    /// Conditions of a compiled kernel for which both outcomes were decided; empty for a fault, which has one outcome
    /// of each.
    pub fn both_outcomes(&self) -> &[String] {
        match &self.subject.imported {
            Some(imported) if self.verdict.outcome != Outcome::Violated => &imported.conditions,
            _ => &[],
        }
    }

    /// Symbols of a compiled kernel of which every value was decided, as large values are one; empty for a fault.
    pub fn every_value(&self) -> &[String] {
        match &self.subject.imported {
            Some(imported) if self.verdict.outcome != Outcome::Violated => &imported.every_value,
            _ => &[],
        }
    }

    /// The status of the verification. If the scenario expects a verdict, the status says whether the verdict is the
    /// expected one; an undecided kernel never has it.
    pub fn status(&self) -> Status {
        let status = verdict_status(&self.verdict);
        match self.as_expected() {
            Some(true) => Status::Holds,
            Some(false) => status.and(Status::Violated),
            None => status,
        }
    }

    /// Whether the verdict is the one that the scenario expects; `None` where the scenario expects none, or nothing is
    /// decided.
    pub fn as_expected(&self) -> Option<bool> {
        let violated = self.verdict.violation.as_ref();
        let met = match self.subject.expect.as_ref()?.what {
            _ if matches!(self.verdict.outcome, Outcome::GaveUp { .. }) => return None,
            Expect::Proved => self.verdict.outcome == Outcome::Proved,
            Expect::Violated => violated.is_some(),
            Expect::Fault(kind) => violated.is_some_and(|x| {
                let hangs = kind == FindingKind::Deadlock && !x.hang.is_empty();
                hangs || x.findings.iter().any(|f| f.kind == kind)
            }),
        };
        Some(met)
    }
}

/// The status of a verdict.
pub fn verdict_status(v: &Verdict) -> Status {
    match v.outcome {
        Outcome::Proved | Outcome::Bounded { .. } => Status::Holds,
        Outcome::Violated => Status::Violated,
        Outcome::GaveUp { .. } => Status::GaveUp,
    }
}

/// The word for an outcome: `proved`, `bounded`, `violated` or `gave_up`.
pub fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Proved => "proved",
        Outcome::Bounded { .. } => "bounded",
        Outcome::Violated => "violated",
        Outcome::GaveUp { .. } => "gave_up",
    }
}

/// The method that reached a verdict, in words.
pub fn engine_words(v: &Verdict) -> &'static str {
    if v.searched.is_some() { "search of every order" } else { "one run, happens-before" }
}

/// The assumptions of every proof; `DEVIATIONS.md` has the whole list.
pub const ASSUMPTIONS: [&str; 3] = [
    "operations of one ordered queue complete in order, and so do the arrivals of one thread's commits",
    "not modeled: global memory that other clusters use, too, dependent launches (`grid.wait` orders nothing), other grids",
    "not checked: lanes of a warp that no `elect:` splits (DEVIATIONS.md 16)",
];

/// The assumption about values known only at run time, where a proof is for the values that the kernel gives.
const GIVEN_AT_RUN_TIME: &str = "trip counts and values known only at run time are those the kernel gives, and tiles that `clc` hands out follow each other (DEVIATIONS.md 8, 27)";

/// The verdict on a kernel within the default limits, without a search.
pub(crate) fn default_verdict(subject: &Subject) -> Verdict {
    warpline_verify::verify(subject.symbolic(), subject.rules(), Options::default())
}

/// Verifies a kernel.
///
/// # Errors
/// An operation or a size that the machine does not have.
pub fn verify(subject: &Subject, options: &ProofOptions) -> Result<Verification, Error> {
    Ok(decided(subject, options)?.explained(subject, options))
}

/// A verdict without a look for a cause or a repair.
pub(crate) struct Decided {
    /// The kernel with the program of the verdict: a verdict may replace the values of a subject by those of a fault.
    pub(crate) subject: Subject,
    pub(crate) verdict: Verdict,
    /// When the decision started.
    pub(crate) start: Instant,
}

/// Decides a kernel.
///
/// # Errors
/// An operation or a size that the machine does not have.
pub(crate) fn decided(given: &Subject, options: &ProofOptions) -> Result<Decided, Error> {
    given.admit()?;
    let (start, mut subject) = (Instant::now(), given.clone());
    let verdict = verdict(&mut subject, options);
    Ok(Decided { subject, verdict, start })
}

/// The verdict on a kernel, without a look for a cause or a repair; the subject keeps the program of this verdict.
pub(crate) fn verdict(subject: &mut Subject, options: &ProofOptions) -> Verdict {
    if let Some(mut numbered) = subject.imported.as_mut().and_then(|i| i.numbered.take()) {
        let v = verdict(&mut numbered, options);
        if v.outcome == Outcome::Proved {
            *subject = *numbered;
            return v;
        }
    }
    // No launch may have a fault that is found without an iteration: then the kernel is decided with one, too.
    let is_related = subject.imported.as_ref().is_some_and(|i| i.related.is_some());
    let given = is_related.then(|| subject.clone());
    let verdict = decide(subject, options.verifier(), None);
    let least = is_related.then(|| LeastStep::of(subject, &verdict)).flatten();
    let hangs = least.as_ref().is_some_and(|least| least.hangs);
    let with_step = given.zip(least).map(|(given, least)| with_step(given, options, &least));
    let other = with_step.as_ref().and_then(|(_, v)| v.violation.as_ref());
    let verdict = without_impossible_fault(subject, verdict, other, options.limits());
    let verdict = with_iterations(subject, verdict, options.limits());
    let v = without_proof(subject, for_some_data(subject, verdict));
    let undecided = matches!(v.outcome, Outcome::GaveUp { .. } | Outcome::Bounded { .. });
    if let Some((proved, other)) = with_step.filter(|(_, v)| undecided && hangs && v.outcome == Outcome::Proved) {
        *subject = proved;
        return other;
    }
    let stepped = subject.imported.as_mut().and_then(|i| i.stepped.take()).filter(|_| undecided);
    if let Some(mut stepped) = stepped {
        let other = self::verdict(&mut stepped, options);
        if other.outcome == Outcome::Proved {
            *subject = *stepped;
            return other;
        }
    }
    v
}

/// A compiled kernel whose main loop has an iteration, and the verdict on it.
fn with_step(mut subject: Subject, options: &ProofOptions, least: &LeastStep) -> (Subject, Verdict) {
    let verdict = decide(&mut subject, options.verifier(), Some(least));
    let v = without_proof(&subject, for_some_data(&subject, verdict));
    if let (Some(imported), Outcome::Proved) = (&mut subject.imported, &v.outcome) {
        imported.assumptions.push((least.assumption(), 1));
    }
    (subject, v)
}

/// Bounds a proof of a compiled kernel that was made for some data only.
fn for_some_data(subject: &Subject, mut v: Verdict) -> Verdict {
    let partial = subject.imported.as_ref().and_then(|i| i.partial.clone());
    if let (Outcome::Proved, Some(why)) = (&v.outcome, partial) {
        v.outcome = Outcome::Bounded { trips: None, why };
    }
    v
}

/// Replaces a proof of a program that leaves something of its kernel open by no verdict.
fn without_proof(subject: &Subject, mut v: Verdict) -> Verdict {
    let unproved = subject.imported.as_ref().and_then(|i| i.unproved.clone());
    if let (Outcome::Proved | Outcome::Bounded { .. }, Some(why)) = (&v.outcome, unproved) {
        v.outcome = Outcome::GaveUp { why };
    }
    v
}

/// The most iterations with which a compiled kernel is verified that has a fault without any.
const FEW_ITERATIONS: i64 = 6;

/// Replaces a fault of a compiled kernel whose main loop has no iteration by one with some, if there is one. A size of zero
/// is rarely launched: the grid has no CTAs then.
pub(crate) fn with_iterations(subject: &mut Subject, v: Verdict, options: Options) -> Verdict {
    let none = v.violation.as_ref().filter(|x| subject.imported.is_some() && x.trips == Some(0));
    let (Some(x), Some(trips)) = (none, trips(subject)) else { return v };
    for n in 1..=FEW_ITERATIONS {
        let Some(p) = Violation { trips: Some(n), ..x.clone() }.kernel(&trips).map(|p| p.bind()) else { continue };
        let mut more = warpline_verify::verify(&p, subject.rules(), options);
        if more.outcome == Outcome::Violated {
            subject.replace_symbolic(p);
            more.steps += v.steps;
            return more;
        }
    }
    v
}

/// The verdict on a kernel. For a compiled kernel, this is the worst verdict over the outcomes of undecided conditions;
/// the subject then keeps the program with that outcome. `least` is a bound of a symbol.
fn decide(subject: &mut Subject, options: Options, least: Option<&LeastStep>) -> Verdict {
    let rules = subject.rules();
    let rank = |v: &Verdict| match v.outcome {
        Outcome::Proved => 0,
        Outcome::Bounded { .. } => 1,
        Outcome::GaveUp { .. } => 2,
        Outcome::Violated => 3,
    };
    let variants = subject.imported.as_mut().map(|i| std::mem::take(&mut i.variants)).unwrap_or_default();
    let (mut worst, mut steps): (Option<(Verdict, Arc<Program>)>, _) = (None, 0);
    for p in variants {
        let p = least.map_or_else(|| Arc::clone(&p), |least| Arc::new(least.required(&p)));
        let v = warpline_verify::verify(&p, rules, options);
        steps += v.steps;
        // Of equal verdicts, the one of the outcome under which the kernel does most.
        if worst.as_ref().is_none_or(|(w, _)| (rank(&v), v.steps) > (rank(w), w.steps)) {
            worst = Some((v, p));
        }
        if worst.as_ref().is_some_and(|(w, _)| rank(w) == 3) {
            break;
        }
    }
    match worst {
        Some((mut v, p)) => {
            subject.replace_symbolic(Arc::unwrap_or_clone(p));
            v.steps = steps;
            v
        }
        None => {
            if let Some(least) = least {
                subject.replace_symbolic(least.required(subject.symbolic()));
            }
            let v = warpline_verify::verify(subject.symbolic(), rules, options);
            v.kernel.iter().for_each(|p| subject.replace_symbolic(Program::clone(p)));
            v
        }
    }
}
