//! Malformed kernels and scenarios, and every message they must get, in `tests/bad/`.
//!
//! `NAME.pipe` (compiled with m = n = k = 512 where it has them) or `NAME.toml` stands beside `NAME.expect`.
//! `BLESS=1 cargo test -p warpline-scenarios bad` writes the `.expect` files anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use warpline_scenarios::{Inputs, compile, parameters, scenario};
use warpline_sim::diag::Diagnostic;

fn errors(file: &str, text: &str) -> Vec<Diagnostic> {
    if file.ends_with(".toml") {
        return scenario(file, text).err().unwrap_or_default();
    }
    let known = parameters(file, text).unwrap_or_default();
    let known = |n: &str| known.iter().any(|p| p.name == n);
    let set: BTreeMap<String, i64> =
        ["m", "n", "k"].into_iter().filter(|n| known(n)).map(|n| (n.to_string(), 512)).collect();
    compile(file, text, &Inputs { set: &set, cores: None }).err().unwrap_or_default()
}

fn render(text: &str, errors: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in errors {
        let line = text[..d.span.start].matches('\n').count() + 1;
        out += &format!("{line}: {}\n   `{}`: {}\n", d.message, text[d.span.clone()].trim_end(), d.label);
        for (span, label) in &d.related {
            let line = text[..span.start].matches('\n').count() + 1;
            out += &format!("   {line} `{}`: {label}\n", &text[span.clone()]);
        }
        if let Some(h) = &d.help {
            out += &format!("   help: {h}\n");
        }
    }
    out
}

#[test]
fn every_malformed_file_gets_its_messages() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = fs::read_dir(&dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut count = 0;
    let mut wrong = String::new();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e != "expect")) {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = render(&text, &errors(name, &text));
        let expect = path.with_extension("expect");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expect, &found).unwrap();
        }
        let want = fs::read_to_string(&expect).unwrap_or_default();
        count += 1;
        if found.is_empty() || found != want {
            wrong += &format!("{name}\n--- expected\n{want}--- found\n{found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 30, "{count} malformed files");
}
