//! What of a program decides how often its operations are executed: the branches around them, what these test, and so on.

use crate::ir::{Executors, Expr, Instr, Op, Pc, Program, VarId};

use super::range::coordinate;

/// What a walk has to look at.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    /// Whether an instruction is counted, or decides how often one is.
    pub(super) decides: Vec<bool>,
    /// For each branch the end of what it decides about.
    pub(super) end: Vec<Pc>,
    /// Coordinates that are looked at: row, column, third, launch index.
    pub(super) coords: [bool; 4],
    /// Whether a value that is handed over is.
    pub(super) handed: bool,
}

/// A loop that decides, and what it works with.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    pub(super) end: Pc,
    pub(super) vars: Vec<VarId>,
    /// Whether it looks at coordinates itself.
    pub(super) coords: bool,
}

impl Slice {
    /// Where these instructions are counted.
    pub(super) fn of(prog: &Program, counted: &[Pc]) -> Slice {
        // An agent that ends early does nothing of what follows.
        let mut decides: Vec<bool> = prog.code.iter().map(|i| *i == Instr::End).collect();
        counted.iter().for_each(|pc| decides[*pc as usize] = true);
        let end = (0..prog.code.len()).map(|pc| end_of(prog, pc)).collect();
        let mut s = Slice { decides, end, coords: [false; 4], handed: false };
        let mut vars = vec![false; prog.vars.len()];
        while s.grow(prog, &mut vars) {}
        s
    }

    /// Goes through the code once; whether more was found to decide.
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

    /// The loop that an instruction is the test of, if its turns can be counted at once: nobody ends inside.
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

/// Everything in what an instruction of control flow evaluates, tapes included.
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

/// Where the paths from a branch meet again: behind its body, and behind what is done else.
fn end_of(prog: &Program, pc: usize) -> Pc {
    let (Instr::Unless(_, to) | Instr::Only(_, to)) = &prog.code[pc] else { return pc as Pc };
    match &prog.code[*to as usize - 1] {
        Instr::Jump(end) if end > to => *end,
        _ => *to,
    }
}
