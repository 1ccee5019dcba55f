//! Messages with places in the kernel's text.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpline_sim::code::Code;
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Site;
use warpline_sim::report::{Finding, Outcome, Waiting};
use warpline_sim::words::count;
use warpline_verify::Outcome as Decided;

use super::{KernelText, span_of};
use crate::conflicts::{BankConflict, bank_conflicts};
use crate::error::{Error, Position, Sources};
use crate::files::short_path;
use crate::load::{Subject, waiting_message};
use crate::simulate::Simulation;
use crate::verify::Verification;

/// The weight of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// The kernel is wrong.
    Error,
    /// Something prevents an answer.
    Warning,
    /// Worth knowing.
    Information,
    /// A verdict without a fault.
    Hint,
}

/// A message at a place of the kernel's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Byte range.
    pub span: Range<usize>,
    /// The weight.
    pub severity: Severity,
    /// The code of a finding (`WL0104`).
    pub code: Option<String>,
    /// The text; its first line is a sentence.
    pub text: String,
    /// Other places of the text, with a few words each.
    pub related: Vec<(Range<usize>, String)>,
}

impl Message {
    /// A message without a code.
    pub fn new(span: Range<usize>, severity: Severity, text: impl Into<String>) -> Message {
        Message { span, severity, code: None, text: text.into(), related: Vec::new() }
    }
}

/// The place of messages about the whole kernel: its name, or the first line.
fn whole(kernel: &KernelText) -> Range<usize> {
    let name = super::Outline::read(&kernel.text).kernel;
    name.unwrap_or_else(|| 0..kernel.text.lines().next().map_or(0, str::len))
}

/// The messages of an error.
pub(super) fn of_error(kernel: &KernelText, error: &Error) -> Vec<Message> {
    match error {
        Error::Input { diagnostics, sources } => {
            diagnostics.iter().map(|d| of_diagnostic(kernel, d, sources, Severity::Error)).collect()
        }
        Error::Plain { message, help } => {
            let help = help.as_ref().map_or(String::new(), |h| format!("\nhelp: {h}"));
            vec![Message::new(whole(kernel), Severity::Error, format!("{message}{help}"))]
        }
    }
}

/// A diagnostic as a message. A diagnostic of another file, such as the scenario, is a message at the kernel's name.
fn of_diagnostic(kernel: &KernelText, d: &Diagnostic, sources: &Sources, severity: Severity) -> Message {
    let mut text = d.message.clone();
    if !d.label.is_empty() {
        text += &format!("\n{}", d.label);
    }
    if let Some(help) = &d.help {
        text += &format!("\nhelp: {help}");
    }
    if short_path(Path::new(&d.file)) == short_path(Path::new(&kernel.path)) {
        return Message { related: d.related.clone(), ..Message::new(d.span.clone(), severity, text) };
    }
    let other = sources.get(&d.file).map_or("", String::as_str);
    let Position { line, column } = Position::of(other, d.span.start);
    let place = format!("{}:{line}:{column}: {text}", short_path(Path::new(&d.file)));
    Message::new(whole(kernel), severity, place)
}

/// Findings of a run, and the hang that ended it.
pub(super) fn of_run(kernel: &KernelText, simulation: &Simulation) -> Vec<Message> {
    let (report, subject) = (&simulation.report, &simulation.subject);
    let sites = &subject.program.sites;
    let mut all: Vec<Message> = report.findings.iter().map(|f| of_finding(kernel, subject, f, sites)).collect();
    match &report.outcome {
        Outcome::Hung(waiting) => all.extend(of_hang(kernel, subject, waiting, sites)),
        Outcome::Limit => {
            let text =
                format!("the run stopped after {} events; costs are those until then", count(report.events as i64));
            all.push(Message::new(whole(kernel), Severity::Information, text));
        }
        Outcome::Finished | Outcome::Broken | Outcome::Stopped => {}
    }
    all
}

/// Reads with bank conflicts, as hints at their statements.
pub(super) fn of_conflicts(kernel: &KernelText, subject: &Subject) -> Vec<Message> {
    let hint = |c: BankConflict| {
        let help = c.help().map_or(String::new(), |h| format!("\nhelp: {h}"));
        Some(Message::new(span_of(kernel, subject, c.site)?, Severity::Hint, c.message() + &help))
    };
    bank_conflicts(subject).into_iter().filter_map(hint).collect()
}

/// The verdict at the kernel's name, and its findings at their statements.
pub(super) fn of_verdict(kernel: &KernelText, v: &Verification) -> Vec<Message> {
    let (subject, mut all) = (&v.subject, Vec::new());
    let name = v.varied.as_ref().map_or(String::new(), |p| format!(" of `{}`", p.name));
    let (severity, text) = match &v.verdict.outcome {
        Decided::Proved => {
            let trips = if v.varied.is_some() { format!(" for every trip count{name}") } else { String::new() };
            (Severity::Hint, format!("proved: the protocol holds in every schedule{trips}"))
        }
        Decided::Bounded { why, .. } => {
            (Severity::Information, format!("bounded: the protocol holds, but not for every trip count{name}: {why}"))
        }
        Decided::Violated => {
            let expected = if v.as_expected() == Some(true) { ", as the scenario expects" } else { "" };
            (Severity::Information, format!("violated: a schedule has a fault{expected}"))
        }
        Decided::GaveUp { why } => (Severity::Information, format!("nothing is decided: {why}")),
    };
    all.push(Message::new(whole(kernel), severity, text));
    if let Some(x) = &v.verdict.violation {
        all.extend(x.findings.iter().map(|f| of_finding(kernel, subject, f, &x.sites)));
        all.extend(of_hang(kernel, subject, &x.hang, &x.sites));
    }
    all.extend(v.verdict.notes.iter().map(|f| of_finding(kernel, subject, f, &subject.program.sites)));
    all
}

fn of_finding(kernel: &KernelText, subject: &Subject, f: &Finding, sites: &[Site]) -> Message {
    let severity = if f.note { Severity::Information } else { Severity::Error };
    let message = match subject.diagnostic(f, sites) {
        Some(d) => of_diagnostic(kernel, &d, &subject.sources, severity),
        None => Message::new(whole(kernel), severity, f.message.clone()),
    };
    coded(message, f.code)
}

/// A hang, at the first agent that waits; the other agents are its related places.
fn of_hang(kernel: &KernelText, subject: &Subject, waiting: &[Waiting], sites: &[Site]) -> Option<Message> {
    let (first, others) = waiting.split_first()?;
    let d = |w: &Waiting| {
        let site = sites.get(w.site as usize)?;
        let text = subject.sources.get(&site.file).map_or("", String::as_str);
        let span = crate::error::statement_span(text, site.line, site.col, &site.text);
        Some(Diagnostic::new(&site.file, span, format!("no agent can proceed: {}", waiting_message(w)), ""))
    };
    let mut at = d(first)?;
    at.related = others.iter().filter_map(|w| Some((d(w)?.span, waiting_message(w)))).collect();
    Some(coded(of_diagnostic(kernel, &at, &subject.sources, Severity::Error), first.code))
}

fn coded(mut message: Message, code: Code) -> Message {
    message.code = Some(code.id().to_string());
    message
}
