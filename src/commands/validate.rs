//! `warpline validate`.

use std::fmt::Write;
use std::path::Path;

use rayon::prelude::*;
use warpline_calibrate::accuracy::{Counted, Pair, Summary, Timed, cases, choices, summary};
use warpline_calibrate::{Device, Kernel, Listener, pace, trace};
use warpline_emit::Unsupported;
use warpline_sim::machine::Vendor;
use warpline_sim::report::RoleTime;
use warpline_sim::timeline::{Stall, Timeline};

use super::measured_rows;
use crate::cli::Validate;
use crate::console::Console;
use crate::device::{self, DeviceBar};
use crate::output;
use warpline_api::{Error, Request, Setting, Status, Subject, draw, execute};

/// The most spans of a run's record, from which the pace is read.
const SPANS: usize = 400_000;
/// The number of kernels of the test set that are drawn.
const WORST: usize = 3;
/// The number of cycles drawn of each.
const SHOWN: u64 = 12_000;

pub(super) fn validate(args: &Validate, console: &mut Console) -> Result<Status, Error> {
    if let (Some(path), Some(machine)) = (&args.rows, args.machine.as_deref()) {
        let text = measured_rows::compare(path, machine, console)?;
        console.print(&text)?;
        return Ok(Status::Holds);
    }
    let device = match (&args.device, args.recorded) {
        (Some(name), _) => device::open(name, console)?,
        (None, true) => device::open("recorded", console)?,
        (None, false) => {
            return Err(Error::with_help(
                "no device was named",
                format!(
                    "`--recorded` takes the kernels that were timed on one H200; `--device` times them: {}",
                    device::NAMES
                ),
            ));
        }
    };
    let machine = device::machine(&*device, args.machine.as_deref())?.machine;
    let name = args.machine.as_deref().unwrap_or(&machine.name);
    let format = args.output.as_deref().map(draw::format).transpose()?;
    let cases = cases(&machine.arch);
    let with_source = device.needs_source();
    let kernels: Vec<Kernel> = cases.par_iter().map(|c| kernel(name, with_source, c)).collect::<Result<_, _>>()?;
    let bar = DeviceBar::start(console, &*device);
    bar.more(kernels.len());
    let timed = device.kernels(&kernels, &bar).map_err(device::refused)?;
    let pairs: Result<Vec<Pair>, Error> =
        cases.par_iter().zip(&timed).map(|(c, t)| pair(name, t, c).inspect(|_| bar.done())).collect();
    drop(bar);
    let pairs = pairs?;
    // The measurements took minutes, so they are written before anything can fail.
    if let Some(folder) = &args.record {
        let lines: Result<Vec<String>, _> = timed.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|e| Error::new(e.to_string()))?;
        put(console, folder, "validation.jsonl", (lines.join("\n") + "\n").as_bytes())?;
    }
    if args.record.is_some() || args.worst.is_some() {
        worst(args, console, &*device, (name, &cases), &kernels, &timed, &pairs)?;
    }
    if let (Some(path), Some(format)) = (&args.output, format) {
        let picture = draw::scatter(&pairs, &device.name(), format)?;
        output::write(console, path, &picture)?;
    }
    console.print(&text(&device.name(), &pairs, &cases))?;
    Ok(Status::Holds)
}

/// Name, scenario, settings.
type Case = (String, String, Vec<String>);

/// A case at a clock in MHz, or at the machine's own clock.
fn subject(machine: &str, (_, scenario, set): &Case, mhz: Option<f64>) -> Result<Subject, Error> {
    let kernel: Result<Vec<Setting>, _> = set.iter().map(|s| Setting::parse(s)).collect();
    let clock = mhz.map(|value| Setting::MachineNumber { key: "clock.mhz".to_string(), value });
    let settings = kernel.map_err(Error::new)?.into_iter().chain(clock).collect();
    warpline_api::load(&Request { machine: Some(machine.to_string()), settings, ..Request::named(scenario) })
}

fn kernel(machine: &str, with_source: bool, case: &Case) -> Result<Kernel, Error> {
    let mut k = Kernel { case: case.0.clone(), source: None, harness: None, mhz: 0.0 };
    if !with_source {
        return Ok(k);
    }
    let Subject { program, machine, .. } = subject(machine, case, None)?;
    k.mhz = machine.get("clock.mhz").unwrap_or_default();
    let refused = |e: Unsupported| Error::new(e.to_string());
    match machine.vendor {
        Vendor::Amd => k.source = Some(warpline_emit::hip(&program, &program, &machine).map_err(refused)?),
        Vendor::Apple => {
            let text = warpline_emit::metal(&program, &program).map_err(refused)?;
            (k.source, k.harness) = (Some(text.kernel), Some(text.harness));
        }
        Vendor::Nvidia | Vendor::Paper => k.source = Some(warpline_emit::cuda(&program, &program).map_err(refused)?),
    }
    Ok(k)
}

