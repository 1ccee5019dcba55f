//! The declarations of a tree, with the range in which each name is visible.

use std::collections::BTreeSet;

use warpline_sim::ir::Class;

use super::{Declaration, DeclarationKind};
use crate::ast::{CounterVerb, DeclKind, Ident, Kernel, Operation, Place, Span, Stmt, StmtKind};

/// The declarations of a kernel whose text has this length in bytes.
pub(super) fn declarations(kernel: &Kernel, length: usize) -> Vec<Declaration> {
    let mut found = Declared { all: Vec::new(), length };
    for p in &kernel.params {
        let end = p.default.as_ref().map_or(p.name.span.end, |e| e.span.end);
        found.header(&p.name, DeclarationKind::Parameter, p.name.span.start..end);
    }
    for d in &kernel.decls {
        found.declaration(&d.kind, &d.span);
    }
    found.body(&kernel.body, length);
    let mut written = BTreeSet::new();
    found.registers(&kernel.body, &mut written);
    found.all
}

struct Declared {
    all: Vec<Declaration>,
    length: usize,
}

impl Declared {
    fn add(&mut self, name: &Ident, kind: DeclarationKind, extent: Span, scope: Span) {
        let (span, name) = (name.span.clone(), name.text.clone());
        self.all.push(Declaration { name, kind, span, extent, scope });
    }

    /// Adds a declaration of the header, which is visible everywhere.
    fn header(&mut self, name: &Ident, kind: DeclarationKind, extent: Span) {
        self.add(name, kind, extent, 0..self.length + 1);
    }

    fn declaration(&mut self, kind: &DeclKind, span: &Span) {
        let (name, kind) = match kind {
            DeclKind::Let(all) => {
                for (name, e) in all {
                    self.header(name, DeclarationKind::Value, name.span.start..e.span.end);
                }
                return;
            }
            DeclKind::Counter(name, _) => (name, DeclarationKind::Counter),
            DeclKind::Memory(m) if m.class == Class::Reg => (&m.name, DeclarationKind::Registers),
            DeclKind::Memory(m) => (&m.name, DeclarationKind::Buffer),
            DeclKind::Mbar(name, ..) => (name, DeclarationKind::Mbarrier),
            DeclKind::Named(name, _) => (name, DeclarationKind::NamedBarrier),
            DeclKind::Role(name, ..) => (name, DeclarationKind::Role),
            DeclKind::Set(name, _) | DeclKind::SetCta(name, _) => (name, DeclarationKind::Set),
            DeclKind::Trips { name, per, run } => {
                if let Some(per) = per {
                    self.add(per, DeclarationKind::Index, per.span.clone(), per.span.start..run.span.end + 1);
                }
                (name, DeclarationKind::TripCount)
            }
            DeclKind::Needs(_)
            | DeclKind::Require(..)
            | DeclKind::Grid(..)
            | DeclKind::Cluster(_)
            | DeclKind::Cooperative
            | DeclKind::Warps(_)
            | DeclKind::Regs(_)
            | DeclKind::Waits(_) => return,
        };
        self.header(name, kind, span.clone());
    }

    /// The variables of a body that ends before `end`.
    fn body(&mut self, body: &[Stmt], end: usize) {
        for (i, s) in body.iter().enumerate() {
            let next = body.get(i + 1).map_or(end, |s| s.span.start);
            let rest = s.span.start..end + 1;
            match &s.kind {
                StmtKind::Let(all) => {
                    for (name, _) in all {
                        self.add(name, DeclarationKind::Variable, s.span.clone(), rest.clone());
                    }
                }
                StmtKind::Var(name, _) => self.add(name, DeclarationKind::Variable, s.span.clone(), rest),
                StmtKind::Op(op, _) => {
                    if let Some(name) = variable(op)
                        && !self.all.iter().any(|d| d.name == name.text && d.scope.contains(&name.span.start))
                    {
                        self.add(name, DeclarationKind::Variable, s.span.clone(), rest);
                    }
                }
                StmtKind::For(ranges, inner) => {
                    for r in ranges {
                        let scope = s.span.start..next;
                        self.add(&r.var, DeclarationKind::Index, s.span.clone(), scope);
                    }
                    self.body(inner, next);
                }
                StmtKind::Pipelined(p) => {
                    self.add(&p.range.var, DeclarationKind::Index, s.span.clone(), s.span.start..next);
                    self.body(&p.body, next);
                }
                StmtKind::If(arms, otherwise) => {
                    let other = otherwise.as_ref().and_then(|o| o.first()).map_or(next, |s| s.span.start);
                    for (k, arm) in arms.iter().enumerate() {
                        self.body(&arm.body, arms.get(k + 1).map_or(other, |a| a.span.start));
                    }
                    self.body(otherwise.as_deref().unwrap_or_default(), next);
                }
                StmtKind::Block(_, inner) | StmtKind::While(_, inner) => self.body(inner, next),
                StmtKind::Staged(staged) => self.body(&staged.body, next),
                StmtKind::Assign(..) => {}
            }
        }
    }

    /// Registers that a statement writes and no declaration names: the first such statement declares them.
    fn registers(&mut self, body: &[Stmt], written: &mut BTreeSet<String>) {
        for s in body {
            if let StmtKind::Op(op, _) = &s.kind
                && let Some(place) = destination(op)
                && !self.all.iter().any(|d| d.name == place.name.text)
                && written.insert(place.name.text.clone())
            {
                self.header(&place.name, DeclarationKind::Registers, s.span.clone());
            }
            for inner in inner(s) {
                self.registers(inner, written);
            }
        }
    }
}

/// The bodies inside a statement.
pub(super) fn inner(s: &Stmt) -> Vec<&[Stmt]> {
    match &s.kind {
        StmtKind::Block(_, b) | StmtKind::For(_, b) | StmtKind::While(_, b) => vec![b],
        StmtKind::If(arms, otherwise) => arms.iter().map(|a| a.body.as_slice()).chain(otherwise.as_deref()).collect(),
        StmtKind::Pipelined(p) => vec![&p.body],
        StmtKind::Staged(staged) => vec![&staged.body],
        StmtKind::Let(_) | StmtKind::Var(..) | StmtKind::Assign(..) | StmtKind::Op(..) => Vec::new(),
    }
}

/// The variable that an operation writes.
fn variable(op: &Operation) -> Option<&Ident> {
    match op {
        Operation::Get { var, .. } => Some(var),
        Operation::Counter(c) => match &c.verb {
            CounterVerb::Fetch(_, var) | CounterVerb::Load(var) => Some(var),
            CounterVerb::Add(_) | CounterVerb::Set(_) | CounterVerb::Wait(..) => None,
        },
        _ => None,
    }
}

/// The place that an operation writes.
fn destination(op: &Operation) -> Option<&Place> {
    match op {
        Operation::Move(m) => Some(&m.dst),
        Operation::Mma { acc, .. } => Some(acc),
        Operation::Alu { dst, .. } => dst.as_ref(),
        Operation::Zero(place, _) => Some(place),
        _ => None,
    }
}
