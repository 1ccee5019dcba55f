//! Variables that may depend on the place of the CTA in the grid.
//!
//! A division by a number that a longer run changes has no form: the quotient of `12 * cluster.m` by 3 depends on the
//! place in another way than the quotient by 4. So such a divisor decides, unless both operands are the same for all
//! clusters. This is found from the text: compared runs are runs of one cluster, without forms.

use crate::ir::{Binary, CounterAct, Env, Expr, Instr, Op, Program, VarId, each};

/// For each variable, whether it may depend on the place of the CTA. Empty where no division asks for it.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowsPlace(Vec<bool>);

impl FollowsPlace {
    pub(super) fn of(prog: &Program) -> FollowsPlace {
        let mut asked = false;
        for i in &prog.code {
            each(prog, i, &mut |_, e| asked |= e.any(|x| matches!(x, Expr::Binary(op, p) if by_a_number(*op, p))));
        }
        // A grid of one cluster has one place.
        if !asked || prog.grid.len() == 1 {
            return FollowsPlace::default();
        }
        let mut list = FollowsPlace(vec![false; prog.vars.len()]);
        // What an operation reads from memory may depend on everything.
        for v in prog.code.iter().filter_map(read_by_operation) {
            list.0[v as usize] = true;
        }
        loop {
            let set = |i: &Instr| match i {
                Instr::Set(v, e) if !list.0[*v as usize] && list.in_expression(e) => Some(*v),
                _ => None,
            };
            let more: Vec<_> = prog.code.iter().filter_map(set).collect();
            if more.is_empty() {
                return list;
            }
            more.into_iter().for_each(|v| list.0[v as usize] = true);
        }
    }

    fn in_expression(&self, e: &Expr) -> bool {
        e.any(|x| match x {
            Expr::Env(Env::Warp | Env::CtaRank) => false,
            Expr::Env(_) | Expr::Tape(..) => true,
            Expr::Var(v) => self.0[*v as usize],
            _ => false,
        })
    }

    /// Whether an operator divides by a number that may change, and an operand may depend on the place of the CTA.
    pub(super) fn divides_by_place(&self, op: Binary, p: &(Expr, Expr)) -> bool {
        !self.0.is_empty() && by_a_number(op, p) && (self.in_expression(&p.0) || self.in_expression(&p.1))
    }
}

/// Whether an operator divides by a number that may be another one in a longer run.
fn by_a_number(op: Binary, p: &(Expr, Expr)) -> bool {
    matches!(op, Binary::Div | Binary::Rem | Binary::CeilDiv) && !p.1.is_fixed()
}

/// The variable that an operation reads into.
fn read_by_operation(i: &Instr) -> Option<VarId> {
    match i {
        Instr::Op { op: Op::Get { var: v, .. }, .. } => Some(*v),
        Instr::Op { op: Op::Counter { act: CounterAct::Fetch(v) | CounterAct::Load(v), .. }, .. } => Some(*v),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `vars[0] = place; vars[1] = vars[0] / vars[2]` on a grid of some clusters.
    fn program(place: Env, clusters: i64) -> Program {
        let quotient = Expr::binary(Binary::Div, Expr::Var(0), Expr::Var(2));
        let mut prog = Program { vars: vec![String::new(); 3], ..Program::default() };
        prog.grid.m = clusters;
        prog.code = vec![Instr::Set(0, Expr::Env(place)), Instr::Set(1, quotient), Instr::End];
        prog
    }

    #[test]
    fn a_quotient_of_the_place_by_a_variable_is_found() {
        let p = (Expr::Var(0), Expr::Var(2));
        let found = |place, clusters| FollowsPlace::of(&program(place, clusters)).divides_by_place(Binary::Div, &p);
        assert_eq!([found(Env::ClusterM, 2), found(Env::CtaRank, 2), found(Env::ClusterM, 1)], [true, false, false]);
    }
}
