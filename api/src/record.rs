//! Timelines: the record of a run, or a saved trace.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use warpline_sim::timeline::Timeline;
use warpline_study::compare::Side;
use warpline_viz::trace::read;

use crate::claims::{ClaimResult, evaluate};
use crate::error::Error;
use crate::load::{self, Subject};
use crate::request::{Clock, Request};
use crate::simulate::{Simulation, run_with_record};
use crate::status::Status;
use crate::window::{default_window, saved_window};

/// Largest number of spans of a record: more than a readable chart shows, and few enough for memory.
pub const SPANS: usize = 2_000_000;

/// A timeline, with the run that it is a record of.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The name in the request.
    pub name: String,
    /// The record.
    pub timeline: Timeline,
    /// The cycles that a chart shows first: steps of the main loop with all warps at work, where the run is longer.
    pub opening: Option<Range<u64>>,
    /// CTAs per cluster; `None` for a saved trace of few CTAs, 1 for another one of `warpline trace`.
    pub cluster: Option<u32>,
    /// Whether the run follows a schedule, so that its times are not its own.
    pub scheduled: bool,
    /// The status of the run.
    pub status: Status,
    /// The run; `None` for a saved trace.
    pub simulation: Option<Simulation>,
    /// Number of events of a saved trace that are not slices and were left out.
    pub left_out: usize,
}

impl Recording {
    /// The side of a comparison.
    pub(crate) fn side(&self) -> Side<'_> {
        Side { run: self.simulation.as_ref().map(|r| (&r.subject.program, &r.report)), record: &self.timeline }
    }

    /// Adds the rows that a device recorded of the same kernel. `path` is a file that an emitted kernel wrote.
    ///
    /// # Errors
    /// A saved trace, which has no kernel, or a file that is not such a record.
    pub fn add_measured(&mut self, path: &Path) -> Result<(), Error> {
        let Some(simulation) = &self.simulation else {
            return Err(Error::new("a saved trace has no kernel to compare a record with"));
        };
        let text = load::read(path)?;
        let measured = warpline_calibrate::trace::parse(&text, &simulation.subject.program, "device");
        let measured = measured.map_err(|e| Error::new(format!("`{}`: {e}", path.display())))?;
        self.timeline = warpline_calibrate::trace::beside(&self.timeline, &measured, "simulated");
        Ok(())
    }

    /// The results of the scenario's claims; empty for a saved trace and for a run that follows a schedule.
    ///
    /// # Errors
    /// A scenario named by a claim that cannot be loaded.
    pub fn claims(&self, request: &Request) -> Result<Vec<ClaimResult>, Error> {
        match &self.simulation {
            Some(s) if !self.scheduled => evaluate(&s.subject, Some(&s.report), request),
            _ => Ok(Vec::new()),
        }
    }
}

/// Whether a name is that of a saved trace: it ends in `.json`.
pub fn is_trace(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
}

/// Rejects a request that would change a saved trace.
///
/// # Errors
/// The first option of the request that can have no effect.
pub(crate) fn unchanged_trace(request: &Request) -> Result<(), Error> {
    let given = [
        ("--machine", request.machine.is_some()),
        ("--set", !request.settings.is_empty()),
        ("--fence", !request.fences.is_empty()),
        ("--schedule", request.schedule.is_some()),
        ("--clock", request.clock == Clock::Sustained),
    ];
    match given.iter().find(|g| g.1) {
        Some((flag, _)) => {
            Err(Error::new(format!("`{}` is a saved trace, so {flag} can change nothing", request.scenario)))
        }
        None => Ok(()),
    }
}

/// Runs a kernel with a record of at most [`SPANS`] spans.
///
/// # Errors
/// As for [`run`](crate::run).
pub fn record(subject: &Subject) -> Result<Recording, Error> {
    let mut simulation = run_with_record(subject, Some(SPANS))?;
    let Some(mut timeline) = simulation.report.timeline.take() else {
        return Err(Error::new("the engine kept no record of the run"));
    };
    let kernel = &simulation.subject.program.name;
    timeline.title = timeline.title.replacen(kernel, &load::readable_name(kernel), 1);
    if timeline.title.is_empty() {
        timeline.title = format!("{} on {}", simulation.subject.name, simulation.subject.machine.name);
    }
    Ok(Recording {
        name: simulation.subject.name.clone(),
        opening: default_window(&simulation.report, &timeline, simulation.subject.program.cluster),
        cluster: Some(simulation.subject.program.cluster),
        scheduled: simulation.subject.schedule.is_some(),
        status: simulation.status(),
        timeline,
        simulation: Some(simulation),
        left_out: 0,
    })
}

/// Most CTAs of a saved trace that a chart shows. It does not know the size of a cluster.
const FEW: u32 = 4;

/// Reads a saved trace in Chrome's format.
///
/// # Errors
/// A file that cannot be read or is no such trace.
pub fn read_trace(name: &str) -> Result<Recording, Error> {
    let read = read_file(name).map_err(|e| Error::new(format!("cannot read `{name}`: {e}")))?;
    let mut timeline = read.timeline;
    if timeline.title.is_empty() {
        timeline.title = load::short_name(name).to_string();
    }
    // Only a trace of `warpline trace` says how long the run took. Such a trace is shown as the run is.
    let ours = timeline.took.is_some();
    let ctas = timeline.rows.iter().map(|r| r.cta + 1).max().unwrap_or(0);
    Ok(Recording {
        name: name.to_string(),
        opening: ours.then(|| saved_window(&timeline)).flatten(),
        cluster: (ours && ctas > FEW).then_some(1),
        timeline,
        scheduled: false,
        status: Status::Holds,
        simulation: None,
        left_out: read.left_out,
    })
}

/// Reads a file in parts; a pipe is read as a whole.
fn read_file(name: &str) -> Result<read::Read, read::ReadError> {
    let about = std::fs::metadata(name)?;
    if about.is_file() { read::from(&InFile { name, length: about.len() }) } else { read::read(&std::fs::read(name)?) }
}

/// A file that several threads read, one part at a time.
struct InFile<'n> {
    name: &'n str,
    /// Bytes.
    length: u64,
}

impl read::Source for InFile<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn stretch(&self, at: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()> {
        // Each thread opens the file for a position of its own.
        let mut file = File::open(self.name)?;
        file.seek(SeekFrom::Start(at.start))?;
        buffer.resize((at.end - at.start) as usize, 0);
        file.read_exact(buffer)
    }
}
