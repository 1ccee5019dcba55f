//! The structure of the workspace: who may depend on whom, what a crate may not do, and how files are written.
//!
//! Each test names its known exceptions. An exception that is no longer needed fails the test too, so the lists only
//! shrink. ARCHITECTURE.md gives the reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of this workspace that a crate may depend on; `.` is the command line.
const DEPENDENCIES: [(&str, &[&str]); 18] = [
    (
        ".",
        &["api", "calibrate", "emit", "import", "lsp", "plan", "recheck", "scenarios", "sim", "study", "verify", "viz"],
    ),
    ("api", &["calibrate", "import", "models", "plan", "recheck", "scenarios", "sim", "study", "verify", "viz"]),
    ("benches", &["models", "scenarios", "sim", "verify", "viz"]),
    ("calibrate", &["sim"]),
    ("campaign", &["models", "scenarios", "sim"]),
    ("emit", &["sim"]),
    ("import", &["sim"]),
    ("lsp", &["api"]),
    ("models", &["sim"]),
    ("plan", &["scenarios", "sim", "verify"]),
    ("python", &["api"]),
    ("recheck", &["scenarios", "sim"]),
    ("scenarios", &["sim"]),
    ("sim", &[]),
    ("strategies", &["models", "scenarios", "sim", "verify"]),
    ("study", &["sim"]),
    ("verify", &["sim"]),
    ("viz", &["sim"]),
];

/// The files outside of `viz/` that may call it.
const VIZ_CALLERS: [&str; 6] = [
    "api/src/draw.rs",
    "api/src/record.rs",
    "src/commands/view.rs",
    "src/report/mod.rs",
    "src/report/run.rs",
    "src/terminal.rs",
];

/// The longest file, in lines.
const MAX_LINES: usize = 500;

/// Files that are longer than [`MAX_LINES`].
const LONG_FILES: &[&str] = &[];

/// Names that say nothing about the thing they name.
const BANNED_TYPES: [&str; 11] =
    ["Did", "Made", "Came", "Told", "Seen", "Ran", "Sifted", "Foot", "Meet", "Wish", "Anyhow"];

/// Other banned words.
const BANNED_WORDS: [&str; 4] = ["slip of the pen", "slips of the pen", "gone_on_by", "as_far_as"];

/// Files that still have banned words, with the word.
const BANNED_USES: &[(&str, &str)] = &[];

/// Pages that earlier documents had; a comment cites `docs/rules.md` and a number instead.
const OLD_PAGES: [&str; 5] = ["verification.md", "hardware.md R", "semantics.md ", "design.md ", "accuracy.md "];

/// Files with citations of [`OLD_PAGES`].
const OLD_CITATIONS: &[&str] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace has a folder").to_path_buf()
}

/// Every file below a folder with one of the endings, by its path from the workspace, with its text.
fn files(folder: &str, endings: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&root(), Path::new(folder), endings, &mut found);
    assert!(!found.is_empty(), "{folder} has no file");
    found
}

fn collect(root: &Path, folder: &Path, endings: &[&str], found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder").map(|e| e.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().to_string();
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { folder.join(&name) };
        if entry.file_type().expect("a file type").is_dir() {
            if !name.starts_with('.') && name != "target" {
                collect(root, &path, endings, found);
            }
        } else if endings.iter().any(|e| name.ends_with(e)) {
            let text = fs::read_to_string(root.join(&path)).expect("text");
            found.insert(path.to_string_lossy().replace('\\', "/"), text);
        }
    }
}

/// The Rust files of the workspace. This file names banned words, so it is left out.
fn sources() -> BTreeMap<String, String> {
    let mut all = files(".", &[".rs"]);
    all.remove("tests/it/architecture.rs").expect("this file");
    all
}

