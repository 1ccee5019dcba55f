//! Statements of the loop's body as text for one step: slices of the source with replaced expressions and slots.

use std::collections::BTreeMap;

use warpline_sim::ir::MoveKind;

use super::expr::Env;
use crate::ast::{Expr, Operation, Place, SelKind, Selector, Span, Stmt, StmtKind};

/// Number of versions of each buffer that has several.
pub(super) type Versions = BTreeMap<String, usize>;

/// A writer of statements for one step.
pub(super) struct Writer<'a> {
    /// The kernel's source.
    pub(super) source: &'a str,
    /// The values of names.
    pub(super) env: Env<'a>,
    /// Slots of the buffers.
    pub(super) versions: &'a Versions,
    /// Whether the kernel needs its own waits between loads into registers and uses in the same block.
    pub(super) manual: bool,
}

/// The places that an operation accesses, as `(place, written)`. An accumulator is read and written.
pub(super) fn places(op: &Operation) -> Vec<(&Place, bool)> {
    match op {
        Operation::Move(m) => vec![(&m.src, false), (&m.dst, true)],
        Operation::Mma { a, b, acc, .. } => vec![(a, false), (b, false), (acc, false), (acc, true)],
        Operation::Alu { uses, dst, .. } => {
            uses.iter().map(|p| (p, false)).chain(dst.iter().map(|p| (p, true))).collect()
        }
        Operation::Zero(p, _) => vec![(p, true)],
        _ => Vec::new(),
    }
}

/// The expressions of an operation outside of its places.
fn loose(op: &Operation) -> Vec<&Expr> {
    match op {
        Operation::Move(m) => m.batch.iter().collect(),
        Operation::Alu { count, times, .. } => std::iter::once(count).chain(times).collect(),
        Operation::Zero(_, Some(ty)) => ty.shape.iter().collect(),
        _ => Vec::new(),
    }
}

fn of_selectors<'e>(sels: &'e [Selector], out: &mut Vec<&'e Expr>) {
    for s in sels {
        match &s.kind {
            SelKind::Part(_, i, n) => out.extend(std::iter::once(i).chain(n)),
            SelKind::Half(e) => out.push(e),
            SelKind::Block(r, c) => out.extend([r, c]),
            SelKind::Digits(_) => {}
        }
    }
}

impl Writer<'_> {
    fn edit(&self, e: &Expr, edits: &mut Vec<(Span, String)>) {
        if self.env.touches(e) {
            let inner = self.env.value(e);
            // The parentheses in the source are part of the span.
            edits.push((e.span.clone(), inner.text()));
        }
    }

    fn place_edits(&self, p: &Place, edits: &mut Vec<(Span, String)>) {
        if let Some(n) = self.versions.get(&p.name.text).filter(|n| **n > 1) {
            let slot = format!("[{}]", self.env.index.slot(*n).text());
            edits.push((p.name.span.end..p.name.span.end, slot));
        }
        let mut all: Vec<&Expr> = p.at.iter().chain(&p.piece).chain(&p.cta).collect();
        of_selectors(&p.sels, &mut all);
        if let Some(t) = &p.tile {
            all.extend(t.member.iter().chain(&t.at));
            of_selectors(&t.sels, &mut all);
        }
        for e in all {
            self.edit(e, edits);
        }
    }

    fn applied(&self, span: &Span, mut edits: Vec<(Span, String)>) -> String {
        edits.sort_by_key(|(s, _)| (s.start, s.end));
        edits.dedup();
        let mut out = String::new();
        let mut at = span.start;
        for (s, text) in edits {
            if s.start < at || s.end > span.end {
                continue;
            }
            out.push_str(&self.source[at..s.start]);
            out.push_str(&text);
            at = s.end;
        }
        out.push_str(&self.source[at..span.end]);
        out
    }

    /// A place at this step, with its tile if it states one.
    pub(super) fn place(&self, p: &Place) -> String {
        let mut edits = Vec::new();
        self.place_edits(p, &mut edits);
        let mut text = self.applied(&p.span, edits.clone());
        if let Some(t) = &p.tile {
            text.push_str(" : ");
            text.push_str(&self.applied(&t.span, edits));
        }
        text
    }

    /// A place without its tile.
    pub(super) fn bare(&self, p: &Place) -> String {
        let mut edits = Vec::new();
        self.place_edits(p, &mut edits);
        self.applied(&p.span, edits)
    }

    /// An expression at this step.
    pub(super) fn expr(&self, e: &Expr) -> String {
        if self.env.touches(e) { self.env.value(e).text() } else { self.source[e.span.clone()].to_string() }
    }

    /// The lines of a statement, each with its level relative to the loop's body.
    pub(super) fn statement(&self, s: &Stmt, level: usize, out: &mut Vec<(usize, String)>) {
        match &s.kind {
            StmtKind::Op(op, _) => {
                let mut edits = Vec::new();
                for (p, _) in places(op) {
                    self.place_edits(p, &mut edits);
                }
                for e in loose(op) {
                    self.edit(e, &mut edits);
                }
                out.push((level, self.applied(&s.span, edits)));
            }
            StmtKind::Staged(p) => self.all(&p.body, level, out),
            StmtKind::If(arms, otherwise) => {
                for (n, arm) in arms.iter().enumerate() {
                    let word = if n == 0 { "if" } else { "else if" };
                    out.push((level, format!("{word} {}:", self.expr(&arm.cond))));
                    self.all(&arm.body, level + 1, out);
                }
                if let Some(body) = otherwise {
                    out.push((level, "else:".to_string()));
                    self.all(body, level + 1, out);
                }
            }
            StmtKind::For(ranges, body) => {
                let ranges: Vec<String> = ranges
                    .iter()
                    .map(|r| {
                        let step = r.step.as_ref().map(|s| format!(" step {}", self.expr(s))).unwrap_or_default();
                        format!("{} in {}..{}{step}", r.var.text, self.expr(&r.from), self.expr(&r.to))
                    })
                    .collect();
                out.push((level, format!("for {}:", ranges.join(", "))));
                self.all(body, level + 1, out);
            }
            _ => {}
        }
    }

    fn all(&self, body: &[Stmt], level: usize, out: &mut Vec<(usize, String)>) {
        // Registers being filled, each with its queue.
        let mut filling: Vec<(&str, &str)> = Vec::new();
        for s in body {
            if let (true, StmtKind::Op(op, _)) = (self.manual, &s.kind) {
                for (p, _) in places(op) {
                    if let Some((_, queue)) = filling.iter().find(|(name, _)| *name == p.name.text) {
                        out.push((level, format!("wait {queue} <= 0")));
                        let done = *queue;
                        filling.retain(|(_, q)| *q != done);
                    }
                }
                if let Operation::Move(m) = op.as_ref() {
                    match m.how {
                        MoveKind::Lds => filling.push((&m.dst.name.text, "lgkm")),
                        MoveKind::Ldg => filling.push((&m.dst.name.text, "vm")),
                        _ => {}
                    }
                }
            }
            self.statement(s, level, out);
        }
    }
}
