//! Errors as text: file, line, caret, label and help. No other module draws a caret.

mod excerpt;

use std::fmt::Write;
use std::ops::Range;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, Report};
use warpline_api::{Error, Sources};
use warpline_sim::diag::Diagnostic;

use crate::console::Paint;
use crate::show::{self, wrap};
use excerpt::Excerpt;

/// The longest line of a file that a frame shows; of a longer line, the part around the caret.
const LONGEST: usize = 300;

/// Columns of a frame; fixed, so that the same input gives the same bytes on every terminal.
const WIDTH: usize = 80;

/// An error as the error stream shows it.
pub(crate) fn error(error: &Error, color: bool) -> String {
    match error {
        Error::Input { diagnostics, sources } => all(diagnostics, sources, color),
        Error::Plain { message, help } => {
            let paint = Paint { color };
            let mut text = format!("{} {}\n", paint.bad("error:"), wrap(message, show::WIDTH, 7));
            if let Some(help) = help {
                text += &format!("{} {}\n", paint.head("help:"), wrap(help, show::WIDTH, 6));
            }
            text
        }
    }
}

/// All diagnostics in the order given, and their number where there are several.
fn all(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let mut text: String = diagnostics.iter().map(|d| one(d, sources, color)).collect();
    if diagnostics.len() > 1 {
        let _ = writeln!(text, "{} errors", diagnostics.len());
    }
    text
}

/// One diagnostic with a caret; without the file's text, the message alone.
pub(crate) fn one(d: &Diagnostic, sources: &Sources, color: bool) -> String {
    let Some(source) = sources.get(&d.file) else {
        let help = d.help.as_ref().map_or(String::new(), |h| format!("help: {h}\n"));
        return format!("error: {}: {}\n{help}", d.file, d.message);
    };
    if let Some((near, cut)) = shortened(d, source) {
        return one(&cut, &Sources::from([(d.file.clone(), near)]), color);
    }
    // A caret past the end needs a character to point to.
    let source = if source.ends_with('\n') { source.clone() } else { format!("{source}\n") };
    let span = |r: &Range<usize>| clamp(&source, r);
    let related = d.related.iter().map(|(r, words)| LabeledSpan::at(span(r), words.clone()));
    let mut report = MietteDiagnostic::new(d.message.clone());
    report.labels = Some(std::iter::once(LabeledSpan::at(span(&d.span), d.label.clone())).chain(related).collect());
    report.help = d.help.clone();
    let report = Report::from(report).with_source_code(Excerpt::new(&d.file, source));
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false).with_context_lines(1);
    let mut text = String::new();
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = format!("error: {}: {}\n", d.file, d.message);
    }
    text
}

/// A diagnostic with a shortened source, for lines too long for a frame. The number of lines stays the same, and places
/// are moved.
fn shortened(d: &Diagnostic, source: &str) -> Option<(String, Diagnostic)> {
    if source.lines().all(|l| l.len() <= LONGEST) {
        return None;
    }
    let at = clamp(source, &d.span);
    let mut text = String::new();
    let (mut span, mut start, mut related) = (0..0, 0, Vec::new());
    for line in source.split_inclusive('\n') {
        let end = start + line.len();
        let here = (start..end).contains(&at.start) || at.start >= end && end == source.len();
        // The part around the caret for the caret's line; the beginning of other long lines.
        let first = if here { floor(line, (at.start - start).saturating_sub(LONGEST / 4)) } else { 0 };
        let last = floor(line, (first + LONGEST / 2).min(line.len()));
        let cut = if line.len() <= LONGEST { line } else { line[first..last].trim_end_matches('\n') };
        let first = if line.len() <= LONGEST { 0 } else { first };
        if here {
            let from = text.len() + (at.start - start - first).min(cut.len().saturating_sub(1));
            span = from..(from + at.len()).min(text.len() + cut.len()).max(from + 1);
        }
        for (place, words) in d.related.iter().filter(|(place, _)| (start..end).contains(&place.start)) {
            // Of a place in a long line, the part of the line that is left.
            let moved = match line.len() <= LONGEST {
                true => text.len() + place.start - start..text.len() + place.end.min(end) - start,
                false => text.len()..text.len() + cut.len(),
            };
            related.push((moved, words.clone()));
        }
        text += cut;
        if !cut.ends_with('\n') {
            text.push('\n');
        }
        start = end;
    }
    let message = if d.message.len() > LONGEST {
        format!("{}...", &d.message[..floor(&d.message, LONGEST)])
    } else {
        d.message.clone()
    };
    let cut = Diagnostic { span, message, related, ..d.clone() };
    Some((text, cut))
}

/// The last character boundary at or before a byte.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest range inside the text that is not empty and lies on character boundaries.
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
        let shown = all(&[d], &sources(text), false);
        for part in ["nobody arrives at `full`", "k.pipe:2:8", "wait full[0]", "waits here", "add an arrive"] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
    }

    #[test]
    fn a_very_long_line_is_not_echoed() {
        let text = format!("kernel x()\n  {}wait ä {}\n  barrier\n", "a".repeat(200_000), "ö".repeat(200_000));
        let at = text.find("wait").expect("it is there");
        let shown = all(&[Diagnostic::new("k.pipe", at..at + 4, "wrong", "here")], &sources(&text), false);
        assert!(shown.len() < 2_000 && shown.contains("wait") && shown.contains("k.pipe:2:"), "{shown}");
        let message = "x".repeat(400_000);
        let shown = all(&[Diagnostic::new("k.pipe", at..at + 200_000, message, "here")], &sources(&text), false);
        assert!(shown.len() < 3_000, "{}", shown.len());
    }

    #[test]
    fn a_long_line_elsewhere_leaves_both_places() {
        let text = format!("write a\n{}\nread a\n{}\n", "x".repeat(1_000), "y".repeat(1_000));
        let at = text.find("read").expect("it is there");
        let both = |other: Range<usize>| {
            let d = Diagnostic::new("k.pipe", at..at + 6, "a race", "read here").also(other, "written here");
            all(&[d], &sources(&text), false)
        };
        let shown = both(0..7);
        for part in ["1 │ write a", "written here", "3 │ read a", "read here"] {
            assert!(shown.contains(part), "{part} is missing in\n{shown}");
        }
        let shown = both(20..30);
        assert!(shown.contains("written here") && shown.len() < 2_000, "{shown}");
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        for (text, span) in [("", 0..0), ("", 5..9), ("ä", 1..1), ("ab", 2..2), ("ab", 0..99)] {
            let shown = all(&[Diagnostic::new("k.pipe", span, "m", "l")], &sources(text), false);
            assert!(shown.contains("k.pipe:1") && !shown.contains("Failed"), "{shown}");
        }
    }
}
