//! The slice of a program that decides how often its operations are executed: branches around them, and the variables
//! tested.

use crate::ir::{Executors, Expr, Instr, Op, Pc, Program, VarId};

use super::range::coordinate;

/// The slice of a program that a walk follows.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    /// For each instruction, whether it is counted or decides how often a counted instruction is executed.
    pub(super) decides: Vec<bool>,
    /// For each branch, the end of the code that depends on it.
    pub(super) end: Vec<Pc>,
    /// The coordinates that the slice depends on: row, column, third, launch index.
    pub(super) coords: [bool; 4],
    /// Whether the slice depends on a value that another agent hands over.
    pub(super) handed: bool,
}

/// A loop of the slice, with the values that the loop uses.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    pub(super) end: Pc,
    pub(super) vars: Vec<VarId>,
    /// Whether the loop itself depends on coordinates.
    pub(super) coords: bool,
}

impl Slice {
    /// The slice of a program in which these instructions are counted.
    pub(super) fn of(prog: &Program, counted: &[Pc]) -> Slice {
        // An agent that ends early performs nothing of what follows.
        let mut decides: Vec<bool> = prog.code.iter().map(|i| *i == Instr::End).collect();
        counted.iter().for_each(|pc| decides[*pc as usize] = true);
        let end = (0..prog.code.len()).map(|pc| end_of(prog, pc)).collect();
        let mut s = Slice { decides, end, coords: [false; 4], handed: false };
        let mut vars = vec![false; prog.vars.len()];
        while s.grow(prog, &mut vars) {}
        s
    }

    /// Goes through the code once. Returns whether more instructions were found to decide.
    fn grow(&mut self, prog: &Program, vars: &mut [bool]) -> bool {
        let mut more = false;
        for (pc, i) in prog.code.iter().enumerate() {
            let decides = self.decides[pc]
                || match i {
                    Instr::Unless(..) | Instr::Only(..) => self.decides[pc + 1..self.end[pc] as usize].contains(&true),
                    Instr::Set(v, _) | Instr::Op { op: Op::Get { var: v, .. }, .. } => vars[*v as usize],
                    _ => false,
                };
            if !decides {
                continue;
            }
            more |= !std::mem::replace(&mut self.decides[pc], true);
            self.handed |= matches!(i, Instr::Op { op: Op::Get { .. }, .. });
            each(prog, i, &mut |x| match x {
                Expr::Var(v) => more |= !std::mem::replace(&mut vars[*v as usize], true),
                _ => coordinate(x).into_iter().for_each(|c| self.coords[c] = true),
            });
        }
        more
    }

    /// The loop whose test is this instruction, if its iterations can be counted at once: no agent ends inside.
    pub(super) fn turns(&self, prog: &Program, pc: usize) -> Option<Turns> {
        let Instr::Unless(_, end) = &prog.code[pc] else { return None };
        let body = pc..*end as usize;
        let again = prog.code[*end as usize - 1] == Instr::Jump(pc as Pc);
        if !self.decides[pc] || !again || prog.code[body.clone()].contains(&Instr::End) {
            return None;
        }
        let mut t = Turns { end: *end, vars: Vec::new(), coords: false };
        for i in body.filter(|pc| self.decides[*pc]).map(|pc| &prog.code[pc]) {
            if let Instr::Set(v, _) = i {
                t.vars.push(*v);
            }
            each(prog, i, &mut |x| match x {
                Expr::Var(v) => t.vars.push(*v),
                _ => t.coords |= coordinate(x).is_some(),
            });
        }
        t.vars.sort_unstable();
        t.vars.dedup();
        Some(t)
    }
}

/// Every expression that an instruction of control flow evaluates, tapes included.
fn each(prog: &Program, i: &Instr, f: &mut dyn FnMut(&Expr)) {
    if let Instr::Set(_, e) | Instr::Unless(e, _) | Instr::Only(Executors::Cta(e), _) = i {
        inside(prog, e, f);
    }
}

fn inside(prog: &Program, e: &Expr, f: &mut dyn FnMut(&Expr)) {
    e.visit(&mut |x| {
        f(x);
        if let Expr::Tape(t, _) = x {
            inside(prog, &prog.tapes[*t as usize].run, f);
        }
    });
}

/// The instruction where the paths from a branch meet again: behind its body and its alternative.
fn end_of(prog: &Program, pc: usize) -> Pc {
    let (Instr::Unless(_, to) | Instr::Only(_, to)) = &prog.code[pc] else { return pc as Pc };
    match &prog.code[*to as usize - 1] {
        Instr::Jump(end) if end > to => *end,
        _ => *to,
    }
}
