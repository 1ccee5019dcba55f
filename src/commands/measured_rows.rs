//! `warpline validate --rows`: compiled kernels with measured cycles.
//!
//! The file is a JSON array or one object a line, as `calibrate/data/h100_kernels/rows.jsonl`. The PTX of a row is
//! beside the file: `NAME.ptx` or `NAME.ptx.gz`. No number of a machine comes from such a row.
//! Rows that name their `problem` also say how good a choice by simulated time is.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use warpline_api::{Error, Request, Setting, Sources, execute};

use super::rankings::{self, Configuration};
use crate::console::Console;
use crate::progress::Bar;

/// A measured kernel.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    /// Grid, arguments, shared memory and registers (docs/import.md).
    launch: Value,
    #[serde(flatten)]
    time: Time,
    /// What the kernel computes. Rows of one problem are configurations to choose from.
    problem: Option<String>,
    /// In percent.
    l2_hit: Option<f64>,
    /// Bytes.
    dram_read: Option<f64>,
}

/// How long a kernel took.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Time {
    /// `sm__cycles_elapsed.max`, and the duration in nanoseconds; together, the clock of the run.
    Counted { cycles: f64, ns: f64 },
    /// Microseconds from the launch to the end, at a clock that is not known.
    Launched { us: f64 },
}

/// A row beside its simulation: measured, simulated.
struct Compared {
    name: String,
    problem: Option<String>,
    /// In cycles, or in microseconds.
    time: (f64, f64),
    l2_hit: Option<(f64, f64)>,
    dram_read: Option<(f64, f64)>,
}

impl Compared {
    fn error(&self) -> f64 {
        self.time.1 / self.time.0 - 1.0
    }

    fn configuration(&self) -> Option<Configuration<'_>> {
        let (measured, simulated) = self.time;
        Some(Configuration { problem: self.problem.as_deref()?, name: &self.name, measured, simulated })
    }

    /// The first word of the name that is no number: `causal` of `057_causal_D64_8192x16`.
    fn family(&self) -> &str {
        self.name.split('_').find(|w| !w.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(&self.name)
    }
}

/// The rows of a file on a machine, as a table with the errors by kernel family.
///
/// # Errors
/// A file that does not read, a row without its PTX, and a kernel that cannot run.
pub(super) fn compare(path: &Path, machine: &str, console: &Console) -> Result<String, Error> {
    let list = rows(path)?;
    let bar = Bar::pieces(console.look.progress, list.len(), format!("running {}", path.display()));
    let compare = |row| run(path, machine, row).inspect(|_| bar.step());
    let compared: Vec<Compared> = list.par_iter().map(compare).collect::<Result<_, _>>()?;
    drop(bar);
    let configurations: Vec<Configuration> = compared.iter().filter_map(Compared::configuration).collect();
    Ok(text(machine, &compared) + &rankings::text(&configurations))
}

fn rows(path: &Path) -> Result<Vec<Row>, Error> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| Error::new(format!("cannot read `{shown}`: {e}")))?;
    let wrong = |line: usize, e: &serde_json::Error| {
        Error::with_help(
            format!("`{shown}`, line {line}: {e}"),
            "expected an array of objects or one object a line, with `name`, `launch`, and `cycles` and `ns`, or `us`",
        )
    };
    let list: Vec<Row> = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text).map_err(|e| wrong(e.line(), &e))?
    } else {
        let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
        lines.map(|(i, l)| serde_json::from_str(l).map_err(|e| wrong(i + 1, &e))).collect::<Result<_, _>>()?
    };
    let wrong = |r: &&Row| match r.time {
        Time::Counted { cycles, ns } => cycles.min(ns) <= 0.0,
        Time::Launched { us } => us <= 0.0,
    };
    match list.iter().find(wrong) {
        Some(r) => Err(Error::new(format!("`{shown}`: the times of `{}` must be above 0", r.name))),
        None if list.is_empty() => Err(Error::new(format!("`{shown}` has no row"))),
        None => Ok(list),
    }
}

