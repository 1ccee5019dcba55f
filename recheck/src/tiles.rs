//! Tiles by number, for the lockstep comparison. Which tile a slot holds matters only for whether its reader expects
//! this tile.
//!
//! A coordinate such as `job % rows` does not shift evenly with more jobs, but equal jobs give equal coordinates. Take
//! an operator other than a sum, applied to a linear expression `x` and a constant. Its result is replaced by a number
//! that differs for each `x` and for each chain of operators. Tiles that are equal by these numbers are equal in the
//! kernel itself. So a read that finds its tile in the compared runs finds it in the kernel. Whether a block lies in
//! its matrix is still decided by the kernel's own coordinates ([`warpline_sim::ir::Place::inside`]).

use warpline_sim::ir::{Binary, Expr, ExprUse, Instr, Op, Program, Unary, each_mut};

/// Exclusive bound of linear expressions.
const SPAN: i64 = 1 << 28;
/// Largest number of distinct chains of operators.
const CHAINS: usize = 16;

/// Operators from the outermost to the innermost, each with its constant and whether the constant is the right operand.
type Chain = Vec<(Binary, Expr, bool)>;

/// The kernel with numbers in place of such coordinates.
pub(crate) fn numbered(prog: &Program) -> Program {
    let mut out = prog.clone();
    let mut chains: Vec<Chain> = Vec::new();
    for (own, i) in prog.code.iter().zip(&mut out.code) {
        each_mut(prog, i, &mut |what, e| {
            if matches!(what, ExprUse::Tile(..)) {
                *e = number(e, &mut chains);
            }
        });
        if let (
            Instr::Op { op: Op::Move { src: a, dst: b, .. }, .. },
            Instr::Op { op: Op::Move { src, dst, .. }, .. },
        ) = (own, i)
        {
            for (own, place) in [(a, src), (b, dst)] {
                if own.at != place.at {
                    place.inside = Some(own.at.clone());
                }
            }
        }
    }
    out
}

fn number(e: &Expr, chains: &mut Vec<Chain>) -> Expr {
    match e {
        _ if linear(e) => e.clone(),
        Expr::Binary(op @ (Binary::Add | Binary::Sub), p) => {
            let (x, y) = (number(&p.0, chains), number(&p.1, chains));
            Expr::Binary(*op, Box::new((x, y)))
        }
        _ => {
            let mut chain = Chain::new();
            let Some(x) = innermost(e, &mut chain) else { return e.clone() };
            let known = chains.iter().position(|c| *c == chain);
            let index = known.unwrap_or_else(|| {
                chains.push(chain);
                chains.len() - 1
            });
            if index >= CHAINS {
                return e.clone();
            }
            let apart = Expr::binary(Binary::Mul, x.clone(), Expr::Const(SPAN * CHAINS as i64));
            Expr::binary(Binary::Add, apart, Expr::Const(SPAN * index as i64))
        }
    }
}

/// The linear expression inside a chain of operators with constants.
fn innermost<'e>(e: &'e Expr, chain: &mut Chain) -> Option<&'e Expr> {
    if linear(e) {
        return Some(e);
    }
    let Expr::Binary(op, p) = e else { return None };
    let (x, constant, right) = match (&p.0, &p.1) {
        (x, c) if c.is_launch_constant() => (x, c, true),
        (c, x) if c.is_launch_constant() => (x, c, false),
        _ => return None,
    };
    chain.push((*op, constant.clone(), right));
    innermost(x, chain)
}

fn linear(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => true,
        Expr::Unary(Unary::Neg, x) => linear(x),
        Expr::Binary(Binary::Add | Binary::Sub, p) => linear(&p.0) && linear(&p.1),
        Expr::Binary(Binary::Mul, p) => {
            let constant = |e: &Expr| matches!(e, Expr::Const(_));
            (constant(&p.0) && linear(&p.1)) || (constant(&p.1) && linear(&p.0))
        }
        _ => false,
    }
}
