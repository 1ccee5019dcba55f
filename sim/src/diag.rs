//! A message about an input file: where, what, what was expected, what to write instead.
//!
//! Every loader reports all it finds in one go; the command line draws them with file, line and caret.

use std::ops::Range;

/// One problem of an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as the user named it.
    pub file: String,
    /// Bytes of the file's text it is about; empty ranges point between characters.
    pub span: Range<usize>,
    /// One sentence: what is wrong. Names stand in backticks.
    pub message: String,
    /// A few words under the caret: what was expected here.
    pub label: String,
    /// What to write instead, or where to look, where there is something to say.
    pub help: Option<String>,
    /// Other places of the same file that matter, with a few words each.
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

    /// Adds what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that matters.
    pub fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}
