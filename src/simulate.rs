//! Runs a subject and keeps what the displays need of it.

use std::time::Instant;

use warpline_sim::diag::Diagnostic;
use warpline_sim::machine::Machine;
use warpline_sim::report::Outcome;
use warpline_sim::{Report, RunError, RunOptions};
use warpline_study::clock::{self, End, Sustained};

use crate::console::Console;
use crate::diagnose::span_of;
use crate::failure::{Failure, Status};
use crate::load::Loaded;
use crate::progress::Progress;

/// A subject and its result.
pub(crate) struct Ran {
    pub(crate) subject: Loaded,
    pub(crate) report: Report,
    pub(crate) wall_s: f64,
}

impl Ran {
    /// A fault outranks a limit: what was found is true however far the run got.
    pub(crate) fn status(&self) -> Status {
        let open = self.subject.sustained.is_some_and(|s| s.end == End::Open);
        match self.report.outcome {
            _ if self.report.faults().next().is_some() => Status::Violated,
            Outcome::Finished if open => Status::GaveUp,
            Outcome::Finished | Outcome::Stopped => Status::Holds,
            Outcome::Hung(_) | Outcome::Broken => Status::Violated,
            Outcome::Limit => Status::GaveUp,
        }
    }
}

/// Runs it, with a record of at most `spans` spans if asked for, and a sign of life.
///
/// # Errors
/// What the simulator refuses, and a compiled kernel: its launch and the addresses it reads are not known.
pub(crate) fn simulate(console: &Console, mut subject: Loaded, spans: Option<usize>) -> Result<Ran, Failure> {
    if subject.imported.is_some() {
        return Err(Failure::with_help(
            format!("`{}`: a compiled kernel is not timed yet", subject.name),
            "`warpline verify` proves it or shows its fault, `warpline import` shows what was understood",
        ));
    }
    let progress = Progress::start(console.look.progress, format!("running {}", subject.name));
    let start = Instant::now();
    let result = at_its_clock(&subject, spans);
    let wall_s = start.elapsed().as_secs_f64();
    drop(progress);
    match result {
        Ok((report, sustained)) => {
            if let Some(s) = sustained {
                subject.machine = clock::at(&subject.machine, s.mhz);
                subject.sustained = sustained;
            }
            Ok(Ran { subject, report, wall_s })
        }
        Err(error) => Err(refused(&subject, error)),
    }
}

/// Runs it, as its scenario and the command line say.
pub(crate) fn execute(subject: &Loaded, spans: Option<usize>) -> Result<Report, RunError> {
    at_its_clock(subject, spans).map(|(report, _)| report)
}

/// The same, with the clock where it was to be found. What keeps to a schedule has no time of its own.
pub(crate) fn at_its_clock(subject: &Loaded, spans: Option<usize>) -> Result<(Report, Option<Sustained>), RunError> {
    let machine = &subject.machine;
    let Some(line) = subject.line.filter(|_| subject.sustained.is_none() && subject.schedule.is_none()) else {
        return Ok((execute_on(subject, machine, spans)?, None));
    };
    let first = machine.get("clock.mhz").unwrap_or(line.mhz(0.0));
    let (found, report) = clock::settle(&line, first, |mhz| execute_on(subject, &clock::at(machine, mhz), None))?;
    // Looking for it takes no record.
    let report = match spans {
        Some(_) => execute_on(subject, &clock::at(machine, found.mhz), spans)?,
        None => report,
    };
    Ok((report, Some(found)))
}

/// The same on another machine.
pub(crate) fn execute_on(subject: &Loaded, machine: &Machine, spans: Option<usize>) -> Result<Report, RunError> {
    warpline_sim::run(&subject.program, machine, &options(subject, spans))
}

/// The same with a record, up to so many spans and events.
pub(crate) fn record_of(subject: &Loaded, spans: usize, events: u64) -> Result<Report, RunError> {
    let options = options(subject, Some(spans));
    let options = RunOptions { max_events: options.max_events.min(events), ..options };
    warpline_sim::run(&subject.program, &subject.machine, &options)
}

fn options(subject: &Loaded, spans: Option<usize>) -> RunOptions {
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

/// A failure at a line of the kernel.
pub(crate) fn at_site(subject: &Loaded, site: u32, message: String, label: String, help: Option<&str>) -> Failure {
    let Some(at) = subject.program.sites.get(site as usize) else { return Failure::new(message) };
    let text = subject.sources.get(&at.file).map_or("", String::as_str);
    let mut d = Diagnostic::new(&at.file, span_of(text, at.line, at.col, &at.text), message, label);
    d.help = help.map(Into::into);
    Failure::Input { diagnostics: vec![d], sources: subject.sources.clone() }
}

/// Why it cannot be run, at the line that asks for too much where there is one.
pub(crate) fn refused(subject: &Loaded, error: RunError) -> Failure {
    let machine = &subject.machine.name;
    match error {
        RunError::Unsupported { message, site: Some(site) } => at_site(
            subject,
            site,
            message,
            format!("{machine} cannot do this"),
            Some("name another machine with `--machine`; `warpline models` lists them"),
        ),
        RunError::Order { message, .. } => Failure::with_help(
            message,
            "the schedule is of another kernel, or of this one before an edit; `warpline verify` writes a new one",
        ),
        RunError::Misplaced { message, site } => at_site(subject, site, message, "this statement".into(), None),
        RunError::EmptyGrid { .. } => Failure::with_help(error.to_string(), "set the sizes with `--set`"),
        RunError::Unsupported { message, site: None } => Failure::new(message),
        RunError::DoesNotFit { message, .. } => Failure::with_help(
            message,
            "make the tiles or the stage count smaller with `--set`, or name another machine",
        ),
        RunError::Missing(missing) => {
            let help = format!(
                "give it on the command line, `--set machine.{}=VALUE`, or in a machine file of your own",
                missing.key
            );
            Failure::with_help(missing.to_string(), help)
        }
    }
}
