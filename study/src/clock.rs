//! The clock that a run keeps, where the machine says how it falls with the tensor cores' work.
//!
//! The model is a line over one number: the share of the tensor cores' dense rate that the whole run reaches, its launch
//! counted ([`Report::of_peak`]; of a measured kernel FLOP / (`sm__cycles_elapsed.max` x cores x FLOP/cycle)). A run at
//! another clock has another share, because what lies behind the cores keeps its time, so the clock is a fixed point.
//! `docs/accuracy.md` says how far the line is from measurements, and of which kernels.

use warpline_sim::Report;
use warpline_sim::machine::{Kind, Machine, MissingParam, Param};
use warpline_sim::report::Outcome;
use warpline_sim::words::{of, percent, plain};

/// The machine's number for a kernel that leaves the tensor cores idle.
const IDLE: &str = "clock.sustained_idle_mhz";
/// Its number for one that keeps them busy.
const FULL: &str = "clock.sustained_full_mhz";
/// Runs made for a clock. Where the share follows the clock smoothly, each is five times nearer than the last.
const MOST: u32 = 8;
/// A run is at its clock where the line gives that back to within so many MHz.
const NEAR: f64 = 1.0;
/// Or, where the share jumps from one clock to the next so that it is nowhere so near, within so many at the nearest clock
/// tried: less than a third of the line's own error.
const ENOUGH: f64 = 10.0;

/// Share of the tensor cores' rate that a run reaches; 0 without matrix work.
pub fn share(report: &Report) -> f64 {
    report.of_peak.unwrap_or(0.0)
}

/// The clock over the share of the tensor cores' rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    idle: [f64; 3],
    full: [f64; 3],
}

impl Line {
    /// The machine's line.
    ///
    /// # Errors
    /// Where the machine has none.
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

    /// Lowest and highest MHz at that share, by the spreads of the machine's numbers.
    pub fn range(&self, share: f64) -> (f64, f64) {
        (self.at(share, 1), self.at(share, 2))
    }

    fn at(&self, share: f64, i: usize) -> f64 {
        self.idle[i] + share * (self.full[i] - self.idle[i])
    }

    /// A whole number of MHz below and one above all that the line gives.
    fn around(&self) -> (f64, f64) {
        let [a, b] = [self.idle[0], self.full[0]];
        (a.min(b).floor() - 1.0, a.max(b).ceil() + 1.0)
    }
}

/// How the search for a clock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The line gives the clock of the run back, to within 1 MHz, or 10 where the share jumps.
    Settled,
    /// None of the clocks tried is one that the line gives back.
    Open,
    /// The kernel does not end, so it has no share.
    Unfinished,
}

impl End {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            End::Settled => "settled",
            End::Open => "open",
            End::Unfinished => "unfinished",
        }
    }
}

/// The clock of a run, in whole MHz unless it is the machine's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sustained {
    /// The clock, in MHz.
    pub mhz: f64,
    /// How it was found.
    pub end: End,
    /// Share of the tensor cores' rate that the run at this clock reaches; 0 where it does not end.
    pub share: f64,
    /// The line there.
    pub line: f64,
    /// Lowest and highest by the spreads of the line's numbers.
    pub range: (f64, f64),
    /// Runs made.
    pub runs: u32,
}

impl Sustained {
    /// MHz between the clock and the line.
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
            End::Settled => {
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
            End::Open => write!(
                f,
                "{mhz} MHz, not settled: in {runs} no clock was found that the line gives back; at this one it gives {}",
                plain(self.line.round())
            ),
            End::Unfinished => {
                write!(f, "{mhz} MHz as given: the run did not end, so there is no sustained clock")
            }
        }
    }
}

/// Looks for the clock that the line gives back, from the machine's own on. `run` simulates at a clock.
///
/// # Errors
/// Those of a run.
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

/// The same of anything that has a share, or none where it does not end.
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
        let tried = Sustained { mhz, end: End::Open, share, line: there, range: line.range(share), runs };
        if reached.is_none() {
            return Ok((Sustained { end: End::Unfinished, ..tried }, result));
        }
        if tried.is_on_the_line() {
            return Ok((Sustained { end: End::Settled, ..tried }, result));
        }
        let (nearest, result) = match best.take() {
            Some(before) if before.0.off() <= tried.off() => before,
            _ => (tried, result),
        };
        // The line gives more than it was given below the clock looked for, and less above.
        if there > mhz {
            low = low.max(mhz)
        } else {
            high = high.min(mhz)
        }
        let next = there.round();
        mhz = if low < next && next < high { next } else { ((low + high) / 2.0).floor() };
        if runs == MOST || mhz <= low {
            let end = if nearest.off() < ENOUGH { End::Settled } else { End::Open };
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
        // Bound by what keeps its time: the steepest there is.
        for reached in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let s = found(|mhz| Some(reached * 1513.0 / mhz));
            assert_eq!(s.end, End::Settled, "{s:?}");
            assert!((s.mhz - LINE.mhz(s.share)).abs() < NEAR && s.line == LINE.mhz(s.share), "{s:?}");
            assert!(s.mhz.fract() == 0.0 && s.runs <= 6, "{s:?}");
        }
        assert_eq!(found(|_| Some(0.0)).mhz, 1891.0);
        assert_eq!(found(|_| Some(1.0)).mhz, 1513.0);
    }

    #[test]
    fn a_share_that_jumps_over_the_line_ends_and_says_so() {
        let s = found(|mhz| Some(if mhz < 1700.0 { 0.2 } else { 0.9 }));
        assert_eq!((s.end, s.runs), (End::Open, MOST));
        assert!((s.mhz - 1700.0).abs() < 5.0 && s.off() > 100.0, "{s:?}");
        // A small jump is within what the line can tell: the nearest clock tried.
        let s = found(|mhz| Some(if mhz < 1700.0 { 0.5 } else { 0.51 }));
        assert_eq!((s.end, s.mhz, s.line), (End::Settled, 1700.0, LINE.mhz(0.51)), "{s:?}");
        assert!(s.runs <= MOST);
    }

    #[test]
    fn what_does_not_end_keeps_the_clock_it_had() {
        let s = found(|_| None);
        assert_eq!((s.end, s.mhz, s.runs), (End::Unfinished, 1755.0, 1));
    }
}