/// A kernel's measurement, and its simulation at the device's clock.
fn pair(machine: &str, t: &Timed, case: &Case) -> Result<Pair, Error> {
    let subject = subject(machine, case, Some(t.mhz))?;
    let report = execute(&subject, Some(SPANS)).map_err(|e| Error::new(e.to_string()))?;
    let measured = t.cycles();
    let (at_barriers, for_data) = waits(&report.roles);
    let simulated = Counted {
        cycles: report.cycles,
        l2_hit: report.l2_hit_rate,
        l2_looked_up: report.l2_looked_up,
        dram_read: report.dram_read_bytes,
        dram_written: report.dram_write_bytes,
        at_barriers,
        for_data,
    };
    Ok(Pair {
        case: t.case.clone(),
        measured,
        // From the start of the first CTA, as measured.
        simulated: report.cycles - report.launch_cycles,
        again: t.cycles_again(),
        // Each round reads the clock again, so times are compared, not cycles.
        repeat: (t.again_span_ns / t.span_ns - 1.0).abs(),
        spread: (t.span_high - t.span_low) / t.span_ns,
        pace: t.pace.zip(report.timeline.as_ref().and_then(pace::of_timeline)),
        counted: t.counted.map(|c| (c, simulated)),
    })
}

/// Shares of the time of all warps at barriers, and in waits for data, phases, products and pipes. Ended warps do not count,
/// as in a profiler.
fn waits(roles: &[RoleTime]) -> (f64, f64) {
    let sum = |of: &[Stall]| {
        let share = |r: &RoleTime| of.iter().filter_map(|s| r.stalls.get(s)).sum::<f64>() * r.warps as f64;
        roles.iter().map(share).sum::<f64>()
    };
    let warps: f64 = roles.iter().map(|r| r.warps as f64).sum();
    let alive = (warps - sum(&[Stall::Ended, Stall::Launch])).max(1e-9);
    let barriers = sum(&[Stall::Barrier, Stall::Named, Stall::Cluster, Stall::Join]);
    let data =
        sum(&[Stall::Global, Stall::Shared, Stall::Tensor, Stall::Alu, Stall::Mbarrier, Stall::Group, Stall::Counter]);
    (barriers / alive, data / alive)
}

fn put(console: &mut Console, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::new(format!("cannot make the folder `{}`: {e}", folder.display())))?;
    output::write(console, &folder.join(name), bytes)
}

/// Writes the records and pictures of the worst kernels of the test set.
fn worst(
    args: &Validate,
    console: &mut Console,
    device: &dyn Device,
    (machine, cases): (&str, &[Case]),
    kernels: &[Kernel],
    timed: &[Timed],
    pairs: &[Pair],
) -> Result<(), Error> {
    let mut order: Vec<usize> = (0..pairs.len()).filter(|i| timed[*i].case.starts_with("test.")).collect();
    order.sort_by(|a, b| pairs[*b].error().abs().total_cmp(&pairs[*a].error().abs()));
    let there = order.into_iter().filter_map(|i| device.trace(&kernels[i]).transpose().map(|rows| (i, rows)));
    for (i, rows) in there.take(WORST) {
        let rows = rows.map_err(device::refused)?;
        let name = &kernels[i].case;
        if let Some(folder) = &args.record {
            put(console, folder, &format!("trace.{name}.csv"), rows.as_bytes())?;
        }
        if let Some(folder) = &args.worst {
            let both = overlay(&subject(machine, &cases[i], Some(timed[i].mhz))?, &rows)?;
            let picture = draw::overlay(&both, SHOWN)?;
            put(console, folder, &format!("{name}.png"), &picture)?;
        }
    }
    Ok(())
}

/// The simulated rows of the first CTA, with the measured row below each.
fn overlay(subject: &Subject, rows: &str) -> Result<Timeline, Error> {
    let report = execute(subject, Some(SPANS)).map_err(|e| Error::new(e.to_string()))?;
    let measured = trace::parse(rows, &subject.program, "device").map_err(|e| Error::new(e.to_string()))?;
    let simulated = report.timeline.unwrap_or_default();
    Ok(trace::beside(&simulated, &measured, "simulated"))
}

