//! The error of the model on timed kernels.

use serde::{Deserialize, Serialize};

/// One timed kernel: medians over its launches, each with cold caches.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Timed {
    /// Name of the case, with its set: `train.`, `test.` or `alone.`.
    pub case: String,
    /// Time from the first CTA's begin to the last one's end, in ns.
    pub span_ns: f64,
    /// Smallest of the launches, in ns.
    pub span_low: f64,
    /// Largest of the launches, in ns.
    pub span_high: f64,
    /// Clock during the launches, in MHz.
    pub mhz: f64,
    /// Number of launches.
    pub runs: u32,
    /// Median of a second round, in ns.
    pub again_span_ns: f64,
    /// Clock of the second round, in MHz.
    pub again_mhz: f64,
    /// Mean cycles from one multiplication of a warp to its next, in the later half of the first CTA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<f64>,
    /// Counters of a profiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// Counters of a profiler for one launch with cold caches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Counted {
    /// Cycles of a core.
    pub cycles: f64,
    /// Share of the sectors looked up in L2 that are found there.
    pub l2_hit: f64,
    /// Sectors looked up in L2 over sectors that cores receive: requests of several cores merge on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_looked_up: Option<f64>,
    /// Bytes read from DRAM.
    pub dram_read: f64,
    /// Bytes written to DRAM.
    pub dram_written: f64,
    /// Share of all warps' time at a CTA barrier.
    pub at_barriers: f64,
    /// Share of all warps' time waiting for data, a phase, a product or a pipe.
    pub for_data: f64,
}

/// The JSON line of a harness about a timed kernel.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    error: String,
    outcome: String,
    #[serde(default)]
    span_ns: f64,
    #[serde(default)]
    span_low: f64,
    #[serde(default)]
    span_high: f64,
    #[serde(default)]
    mhz: f64,
    #[serde(default)]
    runs: u32,
    /// Times of whole launches.
    #[serde(default)]
    us: f64,
    #[serde(default)]
    us_low: f64,
    #[serde(default)]
    us_high: f64,
}

impl Timed {
    /// A kernel from the line that an emitted program prints after `--time`, with one round.
    ///
    /// # Errors
    /// The failure that the line reports.
    pub fn of_harness(case: &str, line: &str) -> Result<Timed, String> {
        let s: Said = serde_json::from_str(line).map_err(|e| format!("it said `{line}`: {e}"))?;
        if s.outcome != "timed" {
            return Err(format!("{}: {}", s.outcome, s.error));
        }
        Ok(Timed {
            case: case.to_string(),
            span_ns: s.span_ns,
            span_low: s.span_low,
            span_high: s.span_high,
            mhz: s.mhz,
            runs: s.runs,
            again_span_ns: s.span_ns,
            again_mhz: s.mhz,
            pace: None,
            counted: None,
        })
    }

    /// A kernel from the line of a harness on a device without a clock (Metal). The span is that of the launch, as
    /// the system measures it, and the clock is the one given.
    ///
    /// # Errors
    /// The failure that the line reports.
    pub fn of_launches(case: &str, line: &str, mhz: f64) -> Result<Timed, String> {
        let t = Timed::of_harness(case, line)?;
        let s: Said = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let [span_ns, span_low, span_high] = [s.us, s.us_low, s.us_high].map(|us| us * 1000.0);
        Ok(Timed { span_ns, span_low, span_high, mhz, again_span_ns: span_ns, again_mhz: mhz, ..t })
    }

    /// Adds a second round.
    pub fn with_round(self, again: &Timed) -> Timed {
        Timed { again_span_ns: again.span_ns, again_mhz: again.mhz, ..self }
    }

    /// Cycles of a core at the clock it had.
    pub fn cycles(&self) -> f64 {
        self.span_ns * self.mhz / 1000.0
    }

    /// Cycles of a core in the second round.
    pub fn cycles_again(&self) -> f64 {
        self.again_span_ns * self.again_mhz / 1000.0
    }

    /// Whether the kernel may be used for fitting.
    pub fn train(&self) -> bool {
        self.case.starts_with("train.")
    }
}

