//! Lines, blocks and heads.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Binary;

use super::{Parse, Parser};
use crate::ast::{Arm, Head, Pipelined, Range1, Staged, Stmt, StmtKind};
use crate::lex::Kind;

impl Parser<'_> {
    /// One line of statements, with the blocks that belong to it.
    pub(super) fn statement_line(&mut self, out: &mut Vec<Stmt>) {
        self.statements(out);
        match self.kind() {
            Kind::Newline => self.bump(),
            Kind::Dedent | Kind::End => {}
            // A block that belongs to this line has consumed its newline.
            _ if self.pos > 0 && self.kind_at(self.pos - 1) == Kind::Dedent => {}
            _ => {
                let from = self.pos;
                let _: Parse<()> = if self.at_word("else") {
                    let diagnostic = Diagnostic::new(
                        self.file,
                        self.span(),
                        "`else` without an `if`",
                        "there is no open `if` here",
                    )
                    .help("`else` stands on the line of its `if`, or at the indentation of the line the `if` starts");
                    self.fail(diagnostic)
                } else {
                    self.expected("`;` or the end of the line")
                };
                self.recover_line(from);
                if self.kind() == Kind::Newline {
                    self.bump();
                }
            }
        }
        if self.kind() == Kind::Indent {
            self.stray_indent(out);
        }
    }

    /// Reports a deeper line after a line that opens no block, and still parses it.
    pub(super) fn stray_indent(&mut self, out: &mut Vec<Stmt>) {
        let line_start = self.text[..self.span().start].rfind('\n').map_or(0, |p| p + 1);
        let diagnostic = Diagnostic::new(
            self.file,
            line_start..self.span().start,
            "this line is indented deeper, but no block is open",
            "the indentation of the line above was expected",
        )
        .help("a block starts with a head that ends in `:`");
        let _: Parse<()> = self.fail(diagnostic);
        self.bump();
        let done = self.deeper(|p| {
            p.block_lines(out);
            Ok(())
        });
        if done.is_err() {
            self.skip_block();
        }
    }

    /// Lines through the end of the block.
    fn block_lines(&mut self, out: &mut Vec<Stmt>) {
        while !matches!(self.kind(), Kind::Dedent | Kind::End) {
            if self.kind() == Kind::Indent {
                self.stray_indent(out);
            } else {
                self.statement_line(out);
            }
        }
        if self.kind() == Kind::Dedent {
            self.bump();
        }
    }

    /// Skips a block that is nested too deep.
    fn skip_block(&mut self) {
        let mut open = 1usize;
        let from = self.pos;
        while open > 0 && self.kind() != Kind::End {
            match self.kind() {
                Kind::Indent => open += 1,
                Kind::Dedent => open -= 1,
                _ => {}
            }
            self.bump();
        }
        self.skip_names(from, self.pos);
    }

    /// Statements separated by `;`, up to the end of the line or an `else`.
    fn statements(&mut self, out: &mut Vec<Stmt>) {
        loop {
            let from = self.pos;
            match self.statement() {
                Ok(s) => out.push(s),
                Err(_) => {
                    self.recover(from);
                    // The block of a failed head is parsed for its own errors.
                    if self.kind() == Kind::Newline && self.kind_at(self.pos + 1) == Kind::Indent {
                        let span = self.span_at(from);
                        self.bump();
                        self.bump();
                        let mut body = Vec::new();
                        let done = self.deeper(|p| {
                            p.block_lines(&mut body);
                            Ok(())
                        });
                        if done.is_err() {
                            self.skip_block();
                        }
                        out.push(Stmt { kind: StmtKind::Block(Head::Broken, body), span });
                        return;
                    }
                }
            }
            if !self.eat_sym(";") || self.kind() == Kind::Newline {
                return;
            }
        }
    }

    /// The body of a head: the rest of the line, or an indented block.
    fn body(&mut self) -> Parse<Vec<Stmt>> {
        if !self.eat_sym(":") {
            return self.expected("`:` after the head of a block");
        }
        let mut out = Vec::new();
        if self.kind() != Kind::Newline {
            self.deeper(|p| {
                p.statements(&mut out);
                Ok(())
            })?;
            return Ok(out);
        }
        if self.kind_at(self.pos + 1) != Kind::Indent {
            let diagnostic = Diagnostic::new(
                self.file,
                self.span(),
                "this block is empty",
                "statements were expected, here or indented on the next line",
            );
            return self.fail(diagnostic);
        }
        self.bump();
        self.bump();
        let done = self.deeper(|p| {
            p.block_lines(&mut out);
            Ok(())
        });
        if done.is_err() {
            self.skip_block();
        }
        Ok(out)
    }

    fn statement(&mut self) -> Parse<Stmt> {
        let start = self.span().start;
        let first = self.pos;
        let Some(word) = self.name() else {
            return self.expected("a statement");
        };
        // Words are not reserved: `load: elect:` is the block of a role called `load`.
        if self.sym_at(self.pos + 1, ":") && !["else", "if", "while", "for"].contains(&word) {
            let name = self.ident("a name")?;
            let head = match word {
                "all" => Head::All,
                "elect" => Head::Elect,
                _ => Head::Name(name),
            };
            let span = self.since(start);
            return Ok(Stmt { kind: StmtKind::Block(head, self.body()?), span });
        }
        if let Kind::Sym(s @ ("=" | "+=" | "-=")) = self.kind_at(self.pos + 1) {
            let name = self.ident("a name")?;
            self.bump();
            let op = match s {
                "+=" => Some(Binary::Add),
                "-=" => Some(Binary::Sub),
                _ => None,
            };
            let value = self.expr()?;
            return Ok(Stmt { kind: StmtKind::Assign(name, op, value), span: self.since(start) });
        }
        match word {
            "for" => self.for_statement(start),
            "pipelined" if self.word_at(self.pos + 2) == "in" => self.pipelined(start),
            "stage" if self.kind_at(self.pos + 1) == Kind::Int || self.kind_at(self.pos + 1) == Kind::Name => {
                self.staged(start)
            }
            "while" => {
                self.bump();
                let cond = self.expr()?;
                let span = self.since(start);
                Ok(Stmt { kind: StmtKind::While(cond, self.body()?), span })
            }
            "if" => self.if_statement(start, first),
            "warp" | "warps" | "warpgroup" | "warpgroups" if !self.sym_at(self.pos + 1, ".") => {
                let set = self.warp_set()?;
                let span = self.since(start);
                Ok(Stmt { kind: StmtKind::Block(Head::Warps(set), self.body()?), span })
            }
            "let" => {
                self.bump();
                let all = self.bindings()?;
                Ok(Stmt { kind: StmtKind::Let(all), span: self.since(start) })
            }
            "var" => {
                self.bump();
                let name = self.ident("the variable's name")?;
                self.sym("=", "and the variable's first value")?;
                let value = self.expr()?;
                Ok(Stmt { kind: StmtKind::Var(name, value), span: self.since(start) })
            }
            "else" => self.fail(
                Diagnostic::new(self.file, self.span(), "`else` without an `if`", "there is no open `if` here")
                    .help("`else` stands on the line of its `if`, or at the indentation of the line the `if` starts"),
            ),
            _ => {
                let (op, cost) = self.operation_with_cost()?;
                Ok(Stmt { kind: StmtKind::Op(Box::new(op), cost), span: self.since(start) })
            }
        }
    }

    fn range(&mut self) -> Parse<Range1> {
        let var = self.ident("the loop's index")?;
        if !self.eat_word("in") {
            return self.expected("`in` and a range");
        }
        let from = self.expr()?;
        self.sym("..", "and the end, which is not included")?;
        let to = self.expr()?;
        let step = if self.eat_word("step") { Some(self.expr()?) } else { None };
        Ok(Range1 { var, from, to, step })
    }

    /// `pipelined i in 0..tiles stages 3 schedule triton via tma producers 2 guarded:`.
    fn pipelined(&mut self, start: usize) -> Parse<Stmt> {
        self.bump();
        let range = self.range()?;
        let (mut stages, mut schedule, mut via, mut producers, mut form) = (None, None, None, None, None);
        loop {
            match self.name() {
                Some("stages") if stages.is_none() => {
                    self.bump();
                    stages = Some(self.expr()?);
                }
                Some("schedule") if schedule.is_none() => {
                    self.bump();
                    schedule = Some(self.label("the name of a schedule")?);
                }
                Some("via") if via.is_none() => {
                    self.bump();
                    via = Some(self.label("the way the copies go")?);
                }
                Some("producers") if producers.is_none() => {
                    self.bump();
                    producers = Some(self.expr()?);
                }
                Some("unrolled" | "guarded") if form.is_none() => form = Some(self.label("a form")?),
                _ => break,
            }
        }
        let span = self.since(start);
        let body = self.body()?;
        let extent = start..self.last_word();
        let loop_ = Pipelined { range, stages, schedule, via, producers, form, body, extent };
        Ok(Stmt { kind: StmtKind::Pipelined(Box::new(loop_)), span })
    }

    /// The end of the last parsed token that is not layout.
    fn last_word(&self) -> usize {
        let real = |p: &usize| !matches!(self.kind_at(*p), Kind::Newline | Kind::Indent | Kind::Dedent);
        (0..self.pos).rev().find(real).map_or(0, |p| self.span_at(p).end)
    }

    /// `stage 0 order 1 async:`.
    fn staged(&mut self, start: usize) -> Parse<Stmt> {
        self.bump();
        let stage = self.expr()?;
        let order = if self.eat_word("order") { Some(self.expr()?) } else { None };
        let asynchronous = self.eat_word("async");
        let span = self.since(start);
        let body = self.body()?;
        Ok(Stmt { kind: StmtKind::Staged(Box::new(Staged { stage, order, asynchronous, body })), span })
    }

    fn for_statement(&mut self, start: usize) -> Parse<Stmt> {
        self.bump();
        let mut ranges = Vec::new();
        loop {
            ranges.push(self.range()?);
            if !self.eat_sym(",") {
                break;
            }
        }
        let span = self.since(start);
        Ok(Stmt { kind: StmtKind::For(ranges, self.body()?), span })
    }

    fn if_statement(&mut self, start: usize, first: usize) -> Parse<Stmt> {
        // Only an `if` that starts its line can have its `else` on another line.
        let line_start = first == 0 || matches!(self.kind_at(first - 1), Kind::Newline | Kind::Indent | Kind::Dedent);
        let mut arms = Vec::new();
        let mut arm_start = start;
        self.bump();
        loop {
            let cond = self.expr()?;
            let span = self.since(arm_start);
            let body = self.body()?;
            arms.push(Arm { cond, body, span });
            let closed = self.kind_at(self.pos - 1) == Kind::Dedent;
            let other = if closed {
                line_start && self.at_word("else")
            } else if self.kind() == Kind::Newline && line_start && self.kind_at(self.pos + 1) == Kind::Name {
                let yes = self.word_at(self.pos + 1) == "else";
                if yes {
                    self.bump();
                }
                yes
            } else {
                self.at_word("else")
            };
            if !other {
                let span = start..arms[0].span.end;
                return Ok(Stmt { kind: StmtKind::If(arms, None), span });
            }
            arm_start = self.span().start;
            self.bump();
            if self.eat_word("if") {
                continue;
            }
            let otherwise = self.body()?;
            let span = start..arms[0].span.end;
            return Ok(Stmt { kind: StmtKind::If(arms, Some(otherwise)), span });
        }
    }
}
