//! Many verdicts for people: one line each, the faults with their places, and a summary.

use std::collections::BTreeMap;

use warpline_verify::Outcome;

use super::issues::{Issue, Level, issues};
use crate::console::Paint;
use crate::show::{WIDTH, wrap};
use warpline_api::Status;
use warpline_api::Verification;
use warpline_api::{Entry, Verifications};
use warpline_sim::words::of;

/// Columns of the first word.
const WORD: usize = 9;

/// The most faults and the most notes of one rule that are listed for a scenario.
const LISTED: [usize; 2] = [3, 1];

/// Characters of a name beyond which its middle is left out: a mangled name of C++ can have thousands.
const LONG: usize = 120;

pub(super) fn text(all: &Verifications, paint: Paint) -> String {
    let mut text: String = all.entries.iter().map(|e| entry(e, paint)).collect();
    if !all.skipped.is_empty() {
        text += &format!("\n{}\n", paint.head("Not verified"));
        for s in &all.skipped {
            text += &format!("  {}\n", wrap(&format!("{}: {}", s.file, s.why), WIDTH, 4));
        }
    }
    text + &format!("\n{}\n", wrap(&summary(all), WIDTH, 0))
}

fn entry(e: &Entry, paint: Paint) -> String {
    let Ok(v) = &e.result else {
        return format!("{} {}\n", paint.bad(&format!("{:<WORD$}", "BAD INPUT")), e.name);
    };
    let word = match v.verdict.outcome {
        Outcome::Proved => "proved",
        Outcome::Bounded { .. } => "bounded",
        Outcome::Violated if v.as_expected() == Some(true) => "violated",
        Outcome::Violated => "VIOLATED",
        Outcome::GaveUp { .. } => "GAVE UP",
    };
    let word = format!("{word:<WORD$}");
    let word = if e.status() == Status::Holds { word } else { paint.bad(&word) };
    let mut text = format!("{word} {}{}\n", short(&e.name), expected(v));
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for issue in issues(e) {
        let (class, most) = match issue.level {
            Level::Error => (issue.title.clone(), LISTED[0]),
            Level::Note => (format!("{} note", issue.rule), LISTED[1]),
            Level::Expected => continue,
        };
        let (n, _) = found.entry(class.clone()).or_insert((0, most));
        *n += 1;
        if *n <= most {
            text += &format!("{}{}\n", " ".repeat(WORD + 1), wrap(&line(&class, &issue), WIDTH, WORD + 3));
        }
    }
    for (class, (n, most)) in found.iter().filter(|(_, (n, most))| n > most) {
        text += &format!("{}{} more of {class}\n", " ".repeat(WORD + 1), n - most);
    }
    text
}

/// A name without its middle, if it is long.
fn short(name: &str) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= LONG {
        return name.to_string();
    }
    let part = |from: &[char]| from.iter().collect::<String>();
    format!("{}...{}", part(&all[..LONG - 23]), part(&all[all.len() - 20..]))
}

fn expected(v: &Verification) -> String {
    match (v.as_expected(), &v.subject.expect) {
        (Some(true), Some(e)) => format!(" (as expected: {})", e.what.name()),
        _ => String::new(),
    }
}

fn line(class: &str, issue: &Issue) -> String {
    let at = issue.at.as_ref().map_or(String::new(), |a| format!("{}:{}:{} ", a.file, a.line, a.column));
    let also = issue.also.first().map_or(String::new(), |(a, words)| format!(" ({words}: line {})", a.line));
    format!("{at}{class}: {}{also}", issue.message)
}

fn summary(all: &Verifications) -> String {
    let verdicts = || all.entries.iter().filter_map(|e| e.result.as_ref().ok());
    let many = |f: &dyn Fn(&Outcome) -> bool| verdicts().filter(|v| f(&v.verdict.outcome)).count();
    let counts = [
        (many(&|o| matches!(o, Outcome::Proved)), "proved"),
        (many(&|o| matches!(o, Outcome::Bounded { .. })), "bounded"),
        (many(&|o| matches!(o, Outcome::Violated)), "violated"),
        (many(&|o| matches!(o, Outcome::GaveUp { .. })), "undecided"),
        (all.errors().count(), "not readable"),
    ];
    let counts: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let expected = verdicts().filter(|v| v.as_expected() == Some(true)).count();
    let unexpected = verdicts().filter(|v| v.as_expected() == Some(false)).count();
    let mut text = format!("{}: {}", of(all.entries.len() as i64, "scenario"), counts.join(", "));
    if expected + unexpected > 0 {
        text += &format!("; of {} that say what to expect, {expected} as expected", expected + unexpected);
    }
    text + &format!("; in {:.3} s", all.wall_s)
}
