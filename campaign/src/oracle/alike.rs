//! CTAs that make the same run.
//!
//! The code of a CTA is the kernel with the coordinates of the CTA as numbers, folded and without dead code. CTAs of
//! equal code make equal runs, so one run is enough. A tile's row stays `cta.m` where all rows of all tiles are
//! `cta.m`: then the runs differ only in the name of this row.

use warpline_sim::ir::{Binary, Env, Expr, ExprUse, Instr, Program, each, each_mut};

/// The coordinates of a CTA.
#[derive(Clone, Copy, Debug)]
struct Coordinates {
    id: i64,
    m: i64,
    n: i64,
    z: i64,
}

/// The code of CTAs that have run.
pub(super) struct Alike<'p> {
    prog: &'p Program,
    /// Whether rows of tiles stay `cta.m`.
    named_rows: bool,
    /// Whether CTAs can be compared at all.
    comparable: bool,
    /// Code of CTAs, with whether several schedules have run.
    seen: Vec<(Vec<Instr>, bool)>,
}

impl<'p> Alike<'p> {
    pub(super) fn new(prog: &'p Program) -> Alike<'p> {
        let fixed_tapes = prog.tapes.iter().all(|t| t.run.constant().is_some());
        let comparable = prog.cluster == 1 && prog.symbols.is_empty() && !prog.hands_out() && fixed_tapes;
        let mut named_rows = true;
        for i in &prog.code {
            each(prog, i, &mut |of, e| named_rows &= !row(of) || *e == Expr::Env(Env::CtaM));
        }
        Alike { prog, named_rows, comparable, seen: Vec::new() }
    }

    /// Whether a CTA of the same code has run: under several schedules, if `many` asks for these. The CTA counts as run
    /// from now on.
    pub(super) fn has_run(&mut self, cluster: i64, many: bool) -> bool {
        if !self.comparable {
            return false;
        }
        let code = self.code_of(cluster);
        match self.seen.iter_mut().find(|(seen, _)| *seen == code) {
            Some((_, seen)) => std::mem::replace(seen, *seen || many) || !many,
            None => {
                self.seen.push((code, many));
                false
            }
        }
    }

    /// The code of a CTA.
    fn code_of(&self, cluster: i64) -> Vec<Instr> {
        let (m, n, z) = self.prog.grid.at(cluster);
        let at = Coordinates { id: cluster, m, n, z };
        let mut code = self.prog.code.clone();
        for i in &mut code {
            each_mut(self.prog, i, &mut |of, e| {
                if !(self.named_rows && row(of)) {
                    *e = folded(e, at);
                }
            });
        }
        for (next, i) in (1..).zip(&mut code) {
            if let Instr::Unless(Expr::Const(c), to) = i {
                *i = Instr::Jump(if *c == 0 { *to } else { next });
            }
        }
        let reached = reached(&code);
        code.iter_mut().zip(reached).filter(|(_, reached)| !reached).for_each(|(i, _)| *i = Instr::End);
        code
    }
}

/// Whether an expression is the row of a tile.
fn row(of: ExprUse) -> bool {
    matches!(of, ExprUse::Tile(_, 0))
}

/// For each instruction, whether a path of the code leads there.
fn reached(code: &[Instr]) -> Vec<bool> {
    let mut reached = vec![false; code.len()];
    let mut open = vec![0];
    while let Some(pc) = open.pop() {
        if reached.get(pc).is_none_or(|reached| *reached) {
            continue;
        }
        reached[pc] = true;
        open.extend(code[pc].target().map(|to| to as usize));
        if !matches!(code[pc], Instr::Jump(_) | Instr::End) {
            open.push(pc + 1);
        }
    }
    reached
}

/// The expression with the coordinates of a CTA as numbers.
fn folded(e: &Expr, at: Coordinates) -> Expr {
    let fold = |e: &Expr| folded(e, at);
    match e {
        Expr::Env(Env::CtaM | Env::ClusterM) => Expr::Const(at.m),
        Expr::Env(Env::CtaN | Env::ClusterN) => Expr::Const(at.n),
        Expr::Env(Env::CtaZ) => Expr::Const(at.z),
        Expr::Env(Env::CtaId | Env::ClusterId) => Expr::Const(at.id),
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => e.clone(),
        Expr::Unary(op, x) => Expr::unary(*op, fold(x)),
        Expr::Binary(op, p) => decided(*op, fold(&p.0), fold(&p.1)),
        Expr::If(p) => Expr::cond(fold(&p.0), fold(&p.1), fold(&p.2)),
        Expr::Tape(t, x) => Expr::Tape(*t, Box::new(fold(x))),
    }
}

/// A two-operand expression, also folded where one operand alone decides it.
fn decided(op: Binary, a: Expr, b: Expr) -> Expr {
    let by = |x: &Expr, other: &Expr| match (op, x.constant()?) {
        (Binary::And | Binary::Mul, 0) if has_value(other) => Some(Expr::Const(0)),
        (Binary::Or, c) if c != 0 && has_value(other) => Some(Expr::Const(1)),
        _ => None,
    };
    let short = by(&a, &b).or_else(|| by(&b, &a));
    short.unwrap_or_else(|| Expr::binary(op, a, b))
}

/// Whether an expression has a value whatever the variables are: its divisors are constants other than zero. Numbers of
/// kernels are far too small for an overflow.
fn has_value(e: &Expr) -> bool {
    let mut has = true;
    e.visit(&mut |x| {
        has &= match x {
            Expr::Binary(Binary::Div | Binary::Rem | Binary::CeilDiv, p) => p.1.constant().is_some_and(|c| c != 0),
            Expr::Binary(Binary::Shl, _) | Expr::Tape(..) => false,
            _ => true,
        };
    });
    has
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Coordinates = Coordinates { id: 5, m: 5, n: 0, z: 0 };

    fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new((a, b)))
    }

    #[test]
    fn a_coordinate_decides_a_comparison() {
        let i_is_two = binary(Binary::Eq, Expr::Var(0), Expr::Const(2));
        let late = binary(Binary::Ge, Expr::Env(Env::CtaM), Expr::Const(6));
        assert_eq!(folded(&binary(Binary::And, late.clone(), i_is_two.clone()), AT), Expr::Const(0));
        let early = binary(Binary::Lt, Expr::Env(Env::CtaM), Expr::Const(6));
        let both = folded(&binary(Binary::And, early, i_is_two.clone()), AT);
        assert_eq!(both, binary(Binary::And, Expr::Const(1), i_is_two));
        // A division by zero is a fault, whatever the other side is.
        let by_i = binary(Binary::Rem, Expr::Const(4), Expr::Var(0));
        assert_ne!(folded(&binary(Binary::And, late, by_i), AT), Expr::Const(0));
    }
}
