//! Conditions that decide nothing: lemma 20.
//!
//! A condition is settled if the conditions on every way to it imply or exclude it, as `if job >= jobs` in `for job in
//! 0..jobs`. It is also settled if both branches make the same steps. An agent then goes on without it. What the verifier sees is the
//! same kernel with fewer decisions, so fewer regions, cells and states.

mod equal;
mod linear;

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Env, Expr, Instr, ParamId, Pc, Program};

use crate::Trips;
use crate::induction::while_loops::sets;
use linear::{Known, contradict};

/// Largest number of conditions known at one place.
const FACTS: usize = 12;
/// Largest number of instructions.
const LONGEST: usize = 2000;

/// A condition, and whether it is nonzero.
type Fact = (Expr, bool);

/// The kernel without conditions that decide nothing; `None` where there are none, or where the loops that are varied
/// would be others.
pub(crate) fn settled(prog: &Program) -> Option<Program> {
    if prog.code.len() > LONGEST {
        return None;
    }
    let mut new = prog.clone();
    while let Some((pc, to)) = some_settled(&new) {
        new.code[pc] = Instr::Jump(to);
        drop_unreachable(&mut new);
    }
    (new != *prog && one_family(prog, &new)).then_some(new)
}

/// The kernel on its given grid, without the conditions that this grid settles. With three CTAs, `cta.id / 3 != 8` is one.
/// `None` where there are none, or where a number of the grid is varied.
pub(crate) fn settled_on_given_grid(prog: &Program) -> Option<Program> {
    let mut of_grid: BTreeSet<ParamId> = BTreeSet::new();
    let mut open: Vec<&Expr> = prog.forms.grid.iter().flatten().collect();
    while let Some(e) = open.pop() {
        e.visit(&mut |x| {
            if let Expr::Param(id) = x
                && of_grid.insert(*id)
            {
                open.extend(&prog.symbols[*id as usize].definition);
            }
        });
    }
    let trips = Trips::find(prog)?;
    let named = |name: &str| of_grid.iter().any(|id| prog.symbols[*id as usize].name == name);
    let varied = named(&trips.family().symbol) || trips.turns_name().is_some_and(named);
    let kept = (0..prog.symbols.len() as ParamId).filter(|id| !of_grid.contains(id)).collect();
    if of_grid.is_empty() || varied { None } else { settled(&prog.bind_all_but(&kept)) }
}

/// Whether two kernels have the same varied loops. A verdict names them by the kernel as written.
fn one_family(a: &Program, b: &Program) -> bool {
    let of = |p: &Program| {
        Trips::find(p).map(|t| (t.family(), t.turns(), t.sequential(), t.turns_family(), t.fixed().to_vec()))
    };
    of(a) == of(b)
}

/// A condition that is settled, and the place where agents go on.
fn some_settled(prog: &Program) -> Option<(usize, Pc)> {
    let heads: BTreeSet<Pc> = prog.loops.iter().map(|l| l.head).collect();
    let conditions = || {
        prog.code.iter().enumerate().filter_map(|(pc, i)| match i {
            // A jump back belongs to a loop.
            Instr::Unless(e, to) if !heads.contains(&(pc as Pc)) && *to as usize > pc && has_value(e) => {
                Some((pc, e, *to))
            }
            _ => None,
        })
    };
    conditions().next()?;
    let equal = conditions().find(|(pc, _, to)| equal::branches(prog, *pc as Pc + 1, *to));
    if let Some((pc, ..)) = equal {
        return Some((pc, pc as Pc + 1));
    }
    let facts = facts(prog);
    let known = Known { prog, natural: natural(prog) };
    conditions().find_map(|(pc, e, to)| {
        let facts = facts[pc].as_ref()?;
        let with = |holds: bool| {
            let all: Vec<(&Expr, bool)> = facts.iter().map(|(e, holds)| (e, *holds)).chain([(e, holds)]).collect();
            contradict(&known, &all)
        };
        // A place that no agent comes to is left alone.
        match (with(true), with(false)) {
            (true, false) => Some((pc, to)),
            (false, true) => Some((pc, pc as Pc + 1)),
            _ => None,
        }
    })
}

