//! The effects of the statements of a `pipelined` loop: their reads and writes on chip, and which of them copy.

use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Class, MmaKind, MoveKind, Program};

use super::text::places;
use crate::ast::{Expr, Operation, Pipelined, Place, SelKind, Span, Stmt, StmtKind};

/// One access of a statement to a buffer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Touch {
    /// The buffer.
    pub(super) buffer: String,
    /// The piece (`.0`, `.1`), where the text names one by digits. Different pieces never overlap.
    pub(super) piece: Option<String>,
    /// Whether the access writes; else it reads.
    pub(super) write: bool,
    /// Whether the warps share the buffer; else it is a register of each warp.
    pub(super) shared: bool,
}

impl Touch {
    /// Whether both accesses can touch the same bytes.
    pub(super) fn meets(&self, other: &Touch) -> bool {
        let apart = matches!((&self.piece, &other.piece), (Some(a), Some(b)) if a != b);
        self.buffer == other.buffer && !apart
    }

    /// Whether the accesses overlap and at least one of them writes.
    pub(super) fn conflicts(&self, other: &Touch) -> bool {
        self.meets(other) && (self.write || other.write)
    }
}

/// Statements that are scheduled as one unit.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The statement.
    pub(super) stmt: Stmt,
    /// Accesses on chip, in order.
    pub(super) touches: Vec<Touch>,
    /// Whether it is a copy from global to shared memory and nothing else.
    pub(super) copies: bool,
    /// Whether it converts on the way (`via dequant`), which no copy engine can do.
    pub(super) converts: bool,
    /// Whether an `if` guards it, so that the number of its executions is unknown.
    pub(super) conditional: bool,
    /// Stage, order and asynchrony, if the text gives them.
    pub(super) given: Option<(i64, Option<i64>, bool)>,
}

/// The body of a loop.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// The statements without `let`s.
    pub(super) units: Vec<Unit>,
    /// The `let`s.
    pub(super) lets: BTreeMap<String, Expr>,
}

/// Analyzes the body of a loop.
pub(super) fn body(
    file: &str,
    p: &Pipelined,
    staged: &[(Option<i64>, Option<i64>)],
    program: &Program,
) -> Result<Body, Vec<Diagnostic>> {
    let mut r = Reader { file, program, errors: Vec::new() };
    let mut out = Body { units: Vec::new(), lets: BTreeMap::new() };
    let mut notes = staged.iter();
    for s in &p.body {
        match &s.kind {
            StmtKind::Let(all) => out.lets.extend(all.iter().map(|(n, e)| (n.text.clone(), e.clone()))),
            StmtKind::Staged(staged) => {
                let given = notes.next().and_then(|(stage, order)| Some(((*stage)?, *order, staged.asynchronous)));
                out.units.push(r.unit(s, given));
            }
            _ => out.units.push(r.unit(s, None)),
        }
    }
    let noted = out.units.iter().filter(|u| u.given.is_some()).count();
    if noted != 0 && noted != out.units.len() {
        let bare = out.units.iter().find(|u| u.given.is_none()).map_or(0..0, |u| u.stmt.span.clone());
        r.refuse(&bare, "this statement has no stage, and others have", "`stage e order e:` was expected before it");
    }
    if out.units.is_empty() && r.errors.is_empty() {
        r.refuse(&p.range.var.span, "this loop has no statements to schedule", "only `let`s stand in it");
    }
    if r.errors.is_empty() { Ok(out) } else { Err(r.errors) }
}

struct Reader<'a> {
    file: &'a str,
    program: &'a Program,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn refuse(&mut self, span: &Span, message: &str, label: &str) {
        self.errors.push(Diagnostic::new(self.file, span.clone(), message, label));
    }

    fn unit(&mut self, s: &Stmt, given: Option<(i64, Option<i64>, bool)>) -> Unit {
        let mut u =
            Unit { stmt: s.clone(), touches: Vec::new(), copies: true, converts: false, conditional: false, given };
        self.visit(s, &mut u);
        u.copies &= u.touches.iter().any(|t| t.write && t.shared);
        u
    }

    fn visit(&mut self, s: &Stmt, u: &mut Unit) {
        match &s.kind {
            StmtKind::Op(op, _) => self.operation(op, &s.span, u),
            StmtKind::Staged(p) => p.body.iter().for_each(|s| self.visit(s, u)),
            StmtKind::If(arms, otherwise) => {
                u.conditional = true;
                for s in arms.iter().flat_map(|a| &a.body).chain(otherwise.iter().flatten()) {
                    self.visit(s, u);
                }
            }
            StmtKind::For(_, body) => body.iter().for_each(|s| self.visit(s, u)),
            StmtKind::Pipelined(_) => {
                self.refuse(&s.span, "a `pipelined` loop inside another", "only one was expected")
            }
            _ => self.refuse(
                &s.span,
                "a `pipelined` loop has no such statement",
                "a move, a product, `alu`, `zero`, `let`, `if` or `for` was expected",
            ),
        }
    }

    fn operation(&mut self, op: &Operation, span: &Span, u: &mut Unit) {
        match op {
            Operation::Move(m)
                if matches!(
                    m.how,
                    MoveKind::Load | MoveKind::Ldg | MoveKind::Sts | MoveKind::Lds | MoveKind::Store
                ) =>
            {
                u.copies &= m.how == MoveKind::Load;
                u.converts |= m.dequant;
            }
            Operation::Mma { kind: MmaKind::Warp, .. } | Operation::Alu { .. } | Operation::Zero(..) => {
                u.copies = false
            }
            Operation::Mma { kind: MmaKind::Umma | MmaKind::UmmaPair, .. } => {
                let d = Diagnostic::new(
                    self.file,
                    span.clone(),
                    "a `pipelined` loop is not lowered to tcgen05",
                    "`mma` was expected here",
                );
                self.errors.push(d.help(
                    "with `mma` the products stay in registers; for `umma` and tensor memory write the roles by hand, as \
                     blackwell/level2_2sm does",
                ));
            }
            _ => {
                let message =
                    "a `pipelined` loop is written plainly: the pass chooses what is asynchronous, and who waits";
                let label = "`load`, `ldg`, `lds`, `sts`, `store`, `mma`, `alu` or `zero` was expected";
                self.refuse(span, message, label);
            }
        }
        for (p, write) in places(op) {
            if let Some(t) = self.touch(p, write) {
                u.touches.push(t);
            }
        }
    }

    fn touch(&mut self, p: &Place, write: bool) -> Option<Touch> {
        let object = self.program.objects.iter().find(|o| o.name == p.name.text)?;
        if object.class == Class::Global {
            return None;
        }
        let piece = match p.sels.first().map(|s| &s.kind) {
            Some(SelKind::Digits(d)) => Some(d.clone()),
            _ => None,
        };
        Some(Touch { buffer: p.name.text.clone(), piece, write, shared: object.class == Class::Shared })
    }
}
