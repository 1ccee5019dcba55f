//! Two runs side by side as text.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::timeline::SpanKind;
use warpline_sim::words;
use warpline_study::clock::ClockResult;
use warpline_study::compare::{Cause, Comparison, Operation, Role};

use super::WIDTH;
use super::roles::cut;
use super::table::{Align, Table, wrap};
use crate::console::Paint;
use warpline_api::Recording;
use warpline_api::short_name;
use warpline_sim::words::{plain, short, ungrouped};

/// The most causes, waits and operations listed.
const LINES: usize = 8;

/// All sections of a comparison.
pub(crate) fn compare(two: [&Recording; 2], c: &Comparison, paint: Paint) -> String {
    let [a, b] = two.map(name);
    let mut text = format!("{}\n", paint.head(&wrap(&format!("A: {a}"), WIDTH, 3)));
    text += &format!("{}\n", paint.head(&wrap(&format!("B: {b}"), WIDTH, 3)));
    text += &settings(two);
    text += "\n";
    text += &numbers(two, c, paint);
    text += &why(c, paint);
    text += &operations(&c.operations, paint);
    text + &sentence(c)
}

/// The name of a run with its machine, or of a saved trace with its title.
fn name(of: &Recording) -> String {
    match &of.simulation {
        Some(simulation) => {
            let clock = simulation.subject.sustained.map(|s| match s.end {
                ClockResult::Settled => format!(" at {} MHz, sustained", plain(s.mhz)),
                _ => format!(" at {} MHz, not settled", plain(s.mhz)),
            });
            format!("{} on {}{}", of.name, simulation.subject.machine.name, clock.unwrap_or_default())
        }
        None if of.timeline.title == short_name(&of.name) => of.name.clone(),
        None => format!("{}: {}", of.name, of.timeline.title),
    }
}

/// The parameters that differ, where both are known.
fn settings(two: [&Recording; 2]) -> String {
    // A trace without parameters says nothing about the parameters of its run.
    if two.iter().any(|r| r.simulation.is_none() && r.timeline.subtitle.is_empty()) {
        return String::new();
    }
    let params = |i: usize| -> BTreeMap<&str, &str> {
        two[i].timeline.subtitle.split(", ").filter_map(|p| p.split_once(" = ")).collect()
    };
    let (a, b) = (params(0), params(1));
    let mut words: Vec<String> = Vec::new();
    for (name, v) in &a {
        match b.get(name) {
            Some(w) if w == v => {}
            Some(w) => words.push(format!("{name}={v} / {w}")),
            None => words.push(format!("{name}={v} / -")),
        }
    }
    words.extend(b.iter().filter(|(n, _)| !a.contains_key(*n)).map(|(n, w)| format!("{n}=- / {w}")));
    if words.is_empty() { String::new() } else { format!("{}\n", wrap(&format!("   {}", words.join("  ")), WIDTH, 3)) }
}

fn numbers(two: [&Recording; 2], c: &Comparison, paint: Paint) -> String {
    if c.numbers.is_empty() {
        let all = two.iter().all(|r| r.simulation.is_some());
        // A run that did not end has no time.
        if !all && c.cycles[0] != c.cycles[1] {
            return String::new();
        }
        let which = if all { "All numbers of the two runs" } else { "The numbers that both have, their times," };
        return format!("{which} are equal.\n\n");
    }
    let mut t = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right], 2);
    t.row(["", "A", "B", "B - A", "%"]);
    let word = |v: Option<f64>| v.map_or("-".to_string(), number);
    for (name, [a, b]) in &c.numbers {
        let (more, share) = match (a, b) {
            (Some(a), Some(b)) => {
                let share = if *a != 0.0 { format!("{:+.1}", (b / a - 1.0) * 100.0) } else { String::new() };
                (signed(b - a), share)
            }
            _ => (String::new(), String::new()),
        };
        t.row([name.to_string(), word(*a), word(*b), more, share]);
    }
    format!("{}\n{}\n", paint.head("What changed"), t.text())
}

fn number(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() < 1e3 {
        ungrouped(v)
    } else if v.fract() == 0.0 {
        plain(v)
    } else {
        short(v)
    }
}

fn signed(v: f64) -> String {
    if v > 0.0 { format!("+{}", number(v)) } else { number(v) }
}

/// Each role's cycles by cause, then by the statement that waits.
fn why(c: &Comparison, paint: Paint) -> String {
    // The causes of a run add up to its cycles; the trace of another program may leave gaps.
    let sum = |i: usize| c.roles.first().map_or(0.0, |all| all.causes.iter().map(|c| c.cycles[i]).sum::<f64>());
    let whole = (0..2).all(|i| (sum(i) - c.cycles[i]).abs() <= c.cycles[i] * 1e-6);
    let add = if whole { "they add up to the runs'" } else { "as far as they were recorded" };
    let mut text = format!("{}\n", paint.head(&format!("Why: cycles of a warp, work and waits; {add}")));
    let mut t = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right], 2);
    t.row(["", "A", "B", "B - A"]);
    for role in &c.roles {
        let warps = |n: u32| if n == 0 { "-".to_string() } else { n.to_string() };
        t.row([format!("{} (warps)", role.name), warps(role.warps[0]), warps(role.warps[1]), String::new()]);
        // A role of only one run has no counterpart.
        if role.warps.contains(&0) {
            continue;
        }
        // Differences below a thousandth of the run are left out.
        let small = c.cycles[0].max(c.cycles[1]) / 1000.0;
        for cause in role.causes.iter().filter(|c| c.more().abs() >= small).take(LINES) {
            t.row(cells(format!("  {}", what(cause.what)), cause));
        }
    }
    text += &t.text();
    text.push('\n');
    text += &places(&c.roles);
    text
}

