//! The sections of the run.

use warpline_sim::report::{Finding, Outcome};
use warpline_sim::timeline::{SpanKind, Stall, Timeline};
use warpline_sim::words;
use warpline_study::critical::critical;
use warpline_viz::web;

use super::PLAIN;
use super::html::{code, escape, message, p, table};
use super::source::{link, link_to};
use crate::show::{self, bytes, count, of, percent, plain, short};
use warpline_api::{ClaimResult, Simulation, bank_conflicts, readable_name};

/// The most statements listed where roles wait, and on the critical path.
const STATEMENTS: usize = 12;
/// The smallest share drawn.
const SMALL: f64 = 0.0005;

/// A note as a sentence.
fn sentence(note: &str) -> String {
    let mut rest = note.trim_end_matches('.').chars();
    rest.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), rest.as_str()))
}

/// Kernel, machine, parameters.
pub(super) fn head(simulation: &Simulation) -> String {
    let s = &simulation.subject;
    let note = s.note.as_deref().map_or(String::new(), |note| p(&sentence(note)));
    let values = s.program.params.iter().map(|(n, v)| format!("<span>{}</span> ", code(&format!("{n} = {v}"))));
    let kernel =
        format!("{} ({}) on {}, {}", readable_name(&s.program.name), s.program.file, s.machine.name, s.machine.title);
    format!("<p class=\"sub\">{}</p>\n{note}", escape(&kernel))
        + &format!("<p class=\"values\">{}</p>\n", values.collect::<String>())
}

/// Outcome, time, rate, occupancy and memory.
pub(super) fn numbers(simulation: &Simulation) -> String {
    let r = &simulation.report;
    let mut rows: Vec<(&str, String)> = Vec::new();
    let ended = match r.outcome {
        Outcome::Finished => "every warp ended",
        Outcome::Hung(_) => "no agent can proceed",
        Outcome::Broken => "stopped by a fault after which the state has no meaning",
        Outcome::Limit => "the limit of events was reached",
        Outcome::Stopped => "the schedule ends",
    };
    if let Some(s) = simulation.subject.sustained {
        rows.push(("Clock", s.to_string()));
    }
    let us = if r.time_us > 0.0 { format!(", {} µs", short(r.time_us)) } else { String::new() };
    rows.push(("Outcome", ended.to_string()));
    rows.push(("Time", format!("{} cycles{us}", plain(r.cycles))));
    if r.tflops > 0.0 {
        let share = r.of_peak.map_or(String::new(), |s| format!(", {} % of the matrix peak at this clock", percent(s)));
        rows.push(("Rate", format!("{} TFLOPS{share}{}", short(r.tflops), show::padding(r))));
    }
    if let Some(s) = show::scaled(r) {
        rows.push(("Counted", s.to_string()));
    }
    if r.outcome == Outcome::Finished {
        rows.push(("Uncertainty", show::certainty(simulation)));
    }
    if let Some(c) = r.cycles_per_tile {
        rows.push(("Per K-tile", format!("{} cycles in the steady state of one CTA", plain(c))));
    }
    rows.push(("Grid", show::grid(simulation)));
    let o = &r.occupancy;
    rows.push((
        "Occupancy",
        format!(
            "{}, {} a core, limited by {}",
            of(o.ctas_per_core.into(), "CTA"),
            of(o.warps_per_core.into(), "warp"),
            o.limit
        ),
    ));
    rows.push((
        "Shared memory",
        format!("{} bytes used by a CTA, {} free", count(r.shared_bytes), count(r.shared_free_bytes)),
    ));
    if r.dram_read_bytes + r.dram_write_bytes > 0.0 && simulation.arrays_unknown() {
        rows.push(("DRAM", "not known: the launch gives no array (`--launch FILE`)".into()));
    } else if r.dram_read_bytes + r.dram_write_bytes > 0.0 {
        let (read, written) = (bytes(r.dram_read_bytes), bytes(r.dram_write_bytes));
        rows.push(("DRAM", format!("{read} read, {written} written; L2 serves {} %", percent(r.l2_hit_rate))));
    }
    let uses: Vec<String> = r.uses.iter().map(|u| format!("{} {} %", u.resource, percent(u.fraction))).collect();
    if !uses.is_empty() {
        rows.push(("In use", uses.join(", ")));
    }
    if !r.bottleneck.is_empty() {
        rows.push(("Bottleneck", r.bottleneck.clone()));
    }
    let rows = rows.into_iter().map(|(name, value)| (false, vec![escape(name), message(&value)]));
    let mut out = ending(simulation) + &table(&[("", false), ("", false)], rows);
    let faults: Vec<_> = r.findings.iter().map(|f| finding_row(simulation, f)).collect();
    if !faults.is_empty() {
        out += "<h3>What the run met</h3>\n";
        out += &table(&[("code", false), ("what", false), ("statement", false), ("cycle", true)], faults);
    }
    out
}

