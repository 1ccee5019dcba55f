//! Searches the pipelines of a plain loop for the fastest one that is proved.
//!
//! ```text
//!  candidates: way of the copies x schedule x stages x form x split into roles
//!    ── expand ──▶ refused     ── fits the machine? ──▶ does not fit
//!    ── verify ──▶ not proved  ── run ──▶ cycles and bottleneck
//! ```
//!
//! # Tour
//!
//! A [`Question`] has a kernel with a `pipelined` loop, a machine and limits. [`candidates`] lists the ways to pipeline the loop, and
//! [`plan`] decides each one: its [`CandidateResult`]. [`Answer::ranked`] has the proved ones, fastest first. Only pipelines that are proved for
//! every trip count are ranked. Candidates are independent and are decided on all cores. The result does not depend on the number of
//! cores: candidates keep their order, and of equals the first one wins.
//!
//! ```
//! use std::collections::BTreeMap;
//! use warpline_plan::{Question, plan};
//! use warpline_sim::engine::rules;
//!
//! let text = "kernel sum(n = 512)
//!   needs sm_80
//!   let tiles = cdiv(n, 64)
//!   warps 4   regs 128
//!   global A: f16[64, n]   global C: f16[64, n]
//!   shared a: f16[64, 64] swizzle 128
//!   role math = warps 0..4
//!   math:
//!     pipelined i in 0..tiles stages 2:
//!       load A[0, i] -> a
//!       lds a : A[0, i] -> r
//!       store r -> C[0, i]
//! ";
//! let a100 = warpline_models::embedded("a100").expect("a built-in machine");
//! let question = Question {
//!     file: "sum.pipe",
//!     text,
//!     set: &BTreeMap::new(),
//!     machine: &a100,
//!     rules: rules(&a100),
//!     proof: warpline_verify::Options::default(),
//!     run: warpline_sim::report::RunOptions::default(),
//!     stages: 2,
//!     most: 8,
//! };
//! let answer = plan(&question, &|| ());
//! assert_eq!(answer.all.len(), 8);
//! for (candidate, timed) in answer.ranked() {
//!     println!("{}: {} cycles", candidate.words(None), timed.report.cycles);
//! }
//! ```

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpline_scenarios::pipeline::{Expanded, PassOptions, Schedule, Via, expand, expanded_name, limits, members};
use warpline_scenarios::{Inputs, Text, compile};
use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::protocol::Rules;
use warpline_sim::report::Outcome as Ended;
use warpline_sim::{Report, RunOptions};
use warpline_verify::{Options, Outcome, verify};

/// A question to the planner: what is planned, within which limits.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The kernel's file, for messages.
    pub file: &'a str,
    /// The kernel's text, with a `pipelined` loop.
    pub text: &'a str,
    /// Values of the kernel's parameters.
    pub set: &'a BTreeMap<String, i64>,
    /// The machine it is for.
    pub machine: &'a Machine,
    /// Rules of the machine, with the fence levels.
    pub rules: Rules,
    /// Limits of a proof.
    pub proof: Options,
    /// How candidates are run.
    pub run: RunOptions,
    /// Largest number of stages.
    pub stages: i64,
    /// Most candidates considered.
    pub most: usize,
}

/// One way to pipeline the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// How copies are made; with `Tma` a producer warp makes them.
    pub via: Via,
    /// How stage and order are chosen.
    pub schedule: Schedule,
    /// The number of stages.
    pub stages: i64,
    /// One guarded loop instead of prologue, body and epilogue.
    pub guarded: bool,
    /// Warps that only copy (`Tma`).
    pub producers: i64,
    /// Members of the loop's role (groups of warps that multiply), if other than in the kernel.
    pub members: Option<i64>,
}

impl Candidate {
    /// The candidate in words: `cp, multistage, 3 stages, unrolled`, and the split into roles. `groups` is the
    /// parameter that counts the members of the loop's role.
    pub fn words(&self, groups: Option<&str>) -> String {
        let form = if self.guarded { "guarded" } else { "unrolled" };
        let stages = match (self.schedule, self.stages) {
            (Schedule::TwoStepAhead, _) => String::new(),
            (_, 1) => ", 1 stage".to_string(),
            (_, n) => format!(", {n} stages"),
        };
        let roles = match self.producers {
            _ if self.via != Via::Tma => String::new(),
            1 => ", 1 producer warp".to_string(),
            n => format!(", {n} producer warps"),
        };
        let members = groups.zip(self.members).map_or(String::new(), |(name, n)| format!(", {name} = {n}"));
        format!("{}, {}{stages}, {form}{roles}{members}", self.via.name(), self.schedule.name())
    }

