//! Sweeps: one run for each combination of values.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use warpline_sim::RunError;
use warpline_sim::report::{self, Report};
use warpline_study::clock::{ClockResult, Sustained};
use warpline_study::numbers::{metric_named, numbers};
use warpline_study::sweep::{self, Axis, Outcome, Part, Plan, Row, Shard, Value};

use crate::error::{Error, Sources};
use crate::load::{self, Lowered, Subject, load_point};
use crate::output;
use crate::progress::{Counter, OnProgress};
use crate::request::{Clock, Request, Setting};
use crate::simulate::execute_at_clock;

/// The time between two writes of the state file of a running sweep.
const SAVE: Duration = Duration::from_secs(1);

/// The points of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The request that all points share.
    pub request: Request,
    /// The names that vary, with their values. Every combination is a point; `warpline_study::sweep::axis` reads
    /// `stages=1..6`.
    pub axes: Vec<Axis>,
    /// A second scenario that runs at every point; it adds `against_time_us`, `against_cycles` and `speedup`.
    pub against: Option<String>,
    /// Additional metrics to keep, such as those of one role.
    pub metrics: Vec<String>,
    /// The file with finished points. A sweep continues from an existing file.
    pub state: Option<PathBuf>,
    /// The share of the points to run.
    pub shard: Shard,
    /// Set by another thread to stop: points that have not begun are then not run, and the sweep is an error.
    pub stop: Option<Arc<AtomicBool>>,
}

impl SweepRequest {
    /// A sweep of a scenario or kernel over axes, all points in one process.
    pub fn new(request: Request, axes: Vec<Axis>) -> SweepRequest {
        SweepRequest { request, axes, against: None, metrics: Vec::new(), state: None, shard: Shard::WHOLE, stop: None }
    }
}

/// An axis from a table (CSV): a line of names, then a line of values for each point.
///
/// # Errors
/// A file that cannot be read, and every problem of the table.
pub fn listed_points(path: &Path) -> Result<Axis, Error> {
    let (file, text) = (path.display().to_string(), load::read(path)?);
    sweep::listed(&file, &text)
        .map_err(|diagnostics| Error::Input { diagnostics, sources: Sources::from([(file.clone(), text.clone())]) })
}

/// Runs the points of a sweep that its state file does not have yet, on all cores.
///
/// # Errors
/// Names that do not exist, a state file of another sweep, and a file that cannot be written. A point that the kernel or
/// the machine rejects is a row, not an error.
pub fn sweep(sweep: &SweepRequest, progress: OnProgress<'_>) -> Result<Part, Error> {
    if sweep.request.schedule.is_some() {
        return Err(Error::new("a sweep takes no --schedule: a schedule is for one set of values"));
    }
    let plan = Plan::new(sweep.axes.clone())
        .map_err(|e| Error::with_help(e, "say what to vary: `--vary stages=1..6`, or `--points FILE`"))?;
    let names = plan.names().into_iter().map(str::to_string);
    let lowered = &Arc::new(Lowered::over(names));
    let subject = sweep::Subject {
        scenario: sweep.request.scenario.clone(),
        against: sweep.against.clone(),
        settings: settings(sweep),
        inputs: inputs(sweep, &plan, lowered)?,
    };
    let mut part = Part::new(subject, plan, sweep.shard);
    if let Some(path) = sweep.state.as_deref().filter(|p| p.exists()) {
        part = resumed(path, part)?;
    }
    let todo = part.missing();
    let counter = Counter::start(todo.len(), progress);
    let saved = Mutex::new(Saved { part: part.clone(), at: Instant::now() });
    let done = |i: usize, row: &Row| {
        counter.step();
        let Some(path) = &sweep.state else { return };
        // A poisoned lock means a panic in another thread, which ends the sweep.
        let Ok(mut saved) = saved.lock() else { return };
        saved.part.rows.insert(i, row.clone());
        if saved.at.elapsed() >= SAVE {
            // The last write, below, reports an error that persists.
            let _ = output::replace_file(path, saved.part.text().as_bytes());
            saved.at = Instant::now();
        }
    };
    let one = |i| {
        if sweep.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::new("the sweep was stopped"));
        }
        point(sweep, &part.plan, i, lowered)
    };
    let rows = sweep::run(&todo, &one, &done);
    // Finished points are kept even if a later point is an error.
    if let Some(path) = &sweep.state {
        let saved = saved.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        output::replace_file(path, saved.part.text().as_bytes())?;
    }
    part.rows.extend(rows?);
    Ok(part)
}

