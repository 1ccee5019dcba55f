//! Ranges of the numbers of many clusters: smallest and largest value, and the coordinates that the value depends on.

use crate::ir::{Binary, Env, Expr, Program, Unary, apply};
use crate::protocol::vocabulary::AgentInfo;

/// The reason why an expression has no value for the given clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The value depends on these coordinates, as bits: fewer clusters may have a value.
    Split(u8),
    /// The value is not known for any cluster, or the walk is too long.
    Never,
}

/// A range that contains every cluster's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Range {
    lo: i64,
    hi: i64,
    /// Coordinates that the number depends on, as bits: row, column, third, launch index.
    by: u8,
}

/// A set of clusters of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClusterRange {
    /// A range of launch indices.
    Ids(i64, i64),
    /// A box of rows, columns and third coordinates, for any launch index.
    Block([(i64, i64); 3]),
}

impl ClusterRange {
    /// Number of clusters.
    pub(super) fn len(&self) -> i64 {
        match self {
            ClusterRange::Ids(a, b) => b - a + 1,
            ClusterRange::Block(axes) => axes.iter().map(|(a, b)| b - a + 1).product(),
        }
    }

    /// The two halves of the set along the longest of these coordinates.
    pub(super) fn halves(&self, by: u8) -> [ClusterRange; 2] {
        let half = |(a, b): (i64, i64)| (a + (b - a) / 2, a + (b - a) / 2 + 1);
        match *self {
            ClusterRange::Ids(a, b) => {
                let (end, next) = half((a, b));
                [ClusterRange::Ids(a, end), ClusterRange::Ids(next, b)]
            }
            ClusterRange::Block(axes) => {
                let long = |i: &usize| (axes[*i].1 - axes[*i].0) * (by >> *i & 1) as i64;
                let i = (0..3).max_by_key(long).unwrap_or(0);
                let (end, next) = half(axes[i]);
                let (mut one, mut other) = (axes, axes);
                (one[i].1, other[i].0) = (end, next);
                [ClusterRange::Block(one), ClusterRange::Block(other)]
            }
        }
    }

    fn coordinate(&self, prog: &Program, i: usize) -> Range {
        match *self {
            ClusterRange::Ids(lo, hi) if i == 3 => Range { lo, hi, by: 8 },
            ClusterRange::Ids(id, same) if id == same => {
                let (m, n, z) = prog.grid.at(id);
                Range::from([m, n, z][i])
            }
            ClusterRange::Ids(..) => Range { lo: 0, hi: [prog.grid.m, prog.grid.n, prog.grid.z][i] - 1, by: 8 },
            ClusterRange::Block(axes) => {
                let (lo, hi) = axes[i.min(2)];
                Range { lo, hi, by: 1 << i }
            }
        }
    }
}

impl From<i64> for Range {
    fn from(v: i64) -> Self {
        Range { lo: v, hi: v, by: 0 }
    }
}

impl Range {
    /// Whether the number is not 0, if that is the same for all clusters.
    pub(super) fn truth(self) -> Result<bool, Stop> {
        match (self.lo, self.hi) {
            (0, 0) => Ok(false),
            (lo, hi) if lo > 0 || hi < 0 => Ok(true),
            _ => Err(Stop::Split(self.by)),
        }
    }

    /// The number, if it is the same for all clusters.
    pub(super) fn number(self) -> Result<i64, Stop> {
        if self.lo == self.hi { Ok(self.lo) } else { Err(Stop::Split(self.by)) }
    }

    fn binary(op: Binary, x: Range, y: Range) -> Result<Range, Stop> {
        let by = x.by | y.by;
        let alone = x.lo == x.hi && y.lo == y.hi;
        let grows = match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max => true,
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => true,
            Binary::Div | Binary::CeilDiv => y.lo > 0,
            Binary::Rem => y.lo == y.hi && y.lo > 0 && x.lo.div_euclid(y.lo) == x.hi.div_euclid(y.lo),
            Binary::Eq if x.hi < y.lo || y.hi < x.lo => return Ok(Range { lo: 0, hi: 0, by }),
            Binary::Ne if x.hi < y.lo || y.hi < x.lo => return Ok(Range { lo: 1, hi: 1, by }),
            _ => false,
        };
        let stop = if alone { Stop::Never } else { Stop::Split(by) };
        if !grows && !alone {
            return Err(stop);
        }
        // A result that is monotonic in each operand has its extremes at the ends of the operands.
        let mut ends = [(x.lo, y.lo), (x.lo, y.hi), (x.hi, y.lo), (x.hi, y.hi)].into_iter();
        let all = ends.try_fold((i64::MAX, i64::MIN), |(lo, hi), (x, y)| {
            let v = apply(op, x, y)?;
            Some((v.min(lo), v.max(hi)))
        });
        all.map(|(lo, hi)| Range { lo, hi, by }).ok_or(stop)
    }
}