    /// The candidate as flags of `warpline expand`.
    pub fn flags(&self, groups: Option<&str>) -> String {
        let producers = if self.producers > 1 { format!(" --producers {}", self.producers) } else { String::new() };
        let members = groups.zip(self.members).map_or(String::new(), |(name, n)| format!(" --set {name}={n}"));
        let form = if self.guarded { "guarded" } else { "unrolled" };
        format!(
            "--via {} --schedule {} --stages {} --form {form}{producers}{members}",
            self.via.name(),
            self.schedule.name(),
            self.stages
        )
    }
}

/// Result of a candidate.
#[derive(Clone, Debug)]
pub enum CandidateResult {
    /// The pass refuses it, with the reason.
    Refused(String),
    /// The machine has no room, or no instruction, for it.
    DoesNotFit(String),
    /// It is not proved for every trip count.
    NotProved(String),
    /// A limit was reached before a decision.
    GaveUp(String),
    /// It is the same kernel as an earlier candidate.
    Same(Candidate),
    /// Proved, and timed.
    Timed(Box<Timed>),
}

/// A proved pipeline with its time.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The kernel.
    pub expanded: Expanded,
    /// Its run.
    pub report: Report,
}

/// The candidates of a machine with their results.
#[derive(Clone, Debug)]
pub struct Answer {
    /// All candidates considered, in order.
    pub all: Vec<(Candidate, CandidateResult)>,
    /// Number of candidates beyond the limit.
    pub beyond: usize,
    /// The parameter that counts the members of the loop's role, where one does.
    pub groups: Option<String>,
    /// What the pass cannot make of a loop on this machine.
    pub limits: Option<&'static str>,
}

impl Answer {
    /// The timed candidates, fastest first. Of equals, the one with less shared memory, then the first.
    pub fn ranked(&self) -> Vec<(&Candidate, &Timed)> {
        let mut timed: Vec<(&Candidate, &Timed)> = self
            .all
            .iter()
            .filter_map(|(c, f)| match f {
                CandidateResult::Timed(t) => Some((c, t.as_ref())),
                _ => None,
            })
            .collect();
        timed.sort_by(|a, b| {
            let key = |t: &Timed| (t.report.time_us.max(0.0), t.report.cycles, t.report.shared_bytes);
            key(a.1).partial_cmp(&key(b.1)).unwrap_or(std::cmp::Ordering::Equal)
        });
        timed
    }

    /// Whether a limit left something undecided.
    pub fn gave_up(&self) -> bool {
        self.beyond > 0 || self.all.iter().any(|(_, f)| matches!(f, CandidateResult::GaveUp(_)))
    }
}

/// Numbers of producer warps tried: one for all copies, one for each of two.
const PRODUCERS: [i64; 2] = [1, 2];
/// Members of the loop's role that are tried where a parameter counts them.
const MEMBERS: [i64; 3] = [1, 2, 4];

/// Candidates for a kernel's loop on a machine, in the order of the trials: first with the kernel's own roles, then
/// with other numbers of members where a parameter counts them.
pub fn candidates(q: &Question) -> Vec<Candidate> {
    let all = ways(&q.machine.arch, q.stages);
    let Some(groups) = members(q.file, q.text) else { return all };
    let given = q.set.get(&groups).copied();
    let other = MEMBERS.into_iter().filter(|n| Some(*n) != given);
    let with = |n: i64| all.iter().map(move |c| Candidate { members: Some(n), ..*c });
    let more: Vec<Candidate> = other.flat_map(with).collect();
    all.iter().copied().chain(more).collect()
}

/// The ways to pipeline a loop on a machine of an architecture.
fn ways(arch: &str, stages: i64) -> Vec<Candidate> {
    let vias: &[Via] = match arch {
        "sm_90a" => &[Via::Tma, Via::TmaJoint, Via::Cp, Via::Registers],
        "gfx950" | "gfx942" => &[Via::Dma, Via::Registers],
        a if a.starts_with("gfx") => &[Via::Registers],
        a if a.starts_with("apple") => &[Via::Sync],
        // Later architectures have TMA, and products that read registers.
        a if a.starts_with("sm_10") || a.starts_with("sm_12") => &[Via::Tma, Via::TmaJoint, Via::Cp, Via::Registers],
        _ if Via::of(arch) == Via::Cp => &[Via::Cp, Via::Registers],
        _ => &[Via::Registers, Via::Sync],
    };
    let mut out = Vec::new();
    for via in vias {
        for schedule in [Schedule::NumStages, Schedule::Triton, Schedule::Multistage] {
            for stages in 1..=stages {
                for guarded in [false, true] {
                    // With a producer warp there is no prologue to guard.
                    if *via == Via::Tma && guarded {
                        continue;
                    }
                    let several = if *via == Via::Tma { PRODUCERS.len() } else { 1 };
                    for producers in PRODUCERS.into_iter().take(several) {
                        out.push(Candidate { via: *via, schedule, stages, guarded, producers, members: None });
                    }
                }
            }
        }
        if *via == Via::Dma {
            let schedule = Schedule::TwoStepAhead;
            out.push(Candidate { via: *via, schedule, stages: 2, guarded: true, producers: 1, members: None });
        }
    }
    out
}

