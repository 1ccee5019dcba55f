//! The JSON object of `models --json`; `docs/json.md` describes every field.

use std::collections::BTreeMap;

use serde::Serialize;
use warpline_sim::machine::Machine;

use crate::json::text;
use warpline_api::Error;

/// The schema of `warpline models --json`.
pub const MODELS: &str = "warpline.models/1";

#[derive(Serialize)]
struct ModelsObject<'a> {
    schema: &'static str,
    machines: Vec<MachineObject<'a>>,
}

#[derive(Serialize)]
struct MachineObject<'a> {
    name: &'a str,
    title: &'a str,
    arch: &'a str,
    params: BTreeMap<&'a str, ParamObject<'a>>,
}

#[derive(Serialize)]
struct ParamObject<'a> {
    value: f64,
    unit: &'a str,
    kind: &'static str,
    source: &'a str,
    spread: Option<(f64, f64)>,
}

/// The object of `models --json`.
pub(crate) fn models(machines: &[Machine]) -> Result<String, Error> {
    let machines = machines
        .iter()
        .map(|m| MachineObject {
            name: &m.name,
            title: &m.title,
            arch: &m.arch,
            params: m
                .params
                .iter()
                .map(|(key, p)| {
                    let (unit, source, kind) = (p.unit.as_str(), p.source.as_str(), p.kind.name());
                    (key.as_str(), ParamObject { value: p.value, unit, kind, source, spread: p.spread })
                })
                .collect(),
        })
        .collect();
    text(&ModelsObject { schema: MODELS, machines })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::json::tests::{documented, paths};
    use crate::sample;

    #[test]
    fn the_document_has_every_field_of_a_machine_and_no_other() {
        let text = models(&[sample::ran("x").subject.machine]).expect("serializable");
        let mut found = BTreeSet::new();
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        assert_eq!(found, documented(MODELS));
    }
}
