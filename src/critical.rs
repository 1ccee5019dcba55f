//! The critical path of a run, from a record of it or of its first part.

use warpline_sim::report::Outcome;
use warpline_sim::timeline::TICKS;
use warpline_study::critical::{Critical, critical};

use crate::simulate::{Ran, record_of};

/// Spans and events of the record: some CTAs of a large kernel, all of a small one, in a fraction of a second.
const SPANS: usize = 200_000;
/// See `SPANS`.
const EVENTS: u64 = 300_000;

/// A run's critical path.
pub(crate) struct Path {
    pub(crate) critical: Critical,
    /// The record's end in cycles.
    pub(crate) until: f64,
    /// Whether that is the run's end.
    pub(crate) whole: bool,
}

/// The path of a run that ended; `None` of any other, and of one that keeps to a schedule, whose times are not its own.
pub(crate) fn of(ran: &Ran) -> Option<Path> {
    if ran.report.outcome != Outcome::Finished || ran.subject.schedule.is_some() {
        return None;
    }
    let report = record_of(&ran.subject, SPANS, EVENTS).ok()?;
    let t = report.timeline?;
    let until = t.truncated_at.unwrap_or(t.end) as f64 / TICKS as f64;
    let whole = t.truncated_at.is_none() && report.outcome == Outcome::Finished;
    Some(Path { critical: critical(&t)?, until, whole })
}
