//! The built-in machines, and the loader for machine files.
//!
//! ```text
//!  models/*.toml ──parse──▶ Machine ──describe, render──▶ a table for people
//!                              │
//!                              └──apply──▶ Machine with another number (`--set machine.dram.gbps=4000`)
//! ```
//!
//! # Tour
//!
//! A machine file is TOML: a name, a title, a vendor and an architecture, then tables named by the first part of the keys in
//! [`warpline_sim::machine::KEYS`], with one number on each line:
//!
//! ```toml
//! [memory]
//! l2_latency = { value = 264.5, unit = "cycles", kind = "measured", source = "who, on what", spread = [258, 280] }
//! ```
//!
//! Each number has a kind: `documented`, `measured`, or `estimated`. Arithmetic and numbers of another chip are estimates.
//! Another product may have the same die: an H800 for an H200, an MI308X for an MI300X. A measurement on it counts as
//! measured where the die decides the number. A missing key is missing hardware.
//!
//! [`embedded`] has the built-in machines. [`parse`] reads others and reports every mistake at once. [`apply`] changes a
//! number from the command line, and [`describe`] lists a machine for people.
//!
//! ```
//! let mut h200 = warpline_models::embedded("h200").expect("a built-in machine");
//! assert_eq!(h200.get("core.count"), Some(132.0));
//! warpline_models::apply(&mut h200, "machine.dram.gbps", 4000.0).expect("a known key");
//! assert_eq!(h200.get("memory.dram_gbps"), Some(4000.0));
//! print!("{}", warpline_models::render(&warpline_models::describe(&h200)));
//! ```

mod apply;
mod describe;
mod entry;
mod parse;
mod suggest;

pub use apply::{SET, apply};
pub use describe::{Row, describe, render};
pub use parse::parse;

use std::sync::OnceLock;

use warpline_sim::machine::Machine;

/// The machines that come along, sorted by name. A test holds the list against the files of the crate.
const EMBEDDED: &[(&str, &str)] = &[
    ("a100", include_str!("../a100.toml")),
    ("b200", include_str!("../b200.toml")),
    ("h100", include_str!("../h100.toml")),
    ("h200", include_str!("../h200.toml")),
    ("m4-max", include_str!("../m4-max.toml")),
    ("m4-max-32", include_str!("../m4-max-32.toml")),
    ("mi250x", include_str!("../mi250x.toml")),
    ("mi300x", include_str!("../mi300x.toml")),
    ("mi355x", include_str!("../mi355x.toml")),
    ("paper", include_str!("../paper.toml")),
    ("rtx-pro-6000", include_str!("../rtx-pro-6000.toml")),
    ("v100", include_str!("../v100.toml")),
];

/// Kernels that were timed on hardware: CSV with a machine, an architecture, traits of the kernel, and measured and simulated cycles.
/// `WARPLINE_ACCURACY=write` and the test `accuracy` write it.
pub const MEASURED: &str = include_str!("../measured.csv");

/// Names of the machines that come along, sorted.
pub fn names() -> Vec<&'static str> {
    EMBEDDED.iter().map(|(name, _)| *name).collect()
}

/// The file of a machine that comes along.
pub fn text(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// A machine that comes along. Its file is parsed once in a process: who checks thousands of kernels asks as often.
pub fn embedded(name: &str) -> Option<Machine> {
    static PARSED: [OnceLock<Option<Machine>>; EMBEDDED.len()] = [const { OnceLock::new() }; EMBEDDED.len()];
    let at = EMBEDDED.iter().position(|(n, _)| *n == name)?;
    // A test parses every embedded file, so there is no error to report.
    PARSED[at].get_or_init(|| parse(name, EMBEDDED[at].1).ok()).clone()
}

/// The name among [`names`] that was probably meant.
pub fn closest(name: &str) -> Option<&'static str> {
    suggest::closest(name, names())
}
