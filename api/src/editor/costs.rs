//! Costs and stalls of a run by statement.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use warpline_sim::timeline::{RowKind, SpanKind, TICKS, Timeline};
use warpline_sim::words;

use super::{KernelText, span_of};
use crate::simulate::{Simulation, execute_part};

/// Largest number of spans of the record behind the mean times, and of its events: some CTAs, in a fraction of a second.
const SPANS: usize = 200_000;
const EVENTS: u64 = 300_000;

/// The smallest share of a role's time that is listed.
const SMALL: f64 = 0.001;

/// The cost of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Byte range of the statement.
    pub span: Range<usize>,
    /// How long each role waits at the statement, the longest first.
    pub waits: Vec<Wait>,
    /// Mean cycles that a warp is busy with the statement each time, and mean cycles that it waits there; `None` where
    /// the recorded part of the run does not have the statement.
    pub each: Option<Each>,
    /// Mean cycles of the work that the statement starts in an engine.
    pub engine: Option<f64>,
}

/// Mean times of one execution of a statement, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// Busy.
    pub busy: f64,
    /// Waiting.
    pub waiting: f64,
}

/// The wait of a role at a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The role.
    pub role: String,
    /// Share of the role's time, from 0 to 1.
    pub share: f64,
    /// The causes, the longest first, with the share of each.
    pub causes: Vec<(String, f64)>,
}

/// The costs of the statements of the text as written; none where `pipelined` loops were expanded.
pub(super) fn costs(kernel: &KernelText, simulation: &Simulation) -> Vec<Cost> {
    let subject = &simulation.subject;
    let mut all: BTreeMap<(usize, usize), Cost> = BTreeMap::new();
    let mut at = |site: u32, change: &mut dyn FnMut(&mut Cost)| {
        if let Some(span) = span_of(kernel, subject, site) {
            let new = || Cost { span: span.clone(), waits: Vec::new(), each: None, engine: None };
            change(all.entry((span.start, span.end)).or_insert_with(new));
        }
    };
    for role in &simulation.report.roles {
        for (site, stall, share) in role.at.iter().filter(|a| a.2 >= SMALL) {
            at(*site, &mut |cost| {
                let cause = (words::wait(&simulation.subject.program, *site, *stall), *share);
                match cost.waits.iter_mut().find(|w| w.role == role.name) {
                    Some(wait) => {
                        wait.share += share;
                        wait.causes.push(cause);
                    }
                    None => cost.waits.push(Wait { role: role.name.clone(), share: *share, causes: vec![cause] }),
                }
            });
        }
    }
    let record = execute_part(subject, SPANS, EVENTS).ok().and_then(|r| r.timeline);
    for (site, times) in record.as_ref().map(times).unwrap_or_default() {
        at(site, &mut |cost| (cost.each, cost.engine) = (times.each(), times.engine()));
    }
    let mut costs: Vec<Cost> = all.into_values().collect();
    for cost in &mut costs {
        cost.waits.sort_by(|a, b| b.share.total_cmp(&a.share));
        cost.waits.iter_mut().for_each(|w| w.causes.sort_by(|a, b| b.1.total_cmp(&a.1)));
    }
    costs
}

/// Sums over the executions of a statement, in ticks.
#[derive(Clone, Copy, Default)]
struct Times {
    executions: u64,
    busy: u64,
    waiting: u64,
    engine: u64,
    engine_spans: u64,
}

impl Times {
    fn each(&self) -> Option<Each> {
        let mean = |sum: u64| sum as f64 / self.executions as f64 / TICKS as f64;
        (self.executions > 0).then(|| Each { busy: mean(self.busy), waiting: mean(self.waiting) })
    }

    fn engine(&self) -> Option<f64> {
        (self.engine_spans > 0).then(|| self.engine as f64 / self.engine_spans as f64 / TICKS as f64)
    }
}

/// The times of each statement in a record. Each execution has one span of work on the row of its warp.
fn times(record: &Timeline) -> BTreeMap<u32, Times> {
    let mut all: BTreeMap<u32, Times> = BTreeMap::new();
    for span in &record.spans {
        let (Some(site), Some(row)) = (span.site, record.rows.get(span.row as usize)) else { continue };
        let (times, length) = (all.entry(site).or_default(), span.end - span.start);
        match (&row.kind, span.what) {
            (RowKind::Agent { .. }, SpanKind::Work(_)) => {
                (times.executions, times.busy) = (times.executions + 1, times.busy + length)
            }
            (RowKind::Agent { .. }, SpanKind::Stall(_)) => times.waiting += length,
            (RowKind::Engine(_), SpanKind::Work(_)) => {
                (times.engine_spans, times.engine) = (times.engine_spans + 1, times.engine + length)
            }
            _ => {}
        }
    }
    all
}