/// A sentence on a run that did not end well, and what the agents wait for where it hangs.
fn ending(simulation: &Simulation) -> String {
    let text = show::outcome(simulation, PLAIN);
    let (sentence, waiters) = match simulation.report.outcome {
        Outcome::Hung(_) => text.split_once('\n').unwrap_or((&text, "")),
        _ => (text.as_str(), ""),
    };
    let mut out = String::new();
    if !sentence.is_empty() {
        out +=
            &format!("<p class=\"bad\">{}</p>\n", message(&sentence.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    if !waiters.is_empty() {
        out += &format!("<pre tabindex=\"0\">{}</pre>\n", escape(waiters.trim_end()));
    }
    out
}

fn finding_row(simulation: &Simulation, f: &Finding) -> (bool, Vec<String>) {
    let site = simulation.subject.program.sites.get(f.site as usize);
    let at = site.map_or(String::new(), link);
    let kind = if f.note { "note" } else { f.kind.name() };
    let cycle = if f.cycle < 0.0 { String::new() } else { plain(f.cycle) };
    (!f.note, vec![escape(f.code()), message(&format!("{kind}: {}", f.message)), at, cycle])
}

/// A bar for each role, and the statements with the longest waits.
pub(super) fn roles(simulation: &Simulation) -> String {
    let roles = &simulation.report.roles;
    let mut rows = Vec::new();
    for r in roles {
        let work = r.work.iter().map(|(w, share)| (SpanKind::Work(*w), *share));
        let stalls = r.stalls.iter().map(|(s, share)| (SpanKind::Stall(*s), *share));
        let mut parts: Vec<_> = work.chain(stalls).filter(|x| x.1 >= SMALL).collect();
        let bar: String = parts
            .iter()
            .map(|(what, share)| {
                format!(
                    "<span style=\"width:{:.2}%;background:{};opacity:{}\" title=\"{}: {} %\"></span>",
                    share * 100.0,
                    web::colour(*what),
                    if matches!(what, SpanKind::Work(_)) { "1" } else { ".45" },
                    escape(&name(*what)),
                    percent(*share)
                )
            })
            .collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most: Vec<String> =
            parts.iter().map(|(what, share)| format!("{} {} %", name(*what), percent(*share))).collect();
        rows.push((
            false,
            vec![
                escape(&r.name),
                r.warps.to_string(),
                format!("<div class=\"share\">{bar}</div>"),
                escape(&most.join(", ")),
            ],
        ));
    }
    if rows.is_empty() {
        return String::new();
    }
    let note = "Of the life of each role's warps; full colors are work, pale colors are waits.";
    let mut out = format!("<p class=\"small\">{note}</p>\n");
    out += &table(&[("role", false), ("warps", true), ("", false), ("most first", false)], rows);
    let mut waits: Vec<(f64, Vec<String>)> = Vec::new();
    let program = &simulation.subject.program;
    for r in roles {
        for (site, stall, share) in r.at.iter().filter(|w| w.2 >= 0.01) {
            let Some(s) = simulation.subject.program.sites.get(*site as usize) else { continue };
            let at = link(s);
            waits.push((
                *share,
                vec![escape(&r.name), percent(*share), escape(&words::wait(program, *site, *stall)), at],
            ));
        }
    }
    waits.sort_by(|a, b| b.0.total_cmp(&a.0));
    if !waits.is_empty() {
        out += "<h3>Where they wait</h3>\n";
        let rows = waits.into_iter().take(STATEMENTS).map(|w| (false, w.1));
        out += &table(&[("role", false), ("% of its time", true), ("for", false), ("statement", false)], rows);
    }
    let slow = bank_conflicts(&simulation.subject).into_iter().filter_map(|c| {
        let site = program.sites.get(c.site as usize)?;
        Some((false, vec![link(site), message(&c.message()), message(&c.help().unwrap_or_default())]))
    });
    let slow: Vec<_> = slow.collect();
    if !slow.is_empty() {
        out += "<h3>Bank conflicts</h3>\n";
        out += &table(&[("statement", false), ("what", false), ("help", false)], slow);
    }
    out
}

/// The name of a stretch of time.
fn name(what: SpanKind) -> String {
    match what {
        SpanKind::Stall(Stall::Ended) => "ended".to_string(),
        SpanKind::Stall(stall) => format!("waits for {}", words::stall_long(stall)),
        SpanKind::Work(work) => words::work_long(work).to_string(),
        SpanKind::Hold { .. } => words::what(what).to_string(),
    }
}

/// The critical path, by statement.
pub(super) fn path(t: &Timeline) -> String {
    let Some(path) = critical(t) else { return String::new() };
    let what = "Back from what ends last: from a wait to what woke it, from an engine's work to what it queued behind or \
                what started it, else to what its row did before. Shortening what is not on it does not end the run sooner.";
    let rows = path.parts.iter().filter(|part| part.fraction >= SMALL).take(STATEMENTS).map(|part| {
        let site = part.site.and_then(|i| t.sites.get(i as usize));
        let at = site.map_or(String::new(), |l| link_to(l.line, &l.text));
        let cycles = plain(part.fraction * path.cycles);
        (false, vec![percent(part.fraction), cycles, count(part.links as i64), escape(&name(part.what)), at])
    });
    let head = [("%", true), ("cycles", true), ("times", true), ("what", false), ("statement", false)];
    let mut out = p(what) + &table(&head, rows);
    if t.truncated_at.is_some() {
        out += &p("The record of the run was cut, so this is the path up to there.");
    }
    out
}

/// The scenario's claims and their results.
pub(super) fn claims(judged: &[ClaimResult]) -> String {
    let rows = judged.iter().map(|j| {
        let fate = match j.holds {
            Some(true) => "<span class=\"good\">held</span>",
            Some(false) => "<span class=\"bad\">refuted</span>",
            None => "open",
        };
        let values: Vec<String> = j.values.iter().map(|(n, v)| format!("{n} = {}", show::ungrouped(*v))).collect();
        let why = j.error.clone().unwrap_or_else(|| values.join(", "));
        (!j.as_stated(), vec![fate.to_string(), escape(&j.text), code(&j.check), message(&why), escape(&j.from)])
    });
    if judged.is_empty() {
        return String::new();
    }
    let head = [("", false), ("claim", false), ("check", false), ("numbers", false), ("from", false)];
    table(&head, rows)
}
