//! Formatting with the formatter of `warpline fmt`.

use lsp_types::{Position, Range, TextEdit};
use warpline_api::formatted;

use crate::document::{Document, position};

/// The edit that formats a document: none where nothing changes; `None` for a text with errors.
pub(crate) fn edits(document: &Document) -> Option<Vec<TextEdit>> {
    let new = formatted("", &document.text).ok()?;
    if new == document.text {
        return Some(Vec::new());
    }
    let range = Range { start: Position::default(), end: position(&document.text, document.text.len()) };
    Some(vec![TextEdit { range, new_text: new }])
}
