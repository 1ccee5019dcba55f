//! The JSON object of `verify --format json` for several scenarios; `docs/json.md` describes it.

use serde::Serialize;

use crate::json;
use crate::json_verify::{self, VerifyObject};
use warpline_api::Error;
use warpline_api::{Entry, Verifications};

/// The schema of `warpline verify --json` for several scenarios.
const MANY: &str = "warpline.verify.many/1";

#[derive(Serialize)]
struct ManyObject<'a> {
    schema: &'static str,
    status: u8,
    scenarios: Vec<EntryObject<'a>>,
    left_out: Vec<LeftOutObject<'a>>,
    wall_s: f64,
}

#[derive(Serialize)]
struct EntryObject<'a> {
    name: &'a str,
    status: u8,
    error: Option<String>,
    result: Option<VerifyObject<'a>>,
}

#[derive(Serialize)]
struct LeftOutObject<'a> {
    file: &'a str,
    why: &'static str,
}

pub(super) fn json(all: &Verifications) -> Result<String, Error> {
    let entry = |e: &'_ Entry| (e.status().code(), e.result.as_ref().err().map(Error::summary));
    let scenarios = all.entries.iter().map(|e| {
        let (status, error) = entry(e);
        EntryObject { name: &e.name, status, error, result: e.result.as_ref().ok().map(json_verify::object) }
    });
    json::text(&ManyObject {
        schema: MANY,
        status: all.status().code(),
        scenarios: scenarios.collect(),
        left_out: all.skipped.iter().map(|s| LeftOutObject { file: &s.file, why: s.why }).collect(),
        wall_s: all.wall_s,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpline_api::{Collection, ProofOptions, Request, Skipped, verify_all};

    use super::*;
    use crate::json::tests::{documented, paths};

    #[test]
    fn the_document_has_every_field_and_no_other() {
        let names = ["metal/double_buffer", "metal/nothing"].map(String::from);
        let mut collection = Collection::find(&names);
        collection.skipped.push(Skipped { file: "x.toml".to_string(), why: "it is another's" });
        let all = verify_all(collection, &Request::named(""), &ProofOptions::default(), &|_| {});
        let text = json(&all).expect("serializable");
        let mut found = BTreeSet::new();
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        // A result has a table of its own.
        found.retain(|path| !path.starts_with("scenarios[].result.") && !path.starts_with("place."));
        assert_eq!(found, documented(MANY));
    }
}
