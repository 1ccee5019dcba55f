//! Waits of the statements outside the loops, for a kernel that now has its own waits for registers and LDS.

use warpline_sim::ir::MoveKind;

use super::text::places;
use crate::ast::{Operation, Pipelined, Span, Stmt, StmtKind};

/// Operations that have started and that no wait covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Open {
    /// Registers being filled, each with its queue.
    regs: Vec<(String, &'static str)>,
    /// Whether a store to LDS is pending.
    stores: bool,
}

impl Open {
    /// The waits after which nothing is pending.
    pub(super) fn all(&self) -> Vec<String> {
        let has = |queue: &str| self.regs.iter().any(|r| r.1 == queue);
        let mut out = Vec::new();
        if has("vm") {
            out.push("wait vm <= 0".to_string());
        }
        if has("lgkm") || self.stores {
            out.push("wait lgkm <= 0".to_string());
        }
        out
    }

    fn join(&mut self, other: &Open) {
        for r in &other.regs {
            if !self.regs.contains(r) {
                self.regs.push(r.clone());
            }
        }
        self.stores |= other.stores;
    }
}

/// Walks statements in order; `loops` receives the pending operations at each `pipelined` loop.
pub(super) fn settle(body: &[Stmt], open: &mut Open, edits: &mut Vec<(Span, String)>, found: &mut Vec<(Span, Open)>) {
    for s in body {
        match &s.kind {
            StmtKind::Op(op, _) => operation(op, &s.span, open, edits),
            StmtKind::Pipelined(p) => at_loop(p, open, found),
            StmtKind::Block(_, b) => settle(b, open, edits, found),
            StmtKind::For(_, b) | StmtKind::While(_, b) => {
                // A second walk for the operations that one iteration leaves to the next.
                let mut after = open.clone();
                settle(b, &mut after, &mut Vec::new(), &mut Vec::new());
                open.join(&after);
                settle(b, open, edits, found);
            }
            StmtKind::If(arms, other) => {
                let before = open.clone();
                for b in arms.iter().map(|a| &a.body).chain(other) {
                    let mut inside = before.clone();
                    settle(b, &mut inside, edits, found);
                    open.join(&inside);
                }
            }
            _ => {}
        }
    }
}

fn at_loop(p: &Pipelined, open: &mut Open, found: &mut Vec<(Span, Open)>) {
    found.push((p.extent.clone(), open.clone()));
    *open = Open::default();
}

fn operation(op: &Operation, span: &Span, open: &mut Open, edits: &mut Vec<(Span, String)>) {
    let used = |r: &(String, &'static str)| places(op).iter().any(|(p, _)| p.name.text == r.0);
    let mut waits = Vec::new();
    for queue in ["vm", "lgkm"] {
        if open.regs.iter().any(|r| r.1 == queue && used(r)) {
            waits.push(queue);
        }
    }
    if matches!(op, Operation::Barrier(_)) && (open.stores || open.regs.iter().any(|r| r.1 == "lgkm")) {
        waits.push("lgkm");
    }
    if !waits.is_empty() {
        let text: String = waits.iter().map(|q| format!("wait {q} <= 0;  ")).collect();
        edits.push((span.start..span.start, text));
        open.regs.retain(|r| !waits.contains(&r.1));
        open.stores &= !waits.contains(&"lgkm");
    }
    if let Operation::Move(m) = op {
        match m.how {
            MoveKind::Lds => open.regs.push((m.dst.name.text.clone(), "lgkm")),
            MoveKind::Ldg => open.regs.push((m.dst.name.text.clone(), "vm")),
            MoveKind::Sts | MoveKind::Load => open.stores = true,
            _ => {}
        }
    }
}
