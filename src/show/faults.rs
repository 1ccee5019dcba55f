//! How a run ended, and its findings.

use std::collections::BTreeSet;

use warpline_sim::code::Code;
use warpline_sim::ir::Site;
use warpline_sim::report::{Finding, Outcome, Waiting};

use super::WIDTH;
use super::roles::short_file;
use super::table::wrap;
use crate::console::Paint;
use crate::diagnose;
use warpline_api::{Simulation, Subject, finding_label, finding_message};
use warpline_sim::words::{of, plain};

/// The most agents listed in a hang.
const WAITERS: usize = 12;

/// A sentence on a run that did not end well; empty for one that did.
pub(crate) fn outcome(simulation: &Simulation, paint: Paint) -> String {
    let r = &simulation.report;
    let text = match &r.outcome {
        Outcome::Finished if r.faults().next().is_none() => return String::new(),
        Outcome::Finished => {
            let faults = of(r.faults().count() as i64, "fault");
            format!("{} It ran to its end, but {faults} showed on the way (below).", paint.bad("FAULTY."))
        }
        Outcome::Broken => {
            format!("{} It stopped at a fault after which its state has no meaning (below).", paint.bad("BROKEN."))
        }
        Outcome::Limit if r.events == 0 => format!(
            "{} The grid has too many CTAs to follow each copy through the caches of the device; nothing ran. \
             `--fidelity core` needs no such copies, and `--max-events` raises the limit of 200 million requests.",
            paint.bad("GAVE UP.")
        ),
        Outcome::Limit => format!(
            "{} The limit of events was reached after {}; the numbers are those up to there.",
            paint.bad("GAVE UP."),
            of(r.events as i64, "event")
        ),
        Outcome::Stopped => match r.faults().count() {
            0 => format!("{} The schedule is over, and no fault showed.", paint.head("NO FAULT.")),
            n => format!("{} The schedule ends in {} (below).", paint.bad("FAULTY."), of(n as i64, "fault")),
        },
        Outcome::Hung(waiting) => return hang(simulation, waiting, paint) + "\n",
    };
    wrap(&text, WIDTH, 0) + "\n\n"
}

/// Each waiting agent: since when, for what, and what would release it.
fn hang(simulation: &Simulation, waiting: &[Waiting], paint: Paint) -> String {
    let text = format!(
        "{} At cycle {} nobody can proceed; {} left.\n",
        paint.bad("HANGS."),
        plain(simulation.report.cycles),
        match waiting.len() {
            1 => "1 agent is".to_string(),
            n => format!("{n} agents are"),
        }
    );
    text + &waiters(&simulation.subject.program.sites, waiting, paint)
}

/// Each waiting agent, its statement, and what it waits for.
pub(super) fn waiters(sites: &[Site], waiting: &[Waiting], paint: Paint) -> String {
    let mut text = String::new();
    for w in waiting.iter().take(WAITERS) {
        let place = sites.get(w.site as usize);
        let who = format!("{} {}", w.code, w.agent);
        text += &format!("  {}{}\n", paint.head(&who), place.map_or(String::new(), |s| format!(" at {}", here(s))));
        let since = if w.since > 0.0 { format!(" since cycle {}", plain(w.since)) } else { String::new() };
        let waits = format!("waits for {}{since}", w.waits_for);
        text += &format!("    {}\n", wrap(&waits, WIDTH, 6));
        if !w.needs.is_empty() {
            text += &format!("    {}\n", wrap(&format!("needs: {}", w.needs), WIDTH, 6));
        }
    }
    if waiting.len() > WAITERS {
        text += &format!("  and {} more (`--json` lists all)\n", waiting.len() - WAITERS);
    }
    text
}

/// A statement as `file:line  text`.
fn here(site: &Site) -> String {
    format!("{}:{}  {}", short_file(&site.file), site.line, site.text)
}

/// Every finding with its lines and carets.
pub(super) fn findings(simulation: &Simulation, paint: Paint) -> String {
    let findings = &simulation.report.findings;
    if findings.is_empty() {
        return String::new();
    }
    let (mut text, sites) = (String::new(), &simulation.subject.program.sites);
    for (note, title) in [(false, "Faults met"), (true, "Worth knowing")] {
        let list = frames(&simulation.subject, sites, findings.iter().filter(|f| f.note == note), paint);
        if !list.is_empty() {
            text += &format!("{}\n{list}\n", paint.head(title));
        }
    }
    text
}

/// The most findings of one rule that get a frame.
const FRAMES: usize = 4;
/// The most lines that are named for the others.
const LINES: usize = 12;

/// Findings with their lines. Of many findings of one rule, the first ones, and the lines of the others: an unrolled loop
/// has the same fault in hundreds of statements.
pub(super) fn frames<'f>(
    subject: &Subject,
    sites: &[Site],
    findings: impl IntoIterator<Item = &'f Finding>,
    paint: Paint,
) -> String {
    let mut text = String::new();
    let mut rules: Vec<(Code, Vec<&Finding>)> = Vec::new();
    for f in findings {
        match rules.iter_mut().find(|(code, _)| *code == f.code) {
            Some((_, list)) => list.push(f),
            None => rules.push((f.code, vec![f])),
        }
    }
    for (code, list) in rules {
        // Those of other statements first.
        let mut known = BTreeSet::new();
        let (mut shown, mut others): (Vec<&Finding>, Vec<&Finding>) =
            list.into_iter().partition(|f| known.insert(f.site) && known.len() <= FRAMES);
        let room = FRAMES - shown.len();
        shown.extend(others.drain(..room.min(others.len())));
        shown.iter().for_each(|f| text += &finding(subject, sites, f, paint));
        let lines: BTreeSet<u32> = others.iter().filter_map(|f| Some(sites.get(f.site as usize)?.line)).collect();
        if !others.is_empty() {
            let named: Vec<String> = lines.iter().take(LINES).map(u32::to_string).collect();
            let more = if lines.len() > LINES { format!(" and {} others", lines.len() - LINES) } else { String::new() };
            let lines = format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, named.join(", "));
            let words = format!("{} more of {code}, at {lines} (`--json` lists all)", others.len());
            text += &format!("  {}\n", wrap(&words, WIDTH - 2, 4));
        }
    }
    text
}

/// One finding with both of its lines.
fn finding(subject: &Subject, sites: &[Site], f: &Finding, paint: Paint) -> String {
    match subject.diagnostic(f, sites) {
        Some(d) => diagnose::one(&d, &subject.sources, paint.color),
        None => format!("{}\n  {}\n", finding_message(f), finding_label(f)),
    }
}
