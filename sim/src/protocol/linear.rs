//! Numbers of control flow over a block of clusters: linear in the coordinates of the clusters.
//!
//! Clusters whose decisions agree have one route. A number is its value in the first cluster of the block and its growth
//! along each axis. A comparison that comes out differently inside the block divides the block where the outcome
//! changes. A number that is not linear keeps the clusters apart along the axes that the number grows along.

use crate::ir::{Binary, Env, Expr, Program, Unary, apply};

use super::blocks::{AXES, Block, Division};
use super::eval::Values;

/// A number in each cluster of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    /// The value in the first cluster.
    pub(super) v: i64,
    /// Growth from coordinate to coordinate of each axis; 0 for an axis of length 1.
    pub(super) by: [i64; AXES],
}

impl Linear {
    /// A number that is the same in all clusters.
    pub(super) fn same(v: i64) -> Linear {
        Linear { v, by: [0; AXES] }
    }

    /// Whether the number is the same in all clusters.
    pub(super) fn is_same(&self) -> bool {
        self.by == [0; AXES]
    }
}

/// A linear number or a difference of two, with room for every value.
#[derive(Clone, Copy, Debug)]
struct Wide {
    v: i128,
    by: [i128; AXES],
}

impl From<Linear> for Wide {
    fn from(x: Linear) -> Wide {
        Wide { v: x.v.into(), by: x.by.map(i128::from) }
    }
}

impl Wide {
    fn less(self, y: Wide) -> Wide {
        Wide { v: self.v - y.v, by: std::array::from_fn(|i| self.by[i] - y.by[i]) }
    }
}

/// Why the clusters of a block have no common route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// No cluster has a route.
    NoRoute,
    /// The parts of this division may have routes.
    Divide(Division),
}

/// The variables of an agent in a block of clusters.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) block: Block,
    /// Values in the first cluster.
    pub(super) vars: Vec<i64>,
    /// Growth of each variable along each axis.
    pub(super) by: Vec<[i64; AXES]>,
}

impl Numbers {
    /// Variables that are zero.
    pub(super) fn new(block: Block, frame: usize) -> Numbers {
        Numbers { block, vars: vec![0; frame], by: vec![[0; AXES]; frame] }
    }

    pub(super) fn set(&mut self, var: u16, x: Linear) {
        (self.vars[var as usize], self.by[var as usize]) = (x.v, x.by);
    }

    pub(super) fn var(&self, var: u16) -> Linear {
        Linear { v: self.vars[var as usize], by: self.by[var as usize] }
    }

    /// The value of an expression. `values` evaluates in the first cluster, with `vars`.
    pub(super) fn of(&self, prog: &Program, e: &Expr, values: &Values<'_>) -> Result<Linear, Obstacle> {
        if self.block.is_one() {
            return values.of(e).map(Linear::same).map_err(|_| Obstacle::NoRoute);
        }
        let of = |e: &Expr| self.of(prog, e, values);
        let truth = |e: &Expr| self.truth(of(e)?);
        match e {
            Expr::Var(v) => Ok(self.var(*v)),
            Expr::Env(env) => {
                let v = values.of(e).map_err(|_| Obstacle::NoRoute)?;
                Ok(Linear { v, by: self.growth(prog, *env)? })
            }
            Expr::Unary(Unary::Neg, x) => self.binary(Binary::Sub, Linear::same(0), of(x)?),
            Expr::Unary(Unary::Not, x) => Ok(Linear::same(i64::from(!truth(x)?))),
            Expr::Binary(Binary::And, p) => Ok(Linear::same(i64::from(truth(&p.0)? && truth(&p.1)?))),
            Expr::Binary(Binary::Or, p) => Ok(Linear::same(i64::from(truth(&p.0)? || truth(&p.1)?))),
            Expr::Binary(op, p) => self.binary(*op, of(&p.0)?, of(&p.1)?),
            Expr::If(p) => of(if truth(&p.0)? { &p.1 } else { &p.2 }),
            // A tape may read every coordinate.
            Expr::Tape(..) => Err(self.apart([1; AXES])),
            Expr::Const(_) | Expr::Param(_) => values.of(e).map(Linear::same).map_err(|_| Obstacle::NoRoute),
        }
    }

