//! Whether two branches make the same steps.

use std::collections::BTreeSet;

use warpline_sim::ir::{Expr, Instr, Op, Pc, Program};

/// Largest number of pairs of places that are compared.
const PAIRS: usize = 500;

/// Whether agents make the same steps from both places on. The steps up to where both ways meet are operations of single
/// agents: who executes an operation together with others is not compared.
pub(super) fn branches(prog: &Program, a: Pc, b: Pc) -> bool {
    let mut seen: BTreeSet<(Pc, Pc)> = BTreeSet::new();
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        let (Some(a), Some(b)) = (next_step(prog, a), next_step(prog, b)) else { return false };
        if a == b || !seen.insert((a, b)) {
            continue;
        }
        if seen.len() > PAIRS {
            return false;
        }
        match (&prog.code[a as usize], &prog.code[b as usize]) {
            (Instr::Op { op: x, cost: c }, Instr::Op { op: y, cost: d }) if x == y && c == d && of_one_agent(x) => {
                open.push((a + 1, b + 1));
            }
            (Instr::Set(v, e), Instr::Set(w, f)) if v == w && e == f => open.push((a + 1, b + 1)),
            (Instr::Unless(e, x), Instr::Unless(f, y)) if e == f => open.extend([(a + 1, b + 1), (*x, *y)]),
            (Instr::Only(e, x), Instr::Only(f, y)) if e == f => open.extend([(a + 1, b + 1), (*x, *y)]),
            _ => return false,
        }
    }
    true
}

/// The first instruction from a place on that is neither a jump nor arithmetic without operands, which has no effect on a
/// state.
fn next_step(prog: &Program, mut pc: Pc) -> Option<Pc> {
    // Each loop has another instruction, its test.
    for _ in 0..=prog.code.len() {
        match prog.code.get(pc as usize)? {
            Instr::Jump(to) => pc = *to,
            Instr::Op { op: Op::Alu { reads, writes, count: Expr::Const(0..), .. }, .. }
                if reads.is_empty() && writes.is_empty() =>
            {
                pc += 1;
            }
            _ => return Some(pc),
        }
    }
    None
}

/// Whether each agent makes the operation for itself.
fn of_one_agent(op: &Op) -> bool {
    matches!(
        op,
        Op::Move { .. } | Op::Alu { .. } | Op::Zero(_) | Op::Wait(..) | Op::MbarWait { .. } | Op::Arrive { .. }
    ) || matches!(op, Op::Expect { .. } | Op::Barrier(_) | Op::Fence(_))
}