fn text(device: &str, pairs: &[Pair], cases: &[Case]) -> String {
    let mut out = format!(
        "{device}; cycles, from product to product in the steady state, and what a profiler counts; measured / simulated\n\n\
         {:<40}{:>9}{:>10}{:>8}  {:>11}{:>12}{:>14}{:>12}{:>14}{:>14}\n",
        "kernel",
        "measured",
        "simulated",
        "error",
        "pace",
        "L2 hits, %",
        "looked up, %",
        "read, MB",
        "barriers, %",
        "waiting, %"
    );
    let two = |a: f64, b: f64| format!("{a:.0} / {b:.0}");
    for p in pairs {
        let _ = write!(out, "{:<40}{:>9.0}{:>10.0}{:>7.1}%", p.case, p.measured, p.simulated, 100.0 * p.error());
        let pace = p.pace.map_or("-".to_string(), |(a, b)| two(a, b));
        let _ = write!(out, "  {pace:>11}");
        if let Some((c, s)) = &p.counted {
            let _ = write!(
                out,
                "{:>12}{:>14}{:>12}{:>14}{:>14}",
                two(100.0 * c.l2_hit, 100.0 * s.l2_hit),
                looked(p).map_or("-".to_string(), |(c, s)| two(100.0 * c, 100.0 * s)),
                two(c.dram_read / 1e6, s.dram_read / 1e6),
                two(100.0 * c.at_barriers, 100.0 * s.at_barriers),
                two(100.0 * c.for_data, 100.0 * s.for_data)
            );
        }
        out.push('\n');
    }
    out.push('\n');
    for (name, prefix) in [("train", "train."), ("test", "test."), ("alone", "alone.")] {
        let set: Vec<Pair> = pairs.iter().filter(|p| p.case.starts_with(prefix)).cloned().collect();
        sums(&mut out, name, &set);
        let same = |p: &Pair| {
            let case = cases.iter().find(|c| c.0 == p.case);
            case.map_or(String::new(), |(_, scenario, set)| {
                let rest: Vec<&str> = set.iter().map(String::as_str).filter(|s| !s.starts_with("stages=")).collect();
                format!("{scenario} {}", rest.join(" "))
            })
        };
        for c in choices(&set, same) {
            let _ = writeln!(
                out,
                "      of its stages the model would choose {}, the best is {}: {:.1} % slower",
                c.chosen,
                c.best,
                100.0 * c.costs
            );
        }
    }
    out
}

/// The share of loads that look up L2, measured and simulated.
fn looked(p: &Pair) -> Option<(f64, f64)> {
    let (c, s) = p.counted.as_ref()?;
    c.l2_looked_up.zip(s.l2_looked_up)
}

/// The errors of a set of kernels.
fn sums(out: &mut String, name: &str, set: &[Pair]) {
    let Some(Summary { count, mean, bias, worst, inverted, inverted_twice, repeat }) = summary(set) else { return };
    let _ = writeln!(
        out,
        "{name:<6}{count} kernels: mean absolute error {:.1} %, mean {:+.1} %, worst {:.1} %; {} of {} pairs more than 5 % \
         apart in the other order, {} of {} that are so in both rounds; two rounds of the measurement differ by {:.1} %, \
         launches of a round by {:.1} %",
        100.0 * mean,
        100.0 * bias,
        100.0 * worst,
        inverted.0,
        inverted.1,
        inverted_twice.0,
        inverted_twice.1,
        100.0 * repeat,
        100.0 * set.iter().map(|p| p.spread).sum::<f64>() / count as f64
    );
    let mean = |all: Vec<f64>| (!all.is_empty()).then(|| 100.0 * all.iter().sum::<f64>() / all.len() as f64);
    let of = |f: &dyn Fn(&Pair) -> Option<f64>| mean(set.iter().filter_map(f).map(f64::abs).collect());
    // A result that stays in L2 causes no write to DRAM.
    let written = |p: &Pair| {
        let (c, s) = p.counted.as_ref().filter(|(c, _)| c.dram_written > 0.0)?;
        Some(s.dram_written / c.dram_written - 1.0)
    };
    let counted = |f: fn(&Counted, &Counted) -> f64| of(&|p: &Pair| p.counted.as_ref().map(|(c, s)| f(c, s)));
    let parts = [
        ("pace", "%", of(&|p: &Pair| p.pace.map(|(m, s)| s / m - 1.0))),
        ("L2 hits", "points", counted(|c, s| s.l2_hit - c.l2_hit)),
        ("lookups in L2", "points", of(&|p: &Pair| looked(p).map(|(c, s)| s - c))),
        ("DRAM bytes read", "%", counted(|c, s| s.dram_read / c.dram_read - 1.0)),
        ("written", "%", of(&written)),
        ("share at barriers", "points", counted(|c, s| s.at_barriers - c.at_barriers)),
        ("share waiting", "points", counted(|c, s| s.for_data - c.for_data)),
    ];
    let words: Vec<String> =
        parts.iter().filter_map(|(what, unit, v)| v.map(|v| format!("{what} {v:.1} {unit}"))).collect();
    if !words.is_empty() {
        let _ = writeln!(out, "      mean absolute error of {}", words.join(", "));
    }
}
