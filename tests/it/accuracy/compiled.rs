//! Kernels that Triton compiled, run from their PTX, on an H100 and an H200. No number was fitted to one of them.

use std::fmt::Write as _;
use std::sync::LazyLock;

use rayon::prelude::*;
use serde_json::Value;
use warpline_api::{Request, Setting, Sources, Traits, execute, load};

use super::file;
use super::page::summary;
use super::table::{Errors, signed};

pub(super) const FOLDER: &str = "calibrate/data/h100_kernels";

/// A list of kernels. Of so many rows, one is on the page; all take more than a minute.
struct List {
    folder: &'static str,
    every: usize,
    title: &'static str,
    about: &'static str,
}

const LISTS: [List; 2] = [
    List {
        folder: FOLDER,
        every: 5,
        title: "<a id=\"compiled\"></a>\n## Compiled kernels on an H100",
        about: "Every fifth of 121 rows. No number was fitted to one of them; their errors pointed to mechanisms (docs/import.md#times).",
    },
    List {
        folder: "calibrate/data/h100_kernels_second",
        every: 11,
        title: "<a id=\"compiled-second\"></a>\n### A second list",
        about: "Other sizes, tiles, stages and warps, also fp8 and gated products. Every eleventh of 154 rows. The list was written before any of its kernels was simulated. Later, errors of its rows at odd positions pointed to mechanisms; errors of all its rows have been seen since, so that no row of it is held out any more.",
    },
];

/// Lists on an H100 that have no table on the page.
const OTHERS: [&str; 2] = ["calibrate/data/h100_kernels_third", "calibrate/data/h100_kernels_waves"];

/// Kernels on the other chip.
const H200: List = List {
    folder: "calibrate/data/h200_kernels",
    every: 9,
    title: "<a id=\"compiled-h200\"></a>\n## Compiled kernels on an H200",
    about: "Every ninth of 226 rows, drawn at random with a fixed seed (`kernels_fourth.py`) before any model was compared with them. The errors of two of the rows of one stage led to a rule about the addresses of loads since.",
};

/// A row: predicted and measured.
pub(super) struct Row {
    pub(super) name: String,
    /// The folder of its list.
    folder: String,
    pub(super) traits: Traits,
    pub(super) cycles: (f64, f64),
    pub(super) mhz: f64,
    /// CTAs that fit on a core.
    pub(super) resident: f64,
    /// Cycles of the matrix operations at the peak rate of all cores.
    pub(super) matrix: f64,
    /// Bytes of all arrays of the launch.
    pub(super) bytes: f64,
    /// In percent.
    hits: (f64, f64),
    /// Megabytes.
    read: (f64, f64),
}

impl Row {
    pub(super) fn error(&self) -> f64 {
        self.cycles.0 / self.cycles.1 - 1.0
    }

    /// Whether it is of the second list.
    pub(super) fn second(&self) -> bool {
        self.folder != FOLDER
    }

    /// The machine that it ran on.
    pub(super) fn machine(&self) -> &'static str {
        machine(&self.folder)
    }

    fn family(&self) -> &str {
        self.name.split('_').next().unwrap_or_default()
    }
}

/// The recorded kernels of a list, each with its `folder`.
pub(super) fn recorded(folder: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file(&format!("{folder}/rows.jsonl"))).expect("the rows");
    let row = |line: &str| -> Value {
        let mut row: Value = serde_json::from_str(line).expect("a row");
        row["folder"] = folder.into();
        row
    };
    text.lines().map(row).collect()
}

/// A text of a recorded kernel.
fn text<'r>(row: &'r Value, key: &str) -> &'r str {
    row[key].as_str().unwrap_or_else(|| panic!("{key}: {row}"))
}

/// A number of a recorded kernel.
pub(super) fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"))
}

/// The clock of a recorded kernel in MHz. The clock moves with load, so it is an input.
fn mhz(row: &Value) -> f64 {
    (number(row, "cycles") / number(row, "ns") * 1e3).round()
}

/// The machine that the kernels of a list ran on.
fn machine(folder: &str) -> &'static str {
    if folder == H200.folder { "h200" } else { "h100" }
}

