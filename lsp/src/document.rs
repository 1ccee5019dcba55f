//! The text of an open file, and positions in it. Columns of the protocol count UTF-16 units.

use std::ops::Range as Bytes;
use std::time::Duration;

use lsp_types::{Position, Range, Uri};
use warpline_api::editor::{Checked, Measured, Outline, Proved};

use crate::analysis::Part;
use crate::job::Running;

/// An open kernel.
#[derive(Debug)]
pub(crate) struct Document {
    /// The version that the editor gave the text.
    pub version: i32,
    /// The text.
    pub text: String,
    /// The outline of the text.
    pub outline: Outline,
    /// The results of the newest analysis that has finished its check.
    pub analysis: Analysis,
    /// The job that analyzes the text.
    pub running: Option<Running>,
}

/// The results of an analysis.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// The text that was analyzed; spans of the results are bytes of this text.
    pub text: String,
    /// The result of the checker.
    pub checked: Option<Checked>,
    /// The result of the run.
    pub measured: Option<Measured>,
    /// The verdict.
    pub proved: Option<Proved>,
    /// The part that did not finish, and why.
    pub unfinished: Option<Unfinished>,
}

/// The reason why a part of an analysis has no result.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The part reached its time limit.
    TimedOut(Part, Duration),
    /// The process failed.
    Failed(Part, String),
}

impl Document {
    /// A document without an analysis.
    pub(crate) fn new(version: i32, text: String) -> Document {
        let outline = Outline::read(&text);
        Document { version, text, outline, analysis: Analysis::default(), running: None }
    }

    /// Replaces the text. The results of the old text stay until there are new ones.
    pub(crate) fn change(&mut self, version: i32, text: String) {
        (self.version, self.outline, self.text) = (version, Outline::read(&text), text);
        self.running = None;
    }

    /// The byte offset of a position; a position behind the end of a line is the end.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let start: usize = self.text.split_inclusive('\n').take(position.line as usize).map(str::len).sum();
        let line = self.text.get(start..).and_then(|t| t.split('\n').next()).unwrap_or("");
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }

    /// The range of bytes of the text.
    pub(crate) fn range(&self, span: &Bytes<usize>) -> Range {
        range(&self.text, span)
    }

    /// A span of the analyzed text in the newest text: the same, or the same line if its text is the same.
    pub(crate) fn moved(&self, span: &Bytes<usize>) -> Option<Bytes<usize>> {
        if self.analysis.text == self.text {
            return Some(span.clone());
        }
        let old = &self.analysis.text;
        let start = old.get(..span.start)?.rfind('\n').map_or(0, |p| p + 1);
        let line = old.get(start..)?.split('\n').next()?;
        let number = old[..start].matches('\n').count();
        let new: usize = self.text.split_inclusive('\n').take(number).map(str::len).sum();
        let same = self.text.get(new..)?.split('\n').next()? == line && span.end <= start + line.len();
        same.then(|| span.start - start + new..span.end - start + new)
    }
}

/// The position of a byte offset.
pub(crate) fn position(text: &str, offset: usize) -> Position {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let last = before.rsplit('\n').next().unwrap_or("");
    Position { line: line as u32, character: last.encode_utf16().count() as u32 }
}

/// The range of bytes of a text.
pub(crate) fn range(text: &str, span: &Bytes<usize>) -> Range {
    Range { start: position(text, span.start), end: position(text, span.end.max(span.start)) }
}

/// The path of a file; `None` for a document that is no file.
pub(crate) fn path(uri: &Uri) -> Option<String> {
    let rest = uri.as_str().strip_prefix("file://")?;
    // `file://host/path` and `file:///path`; Windows paths come as `file:///c:/path`.
    let path = rest.get(rest.find('/')?..)?;
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?.into_owned();
    let bytes = path.as_bytes();
    let drive = bytes.len() > 2 && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    Some(if drive { path[1..].to_string() } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    #[test]
    fn columns_count_utf16_units() {
        let d = Document::new(1, "a\n// \u{1d11e} \u{e4} x\n".to_string());
        let at = d.text.find('x').expect("a value");
        let p = position(&d.text, at);
        assert_eq!(p, Position { line: 1, character: 8 });
        assert_eq!(d.offset(p), at);
        assert_eq!(d.offset(Position { line: 1, character: 99 }), d.text.len() - 1);
        assert_eq!(d.offset(Position { line: 9, character: 0 }), d.text.len());
    }

    #[test]
    fn spans_follow_lines_that_did_not_change() {
        let mut d = Document::new(1, "a b\nc d\n".to_string());
        d.analysis.text = d.text.clone();
        d.change(2, "a bb\nc d\n".to_string());
        assert_eq!(d.moved(&(0..1)), None);
        assert_eq!(d.moved(&(6..7)), Some(7..8));
    }

    #[test]
    fn uris_are_paths() {
        let path = |uri: &str| super::path(&Uri::from_str(uri).expect("a value"));
        assert_eq!(path("file:///a%20b/k.pipe").as_deref(), Some("/a b/k.pipe"));
        assert_eq!(path("file:///c%3A/k.pipe").as_deref(), Some("c:/k.pipe"));
        assert_eq!(path("untitled:Untitled-1"), None);
    }
}
