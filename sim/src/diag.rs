//! A message about an input file: the place, the problem, what was expected, and what to write instead.
//!
//! Every loader reports all problems that it finds at once. The command line draws them with file, line and caret.

use std::ops::Range;

/// One problem of an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as the user wrote its name.
    pub file: String,
    /// Range of bytes in the file's text; an empty range points between two characters.
    pub span: Range<usize>,
    /// One sentence that states the problem, with names in backticks.
    pub message: String,
    /// A few words under the caret: what was expected at this place.
    pub label: String,
    /// What to write instead, or where to look.
    pub help: Option<String>,
    /// Other relevant places of the same file, with a few words each.
    pub related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    /// A diagnostic with a message and a label.
    pub fn new(file: &str, span: Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic {
            file: file.into(),
            span,
            message: message.into(),
            label: label.into(),
            help: None,
            related: Vec::new(),
        }
    }

    /// Adds a help text.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another relevant place.
    pub fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}
