//! Tables and wrapped text.
//!
//! Tables need only a few lines of padding here. Libraries for tables draw borders and need a terminal's width.

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells, padded to the widest of each column, two spaces between columns.
pub(crate) struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Lines between rows: the index of the next row, and the text.
    lines: Vec<(usize, String)>,
    /// Spaces before the first column.
    indent: usize,
}

impl Table {
    pub(crate) fn new(columns: &[Align], indent: usize) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new(), lines: Vec::new(), indent }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a line that belongs to no column.
    pub(crate) fn line(&mut self, text: &str) {
        self.lines.push((self.rows.len(), text.to_string()));
    }

    /// The lines, without trailing spaces.
    pub(crate) fn text(&self) -> String {
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for (r, row) in self.rows.iter().enumerate() {
            for (_, line) in self.lines.iter().filter(|(before, _)| *before == r) {
                text += &format!("{}{line}\n", " ".repeat(self.indent));
            }
            let mut line = " ".repeat(self.indent);
            for (i, (cell, (align, width))) in row.iter().zip(self.columns.iter().zip(&widths)).enumerate() {
                if i > 0 {
                    line += "  ";
                }
                line += &match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Breaks words into lines of at most `width` columns. Lines after the first start with `indent` spaces. The first line is
/// as long as if it did, too: a label of that width stands before it. Words are never broken.
pub(crate) fn wrap(words: &str, width: usize, indent: usize) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    let text = textwrap::fill(&words, options);
    text.strip_prefix(&indent).unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut t = Table::new(&[Align::Left, Align::Right], 2);
        t.row(["a", "1"]);
        t.row(["bcd", "1,000"]);
        assert_eq!(t.text(), "  a        1\n  bcd  1,000\n");
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrap("aa bb cc", 8, 3), "aa bb\n   cc");
        assert_eq!(wrap("", 8, 3), "");
        assert_eq!(wrap("a-long-word", 4, 2), "a-long-word");
    }
}
