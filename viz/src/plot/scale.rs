//! Maps numbers to pixels, with round numbers for labels.

/// A number for pictures: three or four digits, grouped by thousands.
pub fn number(x: f64) -> String {
    let a = x.abs();
    if a != 0.0 && !(1e-3..1e9).contains(&a) {
        return format!("{x:.2e}");
    }
    if a >= 1000.0 {
        let sign = if x < 0.0 { "-" } else { "" };
        return format!("{sign}{}", crate::gantt::format::grouped(a.round() as u64));
    }
    let digits = if a >= 100.0 {
        0
    } else if a >= 10.0 {
        1
    } else if a >= 1.0 {
        2
    } else {
        3
    };
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A map from numbers to pixels, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: i32,
    to: i32,
}

impl Scale {
    /// A scale for numbers, from pixel `from` to `to`. It is logarithmic for positive numbers that differ by more
    /// than the factor `apart`. A linear scale starts at zero if `zero` is set.
    pub(super) fn new(
        values: impl Iterator<Item = f64> + Clone,
        (from, to): (i32, i32),
        apart: f64,
        zero: bool,
    ) -> Scale {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() || !high.is_finite() {
            return Scale { low: 0.0, high: 1.0, log: false, from, to };
        }
        let log = low > 0.0 && high / low > apart;
        let low = if zero && !log { low.min(0.0) } else { low };
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        Scale { low, high, log, from, to }
    }

    /// The pixel of a number.
    pub(super) fn at(&self, x: f64) -> i32 {
        let f = |x: f64| if self.log { x.ln() } else { x };
        let share = (f(x) - f(self.low)) / (f(self.high) - f(self.low));
        self.from + (share * f64::from(self.to - self.from)).round() as i32
    }

    /// About `most` round numbers in the range.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log {
            let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let steps: &[f64] = if decades.clone().count() * 3 <= most * 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let all = decades.flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
            return all.filter(|x| (self.low..=self.high).contains(x)).collect();
        }
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|x| *x <= self.high + step * 1e-9).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in
            [(0.0, "0"), (0.9371, "0.937"), (1.5, "1.5"), (123.4, "123"), (18260.4, "18,260"), (-2.0, "-2")]
        {
            assert_eq!(number(x), text);
        }
        assert_eq!(number(1e12), "1.00e12");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let s = Scale::new([3.0, 47.0].into_iter(), (0, 100), 50.0, true);
        assert_eq!(s.ticks(5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!((s.at(0.0), s.at(47.0)), (0, 100));
        let log = Scale::new([10.0, 10_000.0].into_iter(), (0, 300), 50.0, true);
        assert_eq!(log.at(100.0), 100);
        assert!(log.ticks(8).iter().all(|t| (10.0..=10_000.0).contains(t)));
        // One value, no value, and equal values have a scale too.
        for values in [vec![], vec![5.0], vec![5.0, 5.0], vec![0.0]] {
            let s = Scale::new(values.iter().copied(), (0, 10), 50.0, true);
            assert!(!s.ticks(5).is_empty() && (0..=10).contains(&s.at(values.first().copied().unwrap_or(0.0))));
        }
    }
}
