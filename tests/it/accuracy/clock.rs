//! The clock under tensor load: the machine's line over the share of the tensor cores' rate, compared with measured
//! clocks. Where the simulator finds the share itself, measured times are compared too.

use std::sync::LazyLock;

use rayon::prelude::*;
use warpline_calibrate::accuracy::{cases, recorded};
use warpline_sim::machine::Machine;
use warpline_study::clock::{ClockResult, Line, settle, share};

use super::h200::{self, Asked};
use crate::accuracy::table::Errors;

/// Products of an H200 take part where they run at least so long: shorter ones are over before the clock settles.
const LONG_US: f64 = 100.0;

/// One of so many kernels of a series is simulated: each takes a run for every clock that is tried.
const EVERY: usize = 4;

/// A kernel that was measured.
pub(super) struct Kernel {
    scenario: String,
    values: Vec<(String, f64)>,
    flop: f64,
    cycles: f64,
    mhz: f64,
}

impl Kernel {
    /// Share of the tensor cores' rate.
    fn share(&self) -> f64 {
        self.flop / (self.cycles * peak(&h200()))
    }

    fn us(&self) -> f64 {
        self.cycles / self.mhz
    }
}

fn h200() -> Machine {
    warpline_models::embedded("h200").unwrap()
}

/// FLOP a cycle of all tensor cores.
fn peak(m: &Machine) -> f64 {
    m.get("core.count").unwrap() * m.get("mma.f16_flop_per_clk").unwrap()
}

/// The rows of a series that the compiler does not turn into other code.
fn triton(rows: Vec<Asked>, set: &str) -> Vec<Kernel> {
    let kernel = |r: &Asked| {
        let (scenario, values) = r.scenario();
        Kernel { scenario, values, flop: r.flop(), cycles: r.cycles, mhz: r.mhz }
    };
    rows.iter().filter(|r| r.set == set && !r.apart()).map(kernel).collect()
}

/// Emitted kernels at 4096^3, timed in a run of its own.
fn emitted() -> Vec<Kernel> {
    let of = |(t, (name, scenario, set)): (_, (String, String, Vec<String>))| {
        let t: warpline_calibrate::accuracy::Timed = t;
        assert_eq!(t.case, name);
        let value = |s: &String| {
            let (name, v) = s.split_once('=').unwrap();
            (name.to_string(), v.parse().unwrap())
        };
        let values = set.iter().map(value).collect();
        let counted = t.counted.filter(|_| t.train())?;
        Some(Kernel { scenario, values, flop: 2.0 * 4096f64.powi(3), cycles: counted.cycles, mhz: t.mhz })
    };
    recorded().unwrap().into_iter().zip(cases("sm_90a")).filter_map(of).collect()
}

/// The series, the first of which the line was drawn through.
pub(super) fn series() -> Vec<(&'static str, Vec<Kernel>)> {
    let long = |list: Vec<Kernel>| list.into_iter().filter(|k| k.us() >= LONG_US).collect();
    vec![
        ("Triton's, the rows of the line", long(triton(h200::ours_asked(), "grid"))),
        ("Triton's, measured later", long(triton(h200::ours_asked(), "late"))),
        ("Triton's, the sample", long(triton(h200::sample_asked(), "sample"))),
        ("emitted kernels, 4096^3", long(emitted())),
    ]
}

/// The line of least squares: MHz at no work, and at full work.
fn through(kernels: &[Kernel]) -> (f64, f64) {
    let n = kernels.len() as f64;
    let mean = |f: fn(&Kernel) -> f64| kernels.iter().map(f).sum::<f64>() / n;
    let (u, mhz) = (mean(Kernel::share), mean(|k| k.mhz));
    let slope = kernels.iter().map(|k| (k.share() - u) * (k.mhz - mhz)).sum::<f64>()
        / kernels.iter().map(|k| (k.share() - u) * (k.share() - u)).sum::<f64>();
    (mhz - slope * u, mhz + slope * (1.0 - u))
}