/// The code of a file before its unit tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// Compares what is found with the known exceptions, both ways.
fn only<T: Ord + std::fmt::Debug + Clone>(found: impl IntoIterator<Item = T>, known: &[T], rule: &str) {
    let found: BTreeSet<T> = found.into_iter().collect();
    let known: BTreeSet<T> = known.iter().cloned().collect();
    let new: Vec<&T> = found.difference(&known).collect();
    let gone: Vec<&T> = known.difference(&found).collect();
    assert!(new.is_empty(), "{rule}: {new:#?}");
    assert!(gone.is_empty(), "{rule}: no longer needed in the list of exceptions: {gone:#?}");
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

/// Whether a text has a word with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(inside)
            && !text[at + word.len()..].chars().next().is_some_and(inside)
    })
}

#[test]
fn crates_depend_only_on_those_they_may() {
    for (folder, text) in files(".", &["Cargo.toml"]) {
        let folder = folder.trim_end_matches("Cargo.toml").trim_end_matches('/');
        let name = if folder.is_empty() { "." } else { folder };
        if name == "tests" {
            // The tests may know every crate.
            continue;
        }
        let manifest: toml::Table = text.parse().expect("a manifest");
        let dependencies = manifest.get("dependencies").and_then(|d| d.as_table()).cloned().unwrap_or_default();
        let own = dependencies.keys().filter_map(|k| k.strip_prefix("warpline-")).map(str::to_string);
        let allowed = DEPENDENCIES.iter().find(|(n, _)| *n == name);
        let allowed = allowed.unwrap_or_else(|| panic!("{name} is not in the list of crates")).1;
        let allowed: Vec<String> = allowed.iter().map(|s| s.to_string()).collect();
        only(own, &allowed, &format!("dependencies of {name}"));
    }
}

#[test]
fn the_library_has_no_terminal_and_no_command_line() {
    for name in ["api", "lsp"] {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).expect("a manifest");
        for library in ["clap", "ratatui", "crossterm", "indicatif", "miette"] {
            assert!(!manifest.contains(library), "{name} depends on {library}");
        }
    }
    let printing = ["println!", "eprintln!", "print!(", "std::io::stdout", "std::io::stderr", "std::env::"];
    let found = files("api/src", &[".rs"]).into_iter().flat_map(|(file, text)| {
        let text = code(&text).lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        printing.into_iter().filter(move |p| text.contains(p)).map(move |p| format!("{file}: {p}"))
    });
    only(found, &[], "output in the library");
}

#[test]
fn the_simulator_has_no_input_output_clock_or_thread() {
    let banned = ["std::fs", "std::io", "std::env", "std::time", "std::thread", "println!", "eprintln!"];
    let found = files("sim/src", &[".rs"]).into_iter().flat_map(|(file, text)| {
        let text = code(&text).to_string();
        banned.into_iter().filter(move |b| text.contains(b)).map(move |b| format!("{file}: {b}"))
    });
    only(found, &[], "input or output in sim");
}

#[test]
fn pictures_are_drawn_from_a_few_files() {
    let callers = sources().into_iter().filter(|(file, text)| {
        let outside = ["viz/", "tests/", "benches/"].iter().all(|f| !file.starts_with(f));
        outside && code(text).contains("warpline_viz::")
    });
    only(callers.map(|(file, _)| file), &owned(&VIZ_CALLERS), "files that call viz");
}

#[test]
fn one_module_draws_diagnostics() {
    let drawing = sources().into_iter().filter(|(_, text)| text.contains("miette::"));
    only(
        drawing.map(|(file, _)| file),
        &owned(&["src/diagnose/excerpt.rs", "src/diagnose/mod.rs"]),
        "files that draw diagnostics",
    );
}

#[test]
fn files_are_short() {
    let long = sources().into_iter().filter(|(_, text)| text.lines().count() > MAX_LINES);
    only(long.map(|(file, _)| file), &owned(LONG_FILES), "files with more lines than allowed");
}

#[test]
fn a_module_with_a_folder_is_its_mod_file() {
    let all = sources();
    let beside = all.keys().filter(|file| {
        let folder = format!("{}/", file.trim_end_matches(".rs"));
        all.keys().any(|f| f.starts_with(&folder))
    });
    only(beside.cloned(), &[], "modules beside their folder (write name/mod.rs)");
}

