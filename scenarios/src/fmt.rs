//! The formatter: two spaces for each level, uniform spacing, comments and line breaks kept.
//!
//! The formatter works on tokens. Only the space between tokens changes, and a block behind its head stays on that
//! line. Marks of the parser tell the uses of `:`, `-` and `(` apart.

use warpline_sim::diag::Diagnostic;

use crate::lex::{Comment, Kind, Token};
use crate::parse::{Mark, parse};

/// Formats a kernel.
pub fn format(file: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(file, text);
    if !parsed.errors.is_empty() {
        return Err(parsed.errors);
    }
    let lines = lines(text, &parsed.tokens, &parsed.marks, &parsed.comments);
    Ok(print(&lines))
}

/// A line with its level, code and comment.
#[derive(Debug, Default)]
struct Line {
    level: usize,
    code: String,
    comment: Option<String>,
    /// Original column of a comment without code.
    column: usize,
    /// Whether blank lines precede.
    blank: bool,
}

fn lines(text: &str, tokens: &[Token], marks: &[Mark], comments: &[Comment]) -> Vec<Line> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
    let line_of = |at: usize| starts.partition_point(|s| *s <= at) - 1;
    let mut all: Vec<Option<Line>> = starts.iter().map(|_| None).collect();
    let mut level = 0;
    // Original indentation of the open blocks, for comments between them.
    let mut open = vec![0usize];
    let mut opens: Vec<Vec<usize>> = vec![Vec::new(); starts.len()];
    let mut before: Option<usize> = None;
    for (i, t) in tokens.iter().enumerate() {
        match t.kind {
            Kind::Indent => {
                level += 1;
                open.push(t.span.start - starts[line_of(t.span.start)]);
            }
            Kind::Dedent => {
                level -= 1;
                open.pop();
            }
            Kind::Newline => before = None,
            Kind::End => {}
            _ => {
                let n = line_of(t.span.start);
                let line = all[n].get_or_insert_with(|| Line { level, ..Line::default() });
                if let Some(b) = before {
                    line.code.push_str(space(tokens, marks, text, b, i));
                }
                line.code.push_str(&text[t.span.clone()]);
                opens[n] = open.clone();
                before = Some(i);
            }
        }
    }
    for c in comments {
        let n = line_of(c.span.start);
        let line = all[n].get_or_insert_with(Line::default);
        line.comment = Some(text[c.span.clone()].to_string());
        line.column = c.span.start - starts[n];
    }
    place_comments(&mut all, &opens);
    let mut out: Vec<Line> = Vec::new();
    let mut blank = false;
    for line in all {
        match line {
            Some(mut l) => {
                l.blank = blank && !out.is_empty();
                blank = false;
                out.push(l);
            }
            None => blank = true,
        }
    }
    out
}

/// Sets the level of comments without code. It is the level of the next line if that is deeper. Else it is that of the
/// deepest open block that the comment's indentation reaches, but at least the level of the next line.
fn place_comments(all: &mut [Option<Line>], opens: &[Vec<usize>]) {
    let mut next = 0;
    let mut follows = vec![0; all.len()];
    for (n, line) in all.iter().enumerate().rev() {
        follows[n] = next;
        if let Some(l) = line
            && !l.code.is_empty()
        {
            next = l.level;
        }
    }
    let mut above: (usize, &[usize]) = (0, &[]);
    for (n, line) in all.iter_mut().enumerate() {
        let Some(l) = line else { continue };
        if !l.code.is_empty() {
            above = (l.level, &opens[n]);
            continue;
        }
        let reached = above.1.iter().filter(|c| **c <= l.column).count().saturating_sub(1);
        l.level = if follows[n] > above.0 { follows[n] } else { reached.clamp(follows[n], above.0) };
    }
}

/// The space between two tokens of a line.
fn space(tokens: &[Token], marks: &[Mark], text: &str, left: usize, right: usize) -> &'static str {
    if marks[right] == Mark::NextDecl {
        return "   ";
    }
    let (l, r) = (tokens[left].kind, tokens[right].kind);
    if marks[left] == Mark::Sign {
        return "";
    }
    if marks[left] == Mark::WideColon || marks[right] == Mark::WideColon {
        return " ";
    }
    let word = |i: usize| &text[tokens[i].span.clone()];
    match (l, r) {
        (Kind::Sym(";"), _) => "  ",
        (_, Kind::Sym("," | ";" | ":" | ")" | "]" | "." | "..")) => "",
        (Kind::Sym("(" | "[" | "." | ".." | "@"), _) => "",
        (_, Kind::Sym("[")) => "",
        (_, Kind::Sym("(")) if marks[right] == Mark::Apart => " ",
        // An argument list; after a word of the grammar or an operator, `(` starts a parenthesized expression.
        (Kind::Name, Kind::Sym("(")) if !BEFORE_EXPR.contains(&word(left)) => "",
        _ => " ",
    }
}

