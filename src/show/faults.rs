//! How a run ended, and the faults it met.

use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Site;
use warpline_sim::report::{Finding, Outcome, Waiting};

use super::WIDTH;
use super::roles::short_file;
use super::table::wrap;
use crate::console::Paint;
use crate::diagnose::{self, span_of};
use crate::load::Loaded;
use crate::simulate::Ran;
use warpline_sim::words::{count, of, plain};

/// Agents listed in a hang; the others wait alike.
const WAITERS: usize = 12;

/// The first thing to know of a run that did not end well; nothing for one that did.
pub(super) fn outcome(ran: &Ran, paint: Paint) -> String {
    let r = &ran.report;
    let text = match &r.outcome {
        Outcome::Finished if r.faults().next().is_none() => return String::new(),
        Outcome::Finished => {
            let faults = of(r.faults().count() as i64, "fault");
            format!("{} It ran to its end, but {faults} showed on the way (below).", paint.bad("FAULTY."))
        }
        Outcome::Broken => {
            format!("{} It stopped at a fault after which its state has no meaning (below).", paint.bad("BROKEN."))
        }
        Outcome::Limit => format!(
            "{} The limit of events was reached after {}; the numbers are those up to there.",
            paint.bad("GAVE UP."),
            of(r.events as i64, "event")
        ),
        Outcome::Stopped => match r.faults().count() {
            0 => format!("{} The schedule is over, and no fault showed.", paint.head("NO FAULT.")),
            n => format!("{} The schedule ends in {} (below).", paint.bad("FAULTY."), of(n as i64, "fault")),
        },
        Outcome::Hung(waiting) => return hang(ran, waiting, paint) + "\n",
    };
    wrap(&text, WIDTH, 0) + "\n\n"
}

/// Who waits for what, since when, and what would have to happen.
fn hang(ran: &Ran, waiting: &[Waiting], paint: Paint) -> String {
    let text = format!(
        "{} At cycle {} nobody can proceed; {} left.\n",
        paint.bad("HANGS."),
        plain(ran.report.cycles),
        match waiting.len() {
            1 => "1 agent is".to_string(),
            n => format!("{n} agents are"),
        }
    );
    text + &waiters(&ran.subject.program.sites, waiting, paint)
}

/// Who waits for what.
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

/// `file:line  text`, short.
fn here(site: &Site) -> String {
    format!("{}:{}  {}", short_file(&site.file), site.line, site.text)
}

/// Every fault with its lines and carets.
pub(super) fn findings(ran: &Ran, paint: Paint) -> String {
    let findings = &ran.report.findings;
    if findings.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for (note, title) in [(false, "Faults met"), (true, "Worth knowing")] {
        let mut list = findings.iter().filter(|f| f.note == note).peekable();
        if list.peek().is_some() {
            text += &format!("{}\n", paint.head(title));
            list.for_each(|f| text += &one(ran, f, paint));
            text += "\n";
        }
    }
    text
}

fn one(ran: &Ran, f: &Finding, paint: Paint) -> String {
    finding(&ran.subject, &ran.subject.program.sites, f, paint)
}

/// One finding with both lines. One that no run in time met has no cycle.
pub(super) fn finding(subject: &Loaded, sites: &[Site], f: &Finding, paint: Paint) -> String {
    let again = if f.times > 1 { format!(", met {} times", count(f.times as i64)) } else { String::new() };
    let class = if f.note { "note" } else { f.kind.name() };
    let message = format!("{} {class}: {}", f.code(), f.message);
    let when = if f.cycle < 0.0 { String::new() } else { format!(", cycle {}", plain(f.cycle)) };
    let label = format!("{}{when}{again}", f.agent);
    let Some(site) = sites.get(f.site as usize) else {
        return format!("{message}\n  {label}\n");
    };
    let source = subject.sources.get(&site.file).map_or("", String::as_str);
    let span = |s: &Site| span_of(source, s.line, s.col, &s.text);
    let mut d = Diagnostic::new(&site.file, span(site), message, label);
    if let Some((other, words)) = &f.other
        && let Some(other) = sites.get(*other as usize)
    {
        // One kernel is one file, so both places are in the same text.
        d = d.also(span(other), words.clone());
    }
    diagnose::one(&d, &subject.sources, paint.colour)
}
