//! The clock that a run keeps, on machines whose clock falls with the work of the tensor cores.
//!
//! The model is a line over one number: the share of the tensor cores' dense rate that the whole launch reaches
//! ([`Report::of_peak`]). For a measured kernel the share is FLOP / (`sm__cycles_elapsed.max` x cores x FLOP/cycle).
//! At another clock a run has another share, because memory behind the cores keeps its time. So the clock is a fixed
//! point of the line. `docs/accuracy.md` compares the line with measurements.

use warpline_sim::Report;
use warpline_sim::machine::{Kind, Machine, MissingParam, Param};
use warpline_sim::report::Outcome;
use warpline_sim::words::{of, percent, plain};

/// Key of the clock with idle tensor cores, in MHz.
const IDLE: &str = "clock.sustained_idle_mhz";
/// Key of the clock with busy tensor cores, in MHz.
const FULL: &str = "clock.sustained_full_mhz";
/// Most runs for one clock. Where the share changes smoothly with the clock, each run is five times nearer than the
/// last.
const MOST: u32 = 8;
/// Largest distance from the line at which a clock is settled, in MHz.
const NEAR: f64 = 1.0;
/// The same where the share jumps between neighboring clocks, for the nearest clock tried: less than a third of the
/// line's own error.
const ENOUGH: f64 = 10.0;

/// Share of the tensor cores' rate that a run reaches, 0 to 1; 0 without matrix work.
pub fn share(report: &Report) -> f64 {
    report.of_peak.unwrap_or(0.0)
}

/// The clock as a line over the share of the tensor cores' rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    idle: [f64; 3],
    full: [f64; 3],
}

impl Line {
    /// The line of a machine.
    ///
    /// # Errors
    /// The machine has no line.
    pub fn of(machine: &Machine) -> Result<Line, MissingParam> {
        let end = |key| {
            let value = machine.need(key, "the sustained clock")?;
            let (low, high) = machine.params.get(key).and_then(|p| p.spread).unwrap_or((value, value));
            Ok([value, low, high])
        };
        Ok(Line { idle: end(IDLE)?, full: end(FULL)? })
    }

    /// MHz at a share of the tensor cores' rate.
    pub fn mhz(&self, share: f64) -> f64 {
        self.at(share, 0)
    }

    /// Lowest and highest MHz at a share, from the spreads of the machine's numbers.
    pub fn range(&self, share: f64) -> (f64, f64) {
        (self.at(share, 1), self.at(share, 2))
    }

    fn at(&self, share: f64, i: usize) -> f64 {
        self.idle[i] + share * (self.full[i] - self.idle[i])
    }

    /// Bounds of the search: whole MHz below and above everything that the line gives.
    fn around(&self) -> (f64, f64) {
        let [a, b] = [self.idle[0], self.full[0]];
        (a.min(b).floor() - 1.0, a.max(b).ceil() + 1.0)
    }
}

/// How the search for a clock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockResult {
    /// The line gives the clock of the run back, to within 1 MHz, or 10 where the share jumps.
    Settled,
    /// The line gives back none of the clocks tried.
    Open,
    /// The kernel does not end, so it has no share.
    Unfinished,
}

impl ClockResult {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ClockResult::Settled => "settled",
            ClockResult::Open => "open",
            ClockResult::Unfinished => "unfinished",
        }
    }
}

/// The clock of a run. In whole MHz, unless it is the machine's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sustained {
    /// The clock, in MHz.
    pub mhz: f64,
    /// How it was found.
    pub end: ClockResult,
    /// Share of the tensor cores' rate at this clock; 0 for a run that does not end.
    pub share: f64,
    /// MHz of the line at that share.
    pub line: f64,
    /// Lowest and highest MHz there, from the spreads of the line's numbers.
    pub range: (f64, f64),
    /// Number of runs made.
    pub runs: u32,
}

impl Sustained {
    /// Distance of the clock from the line, in MHz.
    pub fn off(&self) -> f64 {
        (self.line - self.mhz).abs()
    }

    /// Whether the line gives the clock back.
    pub fn is_on_the_line(&self) -> bool {
        self.off() < NEAR
    }
}

impl std::fmt::Display for Sustained {
    /// The clock in a sentence, with how it was found.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mhz, runs) = (plain(self.mhz), of(self.runs.into(), "run"));
        match self.end {
            ClockResult::Settled => {
                // Where the share jumps from one clock to the next, the nearest is some MHz off.
                let off = if self.is_on_the_line() {
                    String::new()
                } else {
                    format!(" to within {} MHz", plain(self.off().ceil()))
                };
                let (share, [low, high]) =
                    (percent(self.share), [self.range.0, self.range.1].map(|v| plain(v.round())));
                write!(
                    f,
                    "{mhz} MHz, sustained: the machine's line at {share} % of the tensor cores' rate, found in {runs}{off}; \
                     its spread there is {low} to {high} MHz"
                )
            }
            ClockResult::Open => write!(
                f,
                "{mhz} MHz, not settled: in {runs} no clock was found that the line gives back; at this one it gives {}",
                plain(self.line.round())
            ),
            ClockResult::Unfinished => {
                write!(f, "{mhz} MHz as given: the run did not end, so there is no sustained clock")
            }
        }
    }
}