/// Words that an expression may follow. Any other name before `(` is a call.
const BEFORE_EXPR: [&str; 34] = [
    "and",
    "or",
    "not",
    "if",
    "while",
    "in",
    "step",
    "for",
    "parity",
    "state",
    "expect",
    "count",
    "batch",
    "multicast",
    "cta",
    "ctas",
    "x",
    "require",
    "grid",
    "group",
    "cluster",
    "warps",
    "warp",
    "warpgroup",
    "warpgroups",
    "regs",
    "inc",
    "dec",
    "run",
    "swizzle",
    "pieces",
    "put",
    "takes",
    "lands",
];

/// Column limit for aligned comments. Comments behind code on consecutive lines share one column; a longer line moves
/// only its own comment.
const COLUMN: usize = 80;

fn print(lines: &[Line]) -> String {
    let width = |l: &Line| l.level * 2 + l.code.chars().count();
    let trailing = |l: &Line| !l.code.is_empty() && l.comment.is_some();
    let mut out = String::new();
    let mut column = 0;
    for (i, l) in lines.iter().enumerate() {
        if l.blank {
            out.push('\n');
        }
        let starts_run = i == 0 || l.blank || !trailing(&lines[i - 1]);
        if trailing(l) && starts_run {
            let run = lines[i..].iter().enumerate().take_while(|(k, l)| trailing(l) && (*k == 0 || !l.blank));
            column = run.map(|(_, l)| width(l)).filter(|w| *w <= COLUMN).max().unwrap_or(0) + 2;
        }
        out.push_str(&"  ".repeat(l.level));
        out.push_str(&l.code);
        if let Some(c) = &l.comment {
            if trailing(l) {
                out.push_str(&" ".repeat(column.saturating_sub(width(l)).max(2)));
            }
            out.push_str(c);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let once = format("t", text).unwrap();
        assert_eq!(once, want);
        assert_eq!(format("t", &once).unwrap(), once, "a second pass changes nothing");
    }

    #[test]
    fn spacing_and_levels_become_canonical() {
        check(
            "kernel  k ( m,n=3 )\n    warps   4  grid cdiv( m,8 ),1\n    mbar full[2](1)\n    all :\n        for i in -1 ..m-1 : \n           if i>0:barrier;barrier   none else : exit\n",
            "kernel k(m, n = 3)\n  warps 4   grid cdiv(m, 8), 1\n  mbar full[2] (1)\n  all:\n    for i in -1..m - 1:\n      if i > 0: barrier;  barrier none else: exit\n",
        );
    }

    #[test]
    fn comments_keep_their_block_and_align() {
        check(
            "// head\nkernel k(m)\n  warps 1 // one\n  regs 16+8   // two\n\n\n  all:\n     // first\n     barrier\n     // last\n  // after\n  barrier\n  // end\n",
            "// head\nkernel k(m)\n  warps 1      // one\n  regs 16 + 8  // two\n\n  all:\n    // first\n    barrier\n    // last\n  // after\n  barrier\n  // end\n",
        );
    }

    #[test]
    fn a_long_line_moves_no_comment_but_its_own() {
        let long = format!("let far = {}", ["stages"; 12].join(" + "));
        check(
            &format!("kernel k(stages)\n  warps 1 // one\n  {long} // far\n  regs 168 // three\n"),
            &format!("kernel k(stages)\n  warps 1   // one\n  {long}  // far\n  regs 168  // three\n"),
        );
    }

    #[test]
    fn colons_and_signs_are_told_apart() {
        check(
            "kernel k(m)\n  warps 1\n  global A:f16[m,8]\n  shared a[2]:f16[8,8]\n  lds a[m>1?-1+1:0]:A[0,0]->r\n  wait vm<=(m>1?3*m:0)\n",
            "kernel k(m)\n  warps 1\n  global A: f16[m, 8]\n  shared a[2]: f16[8, 8]\n  lds a[m > 1 ? -1 + 1 : 0] : A[0, 0] -> r\n  wait vm <= (m > 1 ? 3 * m : 0)\n",
        );
    }
}
