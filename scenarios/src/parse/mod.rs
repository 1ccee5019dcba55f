//! Recursive descent from tokens to the tree, with recovery at the end of every statement.
//!
//! ```text
//! mod.rs    the parser's state, kernels, parameters, recovery
//! expr.rs   expressions          decl.rs  declarations
//! stmt.rs   blocks and lines     op.rs, sync.rs  operations     place.rs  operands
//! ```
//!
//! A production that fails has recorded its message and returns [`Failed`]. Its statement is skipped, and every name in
//! the skipped text counts as possibly declared there. So one mistake does not cause a series of unknown names.

mod decl;
mod expr;
mod op;
mod place;
mod stmt;
mod sync;

use std::collections::BTreeSet;

use warpline_sim::diag::Diagnostic;

use crate::ast::{Expr, Ident, Kernel, Param, Span};
use crate::lex::{Comment, Kind, Token, lex};

/// A production failed and has recorded its message.
#[derive(Debug)]
pub(crate) struct Failed;

/// The result of a production.
pub(crate) type Parse<T> = Result<T, Failed>;

/// The spacing of a token, where it differs from the usual; the parser sets it for the formatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The usual spacing.
    Plain,
    /// A sign: no space after it.
    Sign,
    /// A colon with space on both sides: a tile, a version, the second half of `?:`.
    WideColon,
    /// A parenthesis that starts no argument list: space before it.
    Apart,
    /// First token of a declaration after another one on the same line.
    NextDecl,
}

/// A parsed text.
pub(crate) struct Parsed {
    /// The tree, without statements that have errors.
    pub kernel: Option<Kernel>,
    /// Errors.
    pub errors: Vec<Diagnostic>,
    /// Names in the skipped text.
    pub skipped: BTreeSet<String>,
    /// The tokens.
    pub tokens: Vec<Token>,
    /// A mark for each token.
    pub marks: Vec<Mark>,
    /// Whether each token is read as the name of a declaration; also a name in the skipped text, which may be one.
    pub names: Vec<bool>,
    /// The comments.
    pub comments: Vec<Comment>,
}

/// Parses a text.
pub(crate) fn parse(file: &str, text: &str) -> Parsed {
    let (mut p, comments) = Parser::new(file, text);
    let kernel = p.kernel().ok();
    if kernel.is_none() {
        p.skip_names(0, p.tokens.len());
    }
    Parsed { kernel, errors: p.errors, skipped: p.skipped, tokens: p.tokens, marks: p.marks, names: p.names, comments }
}

/// Parses a text that is one expression.
pub(crate) fn expression(file: &str, text: &str) -> Result<Expr, Vec<Diagnostic>> {
    let (mut p, _) = Parser::new(file, text);
    let read = p.expr().and_then(|e| {
        while p.kind() == Kind::Newline {
            p.bump();
        }
        if p.kind() == Kind::End { Ok(e) } else { p.expected("the end of the expression") }
    });
    match read {
        Ok(e) if p.errors.is_empty() => Ok(e),
        _ => Err(p.errors),
    }
}

/// Largest nesting of blocks, heads and parentheses.
const DEPTH: usize = 64;

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    tokens: Vec<Token>,
    marks: Vec<Mark>,
    names: Vec<bool>,
    pos: usize,
    errors: Vec<Diagnostic>,
    skipped: BTreeSet<String>,
    depth: usize,
    /// Number of nodes of the current expression; bounds the depth of the tree.
    nodes: usize,
}

impl<'a> Parser<'a> {
    fn new(file: &'a str, text: &'a str) -> (Parser<'a>, Vec<Comment>) {
        let lexed = lex(file, text);
        let marks = vec![Mark::Plain; lexed.tokens.len()];
        let names = vec![false; lexed.tokens.len()];
        let p = Parser {
            file,
            text,
            tokens: lexed.tokens,
            marks,
            names,
            pos: 0,
            errors: lexed.errors,
            skipped: BTreeSet::new(),
            depth: 0,
            nodes: 0,
        };
        (p, lexed.comments)
    }

    fn kind_at(&self, pos: usize) -> Kind {
        self.tokens[pos.min(self.tokens.len() - 1)].kind
    }

    fn kind(&self) -> Kind {
        self.kind_at(self.pos)
    }

    fn span_at(&self, pos: usize) -> Span {
        self.tokens[pos.min(self.tokens.len() - 1)].span.clone()
    }

    fn span(&self) -> Span {
        self.span_at(self.pos)
    }

