//! Recordings for commands that draw or compare, with notes about what is missing from them.

use warpline_api::{Error, Recording, Second, Side, Status, Subject};
use warpline_sim::report::Outcome;
use warpline_sim::timeline::TICKS;
use warpline_sim::words::plain;

use crate::cli::{self, Input};
use crate::console::Console;
use crate::progress::Bar;

/// Runs what a command names, or reads the trace that it names.
pub(crate) fn open(input: &Input, console: &mut Console) -> Result<Recording, Error> {
    let side = warpline_api::side(&input.request())?;
    finish(side, console)
}

/// Runs a kernel with a record.
pub(crate) fn record(subject: Subject, console: &mut Console) -> Result<Recording, Error> {
    finish(Side::Kernel(Box::new(subject)), console)
}

/// A run or a trace, and the second one where the command names one.
pub(crate) fn both(
    input: &Input,
    second: &cli::Second,
    console: &mut Console,
) -> Result<(Recording, Option<Recording>), Error> {
    let Some(scenario) = &second.with else { return Ok((open(input, console)?, None)) };
    let second = Second { scenario, settings: &second.with_set, schedule: second.with_schedule.as_deref() };
    let [a, b] = two(input, second, console)?;
    Ok((a, Some(b)))
}

/// Two runs or traces. Both are loaded before either runs.
pub(crate) fn two(input: &Input, second: Second<'_>, console: &mut Console) -> Result<[Recording; 2], Error> {
    let [a, b] = warpline_api::two(&input.request(), second)?;
    Ok([finish(a, console)?, finish(b, console)?])
}

/// Runs a side with a progress bar, and prints notes about its record.
fn finish(side: Side, console: &mut Console) -> Result<Recording, Error> {
    let bar = Bar::spinner(console.look.progress, format!("running {}", side.name()));
    let recording = side.recording()?;
    drop(bar);
    notes(&recording, console)?;
    Ok(recording)
}

/// Notes about what a picture cannot show: the run went wrong, or the record is not complete.
fn notes(recording: &Recording, console: &mut Console) -> Result<(), Error> {
    let name = &recording.name;
    if recording.left_out > 0 {
        let n = recording.left_out;
        console.error(&format!("note: {n} events of `{name}` are not slices and are not shown\n"))?;
    }
    let Some(simulation) = &recording.simulation else { return Ok(()) };
    if let Some(tick) = recording.timeline.truncated_at {
        let cycle = plain(tick as f64 / TICKS as f64);
        console.error(&format!("note: there was too much to record; nothing after cycle {cycle} is shown\n"))?;
    }
    if recording.status != Status::Holds {
        let scheduled = if recording.scheduled { " --schedule FILE" } else { "" };
        let what = match simulation.report.outcome {
            Outcome::Finished => "the run shows a fault",
            _ => "the run did not finish",
        };
        console.error(&format!("note: {what}; `warpline run {name}{scheduled}` says why\n"))?;
    }
    Ok(())
}
