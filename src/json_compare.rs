//! The JSON object of `compare --json`; `docs/json.md` describes every field.

use serde::Serialize;
use warpline_sim::timeline::SpanKind;
use warpline_sim::words;
use warpline_study::compare::{Cause, Comparison};

use crate::json::text;
use warpline_api::Error;
use warpline_api::Recording;

/// The schema of `warpline compare --json`.
pub const COMPARE: &str = "warpline.compare/1";

#[derive(Serialize)]
struct CompareObject<'a> {
    schema: &'static str,
    a: RunObject<'a>,
    b: RunObject<'a>,
    changed: Vec<NumberObject>,
    roles: Vec<RoleObject<'a>>,
    operations: Vec<OperationObject<'a>>,
}

#[derive(Serialize)]
struct RunObject<'a> {
    scenario: &'a str,
    machine: Option<&'a str>,
    clock_mhz: Option<f64>,
    clock_end: Option<&'static str>,
    cycles: f64,
    time_us: f64,
    bottleneck: Option<&'a str>,
}

#[derive(Serialize)]
struct NumberObject {
    name: &'static str,
    a: Option<f64>,
    b: Option<f64>,
}

#[derive(Serialize)]
struct RoleObject<'a> {
    name: &'a str,
    warps: [u32; 2],
    causes: Vec<CauseObject<'a>>,
    waits: Vec<CauseObject<'a>>,
}

#[derive(Serialize)]
struct CauseObject<'a> {
    work: bool,
    what: &'static str,
    at: Option<&'a str>,
    wait: Option<&'a str>,
    a: f64,
    b: f64,
}

#[derive(Serialize)]
struct OperationObject<'a> {
    who: &'a str,
    work: bool,
    what: &'static str,
    text: &'a str,
    pairs: u32,
    alone: [u32; 2],
    a: f64,
    b: f64,
    parts_at: Option<u32>,
    wait: &'a str,
}

/// The object of a comparison, as text.
pub(crate) fn compare(two: [&Recording; 2], c: &Comparison) -> Result<String, Error> {
    let [a, b] = [0, 1].map(|i| RunObject {
        scenario: &two[i].name,
        machine: two[i].simulation.as_ref().map(|r| r.subject.machine.name.as_str()),
        clock_mhz: two[i].simulation.as_ref().and_then(|r| r.subject.machine.get("clock.mhz")),
        clock_end: two[i].simulation.as_ref().and_then(|r| r.subject.sustained).map(|s| s.end.name()),
        cycles: c.cycles[i],
        time_us: c.time_us[i],
        bottleneck: two[i].simulation.as_ref().map(|r| r.report.bottleneck.as_str()),
    });
    let roles = c.roles.iter().map(|r| RoleObject {
        name: &r.name,
        warps: r.warps,
        causes: r.causes.iter().map(cause).collect(),
        waits: r.at.iter().map(cause).collect(),
    });
    let operations = c.operations.iter().map(|o| OperationObject {
        who: &o.who,
        work: is_work(o.what),
        what: words::what(o.what),
        text: &o.text,
        pairs: o.pairs,
        alone: o.alone,
        a: o.cycles[0],
        b: o.cycles[1],
        parts_at: o.parts_at,
        wait: &o.wait,
    });
    text(&CompareObject {
        schema: COMPARE,
        a,
        b,
        changed: c.numbers.iter().map(|(name, [a, b])| NumberObject { name, a: *a, b: *b }).collect(),
        roles: roles.collect(),
        operations: operations.collect(),
    })
}

fn cause(c: &Cause) -> CauseObject<'_> {
    CauseObject {
        work: is_work(c.what),
        what: words::what(c.what),
        at: c.at.as_deref(),
        wait: c.wait.as_deref(),
        a: c.cycles[0],
        b: c.cycles[1],
    }
}

fn is_work(what: SpanKind) -> bool {
    matches!(what, SpanKind::Work(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::tests::{documented, paths};
    use crate::sample;
    use std::collections::BTreeSet;
    use warpline_sim::timeline::Stall;
    use warpline_study::compare::{Operation, Role};

    #[test]
    fn the_document_has_every_field_of_a_comparison_and_no_other() {
        let what = SpanKind::Stall(Stall::Barrier);
        let cause = || vec![Cause { what, at: None, wait: None, cycles: [1.0, 2.0] }];
        let operation = Operation {
            who: "w".into(),
            what,
            text: "t".into(),
            pairs: 1,
            alone: [0, 0],
            cycles: [1.0, 2.0],
            parts_at: Some(0),
            wait: String::new(),
        };
        let c = Comparison {
            numbers: vec![("cycles", [Some(1.0), None])],
            roles: vec![Role { name: "w".into(), warps: [1, 1], causes: cause(), at: cause() }],
            operations: vec![operation],
            cycles: [1.0, 2.0],
            time_us: [1.0, 2.0],
        };
        let (a, b) = (sample::recorded("a"), Recording { simulation: None, ..sample::recorded("b") });
        let mut found = BTreeSet::new();
        let text = compare([&a, &b], &c).expect("serializable");
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        assert_eq!(found, documented(COMPARE));
    }
}
