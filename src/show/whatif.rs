//! A what-if table as text.

use warpline_study::whatif::{Change, Row};

use super::table::{Align, Table, wrap};
use super::{WIDTH, summary};
use crate::console::Paint;
use warpline_api::Simulation;
use warpline_sim::words::{of, plain};

/// A loss by a better number that is explained, as a part of the time.
const LONGER: f64 = 0.005;

/// The change of the time for each machine number, the largest gain first.
pub(crate) fn whatif(simulation: &Simulation, rows: &[Row], paint: Paint) -> String {
    let base = simulation.report.cycles;
    let mut text = summary::head(&simulation.subject, paint);
    text += &summary::field("Time", &format!("{} cycles", plain(base)));
    text += &summary::field("Bottleneck", &simulation.report.bottleneck);
    text += &format!("\n{}\n", paint.head("What the time would do, %"));
    let mut t = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right], 2);
    t.row(["", "now", "", "2x slower", "2x faster", "free"]);
    for row in rows.iter().filter(|r| r.matters(base)) {
        let cell = |c| row.gain(c, base).map_or("-".to_string(), change);
        let cells = Change::ALL.map(cell);
        let known = format!("{}{}", row.unit, if row.kind == "estimated" { " *" } else { "" });
        t.row([row.key.clone(), plain(row.value), known].into_iter().chain(cells));
    }
    text += &t.text();
    text += "\n  Slower is a latency doubled, a rate or a capacity halved; faster the other way\n  round; free no latency, a rate without limit, sixteen times the capacity.\n";
    if rows.iter().any(|r| r.matters(base) && r.kind == "estimated") {
        text += "  * an estimate.\n";
    }
    if rows.iter().any(|r| r.cycles.iter().any(Result::is_err)) {
        text += "  - cannot be run so.\n";
    }
    let longer = |r: &Row, c: Change| r.gain(c, base).is_some_and(|gain| gain < -LONGER);
    if rows.iter().any(|r| longer(r, Change::Faster) || longer(r, Change::Free)) {
        text += "  A better number can make a run longer: warps and requests then meet in another\n  order.\n";
    }
    let idle: Vec<&str> = rows.iter().filter(|r| !r.matters(base)).map(|r| r.key.as_str()).collect();
    if !idle.is_empty() {
        let line = format!("Without effect, below 0.1 %: {}", idle.join(", "));
        text += &format!("\n{}\n", wrap(&line, WIDTH, 2));
    }
    if let Some(first) = rows.iter().find(|r| r.gain(Change::Faster, base).is_some_and(|g| g >= 0.001)) {
        let gain = first.gain(Change::Faster, base).unwrap_or(0.0);
        let n = of(rows.len() as i64, "number");
        let line = format!("Of {n}, `{}` twice as fast would gain {:.1} % of the time.", first.key, gain * 100.0);
        text += &format!("\n{}\n", wrap(&line, WIDTH, 2));
    }
    text
}

/// A gain as a change of the time, in percent.
fn change(gain: f64) -> String {
    let percent = -gain * 100.0;
    if percent.abs() < 0.05 { "0".to_string() } else { format!("{percent:+.1}") }
}
