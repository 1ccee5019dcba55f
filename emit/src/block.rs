//! Loops, conditions, blocks of agents, and operations with their places.

use warpline_sim::ir::{Class, Executors, Op, Pc, Place};

use crate::carried::Carried;
use crate::tree::Node;
use crate::writer::{Target, Writer};
use crate::{Unsupported, expr};

/// Most trips of an unrolled loop; registers with slots are then named by constants.
const UNROLL: i64 = 16;

impl<T: Target> Writer<'_, T> {
    pub(crate) fn nodes(&mut self, nodes: &[Node<'_>]) -> Result<(), Unsupported> {
        nodes.iter().try_for_each(|n| self.node(n))
    }

    fn within(&mut self, head: String, body: &[Node<'_>]) -> Result<(), Unsupported> {
        let known = self.knows();
        self.line(head);
        self.indent += 1;
        self.nodes(body)?;
        self.indent -= 1;
        self.forget(&known);
        Ok(())
    }

    /// A loop after the declarations of what it carries, which are known only when its body is written.
    fn carrying(&mut self, head: String, body: &[Node<'_>]) -> Result<(), Unsupported> {
        let before = std::mem::take(&mut self.out);
        self.loops.get_mut().push(Carried::new(body));
        self.line("#pragma unroll 1");
        self.within(head, body)?;
        let (declared, advanced) = self.loops.get_mut().pop().unwrap_or_default().lines();
        self.indent += 1;
        advanced.iter().for_each(|l| self.line(l));
        self.indent -= 1;
        self.line("}");
        let text = std::mem::replace(&mut self.out, before);
        if declared.is_empty() {
            self.out += &text;
            return Ok(());
        }
        // In a block of its own: a `goto` passes no declaration, and another loop may use the same names.
        self.line("{");
        self.indent += 1;
        declared.iter().for_each(|l| self.line(l));
        self.indent -= 1;
        for line in text.lines() {
            // Directives between nested loops start at the margin.
            let pad = if line.starts_with('#') { "" } else { "    " };
            self.out += &format!("{pad}{line}\n");
        }
        self.line("}");
        Ok(())
    }

    fn node(&mut self, node: &Node<'_>) -> Result<(), Unsupported> {
        match node {
            Node::Op(pc, op) => self.op(*pc, op),
            Node::Set(v, e) => {
                self.line(format!("{} = {};", expr::variable(self.prog, *v), self.c(e)));
                self.learn(*v, e);
                Ok(())
            }
            Node::Loop { test, body, trips } => {
                let unrolled = trips.is_some_and(|n| n <= UNROLL && (T::UNROLLS_ALL || self.names_registers(body)));
                let head = format!("for (; {};) {{", self.c(test));
                if T::CARRIES && !unrolled && !self.reference {
                    return self.carrying(head, body);
                }
                self.line(if unrolled { "#pragma unroll" } else { "#pragma unroll 1" });
                self.within(head, body)?;
                self.line("}");
                Ok(())
            }
            Node::If { test, then, otherwise } => {
                self.within(format!("if ({}) {{", self.c(test)), then)?;
                if !otherwise.is_empty() {
                    self.within("} else {".to_string(), otherwise)?;
                }
                self.line("}");
                Ok(())
            }
            Node::Only { who, body } => {
                let was = self.elect;
                let test = match who {
                    Executors::Warps(mask) => warps(*mask, self.prog.warps),
                    Executors::Cta(e) => format!("rank == {}", self.c(e)),
                    Executors::Elected => "lane == 0".to_string(),
                };
                self.elect |= **who == Executors::Elected;
                self.within(format!("if ({test}) {{"), body)?;
                self.elect = was;
                self.line("}");
                Ok(())
            }
            Node::End => {
                if T::GOTO {
                    self.line("goto done;");
                } else {
                    self.hand_out();
                    self.line("return;");
                }
                Ok(())
            }
        }
    }

    /// Whether a block names a slot or a part of registers by an expression.
    fn names_registers(&self, body: &[Node<'_>]) -> bool {
        let varies = |p: &Place| {
            let parts = p.sel.rows.iter().chain(&p.sel.cols).map(|x| &x.index);
            self.prog.objects[p.obj as usize].class == Class::Reg
                && p.at.iter().chain(parts).any(|e| e.constant().is_none())
        };
        body.iter().any(|n| match n {
            Node::Op(_, Op::Move { src, dst, .. }) => varies(src) || varies(dst),
            Node::Op(_, Op::Mma { a, b, acc, .. }) => varies(a) || varies(b) || varies(acc),
            Node::Op(_, Op::Zero(p)) => varies(p),
            Node::Op(_, Op::Alu { reads, writes, .. }) => reads.iter().chain(writes).any(varies),
            Node::Op(..) | Node::Set(..) | Node::End => false,
            Node::Loop { body, .. } | Node::Only { body, .. } => self.names_registers(body),
            Node::If { then, otherwise, .. } => self.names_registers(then) || self.names_registers(otherwise),
        })
    }

    /// One operation: its text as a comment, the place of the warp, its time.
    fn op(&mut self, pc: Pc, op: &Op) -> Result<(), Unsupported> {
        let site = self.prog.site(pc);
        let text = format!("// {}: {}", site.line, site.text);
        let (was, indent) = (self.out.len(), self.indent);
        self.line(text);
        if !self.reference {
            self.line(T::open(pc));
        } else {
            self.line(T::pass_of(self, op).map_or("{".to_string(), |n| format!("if (common.pass == {n}) {{")));
        }
        let head = self.out.len();
        self.indent += 1;
        match op {
            Op::Move { .. } => self.move_op(pc, op)?,
            Op::Mma { .. } | Op::Alu { .. } | Op::Zero(_) => self.math(pc, op)?,
            Op::Put { .. } | Op::Get { .. } => self.mailbox(pc, op)?,
            _ if self.reference => {}
            _ => T::sync(self, pc, op)?,
        }
        self.indent = indent;
        if self.out.len() == head {
            // The reference does nothing for this operation.
            self.out.truncate(was);
        } else {
            self.line("}");
        }
        Ok(())
    }

    /// Lanes that share an operation.
    pub(crate) fn lanes(&self) -> u32 {
        if self.elect { 1 } else { T::LANES }
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
