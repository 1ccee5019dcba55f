//! The points of a sweep, and the share of one machine.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Value};

/// Most points of a sweep.
pub const MOST_POINTS: usize = 1_000_000;

/// Axes of a sweep. Points are their product, with the last axis running fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    axes: Vec<Axis>,
}

impl Plan {
    /// The product of axes.
    ///
    /// # Errors
    /// No axis, an axis without values, a name on two axes, or too many points.
    pub fn new(axes: Vec<Axis>) -> Result<Plan, String> {
        let mut names: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
        if names.is_empty() {
            return Err("nothing is varied".to_string());
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
            return Err(format!("`{}` is varied twice", twice[0]));
        }
        let points = axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.rows.len())).filter(|n| *n <= MOST_POINTS);
        match points {
            None => Err(format!("more than {MOST_POINTS} points")),
            Some(0) => Err("an axis has no values".to_string()),
            Some(_) => Ok(Plan { axes }),
        }
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Names that vary, in the order of the axes.
    pub fn names(&self) -> Vec<&str> {
        self.axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect()
    }

    /// Number of points, at least 1.
    pub fn len(&self) -> usize {
        self.axes.iter().map(|a| a.rows.len()).product()
    }

    /// Always false: a plan has a point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row of each axis, for a point.
    pub fn place(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let mut place: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|a| {
                let i = rest % a.rows.len();
                rest /= a.rows.len();
                i
            })
            .collect();
        place.reverse();
        place
    }

    /// The values of a point, in the order of the names.
    pub fn point(&self, point: usize) -> Vec<Value> {
        let rows = self.axes.iter().zip(self.place(point)).map(|(a, i)| &a.rows[i]);
        rows.flatten().cloned().collect()
    }

    /// A point in words: `stages=3 tile_m=64`.
    pub fn words(&self, point: usize) -> String {
        let values = self.point(point);
        let words: Vec<String> = self.names().iter().zip(&values).map(|(n, v)| format!("{n}={v}")).collect();
        words.join(" ")
    }
}

/// The `i`-th of `n` shares, from 1. Every n-th point, so that costly points are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which share, from 1.
    pub i: usize,
    /// Number of shares.
    pub n: usize,
}

impl Shard {
    /// All points.
    pub const WHOLE: Shard = Shard { i: 1, n: 1 };

    /// Reads `2/8`.
    ///
    /// # Errors
    /// A sentence with what was expected.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match parts {
            Some((i, n)) if (1..=n).contains(&i) && n <= MOST_POINTS => Ok(Shard { i, n }),
            _ => Err("expected I/N with I from 1 to N, as in `2/8`".to_string()),
        }
    }

    /// Points of this share.
    pub fn points(self, plan: &Plan) -> Vec<usize> {
        (self.i - 1..plan.len()).step_by(self.n).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis;
    use super::*;

    fn plan(axes: &[&str]) -> Result<Plan, String> {
        Plan::new(axes.iter().map(|a| axis(a).unwrap()).collect())
    }

    #[test]
    fn points_are_the_product_the_last_axis_fastest() {
        let p = plan(&["a=1..2", "b=10,20,30"]).unwrap();
        assert_eq!(p.len(), 6);
        assert_eq!(p.words(0), "a=1 b=10");
        assert_eq!(p.words(1), "a=1 b=20");
        assert_eq!(p.words(5), "a=2 b=30");
    }

    #[test]
    fn refusals() {
        assert!(plan(&[]).is_err());
        assert_eq!(plan(&["a=1", "a=2"]).unwrap_err(), "`a` is varied twice");
        assert!(plan(&["a=1..10000", "b=1..10000"]).unwrap_err().contains("points"));
        for bad in ["", "1", "0/2", "3/2", "a/b", "1/0"] {
            assert!(Shard::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shards_cover_every_point_once() {
        let p = plan(&["a=1..17"]).unwrap();
        for n in 1..20 {
            let mut all: Vec<usize> = (1..=n).flat_map(|i| Shard { i, n }.points(&p)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..17).collect::<Vec<_>>());
        }
    }
}
