//! The critical path of a run, from a record of the run or of its first part.

use warpline_sim::report::Outcome;
use warpline_sim::timeline::TICKS;
use warpline_study::critical::{Critical, critical};

use crate::simulate::{Simulation, execute_part};

/// Largest number of spans of the record. It covers all of a small kernel or some CTAs of a large one, in a fraction of
/// a second.
const SPANS: usize = 200_000;
/// The most events of the record.
const EVENTS: u64 = 300_000;

/// The chain of causes that leads to the end of a run.
#[derive(Clone, Debug)]
pub struct CriticalPath {
    /// The parts of the path, as shares of the time.
    pub critical: Critical,
    /// The end of the record, in cycles.
    pub until: f64,
    /// Whether the record ends where the run does.
    pub whole: bool,
}

/// The critical path of a run that ended. `None` for any other run, and for a run that follows a schedule, because its
/// times are not its own.
pub fn critical_path(simulation: &Simulation) -> Option<CriticalPath> {
    if simulation.report.outcome != Outcome::Finished || simulation.subject.schedule.is_some() {
        return None;
    }
    let report = execute_part(&simulation.subject, SPANS, EVENTS).ok()?;
    let t = report.timeline?;
    let until = t.truncated_at.unwrap_or(t.end) as f64 / TICKS as f64;
    let whole = t.truncated_at.is_none() && report.outcome == Outcome::Finished;
    Some(CriticalPath { critical: critical(&t)?, until, whole })
}
