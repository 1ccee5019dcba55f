//! The head of a run's text, its numbers, and the basis of the numbers.

use warpline_sim::fences::Fences;
use warpline_sim::machine::{Machine, Vendor};
use warpline_sim::report::{Fidelity, Outcome, Report};

use super::WIDTH;
use super::table::wrap;
use crate::console::Paint;
use warpline_api::Simulation;
use warpline_api::Subject;
use warpline_api::readable_name;
use warpline_api::uncertainty;
use warpline_sim::words::{bytes, count, of, percent, plain, short};
use warpline_study::spread::{Effect, Spread};

/// Columns of the names before the values.
const NAMES: usize = 15;

/// A line `name           value`, wrapped under the value.
pub(super) fn field(name: &str, value: &str) -> String {
    format!("{name:<NAMES$}{}\n", wrap(value, WIDTH, NAMES))
}

/// The kernel, the machine and the values.
pub(super) fn head(s: &Subject, paint: Paint) -> String {
    let p = &s.program;
    let title = s.title.as_ref().map_or(s.name.clone(), |t| format!("{}: {t}", s.name));
    let mut text = format!("{}\n\n", paint.head(&wrap(&title, WIDTH, 0)));
    text += &field("Kernel", &format!("{} ({})", readable_name(&p.name), p.file));
    text += &field("Machine", &machine(&s.machine));
    if let Some(sustained) = s.sustained.filter(|_| s.machine.vendor != Vendor::Paper) {
        text += &field("Clock", &sustained.to_string());
    }
    let values: Vec<String> = p.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
    if !values.is_empty() {
        text += &field("Parameters", &values.join(" "));
    }
    if let Some(note) = &s.note {
        text += &field("Note", note);
    }
    if s.fences != Fences::default() {
        text += &field("Fences", &s.fences.to_string());
    }
    text + "\n"
}

/// The CTAs of the grid and of a core, and the cores without work.
pub(crate) fn grid(simulation: &Simulation) -> String {
    let (r, machine) = (&simulation.report, &simulation.subject.machine);
    let runs = format!("{}; a core runs {} in {}", of(r.ctas, "CTA"), count(r.ctas_of_core), of(r.waves, "wave"));
    let cores = machine.get("core.count").map_or(0, |n| n as i64);
    if machine.vendor == Vendor::Paper || r.ctas >= cores || r.ctas_of_core > 1 {
        return runs;
    }
    format!("{runs}; {} of {cores} cores have none", count(cores - r.ctas))
}

/// Name, title, cores and clock of a machine.
fn machine(m: &Machine) -> String {
    let mut text = format!("{}, {}", m.name, m.title);
    if m.vendor == Vendor::Paper {
        return text;
    }
    if let Some(n) = m.get("core.count") {
        text += &format!(", {}", of(n as i64, "core"));
    }
    if let Some(mhz) = m.get("clock.mhz") {
        text += &format!(" at {} MHz", plain(mhz));
    }
    text
}

/// Time, rate, occupancy, memory and bottleneck.
pub(super) fn numbers(simulation: &Simulation, paint: Paint) -> String {
    let r = &simulation.report;
    let mut text = String::new();
    let so_far = if r.outcome == Outcome::Finished { "" } else { " until it stopped" };
    let us = if r.time_us > 0.0 { format!(", {} us", short(r.time_us)) } else { String::new() };
    let launch = r.launch_us.map_or(String::new(), |l| format!(" (launch takes {} us more)", short(l)));
    text += &field("Time", &format!("{} cycles{us}{so_far}{launch}", plain(r.cycles)));
    if r.tflops > 0.0 {
        let share = r.of_peak.map_or(String::new(), |p| format!(", {} % of the matrix peak at this clock", percent(p)));
        text += &field("Rate", &format!("{} TFLOPS{share}{}", short(r.tflops), padding(r)));
    }
    if r.outcome == Outcome::Finished {
        text += &field("Uncertainty", &certainty(simulation));
    }
    if let Some(s) = &simulation.spread {
        text += &field("Spread", &spread(s, r.cycles));
    }
    if let Some(c) = r.cycles_per_tile {
        text += &field("Per K-tile", &format!("{} cycles in the steady state of one CTA", plain(c)));
    }
    text += &field("Grid", &grid(simulation));
    let o = &r.occupancy;
    let by: Vec<String> = o.by.iter().map(|(what, n)| format!("{what} {n}")).collect();
    let by = if by.is_empty() { String::new() } else { format!(" (CTAs each limit allows: {})", by.join(", ")) };
    let (ctas, warps) = (of(o.ctas_per_core.into(), "CTA"), of(o.warps_per_core.into(), "warp"));
    text += &field("Occupancy", &format!("{ctas}, {warps} a core, limited by {}{by}", o.limit));
    text += &field(
        "Shared memory",
        &format!("{} bytes used by a CTA, {} free", count(r.shared_bytes), count(r.shared_free_bytes)),
    );
    if r.dram_read_bytes + r.dram_write_bytes > 0.0 && simulation.arrays_unknown() {
        text += &field("DRAM", "not known: the launch gives no array (`--launch FILE`)");
    } else if r.dram_read_bytes + r.dram_write_bytes > 0.0 {
        let hits = percent(r.l2_hit_rate);
        let l2 = match r.fidelity {
            _ if r.outcome != Outcome::Finished => " until it stopped".to_string(),
            Fidelity::Device => format!("; L2 has {hits} % of what is looked up"),
            Fidelity::Core => format!("; L2 serves {hits} % of the loads"),
        };
        text +=
            &field("DRAM", &format!("{} read, {} written{l2}", bytes(r.dram_read_bytes), bytes(r.dram_write_bytes)));
    }
    if !r.uses.is_empty() {
        let uses: Vec<String> = r.uses.iter().map(|u| format!("{} {} %", u.resource, percent(u.fraction))).collect();
        text += &field("In use", &uses.join(", "));
    }
    if !r.bottleneck.is_empty() {
        text += &paint.head(&field("Bottleneck", &r.bottleneck));
    }
    text + "\n"
}

