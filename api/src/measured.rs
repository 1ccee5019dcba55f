//! Kernels that were measured, and the interval that they give the time of a kernel like them.
//!
//! `models/measured.csv` has the measured and the simulated cycles of the kernels of docs/accuracy.md and
//! docs/validation.md; a test computes the simulated ones again. Nothing else enters this interval: the errors of kernels
//! on the same machine contain those of the machine's numbers, whose own part is [`spread`](crate::spread).

use std::fmt;

use serde::Deserialize;
use warpline_sim::Report;
use warpline_sim::ir::{Class, Instr, MmaKind, MoveKind, Op, Program, Writes};
use warpline_sim::machine::Machine;
use warpline_sim::report::Outcome;

use crate::load::Subject;

/// The fewest kernels that give an interval.
const FEWEST: usize = 5;

/// One of so many kernels is left out at each end.
const OUTSIDE: usize = 10;

/// The share of measured kernels inside the interval, where there are ten or more.
const SHARE: f64 = 0.8;

/// What the error of a simulated time depends on most, as the columns of `models/measured.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Traits {
    /// `compiled` or `written`: read from PTX, or in the kernel language.
    pub code: String,
    /// The matrix instructions: `umma`, `wgmma`, `mma` or `no products`.
    pub products: String,
    /// What brings data from global memory: `tma`, `cp.async`, `dma` or `loads`.
    pub copies: String,
    /// `atomics` or `no atomics` on global memory.
    pub atomics: String,
    /// `all cores` or `few cores`: whether the CTAs occupy at least half of the cores.
    pub cores: String,
}

impl Traits {
    /// The traits of a bound program on a machine. A `compiled` one was read from PTX.
    pub fn of(program: &Program, machine: &Machine, compiled: bool) -> Traits {
        let ops = || program.code.iter().filter_map(|i| if let Instr::Op { op, .. } = i { Some(op) } else { None });
        let multiplies = |kinds: &[MmaKind]| ops().any(|op| matches!(op, Op::Mma { kind, .. } if kinds.contains(kind)));
        let moves = |kind: MoveKind| ops().any(|op| matches!(op, Op::Move { how, .. } if *how == kind));
        let products = match () {
            () if multiplies(&[MmaKind::Umma, MmaKind::UmmaPair]) => "umma",
            () if multiplies(&[MmaKind::Wgmma]) => "wgmma",
            () if multiplies(&[MmaKind::Warp]) => "mma",
            () => "no products",
        };
        let copies = match () {
            () if moves(MoveKind::TmaLoad) => "tma",
            () if moves(MoveKind::CpAsync) => "cp.async",
            () if moves(MoveKind::LdsDma) => "dma",
            () => "loads",
        };
        let adds = |op: &Op| {
            let Op::Move { dst, .. } = op else { return false };
            dst.sel.writes == Writes::Atomic && program.objects[dst.obj as usize].class == Class::Global
        };
        let ctas = program.grid.len() as f64 * f64::from(program.cluster);
        let few = machine.get("core.count").is_some_and(|n| ctas * 2.0 < n);
        Traits {
            code: if compiled { "compiled" } else { "written" }.into(),
            products: products.into(),
            copies: copies.into(),
            atomics: if ops().any(adds) { "atomics" } else { "no atomics" }.into(),
            cores: if few { "few cores" } else { "all cores" }.into(),
        }
    }
}

impl fmt::Display for Traits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.code, self.products, self.copies)?;
        [(&self.atomics, "atomics"), (&self.cores, "few cores")]
            .into_iter()
            .filter(|(has, word)| has.as_str() == *word)
            .try_for_each(|(_, word)| write!(f, ", {word}"))
    }
}

/// A row of `models/measured.csv`.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    machine: String,
    arch: String,
    #[serde(flatten)]
    traits: Traits,
    measured: f64,
    simulated: f64,
}

/// How sure a simulated time is.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertainty {
    /// What kind of kernel it is.
    pub traits: Traits,
    /// The interval; `None` where fewer than five kernels like it were measured, the run did not finish, or its launch
    /// gives no array.
    pub interval: Option<Interval>,
}

/// The times that the errors of measured kernels allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in cycles.
    pub low_cycles: f64,
    /// The upper end, in cycles.
    pub high_cycles: f64,
    /// Number of measured kernels. [`Self::share`] of them are inside.
    pub kernels: usize,
    /// The machine that they were measured on.
    pub machine: String,
    /// Whether that machine is the one of the run.
    pub same_machine: bool,
    /// Whether they bring their data in the same way.
    pub same_copies: bool,
}

impl Interval {
    /// The share of the measured kernels inside the interval.
    pub fn share(&self) -> f64 {
        if self.kernels < OUTSIDE { 1.0 } else { SHARE }
    }

    /// One line: who was measured, and what the interval says of them.
    pub fn basis(&self, of: &Uncertainty, machine: &str) -> String {
        let share = if self.share() < 1.0 { "8 of 10" } else { "all" };
        let other = if self.same_copies { "" } else { " with other copies" };
        let elsewhere = if self.same_machine { String::new() } else { format!("; none on {machine}") };
        format!(
            "{share} of {} kernels like it{other} ({}) measured on {}{elsewhere}",
            self.kernels, of.traits, self.machine
        )
    }
}

