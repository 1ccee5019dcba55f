//! Means and worst cases of errors.

/// Of a list of relative errors.
pub(super) struct Errors {
    pub(super) n: usize,
    pub(super) mean: f64,
    pub(super) bias: f64,
    pub(super) p95: f64,
    pub(super) worst: f64,
}

impl Errors {
    pub(super) fn of(errors: impl Iterator<Item = f64>) -> Errors {
        let list: Vec<f64> = errors.collect();
        let n = list.len().max(1) as f64;
        let mut sizes: Vec<f64> = list.iter().map(|e| e.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        Errors {
            n: list.len(),
            mean: sizes.iter().sum::<f64>() / n,
            bias: list.iter().sum::<f64>() / n,
            p95: sizes.get((sizes.len() as f64 * 0.95) as usize).copied().unwrap_or(0.0),
            worst: sizes.last().copied().unwrap_or(0.0),
        }
    }
}

/// `+4.1 %`.
pub(super) fn signed(x: f64) -> String {
    format!("{:+.1} %", x * 100.0)
}

/// `4.1 %`.
pub(super) fn percent(x: f64) -> String {
    format!("{:.1} %", x * 100.0)
}
