//! Loops, conditions, who executes; each operation with its place.

use warpline_sim::ir::{Op, Pc, Who};

use super::Writer;
use crate::tree::Node;
use crate::{Unsupported, expr};

/// Loops of at most this many trips are unrolled: registers with slots are then named by constants.
const UNROLL: i64 = 16;

impl Writer<'_> {
    pub(super) fn nodes(&mut self, nodes: &[Node<'_>]) -> Result<(), Unsupported> {
        nodes.iter().try_for_each(|n| self.node(n))
    }

    fn within(&mut self, head: String, body: &[Node<'_>]) -> Result<(), Unsupported> {
        self.line(head);
        self.indent += 1;
        self.nodes(body)?;
        self.indent -= 1;
        Ok(())
    }

    fn node(&mut self, node: &Node<'_>) -> Result<(), Unsupported> {
        match node {
            Node::Op(pc, op) => self.op(*pc, op),
            Node::Set(v, e) => {
                self.line(format!("{} = {};", expr::variable(self.prog, *v), expr::c(self.prog, e)));
                Ok(())
            }
            Node::Loop { test, body, trips } => {
                self.line(match trips {
                    Some(n) if *n <= UNROLL => "#pragma unroll",
                    _ => "#pragma unroll 1",
                });
                self.within(format!("for (; {};) {{", expr::c(self.prog, test)), body)?;
                self.line("}");
                Ok(())
            }
            Node::If { test, then, otherwise } => {
                self.within(format!("if ({}) {{", expr::c(self.prog, test)), then)?;
                if !otherwise.is_empty() {
                    self.within("} else {".to_string(), otherwise)?;
                }
                self.line("}");
                Ok(())
            }
            Node::Only { who, body } => {
                let was = self.elect;
                let test = match who {
                    Who::Warps(mask) => warps(*mask, self.prog.warps),
                    Who::Cta(e) => format!("rank == {}", expr::c(self.prog, e)),
                    Who::Elected => "lane == 0".to_string(),
                };
                self.elect |= **who == Who::Elected;
                self.within(format!("if ({test}) {{"), body)?;
                self.elect = was;
                self.line("}");
                Ok(())
            }
            Node::End => {
                self.line("goto done;");
                Ok(())
            }
        }
    }

    /// One operation: its text beside it, where the warp is, its time.
    fn op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let site = self.prog.site(pc);
        let text = format!("// {}: {}", site.line, site.text);
        let (was, indent) = (self.out.len(), self.indent);
        self.line(text);
        if !self.reference {
            self.line(format!("{{ wl::before<WARPS>(a, {pc}); wl::Span<WARPS> span(a, {pc});"));
        } else {
            self.line("{");
        }
        let head = self.out.len();
        self.indent += 1;
        match op {
            Op::Move { .. } => self.move_op(pc, op)?,
            Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) => self.math(pc, op)?,
            Op::Put { .. } | Op::Get { .. } => self.mailbox(pc, op)?,
            _ if self.reference => {}
            _ => self.sync(pc, op)?,
        }
        self.indent = indent;
        if self.out.len() == head {
            // The reference does nothing here.
            self.out.truncate(was);
        } else {
            self.line("}");
        }
        Ok(())
    }

    pub(super) fn unsupported<T>(&self, pc: Pc, why: impl Into<String>) -> Result<T, Unsupported> {
        Err(Unsupported::at(self.prog, pc, why))
    }

    /// Lanes that share an operation.
    pub(super) fn lanes(&self) -> u32 {
        if self.elect { 1 } else { 32 }
    }
}

/// A test for the warps of a mask.
fn warps(mask: u64, all: u32) -> String {
    let (from, n) = (mask.trailing_zeros(), mask.count_ones());
    let contiguous = n > 0 && (mask >> from).trailing_ones() == n;
    match (contiguous, n) {
        (true, 1) => format!("warp == {from}"),
        (true, n) if from + n >= all => format!("warp >= {from}"),
        (true, n) if from == 0 => format!("warp < {n}"),
        (true, n) => format!("warp >= {from} && warp < {}", from + n),
        _ => format!("{mask:#x}ull >> warp & 1"),
    }
}