/// The finished points, and the time of the last write.
struct Saved {
    part: Part,
    at: Instant,
}

/// The command-line options that change a run or its metrics, as written.
fn settings(sweep: &SweepRequest) -> Vec<String> {
    let s = &sweep.request;
    let mut out: Vec<String> = s.machine.iter().map(|m| format!("--machine {m}")).collect();
    out.extend(s.settings.iter().map(|s| match s {
        Setting::Parameter { name, value } => format!("--set {name}={value}"),
        Setting::MachineNumber { key, value } => format!("--set machine.{key}={value}"),
    }));
    out.extend(s.fences.iter().map(|f| format!("--fence {}={}", f.rule, f.level)));
    out.extend((s.clock == Clock::Sustained).then(|| "--clock sustained".to_string()));
    out.extend((!s.skip_repeats).then(|| "--no-skip".to_string()));
    out.extend(s.max_events.map(|n| format!("--max-events {n}")));
    out.extend(extra_metrics(sweep).map(|m| format!("--metric {m}")));
    out
}

/// The requested metrics that are not kept of every run.
fn extra_metrics(sweep: &SweepRequest) -> impl Iterator<Item = &str> {
    sweep.metrics.iter().map(String::as_str).filter(|m| metric_named(m).is_none() && !ADDED.contains(m))
}

/// The numbers that a second run at every point adds, and that the sustained clock adds.
const ADDED: [&str; 4] = ["against_cycles", "against_time_us", "speedup", "clock_mhz"];