    /// The result of an operator other than `and` and `or`.
    pub(super) fn binary(&self, op: Binary, x: Linear, y: Linear) -> Result<Linear, Obstacle> {
        let v = apply(op, x.v, y.v).ok_or(Obstacle::NoRoute)?;
        if x.is_same() && y.is_same() {
            return Ok(Linear::same(v));
        }
        let apart = || self.apart(std::array::from_fn(|i| x.by[i] | y.by[i]));
        let each = |f: &dyn Fn(i64, i64) -> Option<i64>| -> Option<[i64; AXES]> {
            let mut by = [0; AXES];
            for (i, by) in by.iter_mut().enumerate() {
                *by = f(x.by[i], y.by[i])?;
            }
            Some(by)
        };
        let by = match op {
            Binary::Add => each(&i64::checked_add),
            Binary::Sub => each(&i64::checked_sub),
            Binary::Mul if y.is_same() => each(&|x, _| x.checked_mul(y.v)),
            Binary::Mul if x.is_same() => each(&|_, y| y.checked_mul(x.v)),
            Binary::Div | Binary::CeilDiv | Binary::Rem if y.is_same() && y.v > 0 => {
                return self.quotient(op, x, y.v, v).ok_or_else(apart);
            }
            Binary::Min | Binary::Max | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => {
                let less = Wide::from(x).less(y.into());
                let truth = |t: bool| Linear::same(i64::from(t));
                return Ok(match op {
                    Binary::Eq => truth(self.is_zero(less)?),
                    Binary::Ne => truth(!self.is_zero(less)?),
                    Binary::Lt => truth(self.is_below(less, 0)?),
                    Binary::Ge => truth(!self.is_below(less, 0)?),
                    Binary::Le => truth(self.is_below(less, 1)?),
                    Binary::Gt => truth(!self.is_below(less, 1)?),
                    _ => {
                        if self.is_below(less, 0)? == (op == Binary::Min) {
                            x
                        } else {
                            y
                        }
                    }
                });
            }
            _ => None,
        };
        let sum = by.map(|by| Linear { v, by }).ok_or_else(apart)?;
        // A number that is linear has its extremes at corners.
        let (low, high) = self.extremes(sum.into());
        let fits = |v: i128| i64::try_from(v).is_ok();
        if fits(low) && fits(high) { Ok(sum) } else { Err(apart()) }
    }

    /// A quotient or remainder by a positive number, where it is linear. `v` is its value in the first cluster.
    fn quotient(&self, op: Binary, x: Linear, y: i64, v: i64) -> Option<Linear> {
        if x.by.iter().all(|by| by % y == 0) {
            let by = if op == Binary::Rem { [0; AXES] } else { x.by.map(|by| by / y) };
            return Some(Linear { v, by });
        }
        let (low, high) = self.extremes(x.into());
        // Rounded up, a quotient is one more than that of the number before.
        let before = i128::from(op == Binary::CeilDiv);
        let one = (low - before).div_euclid(y.into()) == (high - before).div_euclid(y.into());
        one.then_some(Linear { v, by: if op == Binary::Rem { x.by } else { [0; AXES] } })
    }

    /// Whether a value is not zero, in all clusters or in none.
    pub(super) fn truth(&self, x: Linear) -> Result<bool, Obstacle> {
        Ok(!self.is_zero(x.into())?)
    }

    /// Whether a number is less than a bound, in all clusters or in none.
    fn is_below(&self, x: Wide, bound: i128) -> Result<bool, Obstacle> {
        let (low, high) = self.extremes(x);
        let (all, one) = (high < bound, low < bound);
        if all == one { Ok(all) } else { Err(self.division(x, |v| v < bound)) }
    }

    /// Whether a number is zero, in all clusters or in none.
    fn is_zero(&self, x: Wide) -> Result<bool, Obstacle> {
        match self.extremes(x) {
            (0, 0) => Ok(true),
            (1.., _) | (_, ..=-1) => Ok(false),
            _ => Err(self.division(x, |v| v.signum() == x.v.signum())),
        }
    }

    /// The smallest and the largest value in the block.
    fn extremes(&self, x: Wide) -> (i128, i128) {
        let ends = x.by.iter().zip(&self.block.len).map(|(by, len)| by * i128::from(len - 1));
        ends.fold((x.v, x.v), |(low, high), d| (low + d.min(0), high + d.max(0)))
    }

    /// The division of the block by outcome: values with the outcome of the first cluster, and values with another one.
    /// The second part starts at one place of an axis. If a number grows along several axes, the axis that changes the
    /// number most is halved.
    fn division(&self, x: Wide, outcome: impl Fn(i128) -> bool) -> Obstacle {
        let way = |i: &usize| (x.by[*i] * i128::from(self.block.len[*i] - 1)).abs();
        let axis = (0..AXES).max_by_key(way).unwrap_or(0);
        let alone = (0..AXES).all(|i| i == axis || x.by[i] == 0);
        let at = |k: i64| outcome(x.v + x.by[axis] * i128::from(k));
        let (mut same, mut other) = (0, self.block.len[axis] - 1);
        while alone && same + 1 < other {
            let middle = same + (other - same) / 2;
            if at(middle) == at(0) { same = middle } else { other = middle }
        }
        let first = if alone { other } else { self.block.len[axis] / 2 };
        Obstacle::Divide(Division::At { axis, at: self.block.from[axis] + first })
    }

    /// The division of the block along all axes that a number grows along.
    fn apart(&self, by: [i64; AXES]) -> Obstacle {
        Obstacle::Divide(Division::Apart(std::array::from_fn(|i| by[i] != 0 && self.block.len[i] > 1)))
    }