/// The interval that measured kernels give the time of a run. A run that did not finish has none, and neither has one
/// whose launch gives no array.
pub fn uncertainty(subject: &Subject, report: &Report) -> Uncertainty {
    let traits = Traits::of(&subject.program, &subject.machine, subject.imported.is_some());
    // Every measured kernel of the table was simulated with its arrays.
    let comparable = !subject.imported.as_ref().is_some_and(|i| i.arrays_unknown);
    let known = report.outcome == Outcome::Finished && comparable;
    let interval = known.then(|| interval(&rows(), &subject.machine, &traits, report.cycles)).flatten();
    Uncertainty { traits, interval }
}

fn rows() -> Vec<Row> {
    // A test reads every row.
    csv::Reader::from_reader(warpline_models::MEASURED.as_bytes()).deserialize().filter_map(Result::ok).collect()
}

/// From the kernels that are most alike: those of this machine, or else of its architecture; those with the same
/// copies, or else with others.
fn interval(rows: &[Row], machine: &Machine, traits: &Traits, cycles: f64) -> Option<Interval> {
    let of = |same_machine: bool, same_copies: bool| {
        let alike = |r: &&Row| {
            let t = &r.traits;
            let here = if same_machine { r.machine == machine.name } else { r.arch == machine.arch };
            here && (&t.code, &t.products, &t.atomics, &t.cores)
                == (&traits.code, &traits.products, &traits.atomics, &traits.cores)
                && (!same_copies || t.copies == traits.copies)
        };
        let list: Vec<&Row> = rows.iter().filter(alike).collect();
        let first = list.first()?;
        // Rows of one architecture can be of several machines: those of the first in the file.
        let mut errors: Vec<f64> =
            list.iter().filter(|r| r.machine == first.machine).map(|r| r.measured / r.simulated).collect();
        errors.sort_by(f64::total_cmp);
        let outside = errors.len() / OUTSIDE;
        let (low, high) = (errors[outside], errors[errors.len() - 1 - outside]);
        (errors.len() >= FEWEST).then(|| Interval {
            low_cycles: cycles * low,
            high_cycles: cycles * high,
            kernels: errors.len(),
            machine: first.machine.clone(),
            same_machine,
            same_copies,
        })
    };
    of(true, true).or_else(|| of(true, false)).or_else(|| of(false, true)).or_else(|| of(false, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(machine: &str, copies: &str, error: f64) -> Row {
        let traits = Traits {
            code: "compiled".into(),
            products: "wgmma".into(),
            copies: copies.into(),
            atomics: "no atomics".into(),
            cores: "all cores".into(),
        };
        Row { machine: machine.into(), arch: "sm_90a".into(), traits, measured: error * 100.0, simulated: 100.0 }
    }

    /// Twenty kernels whose measured times are 0.81 to 1.00 times the simulated ones.
    fn twenty(machine: &str, copies: &str) -> Vec<Row> {
        (1..=20).map(|i| row(machine, copies, 0.8 + f64::from(i) / 100.0)).collect()
    }

    #[test]
    fn one_in_ten_is_left_out_at_each_end() {
        let machine = warpline_models::embedded("h100").expect("a built-in machine");
        let rows = twenty("h100", "tma");
        let found = interval(&rows, &machine, &rows[0].traits, 1000.0).expect("an interval");
        assert!((found.low_cycles - 830.0).abs() < 1e-6 && (found.high_cycles - 980.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.kernels, found.same_machine, found.same_copies), (20, true, true));
        // Of a few, all count.
        let found = interval(&rows[..6], &machine, &rows[0].traits, 1000.0).expect("an interval");
        assert!((found.low_cycles - 810.0).abs() < 1e-6 && (found.high_cycles - 860.0).abs() < 1e-6, "{found:?}");
        assert_eq!(interval(&rows[..4], &machine, &rows[0].traits, 1000.0), None);
    }

    #[test]
    fn the_same_machine_comes_first_and_no_other_architecture_counts() {
        let machine = warpline_models::embedded("h100").expect("a built-in machine");
        let other = |copies: &str| row("h200", copies, 1.0).traits;
        let rows = [twenty("h200", "cp.async"), twenty("h100", "tma")].concat();
        let found = interval(&rows, &machine, &other("cp.async"), 1.0).expect("an interval");
        assert_eq!((found.machine.as_str(), found.same_machine, found.same_copies), ("h100", true, false));
        let found = interval(&rows[..20], &machine, &other("cp.async"), 1.0).expect("an interval");
        assert_eq!((found.machine.as_str(), found.same_machine, found.same_copies), ("h200", false, true));
        let blackwell = warpline_models::embedded("b200").expect("a built-in machine");
        assert_eq!(interval(&rows, &blackwell, &other("tma"), 1.0), None);
    }

    #[test]
    fn every_row_of_the_file_reads() {
        assert_eq!(rows().len(), warpline_models::MEASURED.lines().count() - 1);
        assert!(rows().iter().all(|r| r.measured > 0.0 && r.simulated > 0.0));
    }
}
