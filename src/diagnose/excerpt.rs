//! The lines of a file around a place, for a frame.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Places with at most this many lines between them share a frame.
const BETWEEN: usize = 4;

/// A file whose lines are found by an index. On its own, `miette` reads a text from its start for each place. It also takes
/// the number of lines before a place for the height of its frame. Two places in a long file become one frame of thousands
/// of lines then.
#[derive(Debug)]
pub(crate) struct Excerpt {
    name: String,
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl Excerpt {
    pub(crate) fn new(name: &str, text: String) -> Excerpt {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends.filter(|at| *at < text.len())).collect();
        Excerpt { name: name.into(), text, starts }
    }

    /// The line of a byte, from 0.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The bytes of a range of lines.
    fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        self.starts[lines.start]..self.starts.get(lines.end).copied().unwrap_or(self.text.len())
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let first = self.line(span.offset()).saturating_sub(before);
        let last = (self.line(end.saturating_sub(1).max(span.offset())) + after).min(self.starts.len() - 1);
        let mut bytes = self.bytes(first..last + 1);
        // Without context, the text begins at the place itself.
        let column = if before == 0 { span.offset() - bytes.start } else { 0 };
        bytes.start += column;
        let place = (bytes.start, bytes.len()).into();
        let lines = last + 1 - first + BETWEEN;
        let data = &self.text.as_bytes()[bytes];
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data, place, first, column, lines)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_lines_around_a_place() {
        let e = Excerpt::new("k.pipe", "one\ntwo\nthree\nfour\n".into());
        let read = |at: usize, len: usize| {
            let c = e.read_span(&(at, len).into(), 1, 1).expect("inside");
            (String::from_utf8_lossy(c.data()).into_owned(), c.line())
        };
        assert_eq!(read(4, 3), ("one\ntwo\nthree\n".into(), 0));
        assert_eq!(read(8, 2), ("two\nthree\nfour\n".into(), 1));
        assert_eq!(read(0, 5), ("one\ntwo\nthree\n".into(), 0));
        assert!(e.read_span(&(100, 1).into(), 1, 1).is_err());
    }
}