/// The timed kernels on record, in the order of the list.
///
/// # Errors
/// A line of the record that is no [`Timed`].
pub fn recorded() -> Result<Vec<Timed>, serde_json::Error> {
    include_str!("../data/h200_validation.jsonl").lines().map(serde_json::from_str).collect()
}

/// The timed kernels of an architecture: name, scenario, settings (`m=4096`). Those of CDNA and Apple were never
/// timed by us.
pub fn cases(arch: &str) -> Vec<(String, String, Vec<String>)> {
    let list = match arch {
        "gfx90a" => include_str!("../hardware/timed_gfx90a.txt"),
        "gfx942" => include_str!("../hardware/timed_gfx942.txt"),
        "gfx950" => include_str!("../hardware/timed_gfx950.txt"),
        a if a.starts_with("apple") => include_str!("../hardware/timed_apple.txt"),
        _ => include_str!("../hardware/timed.txt"),
    };
    let rows = list.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    rows.filter_map(|l| {
        let mut f = l.split('|').map(str::trim);
        let (name, scenario, args) = (f.next()?, f.next()?, f.next()?);
        let words: Vec<&str> = args.split_whitespace().collect();
        let set = words.windows(2).filter(|w| w[0] == "--set").map(|w| w[1].to_string()).collect();
        Some((name.to_string(), scenario.to_string(), set))
    })
    .collect()
}

/// A timed kernel and its prediction, in cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Name of the case.
    pub case: String,
    /// Measured cycles.
    pub measured: f64,
    /// Simulated cycles.
    pub simulated: f64,
    /// Cycles measured in the second round.
    pub again: f64,
    /// Difference of the two rounds in time, as a fraction.
    pub repeat: f64,
    /// Difference of the launches of one round, as a fraction of their median.
    pub spread: f64,
    /// Cycles from product to product, measured and simulated.
    pub pace: Option<(f64, f64)>,
    /// Counters of the profiler and of the simulation.
    pub counted: Option<(Counted, Counted)>,
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
    /// Number of kernels.
    pub count: usize,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// Mean error.
    pub bias: f64,
    /// The largest absolute error.
    pub worst: f64,
    /// Pairs of kernels more than 5 % apart whose order the model inverts, and the number of such pairs.
    pub inverted: (usize, usize),
    /// [`Self::inverted`] for pairs that are that far apart in both rounds of the measurement.
    pub inverted_twice: (usize, usize),
    /// Mean difference between two rounds of the measurement.
    pub repeat: f64,
}

/// A choice of the stage count, among kernels that differ in nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The fastest kernel by the model.
    pub chosen: String,
    /// The fastest kernel by measurement.
    pub best: String,
    /// Measured time of the chosen kernel over that of the best, minus one.
    pub costs: f64,
}

/// The choices among pairs, in the order of the list; `same` names a kernel without its stages.
pub fn choices(pairs: &[Pair], same: impl Fn(&Pair) -> String) -> Vec<Choice> {
    let mut groups: Vec<(String, Vec<&Pair>)> = Vec::new();
    for p in pairs {
        let name = same(p);
        match groups.iter_mut().find(|g| g.0 == name) {
            Some(g) => g.1.push(p),
            None => groups.push((name, vec![p])),
        }
    }
    let least = |all: &[&Pair], f: fn(&Pair) -> f64| all.iter().min_by(|a, b| f(a).total_cmp(&f(b))).copied().cloned();
    let choice = |(_, all): &(String, Vec<&Pair>)| {
        let (chosen, best) = (least(all, |p| p.simulated)?, least(all, |p| p.measured)?);
        let costs = chosen.measured / best.measured - 1.0;
        (all.len() > 1).then_some(Choice { chosen: chosen.case, best: best.case, costs })
    };
    groups.iter().filter_map(choice).collect()
}

