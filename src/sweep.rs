//! Points of a sweep: what each is, and its run.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use warpline_sim::RunError;
use warpline_sim::report::{self, Report};
use warpline_study::clock::{End, Sustained};
use warpline_study::numbers::{metric_named, numbers};
use warpline_study::sweep::{self, Outcome, Part, Plan, Row, Shard, Value};

use crate::cli::{self, Clock, Setting, Subject};
use crate::console::Console;
use crate::failure::{Failure, Sources};
use crate::load::{self, Loaded};
use crate::output;
use crate::progress::Progress;
use crate::simulate::{at_its_clock, refused};

/// How often the file of an interrupted sweep is brought up to date.
const SAVE: Duration = Duration::from_secs(1);

/// Runs the points that a command line asks for and that are not in its file yet.
pub(crate) fn points(args: &cli::Sweep, console: &Console) -> Result<Part, Failure> {
    if args.subject.schedule.is_some() {
        return Err(Failure::new("a sweep takes no --schedule: it is of one set of values"));
    }
    let plan = plan(args)?;
    let subject = sweep::Subject {
        scenario: args.subject.scenario.clone(),
        against: args.against.clone(),
        settings: settings(args),
        inputs: inputs(args, &plan)?,
    };
    let mut part = Part::new(subject, plan, args.shard.unwrap_or(Shard::WHOLE));
    if let Some(path) = args.state.as_deref().filter(|p| p.exists()) {
        part = resumed(path, part)?;
    }
    let todo = part.missing();
    let progress = Progress::of(console.look.progress, todo.len(), format!("sweeping {}", args.subject.scenario));
    let saved = Mutex::new((part.clone(), Instant::now(), None::<Failure>));
    let done = |i: usize, row: &Row| {
        progress.step();
        let Some(path) = &args.state else { return };
        // A thread that panicked took the sweep with it; there is no lock to fear for.
        let Ok(mut kept) = saved.lock() else { return };
        kept.0.rows.insert(i, row.clone());
        if kept.1.elapsed() >= SAVE {
            let written = output::replace_file(path, kept.0.text().as_bytes());
            kept.2 = written.err().or(kept.2.take());
            kept.1 = Instant::now();
        }
    };
    let rows = sweep::run(&todo, &|i| one(args, &part.plan, i), &done);
    drop(progress);
    // What is finished is kept, also where a later point went wrong.
    if let Some(path) = &args.state {
        let kept = saved.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        output::replace_file(path, kept.0.text().as_bytes())?;
    }
    part.rows.extend(rows?);
    Ok(part)
}

fn plan(args: &cli::Sweep) -> Result<Plan, Failure> {
    let mut axes = args.vary.clone();
    if let Some(path) = &args.points {
        let (file, text) = (path.display().to_string(), load::read(path)?);
        let listed = sweep::listed(&file, &text);
        axes.insert(
            0,
            listed.map_err(|diagnostics| Failure::Input {
                diagnostics,
                sources: Sources::from([(file.clone(), text.clone())]),
            })?,
        );
    }
    Plan::new(axes).map_err(|e| Failure::with_help(e, "say what to vary: `--vary stages=1..6`, or `--points FILE`"))
}

/// What else the command line says that changes a run or what is kept of it, as it could be written again.
fn settings(args: &cli::Sweep) -> Vec<String> {
    let s = &args.subject;
    let mut out: Vec<String> = s.machine.iter().map(|m| format!("--machine {m}")).collect();
    out.extend(s.set.iter().map(|s| match s {
        Setting::Kernel(name, v) => format!("--set {name}={v}"),
        Setting::Machine(key, v) => format!("--set machine.{key}={v}"),
    }));
    out.extend(s.fence.iter().map(|f| format!("--fence {}={}", f.rule, f.level)));
    out.extend((s.clock == Clock::Sustained).then(|| "--clock sustained".to_string()));
    out.extend(s.no_skip.then(|| "--no-skip".to_string()));
    out.extend(s.max_events.map(|n| format!("--max-events {n}")));
    out.extend(own_metrics(args).map(|m| format!("--metric {m}")));
    out
}

/// Metrics asked for that not every row has.
fn own_metrics(args: &cli::Sweep) -> impl Iterator<Item = &str> {
    args.output.metric.iter().map(String::as_str).filter(|m| metric_named(m).is_none() && !ADDED.contains(m))
}

/// Numbers that a second run at every point adds, and that a clock that is looked for does.
const ADDED: [&str; 4] = ["against_cycles", "against_time_us", "speedup", "clock_mhz"];

