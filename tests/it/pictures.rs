//! Every built-in scenario has a chart that can be drawn, and the documents show the pictures that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use warpline::Status;
use warpline_api::Request;
use warpline_sim::timeline::{RowKind, Span, SpanKind, TICKS, Work};
use warpline_tests::{TempDir, warpline};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names that `warpline list` gives.
fn scenarios() -> Vec<String> {
    let name = |line: &str| line.split_whitespace().next().filter(|w| w.contains('/')).map(str::to_string);
    let list = |prefix: &[&str]| -> Vec<String> {
        warpline(&[&["list"], prefix].concat()).out.lines().filter_map(name).filter(|n| !n.contains("...")).collect()
    };
    let mut all = list(&[]);
    all.extend(list(&["museum"]));
    all
}

#[test]
fn every_scenario_is_drawn() {
    let all = scenarios();
    assert!(all.len() > 150, "{}", all.len());
    let dir = TempDir::new();
    let next = Mutex::new(all.iter().enumerate());
    let draw = || {
        loop {
            let Some((i, name)) = next.lock().unwrap().next() else { return };
            let file = dir.file(&format!("{i}.svg"));
            let said = warpline(&["gantt", name, "-o", &file]);
            assert!(matches!(said.status, Status::Holds | Status::Violated), "{name}: {}", said.err);
            let picture = fs::read_to_string(&file).unwrap();
            assert!(!picture.contains("Nothing was recorded"), "{name}");
            let document = roxmltree::Document::parse(&picture).unwrap_or_else(|e| panic!("{name}: {e}"));
            let texts = document.descendants().filter(|n| n.has_tag_name("text")).count();
            assert!(texts > 5, "{name} has {texts} texts");
            fs::remove_file(&file).unwrap();
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            s.spawn(draw);
        }
    });
}

/// The second warpgroup of a ping-pong kernel works long after the start of the run.
#[test]
fn a_chart_begins_with_all_warps_at_work() {
    for name in ["hopper/pingpong", "hopper/tma_warp_specialized", "cdna/ping_pong"] {
        let subject = warpline_api::load(&Request::named(name)).unwrap();
        let recording = warpline_api::record(&subject).unwrap();
        let shown = recording.opening.unwrap();
        let multiplies = |s: &&Span| {
            let row = &recording.timeline.rows[s.row as usize];
            s.what == SpanKind::Work(Work::Mma) && row.cta == 0 && matches!(row.kind, RowKind::Agent { .. })
        };
        let work = || recording.timeline.spans.iter().filter(multiplies);
        let inside = |s: &&Span| s.start < shown.end * TICKS && s.end > shown.start * TICKS;
        let all: BTreeSet<u32> = work().map(|s| s.row).collect();
        let seen: BTreeSet<u32> = work().filter(inside).map(|s| s.row).collect();
        assert_eq!(seen, all, "{name}: cycles {shown:?}");
    }
}

#[test]
fn a_chart_says_the_cycles_that_the_run_says() {
    let dir = TempDir::new();
    let file = dir.file("x.svg");
    for (name, note) in [
        ("museum/m32_fence_behind_the_barrier/fix", "The launch itself, "),
        ("mla/fused_kv", "The run stopped at cycle "),
        ("correct/sm80_multistage", ""),
        ("timeline/naive", ""),
    ] {
        let run = warpline(&["run", name]).out;
        let time = run.lines().find_map(|l| l.strip_prefix("Time ")).unwrap().trim();
        let cycles = time.split(" cycles").next().unwrap();
        warpline(&["gantt", name, "-o", &file]);
        let picture = fs::read_to_string(&file).unwrap();
        assert!(picture.contains(&format!(">{cycles} cycles")), "{name}: {cycles}");
        assert_eq!(picture.contains("The launch itself") || picture.contains("The run stopped"), !note.is_empty());
        assert!(picture.contains(note), "{name}");
    }
}

#[test]
fn a_chart_of_a_hang_says_so() {
    let dir = TempDir::new();
    let file = dir.file("x.svg");
    let name = "museum/m09_expect_without_arrive/bug";
    let run = warpline(&["run", name]).out;
    let cycles = run.split("HANGS. At cycle ").nth(1).and_then(|after| after.split(' ').next()).unwrap();
    warpline(&["gantt", name, "-o", &file]);
    let picture = fs::read_to_string(&file).unwrap();
    assert!(picture.contains(&format!(">hangs after {cycles} cycles")), "{cycles}");
    assert!(picture.contains("waits that never end are drawn"));
}

#[test]
fn a_store_of_the_copy_engine_is_drawn_as_one() {
    let dir = TempDir::new();
    let file = dir.file("x.json");
    warpline(&["trace", "museum/m32_fence_behind_the_barrier/fix", "-o", &file]);
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let engine = |e: &&serde_json::Value| {
        e["ph"] == "X" && e["args"]["source"].as_str().is_some_and(|s| s.contains("tma.store"))
    };
    let stores: Vec<_> = events.iter().filter(engine).collect();
    assert!(stores.len() > 4, "{stores:?}");
    let wrong = stores.iter().find(|e| e["name"].as_str().is_some_and(|n| n.starts_with("load")));
    assert_eq!(wrong, None);
}

#[test]
fn documents_show_the_pictures_that_are_there() {
    let files = |ending: &str| -> BTreeSet<String> {
        let names = fs::read_dir(root().join("docs/pictures")).unwrap().map(|f| f.unwrap().file_name());
        names.filter_map(|n| n.into_string().ok()).filter(|n| n.ends_with(ending)).collect()
    };
    let pictures = files(".svg");
    let mut shown = BTreeSet::new();
    for (document, folder) in
        [("docs/gallery.md", "pictures/"), ("docs/tour.md", "pictures/"), ("README.md", "docs/pictures/")]
    {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for part in text.split(&format!("]({folder}")).skip(1) {
            let name = part.split(')').next().unwrap();
            assert!(root().join("docs/pictures").join(name).exists(), "{document} shows {name}, which is not there");
            shown.insert(name.to_string());
        }
    }
    assert_eq!(pictures.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new(), "no document shows these");
    let script = fs::read_to_string(root().join("docs/pictures/make.sh")).unwrap();
    for name in &pictures {
        assert!(script.contains(name.trim_end_matches(".svg")), "make.sh draws no {name}");
    }
}
