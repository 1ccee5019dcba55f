//! Reads of the size of the grid, where the number of jobs sets it: `grid min(cores, jobs)`.
//!
//! A launch of fewer jobs than cores has a smaller grid than the given one, and each of its CTAs has one job. Compared
//! with a launch of one job for each CTA of the given grid, only the size of the grid is another number. If the code
//! reads this size only as the step from one job to the next, both launches make the same steps: each CTA ends after its
//! job. Other reads may tell them apart.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Expr, Instr, ParamId, Program, Unary, each};

use crate::induction::loop_counter::changed_symbols;

/// The reads of a grid's size, or of other numbers that depend on the number of jobs and are not linear in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SizeReads {
    /// Only as steps of loops.
    Steps,
    /// As a term of a sum, at this line.
    Sum(u32),
    /// A number that decides something by itself is computed from it, at this line.
    Decides(u32),
}

/// The strongest read of a program; `next` is the same program with more jobs.
pub(crate) fn size_reads(prog: &Program, next: &Program) -> SizeReads {
    let of = Reads { prog, jobs: changed_symbols(prog, next) };
    let one = |(pc, i): (usize, &Instr)| {
        let line = prog.site(pc as u32).line;
        let mut found = SizeReads::Steps;
        each(prog, i, &mut |_, e| found = found.max(of.read(step(prog, i).map_or(e, |_| &NOTHING), line)));
        found
    };
    prog.code.iter().enumerate().map(one).max().unwrap_or(SizeReads::Steps)
}

const NOTHING: Expr = Expr::Const(0);

/// The step of a loop's index, where an instruction adds it.
fn step<'e>(prog: &Program, i: &'e Instr) -> Option<&'e Expr> {
    match i {
        Instr::Set(v, Expr::Binary(Binary::Add, pair)) if prog.loops.iter().any(|l| l.var == Some(*v)) => {
            (pair.0 == Expr::Var(*v) && pair.1.is_launch_constant()).then_some(&pair.1)
        }
        _ => None,
    }
}

struct Reads<'p> {
    prog: &'p Program,
    /// The symbols that the number of jobs changes.
    jobs: BTreeSet<ParamId>,
}

impl Reads<'_> {
    fn depends(&self, e: &Expr) -> bool {
        let mut depends = false;
        e.visit(&mut |x| depends |= matches!(x, Expr::Param(q) if self.jobs.contains(q)));
        depends || !self.prog.parameters_of(e).is_disjoint(&self.jobs)
    }

    fn read(&self, e: &Expr, line: u32) -> SizeReads {
        let operands = |e: &Expr| e.operands().map(|x| self.read(x, line)).max().unwrap_or(SizeReads::Steps);
        if !e.is_launch_constant() {
            return operands(e);
        }
        if !self.depends(e) {
            return SizeReads::Steps;
        }
        if self.prog.forms.grid.iter().flatten().any(|size| size == e) && !self.linear(e) {
            return SizeReads::Sum(line);
        }
        match e {
            Expr::Param(q) => {
                let definition = self.prog.symbols[*q as usize].definition.as_ref();
                definition.map_or(SizeReads::Steps, |e| self.read(e, line))
            }
            _ if self.sums(e) => operands(e),
            _ => SizeReads::Decides(line),
        }
    }

    /// Whether an expression is a sum or a multiple of its operands.
    fn sums(&self, e: &Expr) -> bool {
        match e {
            Expr::Unary(Unary::Neg, _) | Expr::Binary(Binary::Add | Binary::Sub, _) => true,
            Expr::Binary(Binary::Mul, pair) => !self.depends(&pair.0) || !self.depends(&pair.1),
            _ => false,
        }
    }

    fn linear(&self, e: &Expr) -> bool {
        match e {
            _ if !self.depends(e) => true,
            Expr::Param(q) => self.prog.symbols[*q as usize].definition.as_ref().is_none_or(|e| self.linear(e)),
            _ => self.sums(e) && e.operands().all(|x| self.linear(x)),
        }
    }
}
