//! Longest common subsequences of the ends of two lists.

use rustc_hash::FxHashMap;

/// The length of the longest common subsequence of `x[i..]` and `y[j..]`, for all `i` and `j`. Lists of thousands of nodes
/// are compared, so a row of the table has a bit for each `j`. The bit says whether the length is that of `j + 1`. A row
/// follows from the one below by an addition (H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004).
pub(super) struct Ends {
    /// The rows, from `x` whole to its empty end. The bits of a row begin with the last `j`.
    rows: Vec<u64>,
    /// Words of a row.
    words: usize,
    /// Nodes of `y`.
    columns: usize,
}

impl Ends {
    pub(super) fn of(x: &[u32], y: &[u32]) -> Ends {
        let words = y.len().div_ceil(64);
        let mut places: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (at, n) in y.iter().rev().enumerate() {
            places.entry(*n).or_default().push(at);
        }
        let mut rows = vec![u64::MAX; (x.len() + 1) * words];
        let mut equal = vec![0u64; words];
        for (i, n) in x.iter().enumerate().rev() {
            let all = places.get(n).map_or(&[][..], Vec::as_slice);
            all.iter().for_each(|at| equal[at / 64] |= 1 << (at % 64));
            let (row, below) = rows[i * words..].split_at_mut(words);
            let mut carry = false;
            for (w, (to, below)) in row.iter_mut().zip(below.iter()).enumerate() {
                let both = below & equal[w];
                let (sum, over) = below.overflowing_add(both);
                let (sum, more) = sum.overflowing_add(u64::from(carry));
                carry = over || more;
                *to = sum | (below & !both);
            }
            all.iter().for_each(|at| equal[at / 64] = 0);
        }
        Ends { rows, words, columns: y.len() }
    }

    /// The length for `x[i..]` and `y[j..]`.
    pub(super) fn common(&self, i: usize, j: usize) -> u32 {
        let row = &self.rows[i * self.words..][..self.words];
        let bits = self.columns - j;
        let whole: u32 = row[..bits / 64].iter().map(|w| w.count_zeros()).sum();
        match bits % 64 {
            0 => whole,
            rest => whole + (row[bits / 64] | u64::MAX << rest).count_zeros(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by the definition.
    fn plain(x: &[u32], y: &[u32]) -> Vec<Vec<u32>> {
        let mut best = vec![vec![0; y.len() + 1]; x.len() + 1];
        for i in (0..x.len()).rev() {
            for j in (0..y.len()).rev() {
                best[i][j] = if x[i] == y[j] { best[i + 1][j + 1] + 1 } else { best[i + 1][j].max(best[i][j + 1]) };
            }
        }
        best
    }

    #[test]
    fn bits_give_the_lengths_of_the_table() {
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for round in 0..60 {
            let kinds = 2 + round % 30;
            let mut list = || (0..random(200)).map(|_| random(kinds) as u32).collect::<Vec<_>>();
            let (x, y) = (list(), list());
            let (ends, best) = (Ends::of(&x, &y), plain(&x, &y));
            for (i, row) in best.iter().enumerate() {
                let found: Vec<u32> = (0..=y.len()).map(|j| ends.common(i, j)).collect();
                assert_eq!(&found, row, "{x:?} {y:?} {i}");
            }
        }
    }
}
