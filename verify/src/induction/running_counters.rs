//! Running counters: `j * tiles + i` in nested loops counts iterations, and is replaced by one variable.
//!
//! Let `i in 0..tiles` be inside `j in 0..n`. The sum then grows by one in each iteration of the inner loop, from 0 on
//! and across all outer iterations. The product of two varied numbers has no linear form, but a counter has one.

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Program, VarId, each, each_mut};

use crate::mutation::splice;

/// The kernel with counters in place of such sums.
pub(crate) fn counters(prog: &Program) -> Program {
    let mut prog = prog.clone();
    for index in 0..prog.loops.len() {
        if let Some((inner, outer, sum)) = counted(&prog, index) {
            replace(&mut prog, (&inner, &outer), &sum);
        }
    }
    prog
}

/// An inner loop, its outer loop, and the sum that counts iterations of the inner loop; `None` where nothing uses such
/// a sum.
fn counted(prog: &Program, index: usize) -> Option<(Loop, Loop, Expr)> {
    let inner = &prog.loops[index];
    let around = |l: &&Loop| l.head < inner.head && inner.end < l.end;
    let outer = prog.loops.iter().filter(around).max_by_key(|l| l.head)?;
    let (i, j) = (inner.var?, outer.var?);
    let plain = |l: &Loop, v: VarId| {
        let from = &prog.code[(l.head as usize).checked_sub(1)?];
        let next = &prog.code[(l.end as usize).checked_sub(2)?];
        let one = Expr::Binary(Binary::Add, Box::new((Expr::Var(v), Expr::Const(1))));
        (*from == Instr::Set(v, Expr::Const(0)) && *next == Instr::Set(v, one)).then_some(())
    };
    plain(inner, i)?;
    plain(outer, j)?;
    let bound = inner.bound.clone().filter(Expr::is_launch_constant)?;
    let product = |a: Expr, b: Expr| Expr::Binary(Binary::Mul, Box::new((a, b)));
    let sum = |p: Expr| Expr::Binary(Binary::Add, Box::new((p, Expr::Var(i))));
    let forms = [sum(product(Expr::Var(j), bound.clone())), sum(product(bound, Expr::Var(j)))];
    let mut found = None;
    for instr in &prog.code[inner.head as usize..inner.end as usize] {
        each(prog, instr, &mut |_, e| {
            e.visit(&mut |x| {
                if found.is_none() && forms.contains(x) {
                    found = Some(x.clone());
                }
            });
        });
    }
    Some((inner.clone(), outer.clone(), found?))
}

/// Replaces a sum inside the inner loop by a counter, and inserts the code that sets the counter.
fn replace(prog: &mut Program, (inner, outer): (&Loop, &Loop), sum: &Expr) {
    let counter = prog.vars.len() as VarId;
    prog.vars.push(format!(".count_{}", inner.head));
    let shape = prog.clone();
    for instr in &mut prog.code[inner.head as usize..inner.end as usize] {
        each_mut(&shape, instr, &mut |_, e| e.replace(sum, &Expr::Var(counter)));
    }
    // The later position first, so that the earlier position keeps its number.
    let step = Expr::Binary(Binary::Add, Box::new((Expr::Var(counter), Expr::Const(1))));
    splice::insert(prog, inner.end as usize - 1, vec![Instr::Set(counter, step)], false);
    splice::insert(prog, outer.head as usize - 1, vec![Instr::Set(counter, Expr::Const(0))], false);
}