/// Finds the clock that the line gives back, starting from the machine's clock. `run` simulates at a clock.
///
/// # Errors
/// Errors of a run.
pub fn settle<E>(
    line: &Line,
    first: f64,
    mut run: impl FnMut(f64) -> Result<Report, E>,
) -> Result<(Sustained, Report), E> {
    search(line, first, |mhz| {
        let report = run(mhz)?;
        Ok(((report.outcome == Outcome::Finished).then(|| share(&report)), report))
    })
}

/// The same search over any function with a share; `None` where the function does not end.
fn search<T, E>(
    line: &Line,
    first: f64,
    mut run: impl FnMut(f64) -> Result<(Option<f64>, T), E>,
) -> Result<(Sustained, T), E> {
    let (mut low, mut high) = line.around();
    let (mut mhz, mut runs) = (first, 0);
    let mut best: Option<(Sustained, T)> = None;
    loop {
        let (reached, result) = run(mhz)?;
        runs += 1;
        let share = reached.unwrap_or(0.0);
        let there = line.mhz(share);
        let tried = Sustained { mhz, end: ClockResult::Open, share, line: there, range: line.range(share), runs };
        if reached.is_none() {
            return Ok((Sustained { end: ClockResult::Unfinished, ..tried }, result));
        }
        if tried.is_on_the_line() {
            return Ok((Sustained { end: ClockResult::Settled, ..tried }, result));
        }
        let (nearest, result) = match best.take() {
            Some(before) if before.0.off() <= tried.off() => before,
            _ => (tried, result),
        };
        // Below the fixed point the line gives more than the clock, above it less.
        if there > mhz {
            low = low.max(mhz)
        } else {
            high = high.min(mhz)
        }
        let next = there.round();
        mhz = if low < next && next < high { next } else { ((low + high) / 2.0).floor() };
        if runs == MOST || mhz <= low {
            let end = if nearest.off() < ENOUGH { ClockResult::Settled } else { ClockResult::Open };
            return Ok((Sustained { end, runs, ..nearest }, result));
        }
        best = Some((nearest, result));
    }
}

/// The machine at another clock.
pub fn at(machine: &Machine, mhz: f64) -> Machine {
    let mut machine = machine.clone();
    let source = "the sustained clock of a run".to_string();
    let param = Param { value: mhz, unit: "MHz".to_string(), kind: Kind::Estimated, source, spread: None };
    machine.params.insert("clock.mhz".to_string(), param);
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line { idle: [1891.0, 1718.0, 2064.0], full: [1513.0, 1340.0, 1686.0] };

    #[test]
    fn the_line_between_its_ends() {
        assert_eq!((LINE.mhz(0.0), LINE.mhz(0.5), LINE.mhz(1.0)), (1891.0, 1702.0, 1513.0));
        assert_eq!(LINE.range(0.5), (1529.0, 1875.0));
    }

    fn found(share: impl Fn(f64) -> Option<f64>) -> Sustained {
        let (sustained, mhz) = search(&LINE, 1755.0, |mhz| Ok::<_, ()>((share(mhz), mhz))).unwrap();
        assert_eq!(sustained.mhz, mhz, "the result is of the clock");
        sustained
    }

    #[test]
    fn a_share_that_falls_with_the_clock_settles() {
        // A run bound by what keeps its time has the steepest share.
        for reached in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let s = found(|mhz| Some(reached * 1513.0 / mhz));
            assert_eq!(s.end, ClockResult::Settled, "{s:?}");
            assert!((s.mhz - LINE.mhz(s.share)).abs() < NEAR && s.line == LINE.mhz(s.share), "{s:?}");
            assert!(s.mhz.fract() == 0.0 && s.runs <= 6, "{s:?}");
        }
        assert_eq!(found(|_| Some(0.0)).mhz, 1891.0);
        assert_eq!(found(|_| Some(1.0)).mhz, 1513.0);
    }

    #[test]
    fn a_share_that_jumps_over_the_line_ends_and_says_so() {
        let s = found(|mhz| Some(if mhz < 1700.0 { 0.2 } else { 0.9 }));
        assert_eq!((s.end, s.runs), (ClockResult::Open, MOST));
        assert!((s.mhz - 1700.0).abs() < 5.0 && s.off() > 100.0, "{s:?}");
        // A small jump is within the error of the line: take the nearest clock tried.
        let s = found(|mhz| Some(if mhz < 1700.0 { 0.5 } else { 0.51 }));
        assert_eq!((s.end, s.mhz, s.line), (ClockResult::Settled, 1700.0, LINE.mhz(0.51)), "{s:?}");
        assert!(s.runs <= MOST);
    }

    #[test]
    fn what_does_not_end_keeps_the_clock_it_had() {
        let s = found(|_| None);
        assert_eq!((s.end, s.mhz, s.runs), (ClockResult::Unfinished, 1755.0, 1));
    }
}
