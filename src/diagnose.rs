//! Draws diagnostics: file, line, caret, label, help.

use std::fmt::Write;
use std::ops::Range;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use warpline_sim::diag::Diagnostic;

use crate::failure::Sources;

/// Width of the frames; fixed, so that the same input gives the same bytes on every terminal.
const WIDTH: usize = 80;

/// All diagnostics, in the order given, and how many there are.
pub(crate) fn render(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> String {
    let mut text: String = diagnostics.iter().map(|d| one(d, sources, colour)).collect();
    if diagnostics.len() > 1 {
        let _ = writeln!(text, "{} errors", diagnostics.len());
    }
    text
}

/// One diagnostic; without the file's text, its name and the words.
pub(crate) fn one(d: &Diagnostic, sources: &Sources, colour: bool) -> String {
    let Some(source) = sources.get(&d.file) else {
        let help = d.help.as_ref().map_or(String::new(), |h| format!("help: {h}\n"));
        return format!("error: {}: {}\n{help}", d.file, d.message);
    };
    // A caret past the last character needs a character to stand on.
    let source = if source.ends_with('\n') { source.clone() } else { format!("{source}\n") };
    let span = |r: &Range<usize>| clamp(&source, r);
    let related = d.related.iter().map(|(r, words)| LabeledSpan::at(span(r), words.clone()));
    let mut report = MietteDiagnostic::new(d.message.clone());
    report.labels = Some(std::iter::once(LabeledSpan::at(span(&d.span), d.label.clone())).chain(related).collect());
    report.help = d.help.clone();
    let report = Report::from(report).with_source_code(NamedSource::new(&d.file, source.clone()));
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false).with_context_lines(1);
    let mut text = String::new();
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = format!("error: {}: {}\n", d.file, d.message);
    }
    text
}

/// A range inside the text, on character boundaries, not empty.
fn clamp(text: &str, r: &Range<usize>) -> Range<usize> {
    let mut start = r.start.min(text.len().saturating_sub(1));
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = r.end.clamp(start + 1, text.len().max(start + 1));
    while end < text.len() && !text.is_char_boundary(end) {
        end += 1;
    }
    start..end.min(text.len())
}

/// The bytes a statement takes in its file, from its place and its text.
pub(crate) fn span_of(source: &str, line: u32, col: u32, text: &str) -> Range<usize> {
    let before: usize = source.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum();
    let rest = source.get(before..).unwrap_or("");
    let line = rest.lines().next().unwrap_or("");
    let skip: usize = line.chars().take(col.saturating_sub(1) as usize).map(char::len_utf8).sum();
    let len = if line[skip..].starts_with(text) { text.len() } else { line[skip..].trim_end().len() };
    before + skip..before + skip + len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        Sources::from([("k.pipe".to_string(), text.to_string())])
    }

    #[test]
    fn shows_line_caret_label_and_help() {
        let text = "kernel x()\n  wait full[0] for 1\n";
        let d = Diagnostic::new("k.pipe", 18..22, "nobody arrives at `full`", "waits here").help("add an arrive");
        let shown = render(&[d], &sources(text), false);
        for part in ["nobody arrives at `full`", "k.pipe:2:8", "wait full[0]", "waits here", "add an arrive"] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        for (text, span) in [("", 0..0), ("", 5..9), ("ä", 1..1), ("ab", 2..2), ("ab", 0..99)] {
            let shown = render(&[Diagnostic::new("k.pipe", span, "m", "l")], &sources(text), false);
            assert!(shown.contains("k.pipe:1") && !shown.contains("Failed"), "{shown}");
        }
    }

    #[test]
    fn finds_a_statement_again() {
        let text = "kernel x\n  a; wait b\n  ä wait";
        assert_eq!(&text[span_of(text, 2, 6, "wait b")], "wait b");
        assert_eq!(&text[span_of(text, 3, 5, "gone")], "wait");
        assert_eq!(span_of(text, 9, 9, "x"), text.len()..text.len());
    }
}
