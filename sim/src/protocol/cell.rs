//! A part of a grid, as coordinates along axes.

/// The coordinates of one axis: `lo`, `lo + step`, ... .
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Axis {
    /// The first coordinate.
    pub lo: i64,
    /// The distance from one coordinate to the next.
    pub step: i64,
    /// The number of coordinates.
    pub count: i64,
}

impl Axis {
    /// All coordinates below an extent.
    pub fn below(extent: i64) -> Axis {
        Axis { lo: 0, step: 1, count: extent }
    }

    /// The last coordinate.
    pub fn last(&self) -> i64 {
        self.lo + self.step * (self.count - 1)
    }

    /// The first `n` coordinates, and the remaining ones.
    pub(super) fn split(self, n: i64) -> [Axis; 2] {
        [Axis { count: n, ..self }, Axis { lo: self.lo + n * self.step, count: self.count - n, ..self }]
    }

    /// Every `n`-th coordinate, from each of the first `n`.
    pub(super) fn stride(self, n: i64) -> Vec<Axis> {
        let class =
            |r: i64| Axis { lo: self.lo + r * self.step, step: self.step * n, count: (self.count - r + n - 1) / n };
        (0..n.min(self.count)).map(class).collect()
    }
}

/// A part of a grid, by the coordinates of its clusters: row, column, third dimension, launch index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The coordinates along each axis.
    pub axes: [Axis; 4],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_its_parts() {
        let all = |a: &Axis| (0..a.count).map(|k| a.lo + k * a.step).collect::<Vec<_>>();
        let axis = Axis { lo: 3, step: 2, count: 7 };
        for n in 1..9 {
            let mut parts: Vec<i64> = axis.stride(n).iter().flat_map(all).collect();
            parts.sort_unstable();
            assert_eq!(parts, all(&axis), "{n}");
        }
        assert_eq!(axis.split(3).iter().flat_map(all).collect::<Vec<_>>(), all(&axis));
    }
}
