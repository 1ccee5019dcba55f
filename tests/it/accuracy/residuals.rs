//! `models/measured.csv`: measured and simulated cycles of the kernels of two pages, which give a run its uncertainty.

use std::fmt::Write as _;

use rayon::prelude::*;
use warpline_api::{Request, Setting, Traits, execute, load};
use warpline_calibrate::accuracy::{Timed, cases, recorded};

use super::{b200, compiled, file, h200};
use crate::facts::load_on;

/// The columns.
const HEAD: &str = "machine,arch,code,products,copies,atomics,cores,measured,simulated,kernel\n";

/// Adds a row.
fn row(text: &mut String, machine: &str, arch: &str, traits: &Traits, cycles: (f64, f64), kernel: &str) {
    let Traits { code, products, copies, atomics, cores } = traits;
    let (simulated, measured) = cycles;
    let _ = writeln!(
        text,
        "{machine},{arch},{code},{products},{copies},{atomics},{cores},{measured:.0},{simulated:.0},{kernel}"
    );
}

/// Triton's products in the kernel language, on an H200.
fn products(text: &mut String, rows: &[h200::Row]) {
    for r in rows.iter().filter(|r| !r.apart()) {
        let sizes = r.sizes.map(|x| x.to_string()).join("x");
        let tile = r.tile.map(|x| x.to_string()).join("x");
        let name = format!("{}_{sizes}_{tile}_w{}_s{}", r.variant, r.warps, r.stages);
        row(text, "h200", "sm_90a", &r.traits, r.cycles, &name);
    }
}

/// Kernels that `emit` wrote, on an H200: all but those of one CTA.
fn emitted(text: &mut String) {
    let (cases, timed) = (cases("sm_90a"), recorded().expect("the record"));
    let together: Vec<_> = cases.iter().zip(&timed).filter(|(c, _)| !c.0.starts_with("alone")).collect();
    let run = |((name, scenario, set), t): &(&(String, String, Vec<String>), &Timed)| {
        let kernel = set.iter().map(|s| Setting::parse(s).expect("a setting"));
        let clock = Setting::MachineNumber { key: "clock.mhz".into(), value: t.mhz };
        let settings = kernel.chain([clock]).collect();
        let request = Request { machine: Some("h200".into()), settings, ..Request::named(scenario) };
        let subject = load(&request).unwrap_or_else(|e| panic!("{name}: {e}"));
        let report = execute(&subject, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        // From the start of the first CTA, as measured.
        (Traits::of(&subject.program, &subject.machine, false), (report.cycles - report.launch_cycles, t.cycles()))
    };
    let ran: Vec<_> = together.par_iter().map(run).collect();
    for (((name, ..), _), (traits, cycles)) in together.iter().zip(ran) {
        row(text, "h200", "sm_90a", &traits, cycles, name);
    }
}

/// One SM of a B200, at the clock that was fitted to all rows.
fn core(text: &mut String, sweep: &b200::Sweep) {
    let (program, machine) = load_on(None, "blackwell/gemm_1sm", &[]);
    let traits = Traits::of(&program, &machine, false);
    for (tile, rows) in sweep.by_tile() {
        for r in rows {
            let name = format!("{}_s{}", tile.replace(' ', "_"), r.stages);
            row(text, &machine.name, &machine.arch, &traits, (r.cycles, r.measured(sweep.mhz)), &name);
        }
    }
}

/// Compiled kernels.
fn from_ptx<'r>(text: &mut String, rows: impl IntoIterator<Item = &'r compiled::Row>) {
    rows.into_iter().for_each(|r| row(text, r.machine(), "sm_90a", &r.traits, r.cycles, &r.name));
}

/// Holds the file to the rows, or writes it. Of the compiled kernels, only those given are compared.
pub(super) fn check(write: bool, products_of: [&[h200::Row]; 2], sweep: &b200::Sweep, compiled: [&[compiled::Row]; 2]) {
    let mut text = HEAD.to_string();
    products_of.iter().for_each(|rows| products(&mut text, rows));
    emitted(&mut text);
    core(&mut text, sweep);
    let path = file("models/measured.csv");
    if write {
        from_ptx(&mut text, &compiled::all());
        std::fs::write(&path, &text).expect("the file");
        return;
    }
    from_ptx(&mut text, compiled.into_iter().flatten());
    let there = std::fs::read_to_string(&path).expect("models/measured.csv");
    let there: std::collections::BTreeSet<&str> = there.lines().collect();
    for line in text.lines() {
        assert!(there.contains(line), "models/measured.csv lacks `{line}`; WARPLINE_ACCURACY=write writes it anew");
    }
}
