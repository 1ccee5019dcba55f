//! What the documents say of a code and of a statement. The documents are the only source of these texts.

use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use warpline_sim::code::Code;

/// The pages, one file for each code.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../docs/explain");

/// The pages with tables of statements.
const LANGUAGE: &str = include_str!("../../docs/language.md");
const SEMANTICS: &str = include_str!("../../docs/semantics.md");

/// The page on a code, in Markdown; `None` where a code has no page, which a test excludes.
pub fn explain_page(code: Code) -> Option<&'static str> {
    PAGES.get_file(format!("{code}.md")).and_then(|f| f.contents_utf8())
}

/// The meaning of a statement, from `docs/language.md` and `docs/semantics.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Sentences of the language page on the statement.
    pub sentences: Vec<String>,
    /// The instructions of the hardware that the statement stands for.
    pub instruction: Option<String>,
    /// The rules of the semantics, each with the fault if it is broken.
    pub rules: Vec<Rule>,
}

/// A rule of the semantics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule.
    pub rule: String,
    /// The fault if it is broken.
    pub fault: Option<String>,
}

/// The meaning of the statements of a topic (`tma`, `wait b for`, `elect`); `None` where the documents have none.
pub fn meaning(topic: &str) -> Option<Meaning> {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| parts(LANGUAGE).into_iter().chain(parts(SEMANTICS)).collect());
    let mut found = Meaning::default();
    for part in parts.iter().filter(|p| p.names.iter().any(|n| begins(n, topic))) {
        match &part.text {
            Text::Statement { instruction, semantics } => {
                found.instruction = found.instruction.or_else(|| Some(instruction.clone()).filter(|i| !i.is_empty()));
                found.sentences.extend(Some(semantics.clone()).filter(|s| !s.is_empty()));
            }
            Text::Rule(rule) => found.rules.push(rule.clone()),
            Text::Declaration(text) => found.sentences.push(text.clone()),
            Text::Prose(_) => {}
        }
    }
    if found == Meaning::default() {
        let prose = parts.iter().filter_map(|p| match &p.text {
            Text::Prose(text) if p.names.iter().any(|n| begins(n, topic)) => Some(text.clone()),
            _ => None,
        });
        found.sentences.extend(prose);
    }
    (found != Meaning::default()).then_some(found)
}

/// Whether the form of a statement begins with the words of a topic.
fn begins(form: &str, topic: &str) -> bool {
    !topic.is_empty()
        && form
            .strip_prefix(topic)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "_.".contains(c)))
}

/// A part of a page, with the forms of statements that it is about.
struct Part {
    names: Vec<String>,
    text: Text,
}

enum Text {
    /// A row of the table of operations.
    Statement { instruction: String, semantics: String },
    /// A row of a table of rules.
    Rule(Rule),
    /// An item of the list of declarations.
    Declaration(String),
    /// A sentence.
    Prose(String),
}

/// The parts of a page.
fn parts(page: &str) -> Vec<Part> {
    let (mut all, mut head, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut code = false;
    for line in page.lines() {
        code ^= line.starts_with("```");
        if code || line.starts_with("```") {
            continue;
        }
        let Some(cells) = cells(line) else {
            head.clear();
            all.extend(prose(line));
            continue;
        };
        if head.is_empty() {
            head = cells;
            names.clear();
            continue;
        }
        if !cells[0].is_empty() {
            names = spans(&cells[0]);
        }
        let cell = |title: &str| head.iter().position(|h| h == title).and_then(|i| cells.get(i)).cloned();
        let text = if let Some(rule) = cell("rule") {
            Text::Rule(Rule { rule, fault: cell("fault").filter(|f| !f.is_empty()) })
        } else if let (Some(instruction), Some(semantics)) = (cell("instruction"), cell("semantics")) {
            Text::Statement { instruction, semantics }
        } else {
            continue;
        };
        all.push(Part { names: names.clone(), text });
    }
    all
}

/// The cells of a table's row; `None` for another line. The line below the head has no cells of its own.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.strip_prefix('|')?.strip_suffix('|')?;
    if row.chars().all(|c| "-|: ".contains(c)) && row.contains('-') {
        return Some(vec![String::new()]);
    }
    let (mut cells, mut code) = (vec![String::new()], false);
    for c in row.chars() {
        code ^= c == '`';
        match cells.last_mut() {
            Some(cell) if c != '|' || code => cell.push(c),
            _ => cells.push(String::new()),
        }
    }
    Some(cells.into_iter().map(|c| c.trim().to_string()).collect())
}

/// The code spans of a text.
fn spans(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The sentences of a line of prose with the code spans of each. An item of a list that begins with a bold word is one
/// part, about its bold words.
fn prose(line: &str) -> Vec<Part> {
    if line.starts_with("* **") {
        let names = line.split("**").skip(1).step_by(2).map(str::to_string).collect();
        return vec![Part { names, text: Text::Declaration(line.trim_start_matches("* ").to_string()) }];
    }
    let line = line.trim_start_matches("* ");
    let sentences = line.split_inclusive(". ");
    sentences.map(|s| Part { names: spans(s), text: Text::Prose(s.trim().to_string()) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::{WordKind, words};

    #[test]
    fn a_statement_has_its_instruction_and_its_rules() {
        let copy = meaning("tma").expect("a value");
        assert_eq!(copy.instruction.as_deref(), Some("`cp.async.bulk.tensor`"));
        assert!(copy.sentences[0].starts_with("completes its bytes on b"), "{copy:?}");
        assert!(copy.rules.iter().any(|r| r.rule.contains("delivers the bytes")), "{copy:?}");
        let wait = meaning("wait b for").expect("a value");
        assert!(wait.rules.len() >= 2 && wait.rules[0].fault.is_some(), "{wait:?}");
    }

    #[test]
    fn declarations_and_heads_have_sentences() {
        assert!(meaning("needs").expect("a value").sentences[0].contains("oldest machine"));
        assert!(meaning("elect").is_some() && meaning("all").is_some());
        assert_eq!(meaning("nothing of this language"), None);
        assert_eq!(meaning(""), None);
    }

    #[test]
    fn every_declaration_and_operation_has_a_meaning() {
        let explained = [WordKind::Declaration, WordKind::Operation];
        let missing = words().into_iter().filter(|w| explained.contains(&w.kind) && meaning(w.text).is_none());
        assert_eq!(missing.map(|w| w.text).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn every_code_has_a_page() {
        assert!(Code::ALL.iter().all(|c| explain_page(*c).is_some_and(|p| p.starts_with(&format!("# {c}:")))));
    }
}