#[test]
fn unit_tests_are_run() {
    let without = files(".", &["Cargo.toml"]).into_iter().filter_map(|(path, text)| {
        let own = text.split("[[").next().unwrap_or(&text);
        own.contains("[lib]\ntest = false").then(|| path.replace("Cargo.toml", "src/"))
    });
    let folders: Vec<String> = without.collect();
    assert!(folders.iter().any(|f| f == "verify/src/"), "{folders:?}");
    let never_run = |(path, text): &(String, String)| {
        folders.iter().any(|f| path.starts_with(f.as_str())) && text.lines().any(|l| l.trim() == "#[test]")
    };
    let found = sources().into_iter().filter(never_run).map(|(path, _)| path);
    only(found, &[], "its library is compiled without tests (`test = false`), so a test there never runs");
}

#[test]
fn no_banned_words() {
    let mut found = Vec::new();
    for (file, text) in sources() {
        for name in BANNED_TYPES {
            let defined = ["struct", "enum", "type", "trait"].iter().any(|k| has_word(&text, &format!("{k} {name}")));
            if defined {
                found.push((file.clone(), name.to_string()));
            }
        }
    }
    for (file, text) in sources().into_iter().chain(files(".", &[".md"])) {
        let text = text.split_whitespace().filter(|w| !["//", "///", "//!"].contains(w)).collect::<Vec<_>>().join(" ");
        for word in BANNED_WORDS.iter().filter(|w| has_word(&text, w)) {
            found.push((file.clone(), word.to_string()));
        }
    }
    let known: Vec<(String, String)> = BANNED_USES.iter().map(|(f, w)| (f.to_string(), w.to_string())).collect();
    only(found, &known, "banned words");
}

/// The comments and strings of the workspace cite pages and numbered rules; each exists.
#[test]
fn citations_resolve() {
    let (mut broken, mut old) = (BTreeSet::new(), BTreeSet::new());
    let rules = fs::read_to_string(root().join("docs/rules.md")).ok();
    let deviations = fs::read_to_string(root().join("DEVIATIONS.md")).expect("the page");
    for (file, text) in sources() {
        // A citation may go on in the next line of a comment.
        let words = text.split_whitespace().filter(|w| !["//", "///", "//!"].contains(w)).collect::<Vec<_>>().join(" ");
        for (at, _) in words.match_indices("docs/") {
            let path: String =
                words[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "/-_.".contains(*c)).collect();
            let path = path.trim_end_matches('.');
            if path.ends_with(".md") && !path.contains("..") && !root().join(path).is_file() {
                broken.insert(format!("{file}: {path}"));
            }
        }
        let numbers = |page: &str| -> Vec<usize> {
            let after = words.match_indices(page).map(|(at, _)| &words[at + page.len()..]);
            after.filter_map(|rest| leading_number(rest.trim_start())).collect()
        };
        for n in numbers("DEVIATIONS.md") {
            if !deviations.contains(&format!("| {n} |")) && !deviations.contains(&format!("\n{n}. ")) {
                broken.insert(format!("{file}: DEVIATIONS.md {n}"));
            }
        }
        for n in numbers("docs/rules.md") {
            if !rules.as_ref().is_some_and(|r| has_rule(r, n)) {
                broken.insert(format!("{file}: docs/rules.md {n}"));
            }
        }
        let without_paths = words.replace("docs/semantics.md", "").replace("docs/accuracy.md", "");
        let cites = |page: &&&str| {
            without_paths.match_indices(**page).any(|(at, _)| {
                let rest = &without_paths[at + page.len()..];
                page.ends_with(".md") || rest.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        if OLD_PAGES.iter().any(|page| cites(&page)) {
            old.insert(file);
        }
    }
    only(broken, &[], "citations of pages or rules that do not exist");
    only(old, &owned(OLD_CITATIONS), "citations of pages that readers cannot find");
}

fn leading_number(text: &str) -> Option<usize> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Whether the page of rules has a rule of this number: as a heading, a table row, an item or an anchor.
fn has_rule(page: &str, n: usize) -> bool {
    page.lines().any(|line| {
        let line = line.trim_start_matches(['#', '|', ' ', '*']);
        leading_number(line) == Some(n)
    })
}