/// Whether an expression always has a value, which does not depend on what is known only at run time.
fn has_value(e: &Expr) -> bool {
    !e.any(|x| match x {
        Expr::Tape(..) | Expr::Env(Env::TapeIndex) | Expr::Binary(Binary::Shl, _) => true,
        Expr::Binary(Binary::Div | Binary::Rem | Binary::CeilDiv, p) => p.1.constant().is_none_or(|c| c < 1),
        _ => false,
    })
}

/// The conditions that hold on every way to each instruction; none for an instruction that is not reached.
fn facts(prog: &Program) -> Vec<Option<Vec<Fact>>> {
    let mut all: Vec<Option<Vec<Fact>>> = vec![None; prog.code.len()];
    let mut open: Vec<(Pc, Vec<Fact>)> = vec![(0, Vec::new())];
    while let Some((pc, facts)) = open.pop() {
        let Some(old) = all.get_mut(pc as usize) else { continue };
        let new: Vec<Fact> = match old {
            Some(old) => old.iter().filter(|f| facts.contains(f)).cloned().collect(),
            None => facts,
        };
        if old.as_ref() == Some(&new) {
            continue;
        }
        *old = Some(new.clone());
        let i = &prog.code[pc as usize];
        match i {
            Instr::Jump(to) => open.push((*to, new)),
            Instr::Unless(e, to) => {
                open.push((*to, with_fact(&new, e, false)));
                open.push((pc + 1, with_fact(&new, e, true)));
            }
            Instr::Only(_, to) => open.extend([(*to, new.clone()), (pc + 1, new)]),
            Instr::End => {}
            Instr::Set(..) | Instr::Op { .. } => {
                let mut kept = new;
                if let Some(v) = sets(i) {
                    kept.retain(|(e, _)| !e.any(|x| *x == Expr::Var(v)));
                }
                open.push((pc + 1, kept));
            }
        }
    }
    all
}

fn with_fact(facts: &[Fact], e: &Expr, holds: bool) -> Vec<Fact> {
    let fact = (e.clone(), holds);
    let mut all = facts.to_vec();
    if has_value(e) && all.len() < FACTS && !all.contains(&fact) {
        all.push(fact);
    }
    all
}

/// Whether each variable is never negative: all that it is set to is a natural number, if the variables are.
fn natural(prog: &Program) -> Vec<bool> {
    let mut all = vec![true; prog.vars.len()];
    loop {
        let fails = prog.code.iter().find_map(|i| {
            let v = sets(i).filter(|v| all[*v as usize])? as usize;
            let kept = matches!(i, Instr::Set(_, e) if is_natural(e, &all));
            (!kept).then_some(v)
        });
        match fails {
            Some(v) => all[v] = false,
            None => return all,
        }
    }
}

fn is_natural(e: &Expr, vars: &[bool]) -> bool {
    let is = |e: &Expr| is_natural(e, vars);
    match e {
        Expr::Const(v) => *v >= 0,
        Expr::Var(v) => vars[*v as usize],
        Expr::Env(env) => *env != Env::TapeIndex,
        Expr::Binary(Binary::Add | Binary::Mul | Binary::Min, p) => is(&p.0) && is(&p.1),
        Expr::Binary(Binary::Max, p) => is(&p.0) || is(&p.1),
        Expr::Binary(Binary::Div, p) => is(&p.0) && p.1.constant().is_some_and(|c| c > 0),
        Expr::Binary(Binary::Rem, p) => p.1.constant().is_some_and(|c| c > 0),
        _ => false,
    }
}

/// Replaces instructions that no agent comes to, so that analyses of the text do not see them. A loop among them stays.
fn drop_unreachable(prog: &mut Program) {
    let mut reached = vec![false; prog.code.len()];
    let mut open = vec![0];
    while let Some(pc) = open.pop() {
        let pc = pc as usize;
        if pc >= reached.len() || std::mem::replace(&mut reached[pc], true) {
            continue;
        }
        open.extend(prog.code[pc].target());
        if !matches!(prog.code[pc], Instr::Jump(_) | Instr::End) {
            open.push(pc as Pc + 1);
        }
    }
    if prog.loops.iter().any(|l| !reached[l.head as usize]) {
        return;
    }
    for (pc, _) in reached.iter().enumerate().filter(|(_, reached)| !**reached) {
        if prog.code[pc] != Instr::End {
            prog.code[pc] = Instr::Jump(pc as Pc + 1);
        }
    }
}
