//! Errors as data: what is wrong, where, and what to write instead. This crate draws nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use warpline_sim::diag::Diagnostic;

/// The text of each input file, by the name that the caller gave the file.
pub type Sources = BTreeMap<String, String>;

/// An error of a request. Nothing was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// Input files have errors: every problem found, each with its place.
    Input {
        /// The problems, in the order of the text.
        diagnostics: Vec<Diagnostic>,
        /// The texts that the spans of the diagnostics refer to.
        sources: Sources,
    },
    /// A problem without a place in a file.
    Plain {
        /// One sentence that states the problem.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
}

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset; an offset that is not in the text counts as its start.
    pub fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or("");
        let line = 1 + before.matches('\n').count();
        Position { line, column: 1 + before.rsplit('\n').next().map_or(0, |l| l.chars().count()) }
    }
}

impl Error {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Error {
        Error::Plain { message: message.into(), help: None }
    }

    /// An error without a place, with a help text.
    pub fn with_help(message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Plain { message: message.into(), help: Some(help.into()) }
    }

    /// The first problem in one line, with its file.
    pub fn summary(&self) -> String {
        match self {
            Error::Input { diagnostics, .. } => {
                diagnostics.first().map_or(String::new(), |d| format!("{}: {}", d.file, d.message))
            }
            Error::Plain { message, .. } => message.clone(),
        }
    }
}

impl fmt::Display for Error {
    /// A line for each problem: `file:line:column: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Plain { message, .. } => f.write_str(message),
            Error::Input { diagnostics, sources } => {
                for (i, d) in diagnostics.iter().enumerate() {
                    let text = sources.get(&d.file).map_or("", String::as_str);
                    let Position { line, column } = Position::of(text, d.span.start);
                    let separator = if i == 0 { "" } else { "\n" };
                    write!(f, "{separator}{}:{line}:{column}: {}", d.file, d.message)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Error {}

/// The bytes of a statement in its file. `line` and `column` count from 1, `column` in characters.
pub(crate) fn statement_span(source: &str, line: u32, column: u32, text: &str) -> Range<usize> {
    let before: usize = source.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum();
    let rest = source.get(before..).unwrap_or("");
    let line = rest.lines().next().unwrap_or("");
    let skip: usize = line.chars().take(column.saturating_sub(1) as usize).map(char::len_utf8).sum();
    let len = if line[skip..].starts_with(text) { text.len() } else { line[skip..].trim_end().len() };
    before + skip..before + skip + len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_statement_again() {
        let text = "kernel x\n  a; wait b\n  ä wait";
        assert_eq!(&text[statement_span(text, 2, 6, "wait b")], "wait b");
        assert_eq!(&text[statement_span(text, 3, 5, "gone")], "wait");
        assert_eq!(statement_span(text, 9, 9, "x"), text.len()..text.len());
    }

    #[test]
    fn an_error_names_file_line_and_column() {
        let text = "kernel x()\n  wait ä full[0]\n";
        let d = Diagnostic::new("k.pipe", 21..28, "nobody arrives at `full`", "waits here");
        let sources = Sources::from([("k.pipe".to_string(), text.to_string())]);
        let error = Error::Input { diagnostics: vec![d], sources };
        assert_eq!(error.to_string(), "k.pipe:2:10: nobody arrives at `full`");
        assert_eq!(error.summary(), "k.pipe: nobody arrives at `full`");
    }
}