/// The version, and a digest of all inputs: of the first point that compiles, for each scenario and machine.
fn inputs(sweep: &SweepRequest, plan: &Plan, lowered: &Arc<Lowered>) -> Result<String, Error> {
    let mut seen: Vec<(String, Option<String>)> = Vec::new();
    let (mut digest, mut first) = (0u64, None);
    for i in 0..plan.len() {
        let request = at(&sweep.request, &plan.names(), plan.point(i))?;
        let which = (request.scenario.clone(), request.machine.clone());
        if seen.contains(&which) {
            continue;
        }
        match load_point(&request, lowered).and_then(|s| Ok((against(sweep, &s, &request, lowered)?, s))) {
            Ok((other, s)) => {
                for s in other.iter().chain([&s]) {
                    digest = digest.rotate_left(7) ^ s.digest();
                }
                seen.push(which);
            }
            // The kernel may reject these values and accept others.
            Err(error @ Error::Input { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if seen.is_empty() => Err(error),
        _ => Ok(format!("warpline {} {digest:016x}", env!("CARGO_PKG_VERSION"))),
    }
}

fn resumed(path: &Path, new: Part) -> Result<Part, Error> {
    let old = read_part(path)?;
    let shown = path.display();
    let help = "name another file, or delete this one to start again";
    new.same_sweep(&old).map_err(|m| Error::with_help(format!("`{shown}` belongs to another sweep; {}", m.0), help))?;
    if old.shard != new.shard {
        let words = |s: Shard| format!("{}/{}", s.i, s.n);
        let message = format!("`{shown}` holds shard {}, not {}", words(old.shard), words(new.shard));
        return Err(Error::with_help(message, help));
    }
    Ok(old)
}

/// Reads the state file of a sweep.
///
/// # Errors
/// A file that cannot be read, or is no such file.
pub fn read_part(path: &Path) -> Result<Part, Error> {
    Part::read(&load::read(path)?).map_err(|e| Error::new(format!("`{}`: {e}", path.display())))
}

/// The request of a point.
fn at(base: &Request, names: &[&str], values: Vec<Value>) -> Result<Request, Error> {
    let mut request = base.clone();
    for (name, value) in names.iter().zip(values) {
        match (*name, value) {
            ("machine", Value::Word(w)) => request.machine = Some(w),
            ("scenario", Value::Word(w)) => request.scenario = w,
            (name, Value::Int(value)) => request.settings.push(Setting::Parameter { name: name.to_string(), value }),
            (name, Value::Number(value)) => {
                let key = name.trim_start_matches("machine.").to_string();
                request.settings.push(Setting::MachineNumber { key, value });
            }
            (name, value) => return Err(Error::new(format!("`{name}` cannot be `{value}`"))),
        }
    }
    Ok(request)
}

/// The second scenario at a point, where the sweep has one.
fn against(
    sweep: &SweepRequest,
    this: &Subject,
    request: &Request,
    lowered: &Arc<Lowered>,
) -> Result<Option<Subject>, Error> {
    let varied = &request.settings[sweep.request.settings.len()..];
    sweep.against.as_deref().map(|other| load::load_at_point(this, other, varied, request, lowered)).transpose()
}

/// The run of a point. A rejected point is a row; a name that does not exist is an error.
fn point(sweep: &SweepRequest, plan: &Plan, i: usize, lowered: &Arc<Lowered>) -> Result<Row, Error> {
    let request = at(&sweep.request, &plan.names(), plan.point(i))?;
    let subject = match load_point(&request, lowered) {
        Ok(subject) => subject,
        Err(error @ Error::Input { .. }) => return Ok(Row::infeasible("kernel", error.summary())),
        Err(error) => return Err(error),
    };
    let (report, clock) = match execute_at_clock(&subject, None) {
        Ok(found) => found,
        Err(error) => return Ok(Row::infeasible(&limit(&error), subject.refused(error).summary())),
    };
    let mut row = row(&subject, &report, sweep);
    if let Some(clock) = clock {
        row.numbers.insert("clock_mhz".into(), clock.mhz);
        if clock.end == ClockResult::Open && row.outcome == Outcome::Fine {
            (row.outcome, row.message) = (Outcome::GaveUp, format!("clock {clock}"));
        }
    }
    match against(sweep, &subject, &request, lowered) {
        Ok(Some(other)) => {
            let settled = |clock: Option<Sustained>| clock.is_none_or(|c| c.end != ClockResult::Open);
            let theirs =
                execute_at_clock(&other, None).ok().filter(|(r, clock)| r.clean() && settled(*clock)).map(|t| t.0);
            if let Some(theirs) = theirs.filter(|_| row.outcome == Outcome::Fine) {
                row.numbers.insert("against_cycles".into(), theirs.cycles);
                row.numbers.insert("against_time_us".into(), theirs.time_us);
                let (us, cycles) = (theirs.time_us / report.time_us, theirs.cycles / report.cycles);
                row.numbers.insert("speedup".into(), if us.is_finite() { us } else { cycles });
            }
        }
        Ok(None) | Err(Error::Input { .. }) => {}
        Err(error) => return Err(error),
    }
    row.numbers.retain(|_, v| v.is_finite());
    Ok(row)
}

fn limit(error: &RunError) -> String {
    match error {
        RunError::DoesNotFit { limit, .. } => limit.clone(),
        RunError::Unsupported { .. } | RunError::Missing(_) => "machine".into(),
        RunError::Misplaced { .. } | RunError::Order { .. } | RunError::EmptyGrid { .. } => "kernel".into(),
    }
}

fn row(subject: &Subject, r: &Report, sweep: &SweepRequest) -> Row {
    let fault = r.faults().next();
    let outcome = match r.outcome {
        report::Outcome::Hung(_) => Outcome::Hung,
        report::Outcome::Limit => Outcome::GaveUp,
        report::Outcome::Broken => Outcome::Faulty,
        _ if fault.is_some() => Outcome::Faulty,
        _ => Outcome::Fine,
    };
    let message = match (&r.outcome, fault) {
        (_, Some(f)) => f.message.clone(),
        (report::Outcome::Hung(waits), _) => waits.first().map_or(String::new(), |w| w.waits_for.clone()),
        (report::Outcome::Limit, _) => "the event limit was reached".into(),
        _ => r.bottleneck.clone(),
    };
    let own: Vec<&str> = extra_metrics(sweep).collect();
    let kept = |name: &String| metric_named(name).is_some() || own.contains(&name.as_str());
    let numbers = numbers(&subject.program, r).into_iter().filter(|(name, _)| kept(name)).collect();
    Row { outcome, limit: r.occupancy.limit.clone(), message, numbers }
}
