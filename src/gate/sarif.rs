//! Findings as SARIF 2.1.0 (OASIS), for code-scanning services.
//!
//! The module writes the dozen properties in use as plain data: a library for the whole format brings some two hundred
//! generated types. A test reads the result with such a library.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::issues::{At, Issue, Level, issues};
use warpline_api::Verifications;
use warpline_api::{Error, Status};

/// Characters of a path that a URI escapes (RFC 3986, `pchar` and `/`).
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

pub(super) fn sarif(all: &Verifications) -> Result<String, Error> {
    let found: Vec<(&str, Issue)> =
        all.entries.iter().flat_map(|e| issues(e).into_iter().map(|i| (e.name.as_str(), i))).collect();
    let rules: BTreeMap<&str, &str> = found.iter().map(|(_, i)| (i.rule.as_str(), i.about)).collect();
    let index = |rule: &str| rules.keys().position(|r| *r == rule);
    let results: Vec<Value> = found
        .iter()
        .map(|(scenario, i)| {
            let mut result = json!({
                "ruleId": i.rule,
                "ruleIndex": index(&i.rule),
                "level": if i.level == Level::Note { "note" } else { "error" },
                "message": { "text": i.message },
                "locations": i.at.iter().map(|at| location(at, None)).collect::<Vec<_>>(),
                "relatedLocations": i.also.iter().map(|(at, words)| location(at, Some(words))).collect::<Vec<_>>(),
                "properties": { "scenario": scenario },
            });
            if i.level == Level::Expected {
                let why = format!("expected by {scenario}");
                result["suppressions"] = json!([{ "kind": "inSource", "justification": why }]);
            }
            result
        })
        .collect();
    let rules: Vec<Value> =
        rules.iter().map(|(id, about)| json!({ "id": id, "shortDescription": { "text": about } })).collect();
    let driver = json!({ "name": "warpline", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let run = json!({
        "tool": { "driver": driver },
        "columnKind": "unicodeCodePoints",
        "invocations": [{ "executionSuccessful": all.status() != Status::BadInput }],
        "results": results,
    });
    let schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
    crate::json::text(&json!({ "$schema": schema, "version": "2.1.0", "runs": [run] }))
}

fn location(at: &At, words: Option<&str>) -> Value {
    let mut region = json!({ "startLine": at.line, "startColumn": at.column });
    if let Some(end) = at.end {
        region["endColumn"] = json!(end);
    }
    let mut location =
        json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&at.file) }, "region": region } });
    if let Some(words) = words {
        location["message"] = json!({ "text": words });
    }
    location
}

/// A path as a URI; a relative path stays relative.
fn uri(file: &str) -> String {
    let file = if cfg!(windows) { file.replace('\\', "/") } else { file.to_string() };
    let path = utf8_percent_encode(&file, PATH).to_string();
    let first = path.split('/').next().unwrap_or("");
    match path.strip_prefix('/') {
        Some(_) => format!("file://{path}"),
        // A colon in the first segment of a relative path would make it a scheme.
        None if first.contains(':') => format!("./{path}"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("a/b.pipe"), "a/b.pipe");
        assert_eq!(uri("/a b/ü#%.pipe"), "file:///a%20b/%C3%BC%23%25.pipe");
        assert_eq!(uri("c:x"), "./c:x");
    }
}
