//! The object that `verify --format json` prints for several scenarios; `docs/json.md` describes it.

use serde::Serialize;

use super::{Entry, Gate};
use crate::failure::Failure;
use crate::json;
use crate::json_verify::{self, VerifyObject};

/// Schema of `warpline verify --json` for several scenarios.
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

pub(super) fn json(gate: &Gate) -> Result<String, Failure> {
    let entry = |e: &'_ Entry| (e.status().code(), e.result.as_ref().err().map(Failure::in_a_line));
    let scenarios = gate.entries.iter().map(|e| {
        let (status, error) = entry(e);
        EntryObject { name: &e.name, status, error, result: e.result.as_ref().ok().map(json_verify::object) }
    });
    json::text(&ManyObject {
        schema: MANY,
        status: gate.status().code(),
        scenarios: scenarios.collect(),
        left_out: gate.left_out.iter().map(|(file, why)| LeftOutObject { file, why }).collect(),
        wall_s: gate.wall_s,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::console::{Console, Look};
    use crate::gate::{Subjects, verify};
    use crate::json::tests::{documented, paths};

    #[test]
    fn the_document_has_every_field_and_no_other() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let console = Console::new(&mut out, &mut err, Look::default());
        let cli = Cli::try_parse_from(["warpline", "verify", "metal/double_buffer", "metal/nothing"]).expect("parses");
        let Command::Verify(args) = cli.command else { unreachable!("verify was asked for") };
        let mut subjects = Subjects::find(&args.scenarios);
        subjects.left_out.push(("x.toml".to_string(), "it is another's"));
        let text = json(&verify(&console, subjects, &args.proof, args.orders)).expect("serialisable");
        let mut found = BTreeSet::new();
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        // A result has a table of its own.
        found.retain(|path| !path.starts_with("scenarios[].result.") && !path.starts_with("place."));
        assert_eq!(found, documented(MANY));
    }
}
