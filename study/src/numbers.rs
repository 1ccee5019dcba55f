//! The named numbers of a run, which claims, sweeps and comparisons use.

use warpline_sim::Report;
use warpline_sim::ir::Program;
use warpline_sim::report::Outcome;
use warpline_sim::timeline::{Stall, Work};

/// Which of two values of a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The smaller value.
    Less,
    /// The larger value.
    More,
    /// Neither: the number only describes a run.
    Neither,
}

/// A number of every run, or of every run that ended.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in expressions and tables.
    pub name: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// Meaning, with its unit.
    pub doc: &'static str,
}

const fn metric(name: &'static str, better: Better, doc: &'static str) -> Metric {
    Metric { name, better, doc }
}

/// Numbers of a whole run, in display order. Numbers of roles and resources are not in this list.
pub const METRICS: [Metric; 30] = [
    metric("cycles", Better::Less, "cycles from the first CTA's launch to the last one's end"),
    metric("time_us", Better::Less, "the same in microseconds"),
    metric("tflops", Better::More, "matrix operations a second, in 10^12"),
    metric("useful_tflops", Better::More, "the same without the padding of tiles"),
    metric("of_peak", Better::More, "share of the machine's matrix rate"),
    metric("cycles_per_tile", Better::Less, "cycles from one step of the main loop to the next, in the steady state"),
    metric("us_per_tile", Better::Less, "the same in microseconds"),
    metric("over_ideal", Better::Less, "the time over that of the busiest resource alone, 1 at best"),
    metric("flops", Better::Neither, "matrix operations of the whole grid"),
    metric("ctas", Better::Neither, "CTAs of the grid"),
    metric("ctas_of_core", Better::Neither, "CTAs one core runs"),
    metric("waves", Better::Neither, "rounds of CTAs on a core"),
    metric("warps", Better::Neither, "warps of a CTA"),
    metric("ctas_per_core", Better::Neither, "resident CTAs of a core"),
    metric("warps_per_core", Better::Neither, "resident warps of a core"),
    metric("shared_bytes", Better::Neither, "shared memory of a CTA"),
    metric("shared_free_bytes", Better::Neither, "what a CTA could still have"),
    metric("l2_hit_rate", Better::More, "share of the loaded bytes that L2 serves"),
    metric("dram_read_bytes", Better::Less, "bytes read from DRAM"),
    metric("dram_write_bytes", Better::Less, "bytes written to DRAM"),
    metric("launch_us", Better::Less, "launch of the kernel in microseconds, not part of `time_us`"),
    metric("reads", Better::Neither, "reads of tiles in the part that was simulated"),
    metric("reads_checked", Better::Neither, "those that state which tile they expect"),
    metric("findings", Better::Less, "faults met"),
    metric("notes", Better::Less, "remarks met: what is wasteful or rests on an assumption"),
    metric("hangs", Better::Less, "1 where the kernel hangs, else 0"),
    metric("documented", Better::More, "machine numbers used that are documented"),
    metric("measured", Better::More, "machine numbers used that are measured"),
    metric("estimated", Better::Less, "machine numbers used that are estimated"),
    metric("events", Better::Neither, "events the engine handled"),
];

/// The metric with a name.
pub fn metric_named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

/// Every number of a run, by name: first [`METRICS`], then shares of roles and resources.
///
/// * `busy_R`, `wait_R`: share of role R's time, 0 to 1; `work_R_W` and `stall_R_S` are its parts.
/// * `use_X`: share of the time in which resource X (`tensor_pipe`) was in use.
///
/// A run that did not end has no times, so these numbers are missing.
pub fn numbers(program: &Program, r: &Report) -> Vec<(String, f64)> {
    let per_us = if r.time_us > 0.0 { r.cycles / r.time_us } else { 0.0 };
    let always = [
        ("flops", Some(r.flops)),
        ("ctas", Some(r.ctas as f64)),
        ("ctas_of_core", Some(r.ctas_of_core as f64)),
        ("waves", Some(r.waves as f64)),
        ("warps", Some(program.warps.into())),
        ("ctas_per_core", Some(r.occupancy.ctas_per_core.into())),
        ("warps_per_core", Some(r.occupancy.warps_per_core.into())),
        ("shared_bytes", Some(r.shared_bytes as f64)),
        ("shared_free_bytes", Some(r.shared_free_bytes as f64)),
        ("launch_us", r.launch_us),
        ("reads", Some(r.reads_checked.1 as f64)),
        ("reads_checked", Some(r.reads_checked.0 as f64)),
        ("findings", Some(r.faults().count() as f64)),
        ("notes", Some(r.findings.iter().filter(|f| f.note).count() as f64)),
        ("hangs", Some(f64::from(u8::from(matches!(r.outcome, Outcome::Hung(_)))))),
        ("documented", Some(r.params_used[0].into())),
        ("measured", Some(r.params_used[1].into())),
        ("estimated", Some(r.params_used[2].into())),
        ("events", Some(r.events as f64)),
    ];
    let times = [
        ("cycles", Some(r.cycles)),
        ("time_us", Some(r.time_us)),
        ("tflops", Some(r.tflops)),
        ("useful_tflops", Some(r.useful_tflops)),
        ("of_peak", r.of_peak),
        ("cycles_per_tile", r.cycles_per_tile),
        ("us_per_tile", r.cycles_per_tile.filter(|_| per_us > 0.0).map(|c| c / per_us)),
        ("over_ideal", r.uses.first().map(|u| 1.0 / u.fraction)),
        ("l2_hit_rate", Some(r.l2_hit_rate)),
        ("dram_read_bytes", Some(r.dram_read_bytes)),
        ("dram_write_bytes", Some(r.dram_write_bytes)),
    ];
    // A stopped run has no time, and a claim about its time cannot be decided.
    let ended = r.outcome == Outcome::Finished;
    let all = always.into_iter().chain(times.into_iter().filter(|_| ended));
    let mut known: Vec<(&str, f64)> = all.filter_map(|(name, value)| Some((name, value?))).collect();
    known.sort_by_key(|(name, _)| METRICS.iter().position(|m| m.name == *name));
    let mut out: Vec<(String, f64)> = known.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    if ended {
        shares(r, &mut out);
    }
    out
}

fn shares(r: &Report, out: &mut Vec<(String, f64)>) {
    for role in &r.roles {
        let name = identifier(&role.name);
        out.push((format!("busy_{name}"), role.work.values().sum()));
        out.push((format!("wait_{name}"), role.stalls.values().sum()));
        for work in Work::ALL {
            out.push((format!("work_{name}_{}", work.name()), role.work.get(&work).copied().unwrap_or(0.0)));
        }
        // In a whole run no role ends early, and only a schedule holds a role back.
        for stall in Stall::ALL.into_iter().filter(|s| !matches!(s, Stall::Held | Stall::Ended)) {
            let share = role.stalls.get(&stall).copied().unwrap_or(0.0);
            out.push((format!("stall_{name}_{}", identifier(stall.word())), share));
        }
    }
    for u in &r.uses {
        out.push((format!("use_{}", identifier(&u.resource)), u.fraction));
    }
}

/// A name that an expression can use: characters that are neither letters nor digits become `_`.
pub fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
