//! Every built-in scenario has a chart that can be drawn, and the documents show the pictures that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use warpline::Status;
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

#[test]
fn documents_show_the_pictures_that_are_there() {
    let files = |ending: &str| -> BTreeSet<String> {
        let names = fs::read_dir(root().join("docs/pictures")).unwrap().map(|f| f.unwrap().file_name());
        names.filter_map(|n| n.into_string().ok()).filter(|n| n.ends_with(ending)).collect()
    };
    let pictures = files(".svg");
    let mut shown = BTreeSet::new();
    for (document, folder) in [("docs/gallery.md", "pictures/"), ("README.md", "docs/pictures/")] {
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
