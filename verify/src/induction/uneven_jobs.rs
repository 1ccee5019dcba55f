//! Numbers of jobs that are no multiple of the grid, where CTAs differ in more than their number of outer iterations.
//!
//! A persistent kernel distributes jobs as `for job in cta.id..jobs step grid.size`. Let the code read the number of jobs
//! nowhere but at the end of such loops. Then a CTA depends on that number only through its own number of outer
//! iterations. Of the jobs `cta.id + k * grid.size`, a CTA with t jobs makes those with k < t, whatever the number of all
//! jobs is. So it makes the same steps as in the launch of t jobs for each CTA, and these launches are proved. Guards on
//! the CTA or on the job may be of any form. `row_classes` allows other reads of the number of jobs, but no such guards.

use std::collections::BTreeSet;

use warpline_sim::ir::{Binary, Env, Expr, Instr, Loop, ParamId, Program, each};

use crate::cta::class_run::ClassRun;
use crate::execution::shared;
use crate::induction::loop_counter::{changed_symbols, step_of};

/// Whether the code of a kernel reads the number of jobs only at the end of loops that distribute them. `next` is the
/// kernel with one outer iteration more for each CTA.
pub(crate) fn only_end_loops(run: &ClassRun<'_>, prog: &Program, next: &Program) -> bool {
    let of = Text::of(prog, next);
    // Loops that distribute jobs.
    let shared_out: Vec<&Loop> = prog.loops.iter().filter(|l| l.bound.as_ref().is_some_and(|b| of.reads(b))).collect();
    let ends: BTreeSet<u32> = shared_out.iter().flat_map(|l| [l.head, l.end.saturating_sub(2)]).collect();
    let other = |(pc, i): (usize, &Instr)| {
        let mut reads = false;
        each(prog, i, &mut |_, e| reads |= of.reads(e));
        reads && !ends.contains(&(pc as u32))
    };
    let one_bound = |l: &&Loop| l.bound == shared_out[0].bound;
    let one_job_each = |l: &Loop| {
        let ctas = prog.grid.len();
        let ends = l.bound.as_ref().and_then(|b| Some((prog.launch_value(b)?, next.launch_value(b)?)));
        ends.is_some_and(|(end, later)| end % ctas == 0 && later - end == ctas)
    };
    prog.tapes.is_empty()
        && shared::of_one(run.job(prog))(next)
        && shared_out.iter().all(one_bound)
        && shared_out.iter().all(|l| one_job_each(l))
        && shared_out.iter().all(|l| of.distributes(l))
        && !prog.code.iter().enumerate().any(other)
}

/// Whether no extent of a matrix treats numbers of jobs between two multiples of the grid in a way of their own, such as
/// `jobs == 61 ? jobs - 1 : jobs`. An extent is a sum, a product with a constant, a quotient or a minimum.
pub(crate) fn even_extents(prog: &Program, next: &Program) -> bool {
    let of = Text::of(prog, next);
    prog.forms.extents.iter().flatten().flatten().all(|e| of.concave(e))
}

/// Whether an expression is the launch index of the cluster.
pub(crate) fn is_launch_index(prog: &Program, e: &Expr) -> bool {
    let Program { grid, cluster, .. } = prog;
    match e {
        Expr::Env(Env::ClusterId) => true,
        Expr::Env(Env::CtaId) => *cluster == 1,
        Expr::Env(Env::ClusterM) => grid.len() == grid.m,
        Expr::Env(Env::CtaM) => *cluster == 1 && grid.len() == grid.m,
        _ => false,
    }
}

/// What expressions of a program say of the number of jobs.
pub(super) struct Text<'p> {
    prog: &'p Program,
    /// The symbols that the number of jobs changes.
    jobs: BTreeSet<ParamId>,
}

impl<'p> Text<'p> {
    /// `next` is the program with more jobs.
    pub(super) fn of(prog: &'p Program, next: &Program) -> Text<'p> {
        Text { prog, jobs: changed_symbols(prog, next) }
    }

    /// Whether an expression depends on the number of jobs. A `let` may be varied, whatever it is computed from.
    pub(super) fn reads(&self, e: &Expr) -> bool {
        let mut reads = false;
        e.visit(&mut |x| {
            if let Expr::Param(p) = x {
                let definition = || self.prog.symbols[*p as usize].definition.as_ref();
                reads |= self.jobs.contains(p) || definition().is_some_and(|e| self.reads(e));
            }
        });
        reads
    }

    /// Whether an expression is a concave function of the number of jobs, but for the rounding of quotients. Where a linear
    /// need is below it at two multiples of the grid, it is so between them.
    fn concave(&self, e: &Expr) -> bool {
        if self.linear(e) {
            return true;
        }
        match e {
            Expr::Param(p) => self.prog.symbols[*p as usize].definition.as_ref().is_some_and(|e| self.concave(e)),
            Expr::Binary(op, pair) => {
                let (a, b) = (&pair.0, &pair.1);
                let times = |x: &Expr, y: &Expr| x.constant().is_some_and(|x| x >= 0) && self.concave(y);
                match op {
                    Binary::Add | Binary::Min => self.concave(a) && self.concave(b),
                    Binary::Sub => self.concave(a) && self.linear(b),
                    Binary::Mul => times(a, b) || times(b, a),
                    Binary::Div | Binary::CeilDiv => self.linear(a) && !self.reads(b),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether an expression is a linear function of the number of jobs.
    pub(super) fn linear(&self, e: &Expr) -> bool {
        if !self.reads(e) {
            return true;
        }
        match e {
            Expr::Param(p) => self.prog.symbols[*p as usize].definition.as_ref().is_none_or(|e| self.linear(e)),
            Expr::Binary(Binary::Add | Binary::Sub, pair) => self.linear(&pair.0) && self.linear(&pair.1),
            Expr::Binary(Binary::Mul, pair) => {
                let (a, b) = (&pair.0, &pair.1);
                self.linear(a) && self.linear(b) && !(self.reads(a) && self.reads(b))
            }
            _ => false,
        }
    }

    /// Whether a loop is `for job in cta.id..jobs step grid.size`: each job is one CTA's, and the launch index of the CTA
    /// is below the step.
    fn distributes(&self, l: &Loop) -> bool {
        let Program { code, .. } = self.prog;
        let (Some(var), Some(bound)) = (l.var, &l.bound) else { return false };
        let starts = self.prog.first_index(l).is_some_and(|e| is_launch_index(self.prog, e));
        let test = Expr::binary(Binary::Lt, Expr::Var(var), bound.clone());
        let ends = matches!(code.get(l.head as usize), Some(Instr::Unless(e, _)) if *e == test);
        let whole = matches!(bound, Expr::Param(p) if self.jobs.contains(p));
        starts && ends && whole && self.steps_by_grid(l, var)
    }

    /// Whether the step of a loop is the size of the grid, for every number of jobs that has the given grid.
    fn steps_by_grid(&self, l: &Loop, var: u16) -> bool {
        let Some(Instr::Set(v, Expr::Binary(Binary::Add, pair))) = self.prog.code.get((l.end as usize).wrapping_sub(2))
        else {
            return false;
        };
        let size = |e: &Expr| !self.reads(e) || self.prog.forms.grid.iter().flatten().any(|size| size == e);
        *v == var && pair.0 == Expr::Var(var) && size(&pair.1) && step_of(self.prog, l) == self.prog.grid.len()
    }
}
