//! Blocks from flat code: loops, conditions, who executes.

use warpline_sim::ir::{Executors, Expr, Instr, Op, Pc, Program, VarId};

/// A statement of the source text.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    /// An operation, with its instruction.
    Op(Pc, &'a Op),
    /// An assignment.
    Set(VarId, &'a Expr),
    /// A loop that tests first. `trips` is its trip count if known at load.
    Loop { test: &'a Expr, body: Vec<Node<'a>>, trips: Option<i64> },
    /// A condition.
    If { test: &'a Expr, then: Vec<Node<'a>>, otherwise: Vec<Node<'a>> },
    /// A block of some of the agents.
    Only { who: &'a Executors, body: Vec<Node<'a>> },
    /// The agent ends.
    End,
}

/// The whole code of a kernel.
pub(crate) fn tree(prog: &Program) -> Vec<Node<'_>> {
    let end = prog.code.len().saturating_sub(matches!(prog.code.last(), Some(Instr::End)) as usize);
    block(prog, 0, end)
}

/// The instructions from `pc` up to `end`. The lowering makes loops, conditions and blocks in one way only
/// (`scenarios/src/lower/stmt.rs`), which this function recognizes.
fn block(prog: &Program, mut pc: usize, end: usize) -> Vec<Node<'_>> {
    let mut out = Vec::new();
    while pc < end {
        match &prog.code[pc] {
            Instr::Op { op, .. } => out.push(Node::Op(pc as Pc, op)),
            Instr::Set(v, e) => out.push(Node::Set(*v, e)),
            Instr::End => out.push(Node::End),
            // The end of an arm whose `else` was folded away.
            Instr::Jump(_) => {}
            Instr::Only(who, to) => {
                let to = (*to as usize).min(end);
                out.push(Node::Only { who, body: block(prog, pc + 1, to) });
                pc = to;
                continue;
            }
            Instr::Unless(test, to) => {
                if let Some(l) = prog.loops.iter().find(|l| l.head as usize == pc) {
                    let last = (l.end as usize).min(end);
                    out.push(Node::Loop {
                        test,
                        body: block(prog, pc + 1, last - 1),
                        trips: trips(prog, pc, l.bound.as_ref()),
                    });
                    pc = last;
                    continue;
                }
                let to = (*to as usize).min(end);
                // An arm that ends with a jump forward has an `else`.
                let over = match &prog.code[to - 1] {
                    Instr::Jump(over) if to - 1 > pc && *over as usize >= to => Some((*over as usize).min(end)),
                    _ => None,
                };
                let then = block(prog, pc + 1, if over.is_some() { to - 1 } else { to });
                let otherwise = over.map_or_else(Vec::new, |over| block(prog, to, over));
                out.push(Node::If { test, then, otherwise });
                pc = over.unwrap_or(to);
                continue;
            }
        }
        pc += 1;
    }
    out
}

/// Trips of a `for` whose bounds are constants.
fn trips(prog: &Program, head: usize, bound: Option<&Expr>) -> Option<i64> {
    let to = bound?.constant()?;
    match prog.code.get(head.checked_sub(1)?)? {
        Instr::Set(_, from) => Some((to - from.constant()?).max(0)),
        _ => None,
    }
}
