//! Runs a kernel in the simulator.

use std::time::Instant;

use warpline_scenarios::Beside;
use warpline_sim::machine::Machine;
use warpline_sim::report::Outcome;
use warpline_sim::{Report, RunError, RunOptions};
use warpline_study::clock::{self, ClockResult, Sustained};
use warpline_study::spread::Spread;

use crate::error::Error;
use crate::load::{Subject, beside_name, load_beside};
use crate::request::Request;
use crate::status::Status;

/// A kernel and the report of its run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The kernel and machine; with the sustained clock, the machine has the clock found.
    pub subject: Subject,
    /// Times in cycles and microseconds, stalls, occupancy, findings.
    pub report: Report,
    /// Seconds that the simulator took.
    pub wall_s: f64,
    /// The interval that the spread of the machine's numbers gives the time, where it was asked for
    /// ([`spread`](crate::spread)).
    pub spread: Option<Spread>,
}

impl Simulation {
    /// Whether the run is of a compiled kernel whose launch gives no array. Its DRAM traffic is then not known.
    pub fn arrays_unknown(&self) -> bool {
        self.subject.imported.as_ref().is_some_and(|i| i.arrays_unknown)
    }

    /// The status of the run. A fault outranks a limit, because a finding is true however far the run got.
    pub fn status(&self) -> Status {
        let open = self.subject.sustained.is_some_and(|s| s.end == ClockResult::Open);
        match self.report.outcome {
            _ if self.report.faults().next().is_some() => Status::Violated,
            Outcome::Finished if open => Status::GaveUp,
            Outcome::Finished | Outcome::Stopped => Status::Holds,
            Outcome::Hung(_) | Outcome::Broken => Status::Violated,
            Outcome::Limit => Status::GaveUp,
        }
    }
}

/// Runs a kernel.
///
/// # Errors
/// A kernel that the simulator refuses, and a compiled kernel without the values of a launch.
pub fn run(subject: &Subject) -> Result<Simulation, Error> {
    run_with_record(subject, None)
}

/// Runs a kernel, with a record of at most `spans` spans if asked for.
pub(crate) fn run_with_record(subject: &Subject, spans: Option<usize>) -> Result<Simulation, Error> {
    if subject.imported.as_ref().is_some_and(|i| !i.launched) {
        return Err(Error::with_help(
            format!("`{}`: a compiled kernel is timed with the values of a launch", subject.name),
            "load it with `Request::bind_launch`, and its launch or launch file",
        ));
    }
    let start = Instant::now();
    let result = execute_at_clock(subject, spans);
    let wall_s = start.elapsed().as_secs_f64();
    let (report, sustained) = result.map_err(|e| subject.refused(e))?;
    let mut subject = subject.clone();
    if let Some(s) = sustained {
        subject.machine = clock::at(&subject.machine, s.mhz);
        subject.sustained = sustained;
    }
    Ok(Simulation { subject, report, wall_s, spread: None })
}

/// A run for comparison with another.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// The name in the comparison.
    pub name: String,
    /// The run, or the reason in one line why there is none.
    pub simulation: Result<Simulation, String>,
}

/// Runs a scenario that another is compared with. A scenario that cannot run becomes a neighbor with a reason.
pub fn run_beside(this: &Subject, beside: &Beside, request: &Request) -> Neighbor {
    let simulation = load_beside(this, beside, request).and_then(|s| run(&s));
    Neighbor { name: beside_name(this, beside), simulation: simulation.map_err(|e| e.summary()) }
}

/// Runs a kernel and returns only the report, with a record of at most `spans` spans if asked for.
///
/// # Errors
/// The simulator's, as the simulator states them.
pub fn execute(subject: &Subject, spans: Option<usize>) -> Result<Report, RunError> {
    execute_at_clock(subject, spans).map(|(report, _)| report)
}

/// [`execute`] with the sustained clock, if the subject wants it. A run that follows a schedule has no time of its own,
/// so it has no such clock.
pub(crate) fn execute_at_clock(
    subject: &Subject,
    spans: Option<usize>,
) -> Result<(Report, Option<Sustained>), RunError> {
    let machine = &subject.machine;
    let Some(line) = subject.clock_line.filter(|_| subject.sustained.is_none() && subject.schedule.is_none()) else {
        return Ok((execute_on(subject, machine, spans)?, None));
    };
    let first = machine.get("clock.mhz").unwrap_or(line.mhz(0.0));
    let (found, report) = clock::settle(&line, first, |mhz| execute_on(subject, &clock::at(machine, mhz), None))?;
    // The search for the clock takes no record.
    let report = match spans {
        Some(_) => execute_on(subject, &clock::at(machine, found.mhz), spans)?,
        None => report,
    };
    Ok((report, Some(found)))
}

/// [`execute`] on another machine.
pub(crate) fn execute_on(subject: &Subject, machine: &Machine, spans: Option<usize>) -> Result<Report, RunError> {
    warpline_sim::run(&subject.program, machine, &options(subject, spans))
}

/// [`execute`] with a record of at most `spans` spans over at most `events` events.
pub(crate) fn execute_part(subject: &Subject, spans: usize, events: u64) -> Result<Report, RunError> {
    let options = options(subject, Some(spans));
    let options = RunOptions { max_events: options.max_events.min(events), ..options };
    warpline_sim::run(&subject.program, &subject.machine, &options)
}

fn options(subject: &Subject, spans: Option<usize>) -> RunOptions {
    let mut options = RunOptions {
        timeline: spans,
        skip_repeats: subject.skip_repeats,
        warm_l2: subject.warm_l2,
        fidelity: subject.fidelity,
        fences: subject.fences,
        schedule: subject.schedule.clone(),
        ..RunOptions::default()
    };
    if let Some(n) = subject.max_events {
        options.max_events = n;
    }
    options
}
