//! Jobs handed out evenly: `for job in cta.id..jobs step grid.size`.
//!
//! With jobs a multiple m of the n CTAs, what is a CTA's number and a multiple of n is below m n where that multiple is below
//! it, for every CTA: such a guard tells none apart. That a number is such a multiple is seen in a compiled kernel, and is said of
//! that kernel alone: a proof asks it of every kernel that it rests on (`every`). Between them numbers are linear in the
//! steps and in the turns, so those of the others are multiples as well.

use warpline_sim::ir::{Binary, Env, Expr, Instr, Op, Program};

/// Which variables hold a CTA's (cluster's) number and a multiple of how many there are.
pub(crate) struct Shares {
    id: Env,
    all: i64,
    vars: Vec<bool>,
    /// Values of the symbols.
    values: Vec<i64>,
}

impl Shares {
    /// For the number of the CTA and of the cluster.
    pub(crate) fn of(prog: &Program) -> [Shares; 2] {
        let clusters = prog.grid.len();
        [(Env::CtaId, clusters * prog.cluster as i64), (Env::ClusterId, clusters)].map(|(id, all)| {
            let values = prog.symbols.iter().map(|s| s.value).collect();
            let mut shares = Shares { id, all: all.max(1), vars: vec![true; prog.vars.len()], values };
            // Those of which every value is one, if those it is made of are.
            loop {
                let other = prog.code.iter().find_map(|i| {
                    let other = match i {
                        Instr::Set(v, e) if !shares.is(e) => *v,
                        Instr::Op { op: Op::Get { var, .. }, .. } => *var,
                        _ => return None,
                    };
                    shares.vars[other as usize].then_some(other)
                });
                match other {
                    Some(v) => shares.vars[v as usize] = false,
                    None => return shares,
                }
            }
        })
    }

    fn is(&self, e: &Expr) -> bool {
        match e {
            Expr::Env(env) => *env == self.id,
            Expr::Var(v) => self.vars[*v as usize],
            Expr::Binary(Binary::Add, p) => {
                self.is(&p.0) && self.multiple(&p.1) || self.multiple(&p.0) && self.is(&p.1)
            }
            Expr::Binary(Binary::Sub, p) => self.is(&p.0) && self.multiple(&p.1),
            _ => false,
        }
    }

    fn multiple(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(c) => c % self.all == 0,
            Expr::Param(p) => self.values[*p as usize] % self.all == 0,
            Expr::Unary(warpline_sim::ir::Unary::Neg, x) => self.multiple(x),
            Expr::Binary(Binary::Add | Binary::Sub, p) => self.multiple(&p.0) && self.multiple(&p.1),
            Expr::Binary(Binary::Mul, p) => self.multiple(&p.0) || self.multiple(&p.1),
            _ => false,
        }
    }

    /// Whether a comparison comes out alike for all CTAs.
    pub(crate) fn alike(&self, e: &Expr) -> bool {
        match e {
            Expr::Binary(Binary::Lt | Binary::Ge, p) => self.is(&p.0) && self.multiple(&p.1),
            Expr::Binary(Binary::Gt | Binary::Le, p) => self.multiple(&p.0) && self.is(&p.1),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares() -> Shares {
        Shares { id: Env::CtaId, all: 4, vars: vec![true, false], values: Vec::new() }
    }

    #[test]
    fn whoever_is_before_the_end_is_so_for_every_cta() {
        let job = Expr::binary(Binary::Add, Expr::Var(0), Expr::Const(8));
        for (x, y, alike) in [(0, 12, true), (0, 13, false), (1, 12, false)] {
            let e = Expr::binary(Binary::Lt, Expr::Var(x), Expr::Const(y));
            assert_eq!(shares().alike(&e), alike, "{x} {y}");
        }
        assert!(shares().alike(&Expr::binary(Binary::Gt, Expr::Const(12), job.clone())));
        // Equal to the end is CTA 0 alone.
        assert!(!shares().alike(&Expr::binary(Binary::Eq, job.clone(), Expr::Const(12))));
        assert!(!shares().alike(&Expr::binary(Binary::Le, job, Expr::Const(12))));
    }
}
