//! Expressions.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Binary, Unary};

use super::{Mark, Parse, Parser};
use crate::ast::{Expr, ExprKind, Ident};
use crate::lex::Kind;

/// Largest number of nodes of one expression; it bounds the depth of the tree.
const NODES: usize = 400;

/// Operators by precedence, loosest first; `not` is between `and` and the comparisons.
const LEVELS: [&[(&str, Binary)]; 6] = [
    &[("or", Binary::Or)],
    &[("and", Binary::And)],
    &[
        ("<", Binary::Lt),
        ("<=", Binary::Le),
        (">", Binary::Gt),
        (">=", Binary::Ge),
        ("==", Binary::Eq),
        ("!=", Binary::Ne),
    ],
    &[("|", Binary::BitOr), ("&", Binary::BitAnd), ("<<", Binary::Shl)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
];

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nodes = 0;
        self.conditional()
    }

    /// An expression without a top-level `?:`.
    pub(super) fn condition(&mut self) -> Parse<Expr> {
        self.nodes = 0;
        self.level(0)
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.level(0)?;
        if !self.eat_sym("?") {
            return Ok(cond);
        }
        let yes = self.deeper(|p| p.conditional())?;
        self.marks[self.pos] = Mark::WideColon;
        self.sym(":", "and the value of the other case")?;
        let no = self.deeper(|p| p.conditional())?;
        let span = cond.span.start..no.span.end;
        self.node(Expr { kind: ExprKind::Cond(Box::new((cond, yes, no))), span })
    }

    /// Counts a node.
    fn node(&mut self, e: Expr) -> Parse<Expr> {
        self.nodes += 1;
        if self.nodes > NODES {
            let message = format!("an expression of more than {NODES} parts");
            return self.fail(
                Diagnostic::new(self.file, e.span, message, "this is too long").help("name parts of it with `let`"),
            );
        }
        Ok(e)
    }

    fn level(&mut self, level: usize) -> Parse<Expr> {
        if level == 2 && self.at_word("not") {
            let start = self.span().start;
            self.bump();
            let inner = self.deeper(|p| p.level(2))?;
            let span = start..inner.span.end;
            return self.node(Expr { kind: ExprKind::Unary(Unary::Not, Box::new(inner)), span });
        }
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.level(level + 1)?;
        while let Some(op) = self.operator(level) {
            self.bump();
            let right = self.level(level + 1)?;
            let span = left.span.start..right.span.end;
            left = self.node(Expr { kind: ExprKind::Binary(op, Box::new((left, right))), span })?;
            if level == 2 && self.operator(level).is_some() {
                let diagnostic = Diagnostic::new(
                    self.file,
                    self.span(),
                    "comparisons do not chain",
                    "`and` was expected before a second comparison",
                )
                .help("write `a < b and b < c`");
                return self.fail(diagnostic);
            }
        }
        Ok(left)
    }

    fn operator(&self, level: usize) -> Option<Binary> {
        let here = match self.kind() {
            Kind::Sym(s) => s,
            Kind::Name => self.word(),
            _ => return None,
        };
        LEVELS[level].iter().find(|(s, _)| *s == here).map(|(_, op)| *op)
    }

    fn unary(&mut self) -> Parse<Expr> {
        if !self.at_sym("-") {
            return self.atom();
        }
        let start = self.span().start;
        self.marks[self.pos] = Mark::Sign;
        self.bump();
        let inner = self.deeper(|p| p.unary())?;
        let span = start..inner.span.end;
        self.node(Expr { kind: ExprKind::Unary(Unary::Neg, Box::new(inner)), span })
    }

    fn atom(&mut self) -> Parse<Expr> {
        let span = self.span();
        let kind = match self.kind() {
            Kind::Int => ExprKind::Int(self.int()?),
            Kind::Sym("(") => {
                self.bump();
                let inner = self.deeper(|p| p.conditional())?;
                let end = self.span().end;
                self.sym(")", "to close the parenthesis")?;
                return Ok(Expr { kind: inner.kind, span: span.start..end });
            }
            Kind::Name => {
                let name = self.ident("a name")?;
                if self.at_sym("(") {
                    self.bump();
                    if name.text == "bytes" && self.sym_at(self.pos + 1, "[") {
                        self.pos += 1;
                        let buffer = self.word_at(self.pos - 1);
                        let help = format!("`bytes({buffer})` is the bytes of one slot");
                        return self.expected_with("`)` after the name of a buffer", Some(&help));
                    }
                    let args = self.list(")", "an argument")?;
                    let span = span.start..self.span_at(self.pos - 1).end;
                    return self.node(Expr { kind: ExprKind::Call(name, args), span });
                }
                if self.at_sym(".") && self.kind_at(self.pos + 1) == Kind::Name {
                    self.bump();
                    let field = self.label("a name after `.`")?;
                    let span = span.start..field.span.end;
                    return self.node(Expr { kind: ExprKind::Dotted(name, field), span });
                }
                ExprKind::Name(name.text)
            }
            _ => return self.expected("a number, a name or `(`"),
        };
        self.node(Expr { kind, span })
    }

    /// A number, decimal or `0b...`.
    pub(super) fn int(&mut self) -> Parse<i64> {
        let digits: String = self.word().chars().filter(|c| *c != '_').collect();
        let value = match digits.strip_prefix("0b") {
            Some(bits) => i64::from_str_radix(bits, 2),
            None => digits.parse(),
        };
        match value {
            Ok(v) => {
                self.bump();
                Ok(v)
            }
            Err(_) => self.fail(Diagnostic::new(
                self.file,
                self.span(),
                "this number does not fit into 64 bits",
                "a smaller number was expected",
            )),
        }
    }

    /// Expressions separated by commas, through the closing symbol.
    pub(super) fn list(&mut self, close: &'static str, what: &str) -> Parse<Vec<Expr>> {
        let mut items = Vec::new();
        loop {
            if self.eat_sym(close) {
                if items.is_empty() {
                    self.pos -= 1;
                    return self.expected(what);
                }
                return Ok(items);
            }
            items.push(self.deeper(|p| p.conditional())?);
            if !self.at_sym(close) {
                self.sym(",", &format!("or `{close}`"))?;
            }
        }
    }

    /// `[ e ]`, if present.
    pub(super) fn bracketed(&mut self) -> Parse<Option<Expr>> {
        if !self.eat_sym("[") {
            return Ok(None);
        }
        let e = self.expr()?;
        self.sym("]", "after the index")?;
        Ok(Some(e))
    }

    /// `( e )`, which the formatter separates from the name before it.
    pub(super) fn count(&mut self, what: &str) -> Parse<Expr> {
        self.marks[self.pos] = Mark::Apart;
        if !self.eat_sym("(") {
            return self.expected(what);
        }
        let e = self.expr()?;
        self.sym(")", "after the count")?;
        Ok(e)
    }

    /// `NAME = e`, separated by commas.
    pub(super) fn bindings(&mut self) -> Parse<Vec<(Ident, Expr)>> {
        let mut all = Vec::new();
        loop {
            let name = self.ident("a name")?;
            self.sym("=", "and a value")?;
            all.push((name, self.expr()?));
            if !self.eat_sym(",") {
                return Ok(all);
            }
        }
    }
}
