//! How far the model is from kernels that were timed.

use serde::Deserialize;

/// One kernel as it was timed: medians over its launches.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Timed {
    /// `train.` or `test.`, and a name.
    pub case: String,
    /// From the first CTA's begin to the last one's end, in ns.
    pub span_ns: f64,
    /// Smallest of the launches.
    pub span_low: f64,
    /// Largest.
    pub span_high: f64,
    /// Clock while it ran, in MHz.
    pub mhz: f64,
    /// Launches.
    pub runs: u32,
    /// The median of a second round.
    pub again_span_ns: f64,
    /// Its clock.
    pub again_mhz: f64,
}

impl Timed {
    /// Cycles of a core at the clock it had.
    pub fn cycles(&self) -> f64 {
        self.span_ns * self.mhz / 1000.0
    }

    /// The same of the second round.
    pub fn cycles_again(&self) -> f64 {
        self.again_span_ns * self.again_mhz / 1000.0
    }

    /// Whether it may be used for fitting.
    pub fn train(&self) -> bool {
        self.case.starts_with("train.")
    }
}

/// What the timed kernels were, in the order of the list.
///
/// # Errors
/// A line of the record that is no [`Timed`].
pub fn recorded() -> Result<Vec<Timed>, serde_json::Error> {
    include_str!("../data/h200_timed.jsonl").lines().map(serde_json::from_str).collect()
}

/// The list of timed kernels: name, scenario, settings (`m=4096`), machine where one is named.
pub fn cases() -> Vec<(String, String, Vec<String>)> {
    let rows = include_str!("../hardware/timed.txt").lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    rows.filter_map(|l| {
        let mut f = l.split('|').map(str::trim);
        let (name, scenario, args) = (f.next()?, f.next()?, f.next()?);
        let words: Vec<&str> = args.split_whitespace().collect();
        let set = words.windows(2).filter(|w| w[0] == "--set").map(|w| w[1].to_string()).collect();
        Some((name.to_string(), scenario.to_string(), set))
    })
    .collect()
}

/// A kernel beside its prediction, in cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Its name.
    pub case: String,
    /// Measured.
    pub measured: f64,
    /// Simulated.
    pub simulated: f64,
    /// How far two rounds of the measurement are apart, as a fraction.
    pub repeat: f64,
}

impl Pair {
    /// Relative error of the simulation.
    pub fn error(&self) -> f64 {
        self.simulated / self.measured - 1.0
    }
}

/// Errors over a set of kernels, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Kernels.
    pub count: usize,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// Mean error.
    pub bias: f64,
    /// The largest absolute error.
    pub worst: f64,
    /// Pairs of kernels more than 5 % apart that the model has in the other order, of how many such pairs.
    pub inverted: (usize, usize),
    /// Mean difference between two rounds of the measurement.
    pub repeat: f64,
}

/// Sums up; `None` of an empty set.
pub fn summary(pairs: &[Pair]) -> Option<Summary> {
    let n = pairs.len();
    let mean = |f: &dyn Fn(&Pair) -> f64| pairs.iter().map(f).sum::<f64>() / n as f64;
    let apart = |a: &Pair, b: &Pair| a.measured * 1.05 < b.measured;
    let order = pairs.iter().flat_map(|a| pairs.iter().filter(move |b| apart(a, b)).map(move |b| (a, b)));
    let (inverted, of) = order.fold((0, 0), |(i, n), (a, b)| (i + (a.simulated > b.simulated) as usize, n + 1));
    (n > 0).then(|| Summary {
        count: n,
        mean: mean(&|p| p.error().abs()),
        bias: mean(&Pair::error),
        worst: pairs.iter().map(|p| p.error().abs()).fold(0.0, f64::max),
        inverted: (inverted, of),
        repeat: mean(&|p| p.repeat),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_record_and_the_list_name_the_same_kernels() {
        let mut names: Vec<String> = cases().into_iter().map(|c| c.0).collect();
        names.sort();
        assert_eq!(recorded().unwrap().into_iter().map(|t| t.case).collect::<Vec<_>>(), names);
    }

    #[test]
    fn errors_and_inversions() {
        let pair = |m: f64, s: f64| Pair { case: String::new(), measured: m, simulated: s, repeat: 0.01 };
        let s = summary(&[pair(100.0, 90.0), pair(200.0, 220.0), pair(103.0, 80.0), pair(300.0, 150.0)]).unwrap();
        assert_eq!((s.count, s.inverted), (4, (1, 5)));
        assert!((s.mean - (0.1 + 0.1 + 23.0 / 103.0 + 0.5) / 4.0).abs() < 1e-12 && (s.worst - 0.5).abs() < 1e-12);
        assert!(summary(&[]).is_none());
    }
}
