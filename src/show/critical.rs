//! The critical path as text.

use warpline_sim::words;
use warpline_study::critical::{Actor, Part};

use super::roles::{cut, place_of};
use super::table::{Align, Table};
use crate::console::Paint;
use warpline_api::CriticalPath;
use warpline_api::Simulation;
use warpline_sim::words::{percent, plain};

/// The most parts listed.
const PARTS: usize = 8;
/// The smallest share listed.
const SMALL: f64 = 0.0005;

/// The parts of the critical path, the largest first.
pub(super) fn path(simulation: &Simulation, path: Option<&CriticalPath>, paint: Paint) -> String {
    let Some(path) = path else { return String::new() };
    let sites = &simulation.subject.program.sites;
    let mut t = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Left], 2);
    for p in path.critical.parts.iter().take(PARTS).filter(|p| p.fraction >= SMALL) {
        let (who, what) = names(p);
        let place = p.site.and_then(|s| sites.get(s as usize));
        let place = place.map_or(String::new(), |s| format!("{}  {}", place_of(s), s.text));
        t.row([percent(p.fraction), who, what, place]);
    }
    let of = if path.whole { String::new() } else { format!(" of the first {} cycles", plain(path.until)) };
    let lines: String = t.text().lines().map(|l| cut(l) + "\n").collect();
    format!("{}\n{lines}\n", paint.head(&format!("Critical path{of}, % of its time")))
}

/// The role or engine of a part, and its work or wait.
fn names(p: &Part) -> (String, String) {
    let what = words::what(p.what).to_string();
    match &p.who {
        Actor::Engine(e) => (words::engine(*e).to_string(), "at work".to_string()),
        Actor::Role(role) if p.wake => (role.clone(), format!("woken from {what}")),
        Actor::Role(role) if matches!(p.what, warpline_sim::timeline::SpanKind::Stall(_)) => {
            (role.clone(), format!("waits: {what}"))
        }
        Actor::Role(role) => (role.clone(), what),
    }
}
