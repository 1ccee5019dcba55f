//! The grammars for editors have every word of the language, and no other.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use warpline_scenarios::words::{WordKind, words};

fn read(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../editors").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn of(kind: WordKind) -> BTreeSet<String> {
    words().into_iter().filter(|w| w.kind == kind).map(|w| w.text.to_string()).collect()
}

/// The strings in double quotes of a text that are words, with dots; names of fields are none.
fn quoted(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split("//").next().unwrap_or("").split('"').collect();
        found.extend(parts.windows(2).step_by(2).filter(|p| !p[0].ends_with("field(")).map(|p| p[1].to_string()));
    }
    let word = |s: &String| {
        s.starts_with(|c: char| c.is_ascii_lowercase()) && s.chars().all(|c| c.is_alphanumeric() || "._".contains(c))
    };
    found.retain(word);
    found
}

/// The largest group of alternatives in a pattern: `(?:a|b\.c)`.
fn alternatives(pattern: &str) -> BTreeSet<String> {
    let groups = pattern.split("(?:").skip(1).filter_map(|g| Some(g.split_once(')')?.0));
    let words = |g: &str| -> BTreeSet<String> { g.split('|').map(|w| w.replace("\\.", ".")).collect() };
    groups
        .map(words)
        .filter(|g| g.iter().all(|w| w.starts_with(|c: char| c.is_ascii_lowercase())))
        .max_by_key(BTreeSet::len)
        .unwrap_or_default()
}

#[test]
fn the_textmate_grammar_has_the_words_of_the_parser() {
    let grammar: Value = serde_json::from_str(&read("vscode/syntaxes/pipe.tmLanguage.json")).unwrap();
    for (name, kind) in [
        ("declaration", WordKind::Declaration),
        ("head", WordKind::Head),
        ("operation", WordKind::Operation),
        ("clause", WordKind::Clause),
        ("queue", WordKind::Queue),
        ("type", WordKind::Type),
        ("unit", WordKind::Unit),
        ("function", WordKind::Function),
        ("builtIn", WordKind::BuiltIn),
        ("operator", WordKind::Operator),
    ] {
        let pattern = grammar["repository"][name]["match"].as_str().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(alternatives(pattern), of(kind), "{name}");
        let included = grammar["patterns"].as_array().unwrap().iter().any(|p| p["include"] == format!("#{name}"));
        assert!(included, "{name} is not used");
    }
}

#[test]
fn the_tree_sitter_grammar_has_the_words_of_the_parser() {
    let all: BTreeSet<String> = words().into_iter().map(|w| w.text.to_string()).collect();
    let mut known = quoted(&read("tree-sitter-pipe/grammar.js"));
    known.remove("pipe");
    assert_eq!(all.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "missing in the grammar");
    assert_eq!(known.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "no words of the language");
    let colored = quoted(&read("tree-sitter-pipe/queries/highlights.scm"));
    assert_eq!(colored.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "no words of the language");
    for kind in [WordKind::Declaration, WordKind::Head, WordKind::Operation] {
        // `let` and `regs` have one color for both of their uses.
        assert_eq!(
            of(kind).difference(&colored).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{kind:?} without a color"
        );
    }
}

#[test]
fn the_extension_starts_the_server_of_this_repository() {
    let package: Value = serde_json::from_str(&read("vscode/package.json")).unwrap();
    let grammar = &package["contributes"]["grammars"][0];
    assert_eq!(grammar["scopeName"], "source.pipe");
    let parsed: Value = serde_json::from_str(&read("vscode/syntaxes/pipe.tmLanguage.json")).unwrap();
    assert_eq!(parsed["scopeName"], "source.pipe");
    serde_json::from_str::<Value>(&read("vscode/language-configuration.json")).unwrap();
    let extension = read("vscode/extension.js");
    assert!(extension.contains(r#"args: ["lsp"]"#));
    let settings = package["contributes"]["configuration"]["properties"].as_object().unwrap();
    for name in settings.keys() {
        let short = name.strip_prefix("warpline.").unwrap();
        assert!(extension.contains(&format!("settings.get(\"{short}\"")), "{name} is not read");
    }
}
