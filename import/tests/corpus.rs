//! Kernels that real compilers made: what is read, lifted and decided of each, held to a recorded table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use warpline_import::{lift, ptx};
use warpline_sim::engine::rules;
use warpline_verify::{Options, Outcome, Verdict, verify};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/ptx")
}

/// Names and texts of all recorded kernels.
fn corpus() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for e in std::fs::read_dir(folder()).expect("the corpus") {
        let path = e.expect("a file").path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".gz")) else {
            continue;
        };
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).expect("a recorded kernel");
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("a gzip file");
        all.insert(name.to_string(), String::from_utf8_lossy(&bytes).into_owned());
    }
    all
}

/// Machine of a target.
fn machine(target: &str) -> &'static str {
    match target.get(3..5) {
        Some("80") => "a100",
        Some("90") => "h200",
        _ => "b200",
    }
}

/// The verdict on a kernel of a file, or why there is none.
fn decided(module: &ptx::Module, entry: &ptx::Entry, name: &str, text: &str) -> String {
    let lifted = match lift::lift(module, entry, name, text, &lift::Launch::default()) {
        Ok(l) => l,
        Err(e) => return format!("rejected\tline {}: {}", e.line, e.message),
    };
    let machine = warpline_models::embedded(machine(&module.target)).expect("a machine");
    // Large ones take a minute, which a test does not have.
    let max_steps = if lifted.program.code.len() > 1000 { 200_000 } else { 3_000_000 };
    let options = Options { max_steps, max_memory: 64_000_000_000, ..Options::default() };
    let fault = |v: Verdict| {
        let x = v.violation.expect("a violation");
        let first = x.findings.first().map(|f| {
            let line = x.sites.get(f.site as usize).map_or(0, |s| s.line);
            format!("line {line}: {}", f.message)
        });
        format!("violated\t{}", first.unwrap_or_else(|| "hangs".into()))
    };
    let mut worst = "proved\t".to_string();
    for p in lifted.variants() {
        let v = verify(&p, rules(&machine), options);
        match v.outcome {
            Outcome::Proved => {}
            Outcome::Bounded { why, .. } => worst = format!("bounded\t{why}"),
            Outcome::GaveUp { why } => return format!("gave up\t{why}"),
            Outcome::Violated if lifted.related.is_some() => {
                let of_a_launch = lifted.possible().into_iter().find_map(|p| {
                    let v = verify(&p, rules(&machine), options);
                    (v.outcome == Outcome::Violated).then(|| fault(v))
                });
                let related = lifted.related.clone().unwrap_or_default();
                return of_a_launch.unwrap_or_else(|| format!("gave up\ta fault, and {related}"));
            }
            Outcome::Violated => return fault(v),
        }
    }
    worst
}

#[test]
fn every_recorded_kernel_is_read() {
    let corpus = corpus();
    assert!(corpus.len() >= 50);
    for (name, text) in &corpus {
        let module = ptx::read(text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(!module.entries.is_empty(), "{name} has no kernel");
    }
}

#[test]
fn verdicts_are_those_recorded() {
    let mut table = String::from("file\tkernel\tverdict\treason\n");
    for (name, text) in &corpus() {
        let module = ptx::read(text).expect("a recorded kernel");
        for entry in &module.entries {
            let kernel: String = entry.name.chars().take(40).collect();
            let _ = writeln!(table, "{name}\t{kernel}\t{}", decided(&module, entry, name, text));
        }
    }
    let path = folder().join("verdicts.tsv");
    if std::env::var("WARPLINE_PTX").is_ok_and(|v| v == "write") {
        std::fs::write(&path, &table).expect("the table");
    }
    let recorded = std::fs::read_to_string(&path).expect("the table");
    for (new, old) in table.lines().zip(recorded.lines()) {
        assert_eq!(new, old);
    }
    assert_eq!(table.lines().count(), recorded.lines().count());
}

/// A pipeline by `cp.async` without one of its barriers, groups or waits.
#[test]
fn a_synchronization_that_is_dropped_is_found() {
    let name = "tilelang.gemm_ns3_sm80.ptx";
    let text = corpus().remove(name).expect("a recorded kernel");
    let lines: Vec<&str> = text.lines().collect();
    let synchronizes = |l: &str| ["bar.sync", "wait_group", "commit_group"].iter().any(|w| l.contains(w));
    let places: Vec<usize> = (0..lines.len()).filter(|i| synchronizes(lines[*i])).collect();
    assert_eq!(places.len(), 9);
    for dropped in places {
        let kept = lines.iter().enumerate().map(|(i, l)| if i == dropped { "" } else { l });
        let text: String = kept.flat_map(|l| [l, "\n"]).collect();
        let module = ptx::read(&text).expect("PTX");
        let verdict = decided(&module, &module.entries[0], name, &text);
        assert!(verdict.starts_with("violated"), "without line {}: {verdict}", dropped + 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// Damaged files end in a result, never in a panic.
    #[test]
    fn damaged_files_are_no_panic(pick in 0usize..1000, at in 0.0f64..1.0, length in 0usize..60, with in "[ -~]{0,12}") {
        use std::sync::OnceLock;
        static SMALL: OnceLock<Vec<(String, String)>> = OnceLock::new();
        let small = SMALL.get_or_init(|| corpus().into_iter().filter(|(_, t)| t.len() < 60_000).collect());
        let (name, text) = &small[pick % small.len()];
        let from = (at * text.len() as f64) as usize;
        let to = (from + length).min(text.len());
        if text.is_char_boundary(from) && text.is_char_boundary(to) {
            let damaged = format!("{}{with}{}", &text[..from], &text[to..]);
            if let Ok(module) = ptx::read(&damaged) {
                for entry in &module.entries {
                    let _ = lift::lift(&module, entry, name, &damaged, &lift::Launch::default());
                }
            }
        }
    }
}
