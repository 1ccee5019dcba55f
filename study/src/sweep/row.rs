//! Results of points, and all points as a table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::part::Part;
use crate::numbers::{Better, METRICS, metric_named};

/// How the run of a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended without a fault.
    Fine,
    /// It ended or broke off with a fault.
    Faulty,
    /// A hang.
    Hung,
    /// The event limit was reached.
    GaveUp,
    /// The point cannot run.
    Infeasible,
}

impl Outcome {
    /// The word used in tables.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Fine => "fine",
            Outcome::Faulty => "faulty",
            Outcome::Hung => "hung",
            Outcome::GaveUp => "gave_up",
            Outcome::Infeasible => "infeasible",
        }
    }
}

/// Result of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// How the run ended.
    pub outcome: Outcome,
    /// What limits the CTAs of a core; for an infeasible point what forbids it: `shared memory`, `registers`, `tensor
    /// memory`, `threads`, `warps`, `cluster`, `machine` (it lacks something), `kernel` (it refuses the values).
    pub limit: String,
    /// Bottleneck, or the reason why the point is infeasible or faulty, as a sentence.
    pub message: String,
    /// Numbers by name ([`METRICS`], and those of a comparison); empty for an infeasible point.
    pub numbers: BTreeMap<String, f64>,
}

impl Row {
    /// The row of a point that cannot run.
    pub fn infeasible(limit: &str, message: String) -> Row {
        Row { outcome: Outcome::Infeasible, limit: limit.into(), message, numbers: BTreeMap::new() }
    }

    /// One number of a point that ended without a fault.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied().filter(|_| self.outcome == Outcome::Fine)
    }
}

/// The best point by a number, with the number; the first of equals. `None` where neither direction is better.
pub fn best(part: &Part, name: &str) -> Option<(usize, f64)> {
    // Numbers of a comparison are speeds; for waits of a role less is better.
    let better = match metric_named(name) {
        Some(m) => m.better,
        None if name == "speedup" => Better::More,
        None if name.starts_with("wait_") || name.starts_with("stall_") => Better::Less,
        None => Better::Neither,
    };
    let known = part.rows.iter().filter_map(|(i, row)| Some((*i, row.number(name)?)));
    match better {
        Better::Less => known.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::More => known.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))),
        Better::Neither => None,
    }
}

/// All points as CSV: varied values, how the run ended, every number.
///
/// # Errors
/// The writer fails, which it does not for text in memory.
pub fn csv(part: &Part) -> Result<Vec<u8>, String> {
    let extra: Vec<&str> = {
        let all = part.rows.values().flat_map(|r| r.numbers.keys().map(String::as_str));
        let mut names: Vec<&str> = all.filter(|n| METRICS.iter().all(|m| m.name != *n)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let columns: Vec<&str> = METRICS.iter().map(|m| m.name).chain(extra).collect();
    let mut w = csv::Writer::from_writer(Vec::new());
    let names = part.plan.names();
    let head = names.iter().copied().chain(["outcome", "limit", "message"]).chain(columns.iter().copied());
    w.write_record(head).map_err(|e| e.to_string())?;
    for (point, row) in &part.rows {
        let values = part.plan.point(*point).into_iter().map(|v| v.to_string());
        let state = [row.outcome.word().to_string(), row.limit.clone(), row.message.clone()];
        let numbers = columns.iter().map(|c| row.numbers.get(*c).map_or(String::new(), f64::to_string));
        w.write_record(values.chain(state).chain(numbers)).map_err(|e| e.to_string())?;
    }
    w.into_inner().map_err(|e| e.to_string())
}
