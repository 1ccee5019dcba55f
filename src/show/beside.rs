//! A run beside others: one table, and a sentence for each.

use warpline_sim::machine::Vendor;
use warpline_sim::report::Outcome;

use super::WIDTH;
use super::table::{Align, Table, wrap};
use crate::console::Paint;
use warpline_api::Simulation;
use warpline_api::{Neighbor, short_name};
use warpline_sim::words::{count, plain, short};

/// The most columns of a name in the table; a longer name has its own line.
const NAME: usize = 24;

/// The table, the bound of each run, and a sentence for each neighbor.
pub(crate) fn beside(this: &Simulation, others: &[Neighbor], paint: Paint) -> String {
    if others.is_empty() {
        return String::new();
    }
    let name = short_name(&this.subject.name);
    let runs: Vec<(&str, Option<&Simulation>)> = std::iter::once((name, Some(this)))
        .chain(others.iter().map(|n| (n.name.as_str(), n.simulation.as_ref().ok())))
        .collect();
    let columns = [Align::Left].into_iter().chain([Align::Right; 6]).collect::<Vec<_>>();
    let mut t = Table::new(&columns, 2);
    t.row(["", "cycles", "per tile", "us", "TFLOPS", "shared", "CTAs"]);
    for (name, simulation) in &runs {
        let name = format!("{name}{}", if simulation.is_some_and(faulty) { " !" } else { "" });
        if name.chars().count() > NAME {
            t.line(&name);
            t.row(cells("", *simulation));
        } else {
            t.row(cells(&name, *simulation));
        }
    }
    let mut text = format!("{}\n{}", paint.head("Beside others (CTAs: resident on a core)"), t.text());
    if runs.iter().any(|(_, simulation)| simulation.is_some_and(faulty)) {
        text += "  ! met faults or did not end\n";
    }
    text.push('\n');
    for (name, simulation) in runs {
        if let Some(simulation) = simulation
            && !simulation.report.bottleneck.is_empty()
        {
            text += &format!("{}\n", wrap(&format!("{name}: {}", simulation.report.bottleneck), WIDTH, 2));
        }
    }
    text.push('\n');
    for n in others {
        text += &format!("{}\n", wrap(&sentence(this, n), WIDTH, 2));
    }
    text
}

fn faulty(simulation: &Simulation) -> bool {
    !simulation.report.clean()
}

fn cells(name: &str, simulation: Option<&Simulation>) -> Vec<String> {
    let Some(r) = simulation.map(|simulation| &simulation.report) else {
        return std::iter::once(name).chain(["-"; 6]).map(str::to_string).collect();
    };
    let some = |x: f64, f: fn(f64) -> String| if x > 0.0 { f(x) } else { "-".to_string() };
    vec![
        name.to_string(),
        plain(r.cycles),
        r.cycles_per_tile.map_or("-".to_string(), plain),
        some(r.time_us, short),
        some(r.tflops, short),
        count(r.shared_bytes),
        r.occupancy.ctas_per_core.to_string(),
    ]
}

/// The comparison with one neighbor, in a sentence.
pub(crate) fn sentence(this: &Simulation, other: &Neighbor) -> String {
    let (name, beside) = (short_name(&this.subject.name), other.name.as_str());
    let simulation = match &other.simulation {
        Ok(simulation) => simulation,
        Err(why) => return format!("{beside} did not run: {why}"),
    };
    for (name, simulation) in [(name, this), (beside, simulation)] {
        let ended = match simulation.report.outcome {
            Outcome::Finished => continue,
            Outcome::Hung(_) => "hangs",
            Outcome::Broken => "stops at a fault",
            Outcome::Limit => "reached the limit of events",
            Outcome::Stopped => "followed a schedule",
        };
        return format!("{name} {ended}, so the two times do not compare.");
    }
    let paper = |r: &Simulation| r.subject.machine.vendor == Vendor::Paper || r.report.time_us <= 0.0;
    let (a, b, unit, shown): (f64, f64, &str, fn(f64) -> String) = match (paper(this), paper(simulation)) {
        (false, false) => (this.report.time_us, simulation.report.time_us, "us", short),
        (true, true) => (this.report.cycles, simulation.report.cycles, "cycles", plain),
        _ => return format!("{name} and {beside} are on a real machine and on paper; their times do not compare."),
    };
    let mut text = if b <= 0.0 {
        format!("{beside} takes no time, so there is no ratio.")
    } else {
        let change = (a - b) / b * 100.0;
        // A change that rounds to 0.0 is no change.
        if change.abs() < 0.05 {
            format!("{name} takes as long as {beside} ({} {unit})", shown(a))
        } else {
            let word = if change < 0.0 { "less" } else { "more" };
            let change = change.abs();
            format!("{name} takes {change:.1} % {word} time than {beside} ({} against {} {unit})", shown(a), shown(b))
        }
    };
    let bytes = this.report.shared_bytes - simulation.report.shared_bytes;
    if bytes != 0 {
        let word = if bytes < 0 { "less" } else { "more" };
        text += &format!(", with {} bytes {word} shared memory", count(bytes.abs()));
    }
    let faulty: Vec<&str> = [(name, this), (beside, simulation)]
        .into_iter()
        .filter(|(_, r)| r.report.faults().next().is_some())
        .map(|(name, _)| name)
        .collect();
    if !faulty.is_empty() {
        text += &format!("; {} met faults, so this says nothing about a correct kernel", faulty.join(" and "));
    }
    text + "."
}
