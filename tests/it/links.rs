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
