//! The tables of `docs/certificates.md` have every entry of a certificate, and no other.

use std::collections::BTreeSet;

use serde_json::Value;
use warpline_recheck::TRUSTED;

use super::written;

const DOC: &str = include_str!("../../../docs/certificates.md");

fn paths(value: &Value, at: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, v) in fields {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                // Inductions and comparisons have tables of their own.
                let at = match key.as_str() {
                    "induction" if v.is_object() => "induction",
                    _ => &path,
                };
                out.insert(path.clone());
                paths(v, at, out);
            }
        }
        Value::Array(items) => {
            let compared = ["pairs", "squares"].iter().any(|list| at.ends_with(list));
            let at = if compared { "compared".to_string() } else { format!("{at}[]") };
            items.iter().for_each(|v| paths(v, &at, out));
        }
        _ => {}
    }
}

#[test]
fn the_document_has_every_entry_and_no_other() {
    let mut found = BTreeSet::new();
    let names = ["museum/m52_a_warp_arrives_for_one/fix", "museum/m13_barrier_counts/fix", "blackwell/gemm_1sm_grid"];
    for name in names {
        let text = written(&["--set", "machine.clock.mhz=1000", name]).unwrap();
        paths(&serde_json::from_str(&text).unwrap(), "", &mut found);
    }
    let documented: BTreeSet<String> =
        DOC.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_string)).collect();
    assert_eq!(found, documented);
}

#[test]
fn the_document_lists_what_is_trusted() {
    for what in TRUSTED {
        assert!(DOC.contains(what), "{what}");
    }
}
