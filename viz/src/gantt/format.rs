//! Numbers of axes: round steps and grouped digits.

use warpline_sim::timeline::TICKS;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Ticks as cycles, as `run` prints them: without decimals if whole or large, else with one.
pub(crate) fn cycles(ticks: u64) -> String {
    let tenths = (u128::from(ticks) * 10 + u128::from(TICKS) / 2) / u128::from(TICKS);
    if tenths >= 100_000 || tenths % 10 == 0 {
        return grouped(((u128::from(ticks) + u128::from(TICKS) / 2) / u128::from(TICKS)) as u64);
    }
    format!("{}.{}", grouped((tenths / 10) as u64), tenths % 10)
}

/// The smallest of 1, 2, 5, 10, 20, 50, ... that is at least `least`.
pub(crate) fn round_step(least: u64) -> u64 {
    let mut ten = 1u64;
    loop {
        for m in [1, 2, 5] {
            let step = ten.saturating_mul(m);
            if step >= least {
                return step;
            }
        }
        ten = ten.saturating_mul(10);
    }
}

/// A unit of time: its name and its picoseconds.
pub(crate) struct Unit(pub(crate) &'static str, pub(crate) u64);

/// The most readable unit for a window of `ps` picoseconds.
pub(crate) fn unit(ps: u64) -> Unit {
    match ps {
        0..2_000_000 => Unit("ns", 1_000),
        2_000_000..2_000_000_000 => Unit("µs", 1_000_000),
        2_000_000_000..2_000_000_000_000 => Unit("ms", 1_000_000_000),
        _ => Unit("s", 1_000_000_000_000),
    }
}

/// `ps` picoseconds in `unit`, with the decimals that a tick of `step` picoseconds needs.
pub(crate) fn time(ps: u64, step: u64, unit: &Unit) -> String {
    let whole = grouped(ps / unit.1);
    let (mut scale, mut decimals) = (unit.1, 0);
    while scale > 1 && !step.is_multiple_of(scale) {
        scale /= 10;
        decimals += 1;
    }
    if decimals == 0 {
        return whole;
    }
    format!("{whole}.{:0decimals$}", ps % unit.1 / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_as_a_run_says_them() {
        let texts = [0, 10 * TICKS + TICKS / 2, 1999 * TICKS + 250, 16 * TICKS, 28_817_967 * TICKS + 27].map(cycles);
        assert_eq!(texts, ["0", "10.5", "2,000", "16", "28,817,967"]);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1234), "1,234");
        assert_eq!(grouped(1_000_000), "1,000,000");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([1, 3, 6, 11, 400].map(round_step), [1, 5, 10, 20, 500]);
    }

    #[test]
    fn times_have_the_decimals_they_need() {
        let us = Unit("µs", 1_000_000);
        assert_eq!(time(1_250_000, 50_000, &us), "1.25");
        assert_eq!(time(3_000_000, 1_000_000, &us), "3");
        assert_eq!(time(1_500_000, 500_000, &us), "1.5");
    }
}