/// The environment in which an agent evaluates expressions.
pub(super) struct EvalContext<'a> {
    pub(super) prog: &'a Program,
    pub(super) part: ClusterRange,
    pub(super) who: AgentInfo,
    pub(super) vars: &'a [Range],
}

impl EvalContext<'_> {
    /// The value of an expression, as `World` evaluates it for one cluster.
    pub(super) fn value(&self, e: &Expr, tape_index: Range) -> Result<Range, Stop> {
        let value = |e: &Expr| self.value(e, tape_index);
        Ok(match e {
            Expr::Const(v) => (*v).into(),
            Expr::Param(p) => self.prog.symbols[*p as usize].value.into(),
            Expr::Var(v) => self.vars[*v as usize],
            Expr::Env(env) => self.env(*env, tape_index)?,
            Expr::Unary(Unary::Neg, x) => Range::binary(Binary::Sub, 0.into(), value(x)?)?,
            Expr::Unary(Unary::Not, x) => (!value(x)?.truth()? as i64).into(),
            Expr::Binary(Binary::And, p) => ((value(&p.0)?.truth()? && value(&p.1)?.truth()?) as i64).into(),
            Expr::Binary(Binary::Or, p) => ((value(&p.0)?.truth()? || value(&p.1)?.truth()?) as i64).into(),
            Expr::Binary(op, p) => Range::binary(*op, value(&p.0)?, value(&p.1)?)?,
            Expr::If(p) => value(if value(&p.0)?.truth()? { &p.1 } else { &p.2 })?,
            Expr::Tape(t, at) => self.value(&self.prog.tapes[*t as usize].run, value(at)?)?,
        })
    }

    fn env(&self, env: Env, tape_index: Range) -> Result<Range, Stop> {
        let at = |i| self.part.coordinate(self.prog, i);
        // The coordinate of the CTA follows from that of its cluster.
        let of_cta = |i| {
            let first = Range::binary(Binary::Mul, at(i), (self.prog.cluster as i64).into())?;
            Range::binary(Binary::Add, first, (self.who.cta as i64).into())
        };
        Ok(match env {
            Env::Warp => (self.who.warp as i64).into(),
            Env::CtaRank => (self.who.cta as i64).into(),
            Env::CtaM => of_cta(0)?,
            Env::CtaN | Env::ClusterN => at(1),
            Env::CtaZ => at(2),
            Env::CtaId => of_cta(3)?,
            Env::ClusterM => at(0),
            Env::ClusterId => at(3),
            Env::TapeIndex => tape_index,
        })
    }
}

/// The coordinate that an expression is, if it is a coordinate.
pub(super) fn coordinate(e: &Expr) -> Option<usize> {
    match e {
        Expr::Env(Env::CtaM | Env::ClusterM) => Some(0),
        Expr::Env(Env::CtaN | Env::ClusterN) => Some(1),
        Expr::Env(Env::CtaZ) => Some(2),
        Expr::Env(Env::CtaId | Env::ClusterId) => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The range of a result contains the result of every pair of operands.
    #[test]
    fn every_number_of_a_range_is_between_its_ends() {
        use Binary::*;
        for op in [Add, Sub, Mul, Div, Rem, CeilDiv, Min, Max, Lt, Le, Gt, Ge, Eq, Ne, BitOr, BitAnd, Shl] {
            let mut said = 0;
            for (a, b) in (-3..5).flat_map(|a| (a..a + 4).map(move |b| (a, b))) {
                for (c, d) in (-2..4).flat_map(|c| (c..c + 3).map(move |d| (c, d))) {
                    let (x, y) = (Range { lo: a, hi: b, by: 1 }, Range { lo: c, hi: d, by: 2 });
                    let Ok(r) = Range::binary(op, x, y) else { continue };
                    said += (a < b) as u32;
                    for (x, y) in (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y))) {
                        let v = apply(op, x, y);
                        assert!(v.is_some_and(|v| r.lo <= v && v <= r.hi), "{op:?} {x} {y}: {v:?} in {r:?}");
                    }
                }
            }
            assert_eq!(said > 0, !matches!(op, BitOr | BitAnd | Shl), "{op:?}");
        }
    }

    #[test]
    fn halves_make_up_the_whole() {
        let blocks = [ClusterRange::Block([(0, 4), (1, 9), (2, 2)]), ClusterRange::Ids(3, 9)];
        for whole in blocks {
            for by in 1..8 {
                let [one, other] = whole.halves(by);
                assert_eq!(one.len() + other.len(), whole.len(), "{whole:?} {by}");
            }
        }
        assert_eq!(
            blocks[0].halves(1),
            [ClusterRange::Block([(0, 2), (1, 9), (2, 2)]), ClusterRange::Block([(3, 4), (1, 9), (2, 2)])]
        );
        assert_eq!(blocks[1].halves(8), [ClusterRange::Ids(3, 6), ClusterRange::Ids(7, 9)]);
    }
}