/// Decides every candidate; `progress` is called after each.
pub fn plan(q: &Question, progress: &(dyn Fn() + Sync)) -> Answer {
    let groups = members(q.file, q.text);
    let mut all = candidates(q);
    let beyond = all.len().saturating_sub(q.most);
    all.truncate(q.most);
    let made: Vec<(Candidate, Result<Expanded, String>)> =
        all.into_par_iter().map(|c| (c, q.expand(&c, &q.set_of(&c, groups.as_deref())))).collect();
    let mut first: BTreeMap<&str, Candidate> = BTreeMap::new();
    let mut work: Vec<(Candidate, Result<&Expanded, CandidateResult>)> = Vec::new();
    for (c, e) in &made {
        let what = match e {
            Err(why) => Err(CandidateResult::Refused(why.clone())),
            Ok(e) => match first.get(e.text.as_str()) {
                Some(c) => Err(CandidateResult::Same(*c)),
                None => {
                    first.insert(&e.text, *c);
                    Ok(e)
                }
            },
        };
        work.push((*c, what));
    }
    let all = work
        .into_par_iter()
        .map(|(c, what)| {
            let set = q.set_of(&c, groups.as_deref());
            let fate = what.map_or_else(|fate| fate, |e| q.decide(e, &set));
            progress();
            (c, fate)
        })
        .collect();
    Answer { all, beyond, groups, limits: limits(&q.machine.arch) }
}

impl Question<'_> {
    fn inputs<'a>(&self, set: &'a BTreeMap<String, i64>) -> Inputs<'a> {
        Inputs { set, cores: self.machine.get("core.count").map(|c| c as i64) }
    }

    /// Parameters of a candidate.
    fn set_of(&self, c: &Candidate, groups: Option<&str>) -> BTreeMap<String, i64> {
        let mut set = self.set.clone();
        set.extend(groups.zip(c.members).map(|(name, n)| (name.to_string(), n)));
        set
    }

    fn expand(&self, c: &Candidate, set: &BTreeMap<String, i64>) -> Result<Expanded, String> {
        let ask = PassOptions {
            arch: Some(&self.machine.arch),
            via: Some(c.via),
            schedule: Some(c.schedule),
            stages: Some(c.stages),
            guarded: Some(c.guarded),
            producers: Some(c.producers),
        };
        expand(self.file, self.text, &self.inputs(set), &ask).map_err(|e| {
            let first = e.into_iter().next();
            first.map_or_else(String::new, |d| d.message)
        })
    }

    fn program(&self, text: &str, set: &BTreeMap<String, i64>) -> Result<Program, String> {
        let file = expanded_name(self.file);
        compile(&file, text, &self.inputs(set)).map_err(|e| e.into_iter().next().map_or(String::new(), |d| d.message))
    }

    /// Proves an expansion, then times it.
    fn decide(&self, e: &Expanded, set: &BTreeMap<String, i64>) -> CandidateResult {
        let program = match self.program(&e.text, set) {
            Ok(p) => p,
            Err(why) => return CandidateResult::Refused(why),
        };
        if let Err(why) = warpline_sim::engine::admit(&program, self.machine) {
            return CandidateResult::DoesNotFit(why.to_string());
        }
        let text = Text::read(&expanded_name(self.file), &e.text);
        let symbolic = text.compile_symbolic(&self.inputs(set));
        let verdict = verify(symbolic.as_ref().unwrap_or(&program), self.rules, self.proof);
        match verdict.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { why, .. } => return CandidateResult::NotProved(why),
            Outcome::Violated => {
                let first = verdict.violation.as_ref().and_then(|v| v.findings.first());
                return CandidateResult::NotProved(first.map_or("it can hang".to_string(), |f| f.message.clone()));
            }
            Outcome::GaveUp { why } => return CandidateResult::GaveUp(why),
        }
        match warpline_sim::run(&program, self.machine, &self.run) {
            Err(why) => CandidateResult::DoesNotFit(why.to_string()),
            Ok(report) if matches!(report.outcome, Ended::Limit) => {
                CandidateResult::GaveUp(format!("{} events were handled, and it did not end", report.events))
            }
            Ok(report) if !matches!(report.outcome, Ended::Finished) || report.faults().next().is_some() => {
                CandidateResult::NotProved("its run met a fault".to_string())
            }
            Ok(report) => CandidateResult::Timed(Box::new(Timed { expanded: e.clone(), report })),
        }
    }
}