/// The interval of a time, and what it comes from.
pub(crate) fn certainty(simulation: &Simulation) -> String {
    let u = uncertainty(&simulation.subject, &simulation.report);
    match &u.interval {
        Some(i) => {
            let basis = i.basis(&u, &simulation.subject.machine.name);
            format!("{} to {} cycles: {basis}", plain(i.low_cycles), plain(i.high_cycles))
        }
        None if simulation.arrays_unknown() => "not known: the launch gives no array".to_string(),
        None => format!("not known: no kernel like it was measured ({})", u.traits),
    }
}

/// Numbers that the line on the spread names.
const NAMED: usize = 3;

/// The interval that the spread of the machine's numbers gives a time, and the numbers with the most effect.
fn spread(s: &Spread, base: f64) -> String {
    let change = |cycles: &Result<f64, String>| match cycles {
        Ok(c) => format!("{:+.1} %", (c / base - 1.0) * 100.0),
        Err(_) => "cannot run".to_string(),
    };
    let named = |e: &Effect| format!("{} ({}, {})", e.key, change(&e.cycles[0]), change(&e.cycles[1]));
    let most: Vec<String> = s.effects.iter().take(NAMED).map(named).collect();
    let most = if most.is_empty() { String::new() } else { format!("; most by {}", most.join(", ")) };
    format!(
        "{} to {} cycles: {} at the ends of their spreads, one at a time, in quadrature{most}",
        plain(s.low_cycles),
        plain(s.high_cycles),
        of(s.numbers as i64, "machine number"),
    )
}

/// Useful operations, if some of the executed ones multiply the padding of tiles.
pub(crate) fn padding(r: &Report) -> String {
    if r.useful_flops >= r.flops {
        return String::new();
    }
    let padding = percent(1.0 - r.useful_flops / r.flops);
    format!("; {} TFLOPS useful: {padding} % of the products are padding of tiles", short(r.useful_tflops))
}

/// A remark on operations that are scaled instead of counted, if there are any.
pub(crate) fn scaled(r: &Report) -> Option<&'static str> {
    let known = "Operations of the grid are those of the CTAs simulated, times the CTAs: how much each of the others does was \
                 not counted.";
    (r.scaled && r.outcome == Outcome::Finished).then_some(known)
}

/// The number of checked reads, of machine numbers by kind, and of events.
pub(super) fn basis(simulation: &Simulation, paint: Paint) -> String {
    let r = &simulation.report;
    let mut text = String::new();
    let (checked, reads) = r.reads_checked;
    // PTX states no tiles.
    if reads > 0 && (checked > 0 || simulation.subject.imported.is_none()) {
        text += &format!(
            "{} of {} state the tile that they expect, and were checked.\n",
            count(checked as i64),
            of(reads as i64, "read")
        );
    }
    let [documented, measured, estimated] = r.params_used;
    if documented + measured + estimated > 0 {
        text += &format!(
            "Of the {} used, {documented} are documented, {measured} measured, {estimated} estimated.\n",
            of((documented + measured + estimated).into(), "machine number")
        );
    }
    if let Some(s) = scaled(r) {
        text += &format!("{}\n", wrap(s, WIDTH, 0));
    }
    if r.events == 0 {
        return text;
    }
    let mut engine = format!("{} handled", of(r.events as i64, "event"));
    if r.ctas_simulated < r.ctas_of_core {
        let others = match r.pace_change {
            None => "the others repeat them exactly".to_string(),
            Some(change) => {
                let change = percent(change);
                format!("the others are taken to go at their pace (the last two waves differ by {change} %; --no-skip)")
            }
        };
        let (simulated, all) = (count(r.ctas_simulated), count(r.ctas_of_core));
        engine += &format!("; {simulated} of a core's {all} CTAs simulated, {others}");
    }
    text + &format!("{}\n", paint.faint(&wrap(&format!("{engine}."), WIDTH, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_wrap_under_their_value() {
        let text = field("In use", &"tensor pipe 93.0 %, ".repeat(6));
        assert!(text.lines().count() > 1 && text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).is_some_and(|l| l.starts_with(&" ".repeat(NAMES))));
    }
}
