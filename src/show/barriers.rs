//! The text of `barriers`: the need for each synchronization statement.

use warpline_verify::{Need, Outcome, Verdict, Violation, new_note};

use super::WIDTH;
use super::summary::head;
use super::table::wrap;
use super::verdict::{sentence, violation};
use crate::console::Paint;
use warpline_api::Barriers;
use warpline_sim::words::of;

/// Most faults that are named after the first.
const FAULTS: usize = 4;

/// Every statement with the fault that it prevents, and a smallest set of statements.
pub(crate) fn barriers(s: &Barriers, paint: Paint) -> String {
    let mut text = head(&s.subject, paint);
    let r = &s.redundancy;
    let whole = format!("As it is: {}", sentence(&r.whole, s.varied.as_ref(), paint));
    text += &format!("{}\n\n", wrap(&whole, WIDTH, 0));
    if let Some(x) = &r.whole.violation {
        return text + &violation(&s.subject, x, paint) + "No statement was removed, because the kernel has a fault.\n";
    }
    if r.removals.is_empty() {
        return text + "The kernel has no synchronization to remove.\n";
    }
    text += &format!("{}\n", paint.head("Removed alone"));
    for removal in &r.removals {
        let said = match &removal.need {
            Need::Needed(v) => format!("needed: {}", prevents(v)),
            Need::Redundant(v) => format!("redundant: {}", held(v)),
            Need::Advised(v) => {
                let note = new_note(v, &r.whole).map_or("", |n| n.message.as_str());
                format!("advised: {}, with a note: {note}", held(v))
            }
            Need::Undecided(v) => format!("undecided: {}", undecided(v)),
            Need::NotJudged(why) => format!("not judged: {why}"),
        };
        text += &format!("  {}:{}  {}\n", removal.site.line, removal.site.col, paint.head(&removal.site.text));
        text += &format!("      {}\n", wrap(&said, WIDTH, 8));
    }
    text += &format!("\n{}\n", paint.head("Removed together"));
    let gone: Vec<String> =
        r.spare.iter().map(|i| format!("{}:{}", r.removals[*i].site.line, r.removals[*i].site.col)).collect();
    let left = r.removals.len() - gone.len();
    text += &match gone.is_empty() {
        true => format!("  None of {} can be removed.\n", of(left as i64, "statement")),
        false => {
            let words = format!(
                "{} can be removed together ({}); then none of the other {} can. {}",
                of(gone.len() as i64, "statement"),
                gone.join(", "),
                left,
                sentence(&r.minimal, s.varied.as_ref(), paint)
            );
            format!("  {}\n", wrap(&words, WIDTH, 2))
        }
    };
    let values: Vec<String> = s.subject.program.params.iter().map(|(n, v)| format!("{n}={v}")).collect();
    text += &format!("  {}\n", wrap(&format!("This holds for {}.", values.join(" ")), WIDTH, 2));
    if s.subject.imported.is_some() {
        let words = "A compiled kernel's accesses of global memory are not followed, so what only orders those counts as \
                     redundant. `warpline verify` lists what else is assumed.";
        text += &format!("  {}\n", wrap(words, WIDTH, 2));
    }
    let (steps, wall) = (of(r.whole.steps as i64, "step"), s.wall_s);
    text + &format!("\n{} with nothing removed; {wall:.3} s\n", steps)
}

/// The fault that a statement prevents.
pub(crate) fn prevents(v: &Verdict) -> String {
    v.violation.as_ref().map_or(String::new(), |x| {
        let at = x.trips.map_or(String::new(), |n| format!(" ({})", of(n, "step")));
        format!("{}{at}", fault(x))
    })
}

fn fault(x: &Violation) -> String {
    let line = |site: u32| x.sites.get(site as usize).map_or(0, |s| s.line);
    match (x.findings.first(), x.hang.first()) {
        (Some(f), _) => {
            let other = f.other.as_ref().map_or(String::new(), |(s, part)| format!(", {part} at line {}", line(*s)));
            let first = format!("{} at line {}: {}{other}", f.kind.name(), line(f.site), f.message);
            let mut rest: Vec<String> =
                x.findings.iter().skip(1).map(|f| format!("{} at line {}", f.kind.name(), line(f.site))).collect();
            rest.dedup();
            let more = rest.len().saturating_sub(FAULTS);
            if more > 1 {
                rest.truncate(FAULTS);
                rest.push(format!("{more} more"));
            }
            if rest.is_empty() { first } else { format!("{first}; also {}", rest.join(", ")) }
        }
        (None, Some(w)) => format!("deadlock at line {}: {} waits for {}", line(w.site), w.agent, w.waits_for),
        _ => "a fault".to_string(),
    }
}

fn held(v: &Verdict) -> String {
    match &v.outcome {
        Outcome::Bounded { trips: Some((a, Some(b))), .. } => format!("holds without it for trip counts {a} to {b}"),
        Outcome::Bounded { trips: Some(_), .. } => {
            "holds without it for every trip count, all else as given".to_string()
        }
        Outcome::Bounded { .. } => "holds without it for the values given".to_string(),
        _ => "proved without it for every trip count".to_string(),
    }
}

fn undecided(v: &Verdict) -> String {
    match &v.outcome {
        Outcome::GaveUp { why } | Outcome::Bounded { why, .. } => why.clone(),
        _ => String::new(),
    }
}
