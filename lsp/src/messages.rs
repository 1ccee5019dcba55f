//! The diagnostics of a document: messages of the checker, of the run and of the verdict.

use lsp_types::{Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Uri};
use warpline_api::editor::{Message, Severity};

use crate::document::{Document, Unfinished, range};

/// The source of diagnostics, as editors show it.
const SOURCE: &str = "warpline";

/// All diagnostics of the newest analysis, in the order of the text. A finding of the run that the proof repeats is one
/// diagnostic.
pub(crate) fn diagnostics(document: &Document, uri: &Uri) -> Vec<Diagnostic> {
    let a = &document.analysis;
    let parts = [
        a.checked.as_ref().map(|c| &c.messages),
        a.proved.as_ref().map(|p| &p.messages),
        a.measured.as_ref().map(|m| &m.messages),
    ];
    let mut all: Vec<Message> = Vec::new();
    for message in parts.into_iter().flatten().flatten() {
        let repeated = |m: &Message| m.span == message.span && m.code.is_some() && m.code == message.code;
        if !all.iter().any(repeated) {
            all.push(message.clone());
        }
    }
    all.extend(a.unfinished.as_ref().map(|why| unfinished(why, document)));
    all.sort_by_key(|m| (m.span.start, m.severity));
    all.into_iter().map(|m| diagnostic(&a.text, m, uri)).collect()
}

/// A part of the analysis that has no result, at the kernel's name.
fn unfinished(why: &Unfinished, document: &Document) -> Message {
    let text = match why {
        Unfinished::TimedOut(part, limit) => {
            format!("{} was stopped after {} s and has no result", part.word(), limit.as_secs_f64())
        }
        Unfinished::Failed(part, why) => format!("{} failed, which is an error of warpline: {why}", part.word()),
    };
    let span = document.outline.kernel.clone().unwrap_or(0..0);
    Message::new(span, Severity::Warning, text)
}

fn diagnostic(text: &str, m: Message, uri: &Uri) -> Diagnostic {
    let related = |(span, words): &(std::ops::Range<usize>, String)| DiagnosticRelatedInformation {
        location: Location { uri: uri.clone(), range: range(text, span) },
        message: words.clone(),
    };
    Diagnostic {
        range: range(text, &m.span),
        severity: Some(match m.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Information => DiagnosticSeverity::INFORMATION,
            Severity::Hint => DiagnosticSeverity::HINT,
        }),
        code: m.code.map(NumberOrString::String),
        source: Some(SOURCE.to_string()),
        message: m.text,
        related_information: (!m.related.is_empty()).then(|| m.related.iter().map(related).collect()),
        ..Diagnostic::default()
    }
}
