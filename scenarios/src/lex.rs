//! The tokens of a kernel text, with indentation as [`Kind::Indent`] and [`Kind::Dedent`].
//!
//! The lexer is written by hand, for three reasons: layout needs each line's column and a stack, the formatter needs
//! the comments, and a bad character must not end the scan. Only one `match` on a token's first character would remain
//! for a library.

use std::ops::Range;

use warpline_sim::diag::Diagnostic;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or a word of the grammar; words are not reserved.
    Name,
    /// Decimal digits, or `0b` and binary digits.
    Int,
    /// `"..."`, without escapes.
    Str,
    /// Punctuation.
    Sym(&'static str),
    /// The end of a line that has tokens.
    Newline,
    /// The next line is indented deeper.
    Indent,
    /// The next line is indented less; one token for each block that ends.
    Dedent,
    /// End of the text.
    End,
}

/// A token and its byte range.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// The kind.
    pub kind: Kind,
    /// Byte range.
    pub span: Range<usize>,
}

/// A comment, for the formatter.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    /// Byte range, with `//` and without trailing space.
    pub span: Range<usize>,
}

/// The result of lexing a text.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    /// Tokens; the last one is [`Kind::End`].
    pub tokens: Vec<Token>,
    /// Comments, in order.
    pub comments: Vec<Comment>,
    /// Errors.
    pub errors: Vec<Diagnostic>,
}

/// Symbols, longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 31] = [
    "->", "<=", ">=", "==", "!=", "<<", "+=", "-=", "..", "(", ")", "[", "]", ",", ":", ";", ".", "@", "=", "<", ">",
    "+", "-", "*", "/", "%", "|", "&", "?", "{", "}",
];

/// Splits a text into tokens. Errors are collected; lexing never fails.
pub(crate) fn lex(file: &str, text: &str) -> Lexed {
    let mut out = Lexed::default();
    let mut levels = vec![0usize];
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let trimmed = body.trim_start_matches([' ', '\t']);
        let indent = body.len() - trimmed.len();
        if !trimmed.is_empty() && !trimmed.starts_with("//") {
            if let Some(tab) = body[..indent].find('\t') {
                let at = start + tab;
                out.errors.push(
                    Diagnostic::new(file, at..at + 1, "a tab in the indentation", "spaces were expected here")
                        .help("indent with two spaces a level"),
                );
            }
            // A tab counts as eight columns, so that it opens a block where one was meant.
            let tabs = body[..indent].matches('\t').count();
            layout(file, &mut out, &mut levels, (indent, indent + 7 * tabs), start);
        }
        tokens(file, body, start, indent, &mut out);
        start += line.len();
    }
    for _ in 1..levels.len() {
        out.tokens.push(Token { kind: Kind::Dedent, span: text.len()..text.len() });
    }
    out.tokens.push(Token { kind: Kind::End, span: text.len()..text.len() });
    out
}

/// Opens or closes blocks for a line indented by `bytes` bytes and `indent` columns.
fn layout(file: &str, out: &mut Lexed, levels: &mut Vec<usize>, (bytes, indent): (usize, usize), start: usize) {
    let at = start + bytes;
    let top = levels.last().copied().unwrap_or(0);
    if indent > top {
        levels.push(indent);
        out.tokens.push(Token { kind: Kind::Indent, span: at..at });
        return;
    }
    while levels.len() > 1 && levels.last().is_some_and(|&l| l > indent) {
        levels.pop();
        out.tokens.push(Token { kind: Kind::Dedent, span: at..at });
    }
    let now = levels.last().copied().unwrap_or(0);
    if now != indent {
        out.errors.push(
            Diagnostic::new(
                file,
                start..at,
                format!("this line is indented by {indent}, which closes no open block"),
                format!("{now} or {top} spaces were expected"),
            )
            .help("give the lines of one block the same indentation"),
        );
    }
}

/// The tokens of one line, with its newline if it has any token.
fn tokens(file: &str, body: &str, start: usize, indent: usize, out: &mut Lexed) {
    let mut at = indent;
    let mut any = false;
    while let Some(c) = body[at..].chars().next() {
        let rest = &body[at..];
        let (kind, len) = if c == ' ' || c == '\t' || c == '\r' {
            at += 1;
            continue;
        } else if rest.starts_with("//") {
            let end = start + at + rest.trim_end().len();
            out.comments.push(Comment { span: start + at..end });
            break;
        } else if c.is_ascii_alphabetic() || c == '_' {
            (Kind::Name, run(rest, |c| c.is_ascii_alphanumeric() || c == '_'))
        } else if c.is_ascii_digit() {
            let digits = run(rest, |c| c.is_ascii_digit() || c == '_');
            let binary = rest.strip_prefix("0b").map_or(0, |r| run(r, |c| c == '0' || c == '1'));
            (Kind::Int, if binary > 0 { binary + 2 } else { digits })
        } else if c == '"' {
            match rest[1..].find('"') {
                Some(end) => (Kind::Str, end + 2),
                None => {
                    let span = start + at..start + body.len();
                    out.errors.push(Diagnostic::new(
                        file,
                        span,
                        "a string without an end",
                        "`\"` was expected before the end of the line",
                    ));
                    (Kind::Str, rest.len())
                }
            }
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Kind::Sym(symbol), symbol.len())
        } else {
            let span = start + at..start + at + c.len_utf8();
            out.errors.push(Diagnostic::new(
                file,
                span,
                format!("the character `{}` means nothing here", c.escape_debug()),
                "a name, number or operator was expected",
            ));
            at += c.len_utf8();
            continue;
        };
        out.tokens.push(Token { kind, span: start + at..start + at + len });
        any = true;
        at += len;
    }
    if any {
        let end = start + body.len();
        out.tokens.push(Token { kind: Kind::Newline, span: end..end });
    }
}

/// Length of the longest prefix whose characters satisfy `f`.
fn run(text: &str, f: impl Fn(char) -> bool) -> usize {
    text.find(|c| !f(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let words = lex("t", text).tokens.into_iter().map(|t| match t.kind {
            Kind::Newline => "NL".into(),
            Kind::Indent => ">>".into(),
            Kind::Dedent => "<<".into(),
            Kind::End => "END".into(),
            _ => text[t.span].to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn blank_and_comment_lines_end_no_block() {
        assert_eq!(kinds("a\n  b\n\n// x\n  c\nd"), "a NL >> b NL c NL << d NL END");
    }

    #[test]
    fn a_range_is_not_a_decimal() {
        assert_eq!(kinds("0..8 acc.00 0b11"), "0 .. 8 acc . 00 0b11 NL END");
    }

    #[test]
    fn odd_characters_are_reported_and_skipped() {
        let lexed = lex("t", "a § b\n\tc\n");
        assert_eq!(lexed.errors.len(), 2);
        assert_eq!(&lexed.errors[0].message, "the character `§` means nothing here");
    }
}