/// The PTX of a row.
fn ptx(rows: &Path, name: &str) -> Result<PathBuf, Error> {
    let beside = |ending: &str| rows.with_file_name(format!("{name}.{ending}"));
    let found = ["ptx", "ptx.gz"].into_iter().map(beside).find(|p| p.is_file());
    found.ok_or_else(|| {
        Error::with_help(
            format!("`{}`: no kernel of `{name}`", rows.display()),
            format!("expected `{name}.ptx` or `{name}.ptx.gz` beside the file"),
        )
    })
}

fn run(path: &Path, machine: &str, row: &Row) -> Result<Compared, Error> {
    let settings = match row.time {
        Time::Counted { cycles, ns } => {
            vec![Setting::MachineNumber { key: "clock.mhz".into(), value: (cycles / ns * 1e3).round() }]
        }
        Time::Launched { .. } => Vec::new(),
    };
    let request = Request {
        machine: Some(machine.to_string()),
        texts: Sources::from([("launch.json".to_string(), row.launch.to_string())]),
        launch_file: Some("launch.json".into()),
        bind_launch: true,
        settings,
        ..Request::named(&ptx(path, &row.name)?.display().to_string())
    };
    let subject = warpline_api::load(&request)?;
    let report = execute(&subject, None).map_err(|e| Error::new(format!("`{}`: {e}", row.name)))?;
    Ok(Compared {
        name: row.name.clone(),
        problem: row.problem.clone(),
        time: match row.time {
            Time::Counted { cycles, .. } => (cycles, report.cycles),
            Time::Launched { us } => (us, report.time_us + report.launch_us.unwrap_or(0.0)),
        },
        l2_hit: row.l2_hit.map(|hit| (hit, 100.0 * report.l2_hit_rate)),
        dram_read: row.dram_read.map(|bytes| (bytes / 1e6, report.dram_read_bytes / 1e6)),
    })
}

fn text(machine: &str, rows: &[Compared]) -> String {
    let mut out = format!(
        "compiled kernels on {machine}; measured / simulated\n\n{:<56}{:>12}{:>12}{:>9}{:>14}{:>20}\n",
        "kernel", "measured", "simulated", "error", "L2 hits, %", "DRAM read, MB"
    );
    let two = |pair: Option<(f64, f64)>, digits: usize| {
        pair.map_or("-".to_string(), |(a, b)| format!("{a:.digits$} / {b:.digits$}"))
    };
    for r in rows {
        let (hits, read) = (two(r.l2_hit, 0), two(r.dram_read, 1));
        let (measured, simulated) = r.time;
        let error = 100.0 * r.error();
        let _ = writeln!(out, "{:<56}{measured:>12.0}{simulated:>12.0}{error:>+8.1}%{hits:>14}{read:>20}", r.name);
    }
    let mut families: BTreeMap<&str, Vec<&Compared>> = BTreeMap::new();
    rows.iter().for_each(|r| families.entry(r.family()).or_default().push(r));
    let _ = writeln!(out, "\n{:<16}{:>6}{:>14}{:>10}{:>10}", "family", "rows", "mean error", "mean", "worst");
    for (name, list) in &families {
        sums(&mut out, name, list);
    }
    sums(&mut out, "all", &rows.iter().collect::<Vec<_>>());
    out
}

fn sums(out: &mut String, name: &str, rows: &[&Compared]) {
    let n = rows.len().max(1) as f64;
    let mean = rows.iter().map(|r| r.error().abs()).sum::<f64>() / n;
    let bias = rows.iter().map(|r| r.error()).sum::<f64>() / n;
    let worst = rows.iter().map(|r| r.error().abs()).fold(0.0, f64::max);
    let [mean, bias, worst] = [mean, bias, worst].map(|x| 100.0 * x);
    let _ = writeln!(out, "{name:<16}{:>6}{mean:>13.1}%{bias:>+9.1}%{worst:>9.1}%", rows.len());
}
