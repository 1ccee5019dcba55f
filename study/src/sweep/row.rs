//! What became of a point, and all points as a table for programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::part::Part;
use crate::numbers::{Better, METRICS, metric_named};

/// How the run of a point went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended without a fault.
    Fine,
    /// It ended or broke off with a fault.
    Faulty,
    /// Nobody could go on.
    Hung,
    /// The event limit was reached.
    GaveUp,
    /// It cannot be run: something forbids it.
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

/// What became of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// How it went.
    pub outcome: Outcome,
    /// What limits the CTAs of a core; of an infeasible point what forbids it: `shared memory`, `registers`,
    /// `tensor memory`, `threads`, `warps`, `cluster`, `machine` (it lacks something), `kernel` (it refuses the values).
    pub limit: String,
    /// What bounds it, or why it is infeasible or faulty, in a sentence.
    pub message: String,
    /// Its numbers (those of [`METRICS`], and what a comparison adds); none of an infeasible point.
    pub numbers: BTreeMap<String, f64>,
}

impl Row {
    /// A point that cannot be run.
    pub fn infeasible(limit: &str, message: String) -> Row {
        Row { outcome: Outcome::Infeasible, limit: limit.into(), message, numbers: BTreeMap::new() }
    }

    /// One of its numbers, where it ended without a fault.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied().filter(|_| self.outcome == Outcome::Fine)
    }
}

/// The point that is best by a number, and the number; of equals the first. None where neither more nor less is better.
pub fn best(part: &Part, name: &str) -> Option<(usize, f64)> {
    // What a comparison adds is a speed, and of a role's waiting less is better.
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

/// All points of a part as CSV: what is varied, how it went, every number.
///
/// # Errors
/// Where the writer fails; a text in memory does not.
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