/// The version, and a digest of everything that goes in: of the first point that compiles, for each scenario and machine.
fn inputs(args: &cli::Sweep, plan: &Plan) -> Result<String, Failure> {
    let mut seen: Vec<(String, Option<String>)> = Vec::new();
    let (mut digest, mut first) = (0u64, None);
    for i in 0..plan.len() {
        let subject = at(&args.subject, &plan.names(), plan.point(i))?;
        let which = (subject.scenario.clone(), subject.machine.clone());
        if seen.contains(&which) {
            continue;
        }
        match load::load(&subject).and_then(|s| Ok((with(args, &s, &subject)?, s))) {
            Ok((other, s)) => {
                for s in other.iter().chain([&s]) {
                    digest = digest.rotate_left(7) ^ s.digest();
                }
                seen.push(which);
            }
            // The kernel may refuse these values and take others.
            Err(failure @ Failure::Input { .. }) => first = first.or(Some(failure)),
            Err(failure) => return Err(failure),
        }
    }
    match first {
        Some(failure) if seen.is_empty() => Err(failure),
        _ => Ok(format!("warpline {} {digest:016x}", env!("CARGO_PKG_VERSION"))),
    }
}

fn resumed(path: &Path, new: Part) -> Result<Part, Failure> {
    let old = read(path)?;
    let shown = path.display();
    let help = "name another file, or delete this one to start afresh";
    new.same_sweep(&old).map_err(|m| Failure::with_help(format!("`{shown}` is of another sweep; {}", m.0), help))?;
    if old.shard != new.shard {
        let words = |s: Shard| format!("{}/{}", s.i, s.n);
        let message = format!("`{shown}` holds shard {}, not {}", words(old.shard), words(new.shard));
        return Err(Failure::with_help(message, help));
    }
    Ok(old)
}

/// A part from its file.
pub(crate) fn read(path: &Path) -> Result<Part, Failure> {
    Part::read(&load::read(path)?).map_err(|e| Failure::new(format!("`{}`: {e}", path.display())))
}

/// The command line of a point.
fn at(base: &Subject, names: &[&str], values: Vec<Value>) -> Result<Subject, Failure> {
    let mut s = base.clone();
    for (name, value) in names.iter().zip(values) {
        match (*name, value) {
            ("machine", Value::Word(w)) => s.machine = Some(w),
            ("scenario", Value::Word(w)) => s.scenario = w,
            (name, Value::Int(v)) => s.set.push(Setting::Kernel(name.to_string(), v)),
            (name, Value::Number(v)) => {
                s.set.push(Setting::Machine(name.trim_start_matches("machine.").to_string(), v));
            }
            (name, value) => return Err(Failure::new(format!("`{name}` cannot be `{value}`"))),
        }
    }
    Ok(s)
}

fn with(args: &cli::Sweep, this: &Loaded, subject: &Subject) -> Result<Option<Loaded>, Failure> {
    let varied = &subject.set[args.subject.set.len()..];
    args.against.as_deref().map(|other| load::load_at(this, other, varied, subject)).transpose()
}

/// The run of a point. What forbids it is a row; a name that is not there is an error.
fn one(args: &cli::Sweep, plan: &Plan, i: usize) -> Result<Row, Failure> {
    let subject = at(&args.subject, &plan.names(), plan.point(i))?;
    let loaded = match load::load(&subject) {
        Ok(loaded) => loaded,
        Err(failure @ Failure::Input { .. }) => return Ok(Row::infeasible("kernel", failure.in_a_line())),
        Err(failure) => return Err(failure),
    };
    let (report, clock) = match at_its_clock(&loaded, None) {
        Ok(found) => found,
        Err(error) => return Ok(Row::infeasible(&limit(&error), refused(&loaded, error).in_a_line())),
    };
    let mut row = row(&loaded, &report, args);
    if let Some(clock) = clock {
        row.numbers.insert("clock_mhz".into(), clock.mhz);
        if clock.end == End::Open && row.outcome == Outcome::Fine {
            (row.outcome, row.message) = (Outcome::GaveUp, format!("clock {}", clock));
        }
    }
    match with(args, &loaded, &subject) {
        Ok(Some(other)) => {
            let settled = |clock: Option<Sustained>| clock.is_none_or(|c| c.end != End::Open);
            let theirs = at_its_clock(&other, None).ok().filter(|(r, clock)| r.clean() && settled(*clock)).map(|t| t.0);
            if let Some(theirs) = theirs.filter(|_| row.outcome == Outcome::Fine) {
                row.numbers.insert("against_cycles".into(), theirs.cycles);
                row.numbers.insert("against_time_us".into(), theirs.time_us);
                let (us, cycles) = (theirs.time_us / report.time_us, theirs.cycles / report.cycles);
                row.numbers.insert("speedup".into(), if us.is_finite() { us } else { cycles });
            }
        }
        Ok(None) | Err(Failure::Input { .. }) => {}
        Err(failure) => return Err(failure),
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

fn row(loaded: &Loaded, r: &Report, args: &cli::Sweep) -> Row {
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
    let own: Vec<&str> = own_metrics(args).collect();
    let kept = |name: &String| metric_named(name).is_some() || own.contains(&name.as_str());
    let numbers = numbers(&loaded.program, r).into_iter().filter(|(name, _)| kept(name)).collect();
    Row { outcome, limit: r.occupancy.limit.clone(), message, numbers }
}
