//! Links of the documents lead to a file and a heading that exist, and the summary names every document.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every document of the repository, as paths from its root.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let name = PathBuf::from(entry.unwrap().file_name());
            let path = folder.join(&name);
            if root().join(&path).is_dir() {
                let hidden = name.to_str().unwrap().starts_with('.') && name != Path::new(".github");
                if !hidden && name != Path::new("target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of a document that are not code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Targets of the links in a document.
fn links(text: &str) -> Vec<String> {
    let targets = |line: &str| -> Vec<String> {
        line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
    };
    prose(text).flat_map(targets).collect()
}

/// The anchors of a document: headings as GitHub and mdBook name them, and explicit ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>())
    };
    let explicit = |line: &str| -> Vec<String> {
        line.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_string())).collect()
    };
    prose(text).filter_map(heading).chain(prose(text).flat_map(explicit)).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(out.pop(), "{path:?} leaves the repository"),
            other => out.push(other),
        }
    }
    out
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(root().join(&document)).unwrap();
        for link in links(&text).into_iter().filter(|l| !l.contains("://")) {
            let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(f, a)| (f, Some(a)));
            let target = if file.is_empty() { document.clone() } else { plain(&document.parent().unwrap().join(file)) };
            let there = root().join(&target);
            let fine = match anchor {
                None => there.exists(),
                Some(a) => fs::read_to_string(there).is_ok_and(|t| anchors(&t).contains(a)),
            };
            if !fine {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_summary_names_every_document() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let named: BTreeSet<PathBuf> = links(&summary).iter().map(|l| plain(&Path::new("docs").join(l))).collect();
    let here = |p: &&PathBuf| !p.starts_with(".github") && **p != Path::new("docs/SUMMARY.md");
    let missing: Vec<_> = documents().into_iter().filter(|p| here(&p) && !named.contains(p)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not name {missing:?}");
}

/// Sources and documents that may cite a rule.
fn citing() -> Vec<PathBuf> {
    let mut folders = vec![root()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if matches!(path.extension().and_then(|e| e.to_str()), Some("rs" | "md" | "toml" | "pipe")) {
                found.push(path);
            }
        }
    }
    found
}

/// `docs/rules.md 12` cites rule 12. Numbers of documents that readers do not have are no citation.
#[test]
fn cited_rules_exist() {
    let rules = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let numbers: Vec<usize> =
        rules.lines().filter_map(|l| l.strip_prefix("| ")?.split_once(" |")?.0.parse().ok()).collect();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>(), "rules are numbered from 1 without a gap");
    let mut wrong = Vec::new();
    for path in citing() {
        let text = fs::read_to_string(&path).unwrap();
        for cited in text.split("docs/rules.md ").skip(1) {
            let list: String = cited
                .replace(" to ", ",")
                .chars()
                .take_while(|c| c.is_ascii_digit() || matches!(c, ',' | ' '))
                .collect();
            let cited = list.split(',').filter_map(|n| n.trim().parse::<usize>().ok());
            wrong.extend(cited.filter(|n| !numbers.contains(n)).map(|n| format!("{}: rule {n}", path.display())));
        }
        for unknown in ["verification", "hardware", "semantics", "design"].map(|d| format!("{d}.md ")) {
            let number = |rest: &str| {
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '.');
                rest.starts_with(|c: char| c.is_ascii_digit())
            };
            wrong.extend(text.split(unknown.as_str()).skip(1).filter(|r| number(r)).map(|r| {
                let start: String = r.chars().take(5).collect();
                format!("{}: {unknown}{start}", path.display())
            }));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