/// A request for the run of a recorded kernel.
pub(super) fn request(row: &Value) -> Request {
    let (folder, name) = (text(row, "folder"), text(row, "name"));
    Request {
        machine: Some(machine(folder).into()),
        texts: Sources::from([("l.json".to_string(), row["launch"].to_string())]),
        launch_file: Some("l.json".into()),
        bind_launch: true,
        settings: vec![Setting::MachineNumber { key: "clock.mhz".into(), value: mhz(row) }],
        ..Request::named(&file(&format!("{folder}/{name}.ptx.gz")).display().to_string())
    }
}

fn row(asked: &Value) -> Row {
    let name = text(asked, "name");
    let number = |key| number(asked, key);
    let subject = load(&request(asked)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(!subject.note.as_deref().unwrap_or_default().contains("not charged"), "{name}: {:?}", subject.note);
    let r = execute(&subject, None).unwrap_or_else(|e| panic!("{name}: {e}"));
    Row {
        name: name.to_string(),
        folder: text(asked, "folder").to_string(),
        traits: Traits::of(&subject.program, &subject.machine, true),
        cycles: (r.cycles, number("cycles")),
        mhz: mhz(asked),
        resident: f64::from(r.occupancy.ctas_per_core),
        matrix: r.of_peak.unwrap_or(0.0) * r.cycles,
        bytes: arrays(&asked["launch"]["args"]),
        hits: (r.l2_hit_rate * 100.0, number("l2_hit")),
        read: (r.dram_read_bytes / 1e6, number("dram_read") / 1e6),
    }
}

/// Bytes of all arrays that a launch gets, each once.
fn arrays(args: &Value) -> f64 {
    let bytes = |a: &Value| {
        let dims = a["ptr"].as_array().or(a["desc"].as_array())?;
        let dtype = a["dtype"].as_str()?;
        // `bfloat16`, `int32`: the name ends in the number of bits.
        let bits: f64 = dtype.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
        Some(dims.iter().filter_map(Value::as_f64).product::<f64>() * bits / 8.0)
    };
    args.as_array().into_iter().flatten().filter_map(bytes).sum()
}

/// The rows on the page.
pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| rows(&LISTS, |list| list.every));

/// The rows of an H200 on the page.
pub(super) static ON_AN_H200: LazyLock<Vec<Row>> = LazyLock::new(|| rows(&[H200], |list| list.every));

/// All rows of all lists.
pub(super) fn all() -> Vec<Row> {
    let folders = LISTS.iter().map(|l| l.folder).chain(OTHERS).chain([H200.folder]);
    simulated(folders.flat_map(recorded).collect())
}

fn rows(lists: &[List], every: impl Fn(&List) -> usize) -> Vec<Row> {
    simulated(lists.iter().flat_map(|l| recorded(l.folder).into_iter().step_by(every(l))).collect())
}

fn simulated(asked: Vec<Value>) -> Vec<Row> {
    asked.par_iter().map(row).collect()
}

/// The sections of the page.
pub(super) fn section(s: &mut String, rows: &[Row], on_an_h200: &[Row]) {
    LISTS.iter().for_each(|l| listed(s, l, &rows.iter().filter(|r| r.folder == l.folder).collect::<Vec<_>>()));
    listed(s, &H200, &on_an_h200.iter().collect::<Vec<_>>());
}

fn listed(s: &mut String, List { folder, title, about, .. }: &List, rows: &[&Row]) {
    let _ = writeln!(
        s,
        "\n{title}\n\n`{folder}`: kernels as Triton compiled them, run from their PTX; cycles are `sm__cycles_elapsed.max`, caches cold. {about}\n"
    );
    *s += "| kernel | cycles | error | L2 hits, % | DRAM read, MB |\n|---|---|---|---|---|\n";
    for r in rows {
        let _ = writeln!(
            s,
            "| {} | {:.0} / {:.0} | {} | {:.1} / {:.1} | {:.1} / {:.1} |",
            r.name,
            r.cycles.0,
            r.cycles.1,
            signed(r.error()),
            r.hits.0,
            r.hits.1,
            r.read.0,
            r.read.1
        );
    }
    let mut families: Vec<&str> = rows.iter().map(|r| r.family()).collect();
    families.sort_unstable();
    families.dedup();
    *s += "\n| family | rows | mean error | bias | 95th percentile | worst |\n|---|---|---|---|---|---|\n";
    for f in families {
        summary(s, f, &Errors::of(rows.iter().filter(|r| r.family() == f).map(|r| r.error())));
    }
}
