//! The section of the proof.

use warpline_sim::schedule::Act;
use warpline_verify::{Outcome, properties};

use super::PLAIN;
use super::html::{code, escape, message, p, table};
use crate::show;
use warpline_api::Verification;

/// The most lines of findings and moves that are shown at once; more scroll in their own box.
const LONG: usize = 60;

/// The verdict, its fault, and the timeline of the schedule that leads to the fault.
pub(super) fn proof(v: &Verification, timeline: &str) -> String {
    let class = match v.verdict.outcome {
        Outcome::Proved | Outcome::Bounded { .. } => "good",
        Outcome::Violated | Outcome::GaveUp { .. } => "bad",
    };
    let sentence = show::sentence(&v.verdict, v.varied.as_ref(), PLAIN);
    let mut out = format!("<p class=\"{class}\">{}</p>\n", message(&sentence));
    out += &p(&format!("Looked at: {}.", v.verdict.classes.join(", ")));
    if let Some(x) = &v.verdict.violation {
        // The schedule shows what leads to the fault; without a schedule, the last operations do.
        let fault = match v.witness {
            Some(_) => show::fault(&v.subject, x, PLAIN),
            None => show::violation(&v.subject, x, PLAIN),
        };
        out += "<h3>The fault</h3>\n";
        let long = if fault.lines().count() > LONG { " class=\"long\"" } else { "" };
        out += &format!("<pre{long} tabindex=\"0\">{}</pre>\n", escape(fault.trim_end()));
        if let Some(s) = &v.suggested {
            out += &format!("<pre tabindex=\"0\">{}</pre>\n", escape(show::suggestion(s, PLAIN).trim_end()));
        }
        out += &moves(v);
        if !timeline.is_empty() {
            out += "<h3>The schedule in time</h3>\n";
            out += &p("Each move is at its own time or at the start of the move before it, whichever is later.");
            out += timeline;
        }
    }
    let rows =
        properties(&v.verdict).into_iter().map(|x| (x.verdict == "violated", vec![escape(x.name), escape(x.verdict)]));
    out += "<h3>Properties</h3>\n";
    out += &table(&[("property", false), ("verdict", false)], rows);
    out += "<h3>Assumed</h3>\n<ul class=\"small\">\n";
    v.assumptions().iter().for_each(|a| out += &format!("<li>{}</li>\n", message(a)));
    out + "</ul>\n"
}

/// The schedule that leads to the fault, move by move.
fn moves(v: &Verification) -> String {
    let (Some(w), Some(x)) = (&v.witness, &v.verdict.violation) else { return String::new() };
    let n = w.told.len();
    let rows = w.told.iter().enumerate().map(|(i, t)| {
        let site = x.sites.get(t.site as usize);
        let key = w.pair.is_some_and(|p| p.first == i || p.second == i) || i + 1 == n;
        let does = match t.act {
            Act::Lands(_) => "its operation lands",
            act => act.name(),
        };
        let at = site.map_or(String::new(), |s| code(&format!("{}  {}", s.line, s.text)));
        (key, vec![(i + 1).to_string(), escape(&t.agent), does.to_string(), at, escape(&t.touches.join(", "))])
    });
    let head = [("", true), ("who", false), ("", false), ("line and statement", false), ("touches", false)];
    let least = if w.shortest && !x.findings.is_empty() { "; none of them can be left out" } else { "" };
    let mut moves = table(&head, rows);
    if n > LONG {
        // The script shows its end: the fault.
        moves = moves.replacen("class=\"wide\"", "class=\"wide long end\"", 1);
    }
    format!("<h3>The schedule that leads to the fault: {} moves{least}</h3>\n", n) + &moves
}