    /// Growth of a coordinate along each axis.
    fn growth(&self, prog: &Program, env: Env) -> Result<[i64; AXES], Obstacle> {
        let size = i64::from(prog.cluster);
        let by = match env {
            Env::Warp | Env::CtaRank | Env::TapeIndex => [0; AXES],
            Env::CtaM => [size, 0, 0],
            Env::ClusterM => [1, 0, 0],
            Env::CtaN | Env::ClusterN => [0, 1, 0],
            Env::CtaZ => [0, 0, 1],
            Env::ClusterId => self.growth_of_index(prog)?,
            Env::CtaId => self.growth_of_index(prog)?.map(|by| by * size),
        };
        Ok(std::array::from_fn(|i| if self.block.len[i] == 1 { 0 } else { by[i] }))
    }

    /// Growth of the launch index along each axis. The index is linear inside a group of rows (`Grid::at`).
    fn growth_of_index(&self, prog: &Program) -> Result<[i64; AXES], Obstacle> {
        let grid = &prog.grid;
        let group = if grid.group == 0 { grid.m } else { grid.group };
        let first = self.block.from[0] / group * group;
        let end = (first + group).min(grid.m);
        if self.block.from[0] + self.block.len[0] > end {
            return Err(Obstacle::Divide(Division::At { axis: 0, at: end }));
        }
        Ok([1, end - first, grid.m * grid.n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(len: i64) -> Numbers {
        Numbers::new(Block { from: [100, 7, 0], len: [len, 3, 1] }, 0)
    }

    fn linear(v: i64, m: i64, n: i64) -> Linear {
        Linear { v, by: [m, n, 0] }
    }

    fn cut(axis: usize, at: i64) -> Result<Linear, Obstacle> {
        Err(Obstacle::Divide(Division::At { axis, at }))
    }

    #[test]
    fn a_comparison_divides_a_block_where_its_outcome_changes() {
        let n = row(10);
        let (id, bound) = (linear(100, 1, 0), Linear::same(107));
        assert_eq!(n.binary(Binary::Lt, id, bound), cut(0, 107));
        assert_eq!(n.binary(Binary::Le, id, bound), cut(0, 108));
        assert_eq!(n.binary(Binary::Lt, bound, id), cut(0, 108));
        assert_eq!(n.binary(Binary::Min, id, bound), cut(0, 107));
        assert_eq!(n.binary(Binary::Eq, id, bound), cut(0, 107));
        assert_eq!(n.binary(Binary::Ne, id, Linear::same(100)), cut(0, 101));
        assert_eq!(n.binary(Binary::Eq, id, Linear::same(110)), Ok(Linear::same(0)));
        assert_eq!(n.binary(Binary::Lt, id, Linear::same(110)), Ok(Linear::same(1)));
        assert_eq!(n.binary(Binary::Ge, id, linear(101, 1, 0)), Ok(Linear::same(0)));
        // Along two axes, the longer way is halved.
        assert_eq!(n.binary(Binary::Lt, linear(0, 1, 8), Linear::same(9)), cut(1, 8));
    }

    #[test]
    fn sums_and_multiples_stay_linear_and_products_do_not() {
        let n = row(8);
        let apart = |m, n| Err(Obstacle::Divide(Division::Apart([m, n, false])));
        let (x, c) = (linear(5, 3, 0), Linear::same(-2));
        assert_eq!(n.binary(Binary::Add, x, linear(5, 3, 1)), Ok(linear(10, 6, 1)));
        assert_eq!(n.binary(Binary::Mul, x, c), Ok(linear(-10, -6, 0)));
        assert_eq!(n.binary(Binary::Mul, x, x), apart(true, false));
        assert_eq!(n.binary(Binary::Mul, x, linear(1, 0, 1)), apart(true, true));
        assert_eq!(n.binary(Binary::Rem, x, c), apart(true, false));
        assert_eq!(n.binary(Binary::Add, x, Linear::same(i64::MAX - 5)), apart(true, false));
    }

    /// Each result that a block has is the result in each of its clusters.
    #[test]
    fn a_result_is_that_of_each_cluster() {
        use Binary::*;
        let n = row(4);
        let value = |x: Linear, m: i64, k: i64| x.v + m * x.by[0] + k * x.by[1];
        let numbers: Vec<Linear> =
            (-5..6).flat_map(|v| (-2..3).flat_map(move |m| (-4..5).step_by(2).map(move |k| linear(v, m, k)))).collect();
        for op in [Add, Sub, Mul, Div, Rem, CeilDiv, Min, Max, Lt, Le, Gt, Ge, Eq, Ne] {
            let mut results = 0;
            for (x, y) in numbers.iter().flat_map(|x| numbers.iter().map(move |y| (*x, *y))) {
                let Ok(r) = n.binary(op, x, y) else { continue };
                results += u32::from(!x.is_same());
                for (m, k) in (0..4).flat_map(|m| (0..3).map(move |k| (m, k))) {
                    assert_eq!(apply(op, value(x, m, k), value(y, m, k)), Some(value(r, m, k)), "{op:?} {x:?} {y:?}");
                }
            }
            assert!(results > 0, "{op:?}");
        }
    }
}
