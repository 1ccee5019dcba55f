//! The JSON object of `sweep --json` and `merge --json`; `docs/json.md` describes every field.

use std::collections::BTreeMap;

use serde::Serialize;
use warpline_study::sweep::{Part, Value};

use crate::json::text;
use warpline_api::Error;

/// The schema of `warpline sweep --json` and `warpline merge --json`.
pub const SWEEP: &str = "warpline.sweep/1";

#[derive(Serialize)]
struct SweepObject<'a> {
    schema: &'static str,
    scenario: &'a str,
    against: Option<&'a str>,
    settings: &'a [String],
    varied: Vec<&'a str>,
    points: Vec<PointObject<'a>>,
}

#[derive(Serialize)]
struct PointObject<'a> {
    values: BTreeMap<&'a str, Value>,
    outcome: &'static str,
    limit: &'a str,
    message: &'a str,
    numbers: &'a BTreeMap<String, f64>,
}

/// The object of a sweep, or of a part of one, as text.
pub(crate) fn sweep(part: &Part) -> Result<String, Error> {
    let names = part.plan.names();
    let points = part.rows.iter().map(|(i, row)| PointObject {
        values: names.iter().copied().zip(part.plan.point(*i)).collect(),
        outcome: row.outcome.word(),
        limit: &row.limit,
        message: &row.message,
        numbers: &row.numbers,
    });
    text(&SweepObject {
        schema: SWEEP,
        scenario: &part.subject.scenario,
        against: part.subject.against.as_deref(),
        settings: &part.subject.settings,
        varied: names.clone(),
        points: points.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::tests::{documented, paths};
    use std::collections::BTreeSet;
    use warpline_study::sweep::{Plan, Row, Shard, Subject, axis};

    #[test]
    fn the_document_has_every_field_of_a_sweep_and_no_other() {
        let plan = Plan::new(vec![axis("stages=1").expect("an axis")]).expect("a plan");
        let subject = Subject { scenario: "s".into(), against: None, settings: vec![], inputs: "0".into() };
        let mut part = Part::new(subject, plan, Shard::WHOLE);
        part.rows.insert(0, Row::infeasible("registers", "too many".into()));
        let mut found = BTreeSet::new();
        let text = sweep(&part).expect("serializable");
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        assert_eq!(found, documented(SWEEP));
    }
}
