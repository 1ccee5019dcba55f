//! The issues of each scenario with their places, for every format.

use std::path::Path;

use warpline_sim::code::Code;
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Site;
use warpline_sim::report::Finding;
use warpline_verify::{Outcome, Violation};

use warpline_api::Entry;
use warpline_api::{Error, Sources};
use warpline_api::{Position, Verification, outcome_word, short_path, waiting_message};

/// The weight of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The issue decides the exit status.
    Error,
    /// A fault that the scenario expects.
    Expected,
    /// A note.
    Note,
}

/// An issue of a scenario.
pub(super) struct Issue {
    pub(super) level: Level,
    /// The code of a finding (`WL0104`), or the name of another rule (`bad-input`).
    pub(super) rule: String,
    /// The title in a line (`WL0104 WAR race`).
    pub(super) title: String,
    /// The subject of the rule, in one line.
    pub(super) about: &'static str,
    pub(super) message: String,
    pub(super) at: Option<At>,
    /// Other places, with a few words each.
    pub(super) also: Vec<(At, String)>,
}

/// A place in a file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The column after the last character, where the place ends on its line.
    pub(super) end: Option<usize>,
}

/// Rules without a finding's code, and their subjects.
const BAD_INPUT: (&str, &str) = ("bad-input", "a scenario or kernel cannot be read");
const UNDECIDED: (&str, &str) = ("undecided", "nothing is decided");
const NOT_AS_EXPECTED: (&str, &str) = ("not-as-expected", "the verdict is not the one that the scenario expects");

/// The issues of one scenario.
pub(super) fn issues(entry: &Entry) -> Vec<Issue> {
    match &entry.result {
        Ok(v) => verdict(v),
        Err(Error::Input { diagnostics, sources }) => diagnostics.iter().map(|d| bad(d, sources)).collect(),
        Err(failure) => {
            let at = Path::new(&entry.name).is_file().then(|| At::top(&entry.name));
            vec![Issue { at, ..Issue::new(Level::Error, BAD_INPUT, failure.summary()) }]
        }
    }
}

impl Issue {
    fn new(level: Level, (rule, about): (&str, &'static str), message: String) -> Issue {
        let title = rule.replace('-', " ");
        Issue { level, rule: rule.to_string(), title, about, message, at: None, also: Vec::new() }
    }

    fn of_code(level: Level, code: Code, message: String) -> Issue {
        let title = format!("{code} {}", code.kind().name());
        Issue { title, ..Issue::new(level, (code.id(), code.title()), message) }
    }
}

impl At {
    fn site(s: &Site) -> At {
        let (line, column) = (s.line as usize, s.col as usize);
        At { file: short_path(Path::new(&s.file)), line, column, end: Some(column + s.text.chars().count()) }
    }

    /// The start of a file.
    fn top(file: &str) -> At {
        At { file: short_path(Path::new(file)), line: 1, column: 1, end: None }
    }

    fn diagnostic(d: &Diagnostic, span: &std::ops::Range<usize>, sources: &Sources) -> At {
        let text = sources.get(&d.file).map_or("", String::as_str);
        let Position { line, column } = Position::of(text, span.start);
        let inside = text.get(span.clone()).filter(|s| !s.is_empty() && !s.contains('\n'));
        At { file: short_path(Path::new(&d.file)), line, column, end: inside.map(|s| column + s.chars().count()) }
    }
}

fn bad(d: &Diagnostic, sources: &Sources) -> Issue {
    let help = d.help.as_ref().map_or(String::new(), |h| format!("; {h}"));
    let mut issue = Issue::new(Level::Error, BAD_INPUT, format!("{}{help}", d.message));
    issue.at = Some(At::diagnostic(d, &d.span, sources));
    issue.also = d.related.iter().map(|(span, words)| (At::diagnostic(d, span, sources), words.clone())).collect();
    issue
}

fn verdict(v: &Verification) -> Vec<Issue> {
    let (mut list, met) = (Vec::new(), v.as_expected());
    if let (Some(false), Some(e)) = (met, &v.subject.expect) {
        let found = outcome_word(&v.verdict.outcome);
        let message = format!("`{}` is expected here, and the verdict is {found}", e.what.name());
        let at = At::diagnostic(&e.at, &e.at.span, &v.subject.sources);
        list.push(Issue { at: Some(at), ..Issue::new(Level::Error, NOT_AS_EXPECTED, message) });
    }
    if let Outcome::GaveUp { why } = &v.verdict.outcome {
        let at = Some(At::top(&v.subject.program.file));
        list.push(Issue { at, ..Issue::new(Level::Error, UNDECIDED, why.clone()) });
    }
    if let Some(x) = &v.verdict.violation {
        let level = if met == Some(true) { Level::Expected } else { Level::Error };
        list.extend(x.findings.iter().map(|f| finding(f, level, &x.sites)));
        list.extend(hang(x, level));
    }
    list.extend(v.verdict.notes.iter().map(|f| finding(f, Level::Note, &v.subject.program.sites)));
    list
}

fn finding(f: &Finding, level: Level, sites: &[Site]) -> Issue {
    let mut issue = Issue::of_code(level, f.code, format!("{}: {}", f.agent, f.message));
    issue.at = sites.get(f.site as usize).map(At::site);
    let other = f.other.as_ref().and_then(|(site, words)| Some((sites.get(*site as usize)?, words)));
    issue.also.extend(other.map(|(site, words)| (At::site(site), words.clone())));
    issue
}

/// A hang, at the first agent that waits; the other agents are its other places.
fn hang(x: &Violation, level: Level) -> Option<Issue> {
    let (first, others) = x.hang.split_first()?;
    let mut issue = Issue::of_code(level, first.code, format!("no agent can proceed: {}", waiting_message(first)));
    issue.at = x.sites.get(first.site as usize).map(At::site);
    issue.also =
        others.iter().filter_map(|w| Some((At::site(x.sites.get(w.site as usize)?), waiting_message(w)))).collect();
    Some(issue)
}
