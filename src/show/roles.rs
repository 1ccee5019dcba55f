//! The time of each role, by work and by wait.

use std::collections::BTreeSet;

use warpline_sim::ir::Site;
use warpline_sim::report::RoleTime;
use warpline_sim::words;

use super::table::{Align, Table, wrap};
use warpline_sim::words::percent;

use super::WIDTH;
use crate::console::Paint;
use warpline_api::{Simulation, bank_conflicts, is_ptx};

/// The smallest share listed.
const SMALL: f64 = 0.0005;

/// The most statements listed under "Where they wait".
const WAITS: usize = 8;

/// A table with a column for each role: work by class and stalls by cause, in percent of the life of its warps.
pub(super) fn table(simulation: &Simulation, paint: Paint) -> String {
    let roles = &simulation.report.roles;
    if roles.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint.head("Time of each role, %"));
    let mut rest = roles.as_slice();
    while !rest.is_empty() {
        let n = fitting(rest);
        text += &columns(&rest[..n]);
        rest = &rest[n..];
        text.push('\n');
    }
    text
}

/// The number of roles that fit side by side.
fn fitting(roles: &[RoleTime]) -> usize {
    let mut room = WIDTH - 26;
    let fits = |r: &&RoleTime| {
        let need = r.name.chars().count().max(6) + 2;
        let ok = need <= room;
        room -= need.min(room);
        ok
    };
    roles.iter().take_while(fits).count().max(1)
}

fn columns(roles: &[RoleTime]) -> String {
    let mut t =
        Table::new(&std::iter::once(Align::Left).chain(roles.iter().map(|_| Align::Right)).collect::<Vec<_>>(), 2);
    let mut row = |name: String, value: &dyn Fn(&RoleTime) -> String| {
        t.row(std::iter::once(name).chain(roles.iter().map(value)));
    };
    row(String::new(), &|r| r.name.clone());
    row("warps".into(), &|r| r.warps.to_string());
    let share = |x: Option<&f64>| match x {
        Some(x) if *x >= SMALL => percent(*x),
        _ => "-".to_string(),
    };
    row("busy".into(), &|r| percent(r.work.values().fold(0.0, |s, x| s + x)));
    let works: BTreeSet<_> =
        roles.iter().flat_map(|r| &r.work).filter(|(_, x)| **x >= SMALL).map(|(w, _)| *w).collect();
    for w in works {
        row(format!("  {}", words::work_long(w)), &|r| share(r.work.get(&w)));
    }
    row("waits for".into(), &|r| percent(r.stalls.values().fold(0.0, |s, x| s + x)));
    let stalls: BTreeSet<_> =
        roles.iter().flat_map(|r| &r.stalls).filter(|(_, x)| **x >= SMALL).map(|(s, _)| *s).collect();
    for s in stalls {
        row(format!("  {}", words::stall_long(s)), &|r| share(r.stalls.get(&s)));
    }
    t.text()
}

/// The statements at which the roles wait most.
pub(super) fn waits(simulation: &Simulation, paint: Paint) -> String {
    let program = &simulation.subject.program;
    let sites = &program.sites;
    let mut at: Vec<_> = simulation
        .report
        .roles
        .iter()
        .enumerate()
        .flat_map(|(i, r)| r.at.iter().map(move |(site, stall, x)| (i, &r.name, *site, *stall, *x)))
        .filter(|(.., x)| *x >= SMALL)
        .collect();
    // Equal shares are in the order of role and line.
    at.sort_by(|a, b| b.4.total_cmp(&a.4).then((a.0, a.2, a.3).cmp(&(b.0, b.2, b.3))));
    if at.is_empty() {
        return String::new();
    }
    let mut t = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Left], 2);
    for (_, role, site, stall, x) in at.into_iter().take(WAITS) {
        let (place, text) = match sites.get(site as usize) {
            Some(s) => (place_of(s), s.text.clone()),
            None => (String::new(), String::new()),
        };
        t.row([percent(x), role.clone(), words::wait(program, site, stall), format!("{place}  {text}")]);
    }
    let lines: String = t.text().lines().map(|l| cut(l) + "\n").collect();
    format!("{}\n{lines}\n", paint.head("Where they wait, % of the role's time"))
}

/// Reads that bank conflicts slow down, with what to change.
pub(super) fn conflicts(simulation: &Simulation, paint: Paint) -> String {
    let program = &simulation.subject.program;
    let mut text = String::new();
    for c in bank_conflicts(&simulation.subject) {
        let Some(site) = program.sites.get(c.site as usize) else { continue };
        let help = c.help().map_or(String::new(), |h| format!("; {h}"));
        let line = format!("{}:{}: {}{help}", short_file(&site.file), site.line, c.message());
        text += &format!("  {}\n", wrap(&line, WIDTH, 4));
    }
    if text.is_empty() { text } else { format!("{}\n{text}\n", paint.head("Bank conflicts")) }
}

/// The place of a statement in a table. The text of a compiled kernel is one file, and its name is often long.
pub(super) fn place_of(site: &Site) -> String {
    if is_ptx(&site.file) {
        return format!("line {}", site.line);
    }
    format!("{}:{}", short_file(&site.file), site.line)
}

/// The last part of a file's path; the head of the text has the whole path.
pub(super) fn short_file(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// A line cut to the width, with a mark where it is cut.
pub(super) fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_string();
    }
    line.chars().take(WIDTH - 3).collect::<String>() + "..."
}