fn cells(name: String, c: &Cause) -> [String; 4] {
    [name, plain(c.cycles[0]), plain(c.cycles[1]), signed(c.more().round())]
}

fn what(w: SpanKind) -> String {
    match w {
        SpanKind::Stall(s) => format!("waits: {}", words::stall_long(s)),
        SpanKind::Work(w) => words::work_long(w).to_string(),
        SpanKind::Hold { .. } => String::new(),
    }
}

/// The waits that differ most, by statement. With several roles, the first is their mean and is left out.
fn places(roles: &[Role]) -> String {
    let own = if roles.len() > 1 { &roles[1..] } else { roles };
    let mut all: Vec<(&str, &Cause)> = own.iter().flat_map(|r| r.at.iter().map(|c| (r.name.as_str(), c))).collect();
    all.retain(|(_, c)| c.more().abs() >= 1.0);
    all.sort_by(|a, b| b.1.more().abs().total_cmp(&a.1.more().abs()));
    if all.is_empty() {
        return String::new();
    }
    let mut t = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Left], 2);
    for (role, c) in all.into_iter().take(LINES) {
        let at = c.at.clone().unwrap_or_default();
        let wait = c.wait.clone().unwrap_or_else(|| what(c.what).replace("waits: ", ""));
        t.row([signed(c.more().round()), role.to_string(), wait, at]);
    }
    let lines: String = t.text().lines().map(|l| cut(l) + "\n").collect();
    format!("Waits that differ most, cycles of a warp, B - A\n{lines}\n")
}

/// Operations that both runs have, matched iteration by iteration.
fn operations(all: &[Operation], paint: Paint) -> String {
    let shown: Vec<&Operation> = all.iter().filter(|o| o.pairs > 0 && o.parts_at.is_some()).take(LINES).collect();
    let mut text = String::new();
    if !shown.is_empty() {
        let mut t = Table::new(
            &[Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left],
            2,
        );
        t.row(["", "", "pairs", "A", "B", "from turn", ""]);
        for o in shown {
            let [a, b] = o.cycles.map(plain);
            let from = o.parts_at.map_or(String::new(), |n| n.to_string());
            // The barrier and its phase say more than the statement, and a line has no room for both.
            let text = if o.wait.is_empty() { o.text.clone() } else { o.wait.clone() };
            t.row([o.who.clone(), words::what(o.what).to_string(), o.pairs.to_string(), a, b, from, text]);
        }
        let lines: String = t.text().lines().map(|l| cut(l) + "\n").collect();
        text +=
            &format!("{}\n{lines}\n", paint.head("The same operation in both, iteration by iteration: mean cycles"));
    }
    // Statements of one run alone. A statement that only waits in one run is in both.
    let said = |i: usize, work: bool| -> BTreeSet<&str> {
        let all = all.iter().filter(|o| !work || matches!(o.what, SpanKind::Work(_)));
        all.filter(|o| o.pairs > 0 || o.alone[i] > 0).map(|o| o.text.as_str()).filter(|t| !t.is_empty()).collect()
    };
    for (i, name) in ["A", "B"].into_iter().enumerate() {
        let (here, there) = (said(i, true), said(1 - i, false));
        let only = here.difference(&there);
        let only: Vec<&str> = only.copied().collect();
        if !only.is_empty() {
            text += &format!("{}\n", wrap(&format!("Only in {name}: {}", only.join("; ")), WIDTH, 2));
        }
    }
    if text.is_empty() { text } else { text.trim_end().to_string() + "\n\n" }
}

fn sentence(c: &Comparison) -> String {
    let clocks = c.time_us.map(|t| t > 0.0);
    let [a, b] = if clocks == [true; 2] { c.time_us } else { c.cycles };
    // Where only one run has a clock, cycles are compared.
    let (unit, as_long) = if clocks[0] == clocks[1] { ("time", "long") } else { ("cycles", "many cycles") };
    let more = if a == b { 0.0 } else { (b / a - 1.0) * 100.0 };
    let main = c.roles.first().and_then(|all| all.causes.first()).filter(|c| c.more().abs() >= 1.0);
    let cause = main.map_or(String::new(), |c| {
        let word = if c.more() > 0.0 { "more" } else { "less" };
        format!(" Most of all a warp spends {word} on \"{}\": {} cycles.", what(c.what), signed(c.more().round()))
    });
    let line = match more {
        m if m.abs() < 0.05 => format!("B takes as {as_long} as A.{cause}"),
        m if m > 0.0 => format!("B takes {m:.1} % more {unit} than A.{cause}"),
        m => format!("B takes {:.1} % less {unit} than A.{cause}", -m),
    };
    format!("{}\n", wrap(&line, WIDTH, 2))
}