/// How far the machine's line is from measured clocks, at measured shares.
pub(super) struct Clock {
    pub(super) line: Line,
    /// Smallest and largest share of the rows of the line.
    pub(super) shares: (f64, f64),
    /// Name of the rows, errors of the line, errors of the machine file's one number.
    pub(super) sets: Vec<(&'static str, Errors, Errors)>,
}

pub(super) fn clock() -> Clock {
    let line = Line::of(&h200()).unwrap();
    let fixed = h200().get("clock.mhz").unwrap();
    let errors =
        |kernels: &[Kernel], mhz: &dyn Fn(f64) -> f64| Errors::of(kernels.iter().map(|k| mhz(k.share()) / k.mhz - 1.0));
    let series = series();
    let shares = series[0].1.iter().map(Kernel::share);
    let shares = shares.fold((1.0f64, 0.0f64), |(low, high), u| (low.min(u), high.max(u)));
    let set =
        |(name, list): &(&'static str, Vec<Kernel>)| (*name, errors(list, &|u| line.mhz(u)), errors(list, &|_| fixed));
    Clock { line, shares, sets: series.iter().map(set).collect() }
}

/// Errors of the time: at the measured clock, at the clock found, at the machine file's one number.
pub(super) type Times = Vec<(&'static str, [Errors; 3])>;

/// Simulated where no clock is told, beside the times measured. Made once: it is a run for every clock tried.
pub(super) static TIMES: LazyLock<Times> = LazyLock::new(|| {
    let line = Line::of(&h200()).unwrap();
    let fixed = h200().get("clock.mhz").unwrap();
    let of = |k: &Kernel| {
        let mut first = None;
        let found = settle(&line, fixed, |mhz| {
            let r = h200::at(&k.scenario, &k.values, mhz);
            // The share is what the rows' is: FLOP over what all tensor cores do in the cycles of the launch.
            assert!((share(&r) - r.flops / (r.cycles * peak(&h200()))).abs() < 1e-9, "{}", k.scenario);
            first.get_or_insert(r.time_us);
            Ok::<_, ()>(r)
        });
        let (clock, r) = found.unwrap();
        assert_eq!(clock.end, ClockResult::Settled, "{} {:?}: {clock:?}", k.scenario, k.values);
        let own = h200::at(&k.scenario, &k.values, k.mhz).time_us;
        [own, r.time_us, first.unwrap()].map(|us| us / k.us() - 1.0)
    };
    let set = |(name, list): (&'static str, Vec<Kernel>)| {
        let some: Vec<&Kernel> = list.iter().step_by(EVERY).collect();
        let errors: Vec<[f64; 3]> = some.into_par_iter().map(of).collect();
        (name, [0, 1, 2].map(|i| Errors::of(errors.iter().map(|e| e[i]))))
    };
    series().into_iter().map(set).collect()
});

/// The numbers of the machine file are the rows': its line is theirs, its spreads hold all of them.
#[test]
fn the_machines_line_is_that_of_its_rows() {
    let line = Line::of(&h200()).unwrap();
    let series = series();
    let (idle, full) = through(&series[0].1);
    assert!((line.mhz(0.0) - idle).abs() < 0.5 && (line.mhz(1.0) - full).abs() < 0.5, "{idle} {full}");
    let all: Vec<&Kernel> = series.iter().flat_map(|s| &s.1).collect();
    let counts: Vec<usize> = series.iter().map(|s| s.1.len()).collect();
    assert_eq!((counts[0], counts[3], all.len()), (73, 20, 194), "as the source of the numbers says");
    let outside = |k: &&&Kernel| {
        let (low, high) = line.range(k.share());
        !(low..=high).contains(&k.mhz)
    };
    assert_eq!(all.iter().filter(outside).count(), 0);
    // And no wider: somewhere a row is at its edge.
    let least = all.iter().map(|k| k.mhz - line.range(k.share()).0).fold(f64::MAX, f64::min);
    assert!(least < 1.0, "{least}");
}

/// The clock found tells Triton's times better than one number does, over the rows of all its series.
#[test]
fn a_clock_that_is_found_is_nearer_to_tritons_times() {
    let triton = || TIMES.iter().take(3);
    let of = |e: &Errors| e.mean * e.n as f64;
    let [found, fixed] = [1, 2].map(|i| triton().map(|(_, e)| of(&e[i])).sum::<f64>());
    assert!(found < fixed, "{found:.3} {fixed:.3}");
    for (name, [_, found, _]) in triton() {
        assert!(found.mean < 0.10, "{name}: {:.3}", found.mean);
    }
}
