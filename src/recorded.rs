//! A timeline to draw: a run's, or a saved trace's.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use warpline_sim::timeline::{TICKS, Timeline};
use warpline_study::compare::Side;
use warpline_viz::trace::read;

use crate::cli::{Clock, Second, Setting, Subject};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load::{self, Loaded};
use crate::simulate::{Ran, simulate};
use crate::{claims, draw, show};

/// What there is to draw.
pub(crate) struct Recorded {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) timeline: Timeline,
    /// Cycle up to which the first steps of the main loop are shown, where the run is longer than that.
    pub(crate) opening: Option<u64>,
    /// CTAs that belong together; of a trace that is not known.
    pub(crate) cluster: Option<u32>,
    /// The run keeps to a schedule.
    pub(crate) kept: bool,
    pub(crate) status: Status,
    /// The run; of a trace there is none.
    pub(crate) ran: Option<Ran>,
}

impl Recorded {
    /// What a comparison asks of it.
    pub(crate) fn side(&self) -> Side<'_> {
        Side { run: self.ran.as_ref().map(|r| (&r.subject.program, &r.report)), record: &self.timeline }
    }

    /// Lays what a device recorded of the same kernel beside the run.
    pub(crate) fn beside_measured(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(ran) = &self.ran else { return Err(Failure::new("a saved trace has no kernel to hold a record to")) };
        let text = load::read(path)?;
        let measured = warpline_calibrate::trace::parse(&text, &ran.subject.program, "device");
        let measured = measured.map_err(|e| Failure::new(format!("`{}`: {e}", path.display())))?;
        self.timeline = warpline_calibrate::trace::beside(&self.timeline, &measured, "simulated");
        Ok(())
    }

    /// How the scenario's claims come out, a sentence each. A schedule decides none.
    pub(crate) fn claims(&self, asked: &Subject) -> Result<Vec<String>, Failure> {
        match &self.ran {
            Some(ran) if !self.kept => {
                let judged = claims::evaluate(&ran.subject, Some(&ran.report), asked)?;
                Ok(judged.iter().map(claims::Judged::sentence).collect())
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// Whether a name is a saved trace's. Scenarios and kernels end otherwise.
pub(crate) fn is_trace(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
}

/// Runs what a command names, or reads the trace that it names.
pub(crate) fn open(subject: &Subject, console: &mut Console) -> Result<Recorded, Failure> {
    if is_trace(&subject.scenario) {
        let given = [
            ("--machine", subject.machine.is_some()),
            ("--set", !subject.set.is_empty()),
            ("--fence", !subject.fence.is_empty()),
            ("--schedule", subject.schedule.is_some()),
            ("--clock", subject.clock == Clock::Sustained),
        ];
        if let Some((flag, _)) = given.iter().find(|g| g.1) {
            return Err(Failure::new(format!("`{}` is a saved trace, so {flag} can change nothing", subject.scenario)));
        }
        return from_trace(&subject.scenario, console);
    }
    run(load::load(subject)?, console)
}

/// A run or a trace, and the one beside it where one is asked for.
pub(crate) fn both(
    subject: &Subject,
    second: &Second,
    console: &mut Console,
) -> Result<(Recorded, Option<Recorded>), Failure> {
    let Some(with) = &second.with else { return Ok((open(subject, console)?, None)) };
    let [a, b] = two(subject, with, &second.with_set, second.with_schedule.as_deref(), console)?;
    Ok((a, Some(b)))
}

/// Two runs or traces. Both are loaded before either runs: what is wrong with the files is said first.
pub(crate) fn two(
    subject: &Subject,
    with: &str,
    set: &[Setting],
    schedule: Option<&Path>,
    console: &mut Console,
) -> Result<[Recorded; 2], Failure> {
    if is_trace(with) {
        let flag = if set.is_empty() { "--with-schedule" } else { "--with-set" };
        if !set.is_empty() || schedule.is_some() {
            return Err(Failure::new(format!("`{with}` is a saved trace, so {flag} can change nothing")));
        }
        let b = from_trace(with, console)?;
        return Ok([open(subject, console)?, b]);
    }
    if is_trace(&subject.scenario) {
        let other = Subject { scenario: with.to_string(), set: set.to_vec(), ..subject.clone() };
        let b = load::load(&Subject { schedule: schedule.map(Path::to_path_buf), ..other })?;
        return Ok([open(subject, console)?, run(b, console)?]);
    }
    let a = load::load(subject)?;
    let b = load::load_with(&a, with, set, schedule, subject)?;
    Ok([run(a, console)?, run(b, console)?])
}

/// Runs with a record.
pub(crate) fn run(subject: Loaded, console: &mut Console) -> Result<Recorded, Failure> {
    let (ran, timeline) = record(subject, console)?;
    Ok(Recorded {
        name: ran.subject.name.clone(),
        opening: draw::opening(&ran.report),
        cluster: Some(ran.subject.program.cluster),
        kept: ran.subject.schedule.is_some(),
        status: ran.status(),
        timeline,
        ran: Some(ran),
    })
}

/// A file that is read a stretch at a time, by several at once.
struct InFile<'n> {
    name: &'n str,
    length: u64,
}

/// Reads a trace, from a file by stretches; a pipe has none.
fn read_trace(name: &str) -> Result<read::Read, read::ReadError> {
    let about = std::fs::metadata(name)?;
    if about.is_file() { read::from(&InFile { name, length: about.len() }) } else { read::read(&std::fs::read(name)?) }
}

impl read::Source for InFile<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn stretch(&self, at: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()> {
        // A place in the file of its own.
        let mut file = File::open(self.name)?;
        file.seek(SeekFrom::Start(at.start))?;
        buffer.resize((at.end - at.start) as usize, 0);
        file.read_exact(buffer)
    }
}

/// Reads a trace in Chrome's format.
pub(crate) fn from_trace(name: &str, console: &mut Console) -> Result<Recorded, Failure> {
    let read = read_trace(name).map_err(|e| Failure::new(format!("cannot read `{name}`: {e}")))?;
    if read.left_out > 0 {
        let n = read.left_out;
        console.error(&format!("note: {n} events of `{name}` are no slices and are not shown\n"))?;
    }
    let mut timeline = read.timeline;
    if timeline.title.is_empty() {
        timeline.title = load::short_name(name).to_string();
    }
    let name = name.to_string();
    Ok(Recorded { name, timeline, opening: None, cluster: None, kept: false, status: Status::Holds, ran: None })
}

/// Runs with a record. What a picture cannot show, that the run went wrong or was cut, is said in words.
pub(crate) fn record(subject: Loaded, console: &mut Console) -> Result<(Ran, Timeline), Failure> {
    let mut ran = simulate(console, subject, Some(draw::SPANS))?;
    let Some(mut timeline) = ran.report.timeline.take() else {
        return Err(Failure::new("the engine kept no record of the run"));
    };
    if timeline.title.is_empty() {
        timeline.title = format!("{} on {}", ran.subject.name, ran.subject.machine.name);
    }
    if let Some(tick) = timeline.truncated_at {
        let cycle = show::plain(tick as f64 / TICKS as f64);
        console.error(&format!("note: there was too much to record; nothing after cycle {cycle} is shown\n"))?;
    }
    if ran.status() != Status::Holds {
        let name = ran.subject.name.clone();
        let kept = if ran.subject.schedule.is_some() { " --schedule FILE" } else { "" };
        console.error(&format!("note: the run did not end well; `warpline run {name}{kept}` says why\n"))?;
    }
    Ok((ran, timeline))
}
