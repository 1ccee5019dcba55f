//! The formatter keeps the meaning of every kernel and is stable.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;

use warpline_scenarios::{Inputs, compile, embedded_kernel, embedded_kernel_names, format};
use warpline_sim::ir::{Instr, Program};

/// What a kernel does, without the places of its text.
fn meaning(text: &str) -> Option<(Vec<Instr>, Vec<String>)> {
    let mut set: BTreeMap<String, i64> = ["m", "n", "k"].map(|n| (n.to_string(), 512)).into();
    let known = warpline_scenarios::parameters("f", text).ok()?;
    set.retain(|n, _| known.iter().any(|p| p.name == *n));
    let p: Program = compile("f", text, &Inputs { set: &set, cores: Some(8) }).ok()?;
    Some((p.code, p.sites.into_iter().map(|s| s.text.replace(' ', "")).collect()))
}

#[test]
fn formatting_keeps_the_meaning_and_is_stable() {
    let mut texts: Vec<(String, String)> = embedded_kernel_names()
        .into_iter()
        .map(|n| (n.to_string(), embedded_kernel(n).unwrap().1.to_string()))
        .collect();
    for f in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good")).unwrap() {
        let path = f.unwrap().path();
        texts.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
    }
    for (name, text) in texts {
        let once = format(&name, &text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(format(&name, &once).unwrap(), once, "{name}");
        assert_eq!(meaning(&once), meaning(&text), "{name}");
        assert!(once.matches("//").count() == text.matches("//").count(), "{name}: comments are kept");
    }
}
