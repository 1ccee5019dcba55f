//! Running counters: where nested loops count iterations by `j * tiles + i`, a variable replaces this sum.
//!
//! Let `i` run from 0 to `tiles` inside `j` from 0 on. The sum then starts at 0 and grows by one in each iteration of
//! the inner loop, also across iterations of the outer loop. The product of two varying numbers has no gain. A variable
//! has one that is set to 0 before the outer loop and incremented after each iteration.

use warpline_sim::ir::{Binary, Expr, Instr, Loop, Program, VarId, each, each_mut};

/// The kernel with such counters.
pub(crate) fn counted(prog: &Program) -> Program {
    let mut out = prog.clone();
    for k in 0..out.loops.len() {
        let inner = out.loops[k].clone();
        let around =
            out.loops.iter().filter(|l| l.head < inner.head && inner.end < l.end).max_by_key(|l| l.head).cloned();
        if let Some(outer) = around
            && let Some(sum) = sum(&out, &inner, &outer)
        {
            count(&mut out, &inner, &outer, &sum);
        }
    }
    out
}

/// Whether a loop is `for v in 0..bound` with step 1.
fn plain(prog: &Program, l: &Loop, v: VarId) -> bool {
    let at = |pc: Option<u32>| pc.and_then(|pc| prog.code.get(pc as usize));
    let next = Expr::Binary(Binary::Add, Box::new((Expr::Var(v), Expr::Const(1))));
    at(l.head.checked_sub(1)) == Some(&Instr::Set(v, Expr::Const(0)))
        && at(l.end.checked_sub(2)) == Some(&Instr::Set(v, next))
}

/// The sum that counts iterations of the inner loop, if an instruction in the loop uses it.
fn sum(prog: &Program, inner: &Loop, outer: &Loop) -> Option<Expr> {
    let (i, j) = (inner.var?, outer.var?);
    let tiles = inner.bound.clone().filter(Expr::is_launch_constant)?;
    if !plain(prog, inner, i) || !plain(prog, outer, j) {
        return None;
    }
    let is = |e: &Expr| {
        let Expr::Binary(Binary::Add, p) = e else { return false };
        let Expr::Binary(Binary::Mul, q) = &p.0 else { return false };
        let product = (&q.0, &q.1);
        p.1 == Expr::Var(i) && (product == (&Expr::Var(j), &tiles) || product == (&tiles, &Expr::Var(j)))
    };
    let mut found = None;
    for instr in &prog.code[inner.head as usize..inner.end as usize] {
        each(prog, instr, &mut |_, e| {
            e.visit(&mut |x| {
                if is(x) {
                    found.get_or_insert_with(|| x.clone());
                }
            });
        });
    }
    found
}

fn count(prog: &mut Program, inner: &Loop, outer: &Loop, sum: &Expr) {
    let counter = prog.vars.len() as VarId;
    prog.vars.push(format!(".count_{}", inner.head));
    let shape = prog.clone();
    for instr in &mut prog.code[inner.head as usize..inner.end as usize] {
        each_mut(&shape, instr, &mut |_, e| put(e, sum, counter));
    }
    let next = Expr::Binary(Binary::Add, Box::new((Expr::Var(counter), Expr::Const(1))));
    // The increment follows the step of the inner loop, before its jump back. The initialization precedes that of the
    // outer loop's index.
    insert(prog, inner.end - 1, Instr::Set(counter, next));
    insert(prog, outer.head - 1, Instr::Set(counter, Expr::Const(0)));
}

/// Replaces an expression by a variable.
fn put(e: &mut Expr, sum: &Expr, counter: VarId) {
    if e == sum {
        *e = Expr::Var(counter);
        return;
    }
    match e {
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) | Expr::Env(_) => {}
        Expr::Unary(_, x) | Expr::Tape(_, x) => put(x, sum, counter),
        Expr::Binary(_, p) => [&mut p.0, &mut p.1].into_iter().for_each(|x| put(x, sum, counter)),
        Expr::If(p) => [&mut p.0, &mut p.1, &mut p.2].into_iter().for_each(|x| put(x, sum, counter)),
    }
}

/// Inserts an instruction before another one. Jumps to the old instruction lead to the new one.
fn insert(prog: &mut Program, at: u32, new: Instr) {
    for instr in &mut prog.code {
        if let Some(to) = instr.target_mut() {
            *to += u32::from(*to > at);
        }
    }
    for l in &mut prog.loops {
        l.head += u32::from(l.head >= at);
        l.end += u32::from(l.end > at);
    }
    let site = prog.at[at as usize];
    prog.code.insert(at as usize, new);
    prog.at.insert(at as usize, site);
}