/// Summary of a set; `None` for an empty set.
pub fn summary(pairs: &[Pair]) -> Option<Summary> {
    let n = pairs.len();
    let mean = |f: &dyn Fn(&Pair) -> f64| pairs.iter().map(f).sum::<f64>() / n as f64;
    let inverted = |apart: fn(&Pair, &Pair) -> bool| {
        let order = pairs.iter().flat_map(|a| pairs.iter().filter(move |b| apart(a, b)).map(move |b| (a, b)));
        order.fold((0, 0), |(i, n), (a, b)| (i + (a.simulated > b.simulated) as usize, n + 1))
    };
    (n > 0).then(|| Summary {
        count: n,
        mean: mean(&|p| p.error().abs()),
        bias: mean(&Pair::error),
        worst: pairs.iter().map(|p| p.error().abs()).fold(0.0, f64::max),
        inverted: inverted(|a, b| a.measured * 1.05 < b.measured),
        inverted_twice: inverted(|a, b| a.measured * 1.05 < b.measured && a.again * 1.05 < b.again),
        repeat: mean(&|p| p.repeat),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_record_and_the_list_name_the_same_kernels() {
        let names: Vec<String> = cases("sm_90a").into_iter().map(|c| c.0).collect();
        assert_eq!(recorded().unwrap().into_iter().map(|t| t.case).collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_kernel_that_hung_is_no_time() {
        let line =
            r#"{"kernel":"k","outcome":"timed","runs":15,"span_ns":100,"span_low":90,"span_high":110,"mhz":1500}"#;
        let t = Timed::of_harness("train.x", line).unwrap();
        assert_eq!((t.cycles(), t.runs, t.train()), (150.0, 15, true));
        let e = Timed::of_harness("x", r#"{"kernel":"k","outcome":"hang","error":"deadline","waits":[]}"#).unwrap_err();
        assert_eq!(e, "hang: deadline");
        assert!(Timed::of_harness("x", "Segmentation fault").is_err());
    }

    #[test]
    fn a_harness_without_a_clock_gives_whole_launches() {
        let line = r#"{"kernel":"k","outcome":"timed","runs":15,"us":200.5,"us_low":200.0,"us_high":210.0}"#;
        let t = Timed::of_launches("test.x", line, 1500.0).unwrap();
        assert_eq!(
            (t.cycles(), t.span_low, t.span_high, t.cycles_again()),
            (300_750.0, 200_000.0, 210_000.0, 300_750.0)
        );
        let e = Timed::of_launches("x", r#"{"kernel":"k","outcome":"setup","error":"no Metal device"}"#, 1500.0);
        assert_eq!(e.unwrap_err(), "setup: no Metal device");
    }

    #[test]
    fn every_architecture_has_a_list() {
        for (arch, first) in [("gfx90a", "test.register_buffer.a"), ("apple9", "test.double_buffer.a")] {
            assert_eq!(cases(arch)[0].0, first);
        }
        for arch in ["gfx90a", "gfx942", "gfx950", "apple9"] {
            // Nothing may be fitted to a kernel, so there are no kernels for fitting.
            assert!(cases(arch).iter().all(|c| c.0.starts_with("test.") && c.2.len() >= 3), "{arch}");
        }
    }

    #[test]
    fn errors_and_inversions() {
        let pair = |m: f64, again: f64, s: f64| Pair {
            case: String::new(),
            measured: m,
            again,
            simulated: s,
            repeat: 0.01,
            spread: 0.0,
            pace: None,
            counted: None,
        };
        let s = summary(&[
            pair(100.0, 100.0, 90.0),
            pair(200.0, 200.0, 220.0),
            pair(103.0, 103.0, 80.0),
            pair(300.0, 206.0, 150.0),
        ])
        .unwrap();
        // The second and the last differ in one round and are equal in the other.
        assert_eq!((s.count, s.inverted, s.inverted_twice), (4, (1, 5), (0, 4)));
        assert!((s.mean - (0.1 + 0.1 + 23.0 / 103.0 + 0.5) / 4.0).abs() < 1e-12 && (s.worst - 0.5).abs() < 1e-12);
        assert!(summary(&[]).is_none());
        let all = [pair(100.0, 100.0, 90.0), pair(80.0, 80.0, 95.0), pair(7.0, 7.0, 7.0)];
        let of = |p: &Pair| if p.measured < 10.0 { "alone".to_string() } else { "two".to_string() };
        let c = choices(&all, of);
        assert_eq!((c.len(), c[0].costs), (1, 0.25));
    }
}
