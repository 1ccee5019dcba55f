//! The JSON object of `whatif --json`; `docs/json.md` describes every field.

use serde::Serialize;
use warpline_study::whatif::{Change, Row};

use crate::json::{self, ClockObject, text};
use warpline_api::Error;
use warpline_api::Simulation;

/// The schema of `warpline whatif --json`.
pub const WHATIF: &str = "warpline.whatif/1";

#[derive(Serialize)]
struct WhatifObject<'a> {
    schema: &'static str,
    scenario: &'a str,
    machine: &'a str,
    clock: ClockObject,
    cycles: f64,
    rows: Vec<RowObject<'a>>,
}

#[derive(Serialize)]
struct RowObject<'a> {
    key: &'a str,
    sort: &'static str,
    value: f64,
    unit: &'a str,
    kind: &'static str,
    slower: ChangeObject<'a>,
    faster: ChangeObject<'a>,
    free: ChangeObject<'a>,
}

#[derive(Serialize)]
struct ChangeObject<'a> {
    cycles: Option<f64>,
    gain: Option<f64>,
    why_not: Option<&'a str>,
}

/// The object of a what-if table, as text.
pub(crate) fn whatif(simulation: &Simulation, rows: &[Row]) -> Result<String, Error> {
    let base = simulation.report.cycles;
    text(&WhatifObject {
        schema: WHATIF,
        scenario: &simulation.subject.name,
        machine: &simulation.subject.machine.name,
        clock: json::clock(&simulation.subject),
        cycles: base,
        rows: rows.iter().map(|row| object(row, base)).collect(),
    })
}

fn object(row: &Row, base: f64) -> RowObject<'_> {
    let [slower, faster, free] = &row.cycles;
    fn change<'a>(row: &Row, base: f64, cycles: &'a Result<f64, String>, c: Change) -> ChangeObject<'a> {
        let why_not = cycles.as_ref().err().map(String::as_str);
        ChangeObject { cycles: cycles.as_ref().ok().copied(), gain: row.gain(c, base), why_not }
    }
    RowObject {
        key: &row.key,
        sort: row.sort.name(),
        value: row.value,
        unit: &row.unit,
        kind: row.kind,
        slower: change(row, base, slower, Change::Slower),
        faster: change(row, base, faster, Change::Faster),
        free: change(row, base, free, Change::Free),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::tests::{documented, paths};
    use crate::sample;
    use std::collections::BTreeSet;
    use warpline_study::whatif::ParameterKind;

    #[test]
    fn the_document_has_every_field_of_a_what_if_table_and_no_other() {
        let row = Row {
            key: "k".into(),
            sort: ParameterKind::Rate,
            value: 1.0,
            unit: "u".into(),
            kind: "measured",
            cycles: [Err("no".into()), Ok(1.0), Ok(1.0)],
        };
        let mut found = BTreeSet::new();
        let text = whatif(&sample::ran("x"), &[row]).expect("serializable");
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        assert_eq!(found, documented(WHATIF));
    }
}
