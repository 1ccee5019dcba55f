//! Replacement of indices of global tiles that do not shift evenly with the loops.
//!
//! Which tile a slot holds matters only for whether its reader expects this tile. Where a tile `A[job % rows, i]` is
//! loaded and where it is read, equal values of `job` give the same tile, whatever `rows` is. So a quotient or
//! remainder of a linear expression L is replaced by a number that only equal L and equal operators give. Different
//! tiles stay different, so a read that finds its tile here also finds it in the kernel itself.

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Op, Program, Unary, each_mut};

/// Exclusive bound of the linear expressions in runs.
const LINEAR: i64 = 1 << 28;
/// Largest number of distinct chains of operators.
const CHAINS: i64 = 1 << 4;

/// Operators with a constant on one side, outermost first: the operator, the constant, and whether the constant is the
/// right operand.
type Chain = Vec<(Binary, Expr, bool)>;

/// The kernel with such indices replaced.
pub(crate) fn refine(prog: &Program) -> Program {
    let mut refined = prog.clone();
    let mut chains: Vec<Chain> = Vec::new();
    for i in &mut refined.code {
        each_mut(prog, i, &mut |what, e| {
            if let ExprUse::Tile(..) = what {
                linearise(e, &mut chains);
            }
        });
    }
    // The position of a block in its matrix is still checked with the original coordinates.
    for (own, i) in prog.code.iter().zip(&mut refined.code) {
        let (
            Instr::Op { op: Op::Move { src: from, dst: to, .. }, .. },
            Instr::Op { op: Op::Move { src, dst, .. }, .. },
        ) = (own, i)
        else {
            continue;
        };
        for (own, place) in [(from, src), (to, dst)] {
            place.inside = (own.at != place.at).then(|| own.at.clone());
        }
    }
    refined
}

fn linearise(e: &mut Expr, chains: &mut Vec<Chain>) {
    if linear(e) {
        return;
    }
    if let Expr::Binary(Binary::Add | Binary::Sub, p) = e {
        linearise(&mut p.0, chains);
        linearise(&mut p.1, chains);
        return;
    }
    let mut chain = Vec::new();
    let Some(core) = core(e, &mut chain) else { return };
    let index = chains.iter().position(|c| *c == chain).unwrap_or_else(|| {
        chains.push(chain);
        chains.len() - 1
    }) as i64;
    if index < CHAINS {
        let apart = Expr::binary(Binary::Mul, core, Expr::Const(LINEAR * CHAINS));
        *e = Expr::binary(Binary::Add, apart, Expr::Const(LINEAR * index));
    }
}

/// The linear expression inside a chain of operators with constants.
fn core(e: &Expr, chain: &mut Chain) -> Option<Expr> {
    if linear(e) {
        return Some(e.clone());
    }
    let Expr::Binary(o, p) = e else { return None };
    let (inner, c, right) = match (p.0.is_launch_constant(), p.1.is_launch_constant()) {
        (_, true) => (&p.0, &p.1, true),
        (true, _) => (&p.1, &p.0, false),
        _ => return None,
    };
    chain.push((*o, c.clone(), right));
    core(inner, chain)
}

fn linear(e: &Expr) -> bool {
    match e {
        // A constant of the agent, such as the member of a role (`(warp - 4) / 4`), does not change with the loops.
        _ if of_agent(e) => true,
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => true,
        Expr::Unary(Unary::Neg, x) => linear(x),
        Expr::Binary(Binary::Add | Binary::Sub, p) => linear(&p.0) && linear(&p.1),
        Expr::Binary(Binary::Mul, p) => {
            (p.0.constant().is_some() && linear(&p.1)) || (p.1.constant().is_some() && linear(&p.0))
        }
        _ => false,
    }
}

/// Whether an expression depends on the place of the agent only, so that it has one value in all kernels and at all
/// times.
fn of_agent(e: &Expr) -> bool {
    match e {
        Expr::Var(_) | Expr::Param(_) | Expr::Tape(..) => false,
        _ => e.operands().all(of_agent),
    }
}