    fn word_at(&self, pos: usize) -> &'a str {
        &self.text[self.span_at(pos)]
    }

    fn word(&self) -> &'a str {
        self.word_at(self.pos)
    }

    /// The current token's text, if it is a name.
    fn name(&self) -> Option<&'a str> {
        (self.kind() == Kind::Name).then(|| self.word())
    }

    fn at_sym(&self, s: &str) -> bool {
        self.sym_at(self.pos, s)
    }

    fn sym_at(&self, pos: usize, s: &str) -> bool {
        matches!(self.kind_at(pos), Kind::Sym(t) if t == s)
    }

    fn at_word(&self, w: &str) -> bool {
        self.name() == Some(w)
    }

    /// Whether this token touches the previous one.
    fn glued(&self, pos: usize) -> bool {
        pos > 0 && self.span_at(pos).start == self.span_at(pos - 1).end
    }

    fn bump(&mut self) {
        if self.kind() != Kind::End {
            self.pos += 1;
        }
    }

    fn eat_sym(&mut self, s: &str) -> bool {
        let yes = self.at_sym(s);
        if yes {
            self.bump();
        }
        yes
    }

    fn eat_word(&mut self, w: &str) -> bool {
        let yes = self.at_word(w);
        if yes {
            self.bump();
        }
        yes
    }

    fn sym(&mut self, s: &'static str, after: &str) -> Parse<()> {
        if self.eat_sym(s) { Ok(()) } else { self.expected(&format!("`{s}` {after}")) }
    }

    /// The name of a declaration.
    fn ident(&mut self, what: &str) -> Parse<Ident> {
        let at = self.pos;
        let ident = self.label(what)?;
        self.names[at] = true;
        Ok(ident)
    }

    /// A name that no declaration of the kernel gives: a unit, a machine line, a part of `cta.m`.
    fn label(&mut self, what: &str) -> Parse<Ident> {
        match self.name() {
            Some(text) => {
                let ident = Ident { text: text.into(), span: self.span() };
                self.bump();
                Ok(ident)
            }
            None => self.expected(what),
        }
    }

    /// The current token, in words.
    fn found(&self) -> String {
        match self.kind() {
            Kind::Newline => "the end of the line".into(),
            Kind::Indent => "a deeper line".into(),
            Kind::Dedent => "the end of the block".into(),
            Kind::End => "the end of the file".into(),
            _ => format!("`{}`", self.word()),
        }
    }

    /// Reports that something else was expected here.
    fn expected<T>(&mut self, what: &str) -> Parse<T> {
        self.expected_with(what, None)
    }

    fn expected_with<T>(&mut self, what: &str, help: Option<&str>) -> Parse<T> {
        let message = format!("expected {what}, found {}", self.found());
        let label = format!("{what} was expected here");
        let d = Diagnostic::new(self.file, self.span(), message, label);
        self.fail(Diagnostic { help: help.map(String::from), ..d })
    }

    /// Reports an error, unless the lexer has already reported one on this line.
    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parse<T> {
        let line = |at: usize| self.text[..at.min(self.text.len())].matches('\n').count();
        let here = line(diagnostic.span.start);
        if !self.errors.iter().any(|e| line(e.span.start) == here) {
            self.errors.push(diagnostic);
        }
        Err(Failed)
    }

    /// Limits the recursion.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEPTH {
            let message = format!("more than {DEPTH} blocks or parentheses inside one another");
            return self.fail(
                Diagnostic::new(self.file, self.span(), message, "the innermost starts here")
                    .help("name a part of it with `let`, or use fewer blocks"),
            );
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn skip_names(&mut self, from: usize, to: usize) {
        for pos in from..to {
            if self.kind_at(pos) == Kind::Name {
                let word = self.word_at(pos).to_string();
                self.skipped.insert(word);
                self.names[pos] = true;
            }
        }
    }

    /// Skips to the end of the statement: `;` (not consumed) or the end of the line.
    fn recover(&mut self, from: usize) {
        while !matches!(self.kind(), Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End) && !self.at_sym(";") {
            self.bump();
        }
        self.skip_names(from, self.pos);
    }

    /// Skips the rest of the line, without its newline.
    fn recover_line(&mut self, from: usize) {
        while !matches!(self.kind(), Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End) {
            self.bump();
        }
        self.skip_names(from, self.pos);
    }

    fn kernel(&mut self) -> Parse<Kernel> {
        if self.kind() == Kind::Indent {
            return self.expected("`kernel NAME(...)` at the start of a line");
        }
        if !self.eat_word("kernel") {
            let span = self.span();
            let message = format!("expected `kernel`, found {}", self.found());
            return self.fail(
                Diagnostic::new(self.file, span, message, "`kernel NAME(...)` was expected here")
                    .help("a kernel file starts with a line like `kernel gemm(m, n, k, stages = 3)`"),
            );
        }
        let name = self.ident("the kernel's name")?;
        self.sym("(", "and the parameters")?;
        let mut params = Vec::new();
        while !self.at_sym(")") {
            let name = self.ident("a parameter's name or `)`")?;
            let default = if self.eat_sym("=") { Some(self.expr()?) } else { None };
            params.push(Param { name, default });
            if !self.at_sym(")") {
                self.sym(",", "or `)`")?;
            }
        }
        self.sym(")", "after the parameters")?;
        if self.kind() != Kind::Newline {
            self.expected("the end of the line")?;
        }
        self.bump();
        if self.kind() != Kind::Indent {
            return self.expected("the kernel's declarations, indented by two spaces,");
        }
        self.bump();
        let mut kernel = Kernel { name, params, decls: Vec::new(), body: Vec::new() };
        self.kernel_body(&mut kernel);
        if self.kind() == Kind::Dedent {
            self.bump();
        }
        if self.kind() != Kind::End {
            let span = self.span();
            let message = format!("{} stands outside the kernel", self.found());
            let diagnostic = Diagnostic::new(self.file, span, message, "the end of the file was expected here")
                .help("one kernel a file; indent the line by two spaces if it belongs to the kernel");
            let _: Parse<()> = self.fail(diagnostic);
            self.skip_names(self.pos, self.tokens.len());
        }
        Ok(kernel)
    }
}
