//! Schedule files: the moves that lead to a fault. `docs/json.md` describes every field.
//!
//! A file names agents and statements in words. It stays valid across builds, but not across edits of the kernel: a
//! move that the kernel does not make is an error with the number of the move.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpline_sim::protocol::World;
use warpline_sim::schedule::{Act, Move, Schedule};
use warpline_verify::{JobLengths, Meeting, MoveDescription, Witness};

use crate::error::Error;
use crate::load::{Subject, read as read_text};
use crate::request::Setting;
use crate::verify::Verification;

/// The schema of a schedule file.
pub const SCHEDULE: &str = "warpline.schedule/1";

/// The content of a schedule file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScheduleFile {
    schema: String,
    scenario: String,
    kernel: String,
    kernel_file: String,
    machine: String,
    parameters: BTreeMap<String, i64>,
    trips: Option<i64>,
    /// The trip count of the loop around the main loop, where the fault depends on it.
    #[serde(default)]
    turns: Option<i64>,
    /// The number of jobs, where it sets a smaller grid than the given one.
    #[serde(default)]
    jobs: Option<i64>,
    /// The trip counts of the jobs of the cluster, where they are known only at run time and differ by job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lengths: Vec<i64>,
    /// Names of numbers that are known only at run time, with their values in terms of `index`, where these are others
    /// than the kernel states.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    run_time: BTreeMap<String, String>,
    /// Header `let`s with other values than their definitions.
    #[serde(default)]
    lets: BTreeMap<String, i64>,
    cta: String,
    cluster: i64,
    fault: FaultObject,
    pair: Option<PairObject>,
    shortest: bool,
    moves: Vec<MoveObject>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FaultObject {
    kind: String,
    message: String,
    line: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PairObject {
    first: usize,
    second: usize,
    meets: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct MoveObject {
    number: usize,
    agent: String,
    act: String,
    /// The number of the operation that lands, counted from 1 over those that the agent started.
    started: Option<u32>,
    line: u32,
    column: u32,
    text: String,
    touches: Vec<String>,
}

fn meets(how: Meeting) -> &'static str {
    match how {
        Meeting::Reversed => "reversed",
        Meeting::UnderWay => "under way",
        Meeting::Unordered => "unordered",
    }
}

/// The schedule that leads to the fault of a verdict, if there is one.
pub fn schedule_of(v: &Verification) -> Option<ScheduleFile> {
    let (x, w) = (v.verdict.violation.as_ref()?, v.witness.as_ref()?);
    let p = v.faulty.as_ref().unwrap_or(&v.subject.program);
    let (kind, message, site) = match (x.findings.first(), x.hang.first()) {
        (Some(f), _) => (f.kind.name(), f.message.clone(), f.site),
        (None, Some(w)) => ("deadlock", format!("{} waits for {}", w.agent, w.waits_for), w.site),
        (None, None) => return None,
    };
    let at = x.sites.get(site as usize)?;
    Some(ScheduleFile {
        schema: SCHEDULE.to_string(),
        scenario: v.subject.name.clone(),
        kernel: p.name.clone(),
        kernel_file: p.file.clone(),
        machine: v.subject.machine.name.clone(),
        parameters: p.params.iter().cloned().collect(),
        trips: x.trips,
        turns: x.turns,
        jobs: x.jobs,
        lengths: x.lengths.clone(),
        run_time: x.run_time.clone(),
        lets: lets(v, p),
        cta: x.class.clone(),
        cluster: w.schedule.cluster,
        fault: FaultObject { kind: kind.to_string(), message, line: at.line, text: at.text.clone() },
        pair: w.pair.map(|p| PairObject { first: p.first + 1, second: p.second + 1, meets: meets(p.how).to_string() }),
        shortest: w.shortest,
        moves: moves(w, &x.sites),
    })
}

/// The `let` that sets the outer trip count of the faulty kernel, if its value differs from its definition.
fn lets(v: &Verification, p: &warpline_sim::ir::Program) -> BTreeMap<String, i64> {
    let x = v.verdict.violation.as_ref();
    if x.is_some_and(|x| !x.lengths.is_empty()) {
        let given = &v.subject.program.lets;
        return p.lets.iter().filter(|l| !given.contains(l)).cloned().collect();
    }
    let outer = x.is_some_and(|x| x.turns.or(x.jobs).is_some());
    let name = v.varied.as_ref().filter(|_| outer).and_then(|x| x.outer.as_ref()).map(|o| &o.name);
    p.lets.iter().filter(|(n, _)| Some(n) == name).cloned().collect()
}

fn moves(w: &Witness, sites: &[warpline_sim::ir::Site]) -> Vec<MoveObject> {
    let one = |(i, t): (usize, &MoveDescription)| {
        let site = sites.get(t.site as usize)?;
        Some(MoveObject {
            number: i + 1,
            agent: t.agent.clone(),
            act: t.act.name().to_string(),
            started: match t.act {
                Act::Lands(n) => Some(n + 1),
                _ => None,
            },
            line: site.line,
            column: site.col,
            text: site.text.clone(),
            touches: t.touches.clone(),
        })
    };
    w.told.iter().enumerate().filter_map(one).collect()
}

/// Reads a schedule file.
///
/// # Errors
/// A file that cannot be read, or whose content is no schedule.
pub(crate) fn read(path: &Path) -> Result<ScheduleFile, Error> {
    let text = read_text(path)?;
    let bad = |why: String| {
        Error::with_help(
            format!("`{}` is not a schedule: {why}", path.display()),
            "`warpline verify S --schedule-out FILE` writes one for a kernel with a fault",
        )
    };
    let file: ScheduleFile = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    if file.schema != SCHEDULE {
        return Err(bad(format!("its schema is `{}`, and `{SCHEDULE}` is read here", file.schema)));
    }
    Ok(file)
}

impl ScheduleFile {
    /// The settings of a request, with the parameters of the schedule.
    ///
    /// # Errors
    /// A setting with another value than the schedule's.
    pub fn settings(&self, given: &[Setting]) -> Result<Vec<Setting>, Error> {
        for s in given {
            if let Setting::Parameter { name, value } = s
                && let Some(own) = self.parameters.get(name)
                && own != value
            {
                return Err(Error::with_help(
                    format!("the schedule is for {name}={own}, and --set says {name}={value}"),
                    "leave out the --set, or verify with it and write a schedule for that",
                ));
            }
        }
        let own = self.parameters.iter().map(|(name, value)| Setting::Parameter { name: name.clone(), value: *value });
        Ok(given.iter().cloned().chain(own).collect())
    }

    /// The machine that the schedule was written for.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// The subject with the header `let`s of the schedule, and with its trip counts of jobs.
    ///
    /// # Errors
    /// Values that the kernel rejects.
    pub fn with_lets(&self, mut subject: Subject) -> Result<Subject, Error> {
        let refused = || unfit("the kernel refuses its values".to_string());
        if !self.lengths.is_empty() {
            let Self { lengths, cluster, jobs, trips, .. } = self;
            let jobs = JobLengths { lengths, cluster: *cluster, jobs: *jobs, trips: *trips };
            let program = warpline_verify::with_lengths(subject.symbolic(), jobs);
            subject.program = program.ok_or_else(refused)?.bind();
            return Ok(subject);
        }
        if !self.run_time.is_empty() {
            let program = warpline_verify::with_run_time(subject.symbolic(), &self.run_time);
            subject.program = program.ok_or_else(refused)?.bind();
            return Ok(subject);
        }
        if self.lets.is_empty() {
            return Ok(subject);
        }
        let values: Vec<(&str, i64)> = self.lets.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        subject.program = subject.program_with(&values).ok_or_else(refused)?;
        Ok(subject)
    }

    /// The schedule in the kernel's own agents and statements.
    ///
    /// # Errors
    /// The number of the first move that the kernel does not have.
    pub fn resolve(&self, subject: &Subject) -> Result<Schedule, Error> {
        let p = &subject.program;
        let rules = subject.rules();
        if !(0..p.grid.len()).contains(&self.cluster) {
            let n = p.grid.len();
            return Err(unfit(format!("it is for cluster {} of the grid, which has {n}", self.cluster)));
        }
        let world = World::alone(p, rules, self.cluster);
        let names: Vec<String> = (0..world.agents().len() as u32).map(|a| world.agent_name(a)).collect();
        let moves = self.moves.iter().enumerate().map(|(i, m)| {
            let n = i + 1;
            let agent = names.iter().position(|name| *name == m.agent);
            let agent = agent.ok_or_else(|| unfit(format!("move {n}: the kernel has no {}", m.agent)))?;
            let here = |s: &warpline_sim::ir::Site| (s.line, s.col, &s.text) == (m.line, m.column, &m.text);
            let site = p.sites.iter().position(here).ok_or_else(|| {
                let there = p.sites.iter().find(|s| s.line == m.line);
                let there = there.map_or("has no statement".to_string(), |s| format!("says `{}`", s.text));
                unfit(format!("move {n}: `{}` is expected at {}:{}; line {} {there}", m.text, m.line, m.column, m.line))
            })?;
            let act = match (m.act.as_str(), m.started) {
                ("does", _) => Act::Does,
                ("waits", _) => Act::Waits,
                ("ends", _) => Act::Ends,
                ("fails", _) => Act::Breaks,
                ("lands", Some(n @ 1..)) => Act::Lands(n - 1),
                (other, _) => return Err(unfit(format!("move {n}: `{other}` is not a kind of move"))),
            };
            Ok(Move { agent: agent as u32, site: site as u32, act })
        });
        Ok(Schedule { cluster: self.cluster, moves: moves.collect::<Result<_, _>>()? })
    }
}

fn unfit(why: String) -> Error {
    Error::with_help(
        format!("the schedule does not fit the kernel: {why}"),
        "the kernel has changed since; `warpline verify S --schedule-out FILE` writes a new schedule",
    )
}
