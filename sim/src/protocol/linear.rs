//! Numbers of control flow over a range of clusters: linear in the launch index.
//!
//! Clusters whose decisions agree have one route. A number is its value in the first cluster of the range and its growth
//! from cluster to cluster. A comparison that comes out differently at the two ends of the range splits the range where
//! the outcome changes. A number that is not linear, and a decision on a number that changes in another way, keeps the
//! clusters apart.

use std::ops::Range;

use crate::ir::{Binary, Env, Expr, Program, Unary, apply};

use super::eval::Values;

/// A number in each cluster of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    /// The value in the first cluster.
    pub(super) v: i64,
    /// Growth from cluster to cluster.
    pub(super) by: i64,
}

/// Why a range of clusters has no common route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// No cluster has a route.
    NoRoute,
    /// Clusters before this one decide in one way, and this one in another.
    Split(i64),
    /// Each cluster needs a walk of its own.
    Apart,
}

/// The variables of an agent in a range of clusters.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) ids: Range<i64>,
    /// Values in the first cluster.
    pub(super) vars: Vec<i64>,
    /// Growth of each variable from cluster to cluster.
    pub(super) by: Vec<i64>,
}

impl Numbers {
    /// Variables that are zero.
    pub(super) fn new(ids: Range<i64>, frame: usize) -> Numbers {
        Numbers { ids, vars: vec![0; frame], by: vec![0; frame] }
    }

    fn last(&self) -> i64 {
        self.ids.end - self.ids.start - 1
    }

    pub(super) fn set(&mut self, var: u16, x: Linear) {
        (self.vars[var as usize], self.by[var as usize]) = (x.v, x.by);
    }

    pub(super) fn var(&self, var: u16) -> Linear {
        Linear { v: self.vars[var as usize], by: self.by[var as usize] }
    }

    /// The value of an expression. `values` evaluates in the first cluster, with `vars`.
    pub(super) fn of(&self, prog: &Program, e: &Expr, values: &Values<'_>) -> Result<Linear, Obstacle> {
        let first = || values.of(e).map_err(|_| Obstacle::NoRoute);
        if self.last() == 0 {
            return Ok(Linear { v: first()?, by: 0 });
        }
        match e {
            Expr::Const(_) | Expr::Param(_) => Ok(Linear { v: first()?, by: 0 }),
            Expr::Var(v) => Ok(self.var(*v)),
            Expr::Env(env) => Ok(Linear { v: first()?, by: growth(prog, *env)? }),
            Expr::Unary(Unary::Neg, x) => self.binary(Binary::Sub, Linear { v: 0, by: 0 }, self.of(prog, x, values)?),
            Expr::Binary(op, p) if !matches!(op, Binary::And | Binary::Or) => {
                self.binary(*op, self.of(prog, &p.0, values)?, self.of(prog, &p.1, values)?)
            }
            _ if self.is_constant(prog, e) => Ok(Linear { v: first()?, by: 0 }),
            _ => Err(Obstacle::Apart),
        }
    }

    /// The result of an operator other than `and` and `or`.
    pub(super) fn binary(&self, op: Binary, x: Linear, y: Linear) -> Result<Linear, Obstacle> {
        let at = |k: i64| -> Option<i64> {
            let value = |n: Linear| n.by.checked_mul(k)?.checked_add(n.v);
            apply(op, value(x)?, value(y)?)
        };
        let v = at(0).ok_or(Obstacle::NoRoute)?;
        if x.by == 0 && y.by == 0 {
            return Ok(Linear { v, by: 0 });
        }
        let end = at(self.last()).ok_or(Obstacle::Apart)?;
        let by = match op {
            Binary::Add => x.by.checked_add(y.by),
            Binary::Sub => x.by.checked_sub(y.by),
            Binary::Mul if y.by == 0 => x.by.checked_mul(y.v),
            Binary::Mul if x.by == 0 => y.by.checked_mul(x.v),
            // A difference that is linear changes its sign once at most.
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge if v == end => Some(0),
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                let (mut same, mut other) = (0, self.last());
                while same + 1 < other {
                    let middle = (same + other) / 2;
                    if at(middle).ok_or(Obstacle::Apart)? == v { same = middle } else { other = middle }
                }
                return Err(Obstacle::Split(self.ids.start + other));
            }
            _ => None,
        };
        by.map(|by| Linear { v, by }).ok_or(Obstacle::Apart)
    }

    /// Whether a value is not zero, in all clusters or in none.
    pub(super) fn truth(&self, x: Linear) -> Result<bool, Obstacle> {
        if x.by == 0 { Ok(x.v != 0) } else { Err(Obstacle::Apart) }
    }

    fn is_constant(&self, prog: &Program, e: &Expr) -> bool {
        let mut constant = true;
        e.visit(&mut |x| {
            constant &= match x {
                Expr::Var(v) => self.by[*v as usize] == 0,
                Expr::Env(env) => growth(prog, *env) == Ok(0),
                Expr::Tape(..) => false,
                _ => true,
            }
        });
        constant
    }
}

/// Growth of a coordinate from cluster to cluster in launch order, where the coordinate is linear.
fn growth(prog: &Program, env: Env) -> Result<i64, Obstacle> {
    let (grid, size, all) = (&prog.grid, prog.cluster as i64, prog.grid.len());
    // Along the only axis that is longer than 1, the coordinate is the launch index.
    let along = |own: i64, size: i64| match own {
        1 => Ok(0),
        own if own == all => Ok(size),
        _ => Err(Obstacle::Apart),
    };
    match env {
        Env::Warp | Env::CtaRank | Env::TapeIndex => Ok(0),
        Env::CtaId => Ok(size),
        Env::ClusterId => Ok(1),
        Env::CtaM => along(grid.m, size),
        Env::ClusterM => along(grid.m, 1),
        Env::CtaN | Env::ClusterN => along(grid.n, 1),
        Env::CtaZ => along(grid.z, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_splits_a_range_where_its_outcome_changes() {
        let n = Numbers::new(100..110, 0);
        let (id, bound) = (Linear { v: 100, by: 1 }, Linear { v: 107, by: 0 });
        assert_eq!(n.binary(Binary::Lt, id, bound), Err(Obstacle::Split(107)));
        assert_eq!(n.binary(Binary::Le, id, bound), Err(Obstacle::Split(108)));
        assert_eq!(n.binary(Binary::Lt, bound, id), Err(Obstacle::Split(108)));
        assert_eq!(n.binary(Binary::Lt, id, Linear { v: 110, by: 0 }), Ok(Linear { v: 1, by: 0 }));
        assert_eq!(n.binary(Binary::Ge, id, Linear { v: 101, by: 1 }), Ok(Linear { v: 0, by: 0 }));
    }

    #[test]
    fn sums_and_multiples_stay_linear_and_remainders_do_not() {
        let n = Numbers::new(0..8, 0);
        let (x, c) = (Linear { v: 5, by: 3 }, Linear { v: -2, by: 0 });
        assert_eq!(n.binary(Binary::Add, x, x), Ok(Linear { v: 10, by: 6 }));
        assert_eq!(n.binary(Binary::Mul, x, c), Ok(Linear { v: -10, by: -6 }));
        assert_eq!(n.binary(Binary::Mul, x, x), Err(Obstacle::Apart));
        assert_eq!(n.binary(Binary::Rem, x, c), Err(Obstacle::Apart));
        assert_eq!(n.binary(Binary::Eq, x, c), Err(Obstacle::Apart));
        assert_eq!(n.binary(Binary::Add, x, Linear { v: i64::MAX - 5, by: 0 }), Err(Obstacle::Apart));
    }
}
