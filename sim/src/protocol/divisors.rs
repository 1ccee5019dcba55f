//! Divisions by numbers that a longer run may change.
//!
//! Where work is dealt out by a division, as in `at / steps`, a longer run has another divisor. If the quotient is one
//! number, the remainder is as linear as dividend and divisor are. So the quotient decides, and so do the comparisons that
//! keep the dividend between two multiples of the divisor (docs/proof.md, lemma 5).
//!
//! This holds for a whole cell of CTAs only if both operands are the same for all of them. The quotient of `12 * cluster.m`
//! by 3 depends on the place in another way than the quotient by 4. Compared runs have no forms, so what depends on the
//! place is found from the text.

use crate::ir::{Binary, CounterAct, Env, Expr, Instr, Op, Program, VarId, each};

/// The variables of a program that matter for its divisions. Empty where no division is by a number that may change.
#[derive(Clone, Debug, Default)]
pub(super) struct Divisors(Vec<Variable>);

/// Facts about a variable.
#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    /// Only numbers of the text and the agent's own place are assigned.
    steady: bool,
    /// The value may depend on the place of the CTA in the grid.
    of_place: bool,
}

impl Divisors {
    pub(super) fn of(prog: &Program) -> Divisors {
        let mut found = Divisors(vec![Variable::default(); prog.vars.len()]);
        // What an operation reads from memory may be anything.
        let read: Vec<VarId> = prog.code.iter().filter_map(read_by_operation).collect();
        let sets: Vec<(VarId, &Expr)> = prog.code.iter().filter_map(assignment).collect();
        let is_steady = |found: &Divisors, v: VarId| {
            let mut of = sets.iter().filter(|(of, _)| *of == v).peekable();
            of.peek().is_some() && !read.contains(&v) && of.all(|(_, e)| found.steady(e))
        };
        while let Some(v) = (0..prog.vars.len()).find(|v| !found.0[*v].steady && is_steady(&found, *v as VarId)) {
            found.0[v].steady = true;
        }
        let mut asked = false;
        for i in &prog.code {
            each(prog, i, &mut |_, e| {
                asked |= e.any(|x| matches!(x, Expr::Binary(op, p) if found.may_change(*op, p)));
            });
        }
        if !asked {
            return Divisors::default();
        }
        read.iter().for_each(|v| found.0[*v as usize].of_place = true);
        let placed = |found: &Divisors, (v, e): &(VarId, &Expr)| !found.0[*v as usize].of_place && found.of_place(e);
        while let Some((v, _)) = sets.iter().find(|set| placed(&found, set)) {
            found.0[*v as usize].of_place = true;
        }
        found
    }

    /// Whether the quotient of an operator decides. `one_place` says that the grid has one cluster, and so one place.
    pub(super) fn quotient_decides(&self, op: Binary, p: &(Expr, Expr), one_place: bool) -> bool {
        let placed = || !one_place && (self.of_place(&p.0) || self.of_place(&p.1));
        !self.0.is_empty() && self.may_change(op, p) && !placed()
    }

    /// Whether an operator divides by a number that a longer run may change.
    fn may_change(&self, op: Binary, p: &(Expr, Expr)) -> bool {
        matches!(op, Binary::Div | Binary::Rem | Binary::CeilDiv) && !self.steady(&p.1)
    }

    fn steady(&self, e: &Expr) -> bool {
        !e.any(|x| match x {
            Expr::Var(v) => !self.0[*v as usize].steady,
            Expr::Param(_) | Expr::Tape(..) => true,
            _ => false,
        })
    }

    fn of_place(&self, e: &Expr) -> bool {
        e.any(|x| match x {
            Expr::Env(env) => !matches!(env, Env::Warp | Env::CtaRank),
            Expr::Var(v) => self.0[*v as usize].of_place,
            Expr::Tape(..) => true,
            _ => false,
        })
    }
}

fn assignment(i: &Instr) -> Option<(VarId, &Expr)> {
    if let Instr::Set(v, e) = i { Some((*v, e)) } else { None }
}

/// The variable that an operation reads into.
fn read_by_operation(i: &Instr) -> Option<VarId> {
    match i {
        Instr::Op { op: Op::Get { var: v, .. }, .. } => Some(*v),
        Instr::Op { op: Op::Counter { act: CounterAct::Fetch(v) | CounterAct::Load(v), .. }, .. } => Some(*v),
        _ => None,
    }
}
