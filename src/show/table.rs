//! Columns of text.

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells, padded to the widest of each column, two spaces between columns.
pub(crate) struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Lines between the rows: index of the row they stand before, and the text.
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

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A line that belongs to no column.
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

/// Breaks words into lines of at most `width` columns; the lines after the first start with `indent` spaces.
pub(crate) fn wrap(words: &str, width: usize, indent: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for (i, word) in words.split_whitespace().enumerate() {
        let len = word.chars().count();
        if i > 0 && column + 1 + len > width {
            text.push('\n');
            text += &" ".repeat(indent);
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += len;
    }
    text
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
