//! Indices of global tiles that no shift of the loops carries on, made into ones that it does.
//!
//! Which tile a slot holds matters only in whether it is the one its reader expects. `A[job % rows, i]` where it is loaded
//! and where it is read are the same tile whenever `job` is, whatever `rows` may be. So a quotient or remainder of a
//! linear expression L is replaced by a number that only equal L and equal operators give: tiles that were different
//! stay different, and what is read as expected still is so in the kernel itself.

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Op, Program, Unary, each_mut};

/// Linear parts of the runs stay below this.
const LINEAR: i64 = 1 << 28;
/// Different chains of operators.
const CHAINS: i64 = 1 << 4;

/// Operators with a constant on one side, outermost first: the operator, the constant, whether it stands on the right.
type Chain = Vec<(Binary, Expr, bool)>;

/// Replaces them.
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
    // Where a block begins is held to its matrix by what the text says.
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

/// The linear expression at the end of a chain of operators with constants.
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
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => true,
        Expr::Unary(Unary::Neg, x) => linear(x),
        Expr::Binary(Binary::Add | Binary::Sub, p) => linear(&p.0) && linear(&p.1),
        Expr::Binary(Binary::Mul, p) => {
            (p.0.constant().is_some() && linear(&p.1)) || (p.1.constant().is_some() && linear(&p.0))
        }
        _ => false,
    }
}
