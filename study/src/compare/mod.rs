//! Comparison of two runs: what changed, by how much, and at which wait or work.
//!
//! ```text
//! numbers     numbers that both report and that differ
//! roles       every cycle of a role is work or one stall, so differences add up to the difference of the runs
//! operations  the n-th of a kind on a row matches the n-th in the other run: durations, and where they diverge
//! ```
//!
//! Two runs are compared by their reports. If one side is only a record, both are compared by their records, so that no
//! difference comes from the source.

mod summary;

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::Report;
use warpline_sim::align::{operation, partners, turn};
use warpline_sim::ir::Program;
use warpline_sim::report::RoleTime;
use warpline_sim::timeline::{RowKind, SpanKind, Stall, TICKS, Timeline};
use warpline_sim::words;

use crate::numbers::METRICS;
use summary::Summary;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    /// The program and report; `None` for a saved record.
    pub run: Option<(&'s Program, &'s Report)>,
    /// The record of spans.
    pub record: &'s Timeline,
}

/// A number of both runs; `None` for a run that does not have it.
pub type Pair = [Option<f64>; 2];

/// A cause, with the cycles of a warp that each run spends on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Work or wait.
    pub what: SpanKind,
    /// Text of the statement that waits; `None` for work, and where both wait at several statements.
    pub at: Option<String>,
    /// The words for the wait at the statement, with the name of its barrier (`mbarrier full`); `None` without `at`.
    pub wait: Option<String>,
    /// Cycles in each run.
    pub cycles: [f64; 2],
}

impl Cause {
    /// Cycles that the second run spends more on this cause.
    pub fn more(&self) -> f64 {
        self.cycles[1] - self.cycles[0]
    }
}

/// A role of both runs, or of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Name of the role; `all warps` for the mean of all.
    pub name: String,
    /// Warps of the role in a CTA, in each run; 0 where the role does not exist.
    pub warps: [u32; 2],
    /// Classes of work and causes of waiting, largest difference first. They add up to the cycles of the runs, except
    /// for gaps of a record.
    pub causes: Vec<Cause>,
    /// Waits by statement, largest difference first.
    pub at: Vec<Cause>,
}

/// An operation of both runs, over all iterations in the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Role or engine that executes it.
    pub who: String,
    /// Class of work or wait.
    pub what: SpanKind,
    /// Text of the statement.
    pub text: String,
    /// Number of matched pairs.
    pub pairs: u32,
    /// Operations of each run without a partner.
    pub alone: [u32; 2],
    /// Mean cycles of the matched operations.
    pub cycles: [f64; 2],
    /// The first iteration, from 0, whose durations differ.
    pub parts_at: Option<u32>,
    /// What the first run waits for in that iteration (`full[2] phase 3`), as far as the record says; empty for work.
    pub wait: String,
}

/// Result of a comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Cycles of each run.
    pub cycles: [f64; 2],
    /// Microseconds of each run; 0 without a clock.
    pub time_us: [f64; 2],
    /// The numbers that differ, in the order of [`METRICS`]; for records those that both have.
    pub numbers: Vec<(&'static str, Pair)>,
    /// All warps, then roles by name.
    pub roles: Vec<Role>,
    /// Operations whose durations or counts differ, largest difference first.
    pub operations: Vec<Operation>,
}

/// Compares two runs.
pub fn compare(sides: [Side<'_>; 2]) -> Comparison {
    let (summaries, all) = match sides.map(|s| s.run) {
        [Some(a), Some(b)] => ([a, b].map(|(program, report)| Summary::report(program, report)), true),
        _ => (sides.map(Summary::record), false),
    };
    let pair = |name: &str| [0, 1].map(|i| summaries[i].numbers.get(name).copied());
    let differ = METRICS.iter().map(|m| (m.name, pair(m.name))).filter(|(name, p)| {
        // A number that a record lacks is no difference.
        p[0] != p[1] && *name != "events" && (all || !p.contains(&None))
    });
    Comparison {
        numbers: differ.collect(),
        roles: roles([&summaries[0], &summaries[1]]),
        operations: operations(sides.map(|s| s.record)),
        cycles: [0, 1].map(|i| summaries[i].cycles),
        time_us: [0, 1].map(|i| summaries[i].time_us),
    }
}

fn roles(summaries: [&Summary; 2]) -> Vec<Role> {
    let all = summaries.map(|t| mean(&t.roles));
    let mut out = vec![role("all warps", summaries, [Some(&all[0]), Some(&all[1])])];
    let names: BTreeSet<&str> = summaries.iter().flat_map(|t| t.roles.iter().map(|r| r.name.as_str())).collect();
    let one = names.len() == 1;
    for name in names.into_iter().filter(|_| !one) {
        let of = summaries.map(|t| t.roles.iter().find(|r| r.name == name));
        out.push(role(name, summaries, of));
    }
    out
}

/// The mean of all roles, weighted by warps.
fn mean(roles: &[RoleTime]) -> RoleTime {
    let warps: u32 = roles.iter().map(|r| r.warps).sum();
    let mut all =
        RoleTime { name: String::new(), warps, work: BTreeMap::new(), stalls: BTreeMap::new(), at: Vec::new() };
    let mut at: BTreeMap<(u32, Stall), f64> = BTreeMap::new();
    for role in roles {
        let share = f64::from(role.warps) / f64::from(warps.max(1));
        for (w, x) in &role.work {
            *all.work.entry(*w).or_insert(0.0) += x * share;
        }
        for (s, x) in &role.stalls {
            *all.stalls.entry(*s).or_insert(0.0) += x * share;
        }
        for (site, s, x) in &role.at {
            *at.entry((*site, *s)).or_insert(0.0) += x * share;
        }
    }
    all.at = at.into_iter().map(|((site, s), x)| (site, s, x)).collect();
    all
}

fn role(name: &str, summaries: [&Summary; 2], of: [Option<&RoleTime>; 2]) -> Role {
    let mut by_class: BTreeMap<(u8, u8), Cause> = BTreeMap::new();
    let mut by_place: BTreeMap<(Stall, String), Cause> = BTreeMap::new();
    for i in 0..2 {
        let Some(r) = of[i] else { continue };
        let cycles = summaries[i].cycles;
        let work = r.work.iter().map(|(w, x)| ((0, *w as u8), SpanKind::Work(*w), *x));
        let stalls = r.stalls.iter().map(|(s, x)| ((1, *s as u8), SpanKind::Stall(*s), *x));
        for (key, what, x) in work.chain(stalls) {
            by_class.entry(key).or_insert(Cause { what, at: None, wait: None, cycles: [0.0; 2] }).cycles[i] +=
                x * cycles;
        }
        for (site, s, x) in &r.at {
            let Some(text) = summaries[i].texts.get(*site as usize) else { continue };
            let wait = summaries[i].wait(*site, *s);
            let cause = by_place.entry((*s, text.to_string())).or_insert_with(|| Cause {
                what: SpanKind::Stall(*s),
                at: Some(text.to_string()),
                wait: Some(wait.clone()),
                cycles: [0.0; 2],
            });
            // One text may wait for different things in the two runs, such as `wait cp <= stages - 2`.
            if cause.wait.as_ref() != Some(&wait) {
                cause.wait = Some(words::stall_long(*s).to_string());
            }
            cause.cycles[i] += x * cycles;
        }
    }
    let sorted = |mut causes: Vec<Cause>| {
        causes.sort_by(|a, b| b.more().abs().total_cmp(&a.more().abs()));
        causes
    };
    Role {
        name: name.to_string(),
        warps: of.map(|r| r.map_or(0, |r| r.warps)),
        causes: sorted(by_class.into_values().collect()),
        at: sorted(by_place.into_values().collect()),
    }
}

/// Identity of an operation: who, what and where.
type Key = (String, (u8, u8), String);

/// Sums over one kind of operation.
#[derive(Default)]
struct Sums {
    pairs: u32,
    alone: [u32; 2],
    ticks: [u64; 2],
    parts_at: Option<u32>,
    wait: String,
}

fn operations(t: [&Timeline; 2]) -> Vec<Operation> {
    let mut sums: BTreeMap<Key, (SpanKind, Sums)> = BTreeMap::new();
    let turns = turn(t[0]);
    let there = partners(t[0], t[1]);
    let mut met = vec![false; t[1].spans.len()];
    for i in 0..2 {
        for (n, s) in t[i].spans.iter().enumerate() {
            let who = match &t[i].rows[s.row as usize].kind {
                RowKind::Agent { role, .. } => role.clone(),
                RowKind::Engine(_) => t[i].rows[s.row as usize].name.clone(),
                RowKind::Barrier(_) | RowKind::Slot(_) => continue,
            };
            let (what, text) = operation(t[i], s);
            let key = match what {
                SpanKind::Work(w) => (0, w as u8),
                SpanKind::Stall(Stall::Ended | Stall::Launch) | SpanKind::Hold { .. } => continue,
                SpanKind::Stall(s) => (1, s as u8),
            };
            let text = text.unwrap_or("").to_string();
            let sum = &mut sums.entry((who, key, text)).or_insert((what, Sums::default())).1;
            let partner = if i == 0 { there[n] } else { None };
            match partner {
                Some(p) => {
                    let other = &t[1].spans[p as usize];
                    met[p as usize] = true;
                    let ticks = [s.end - s.start, other.end - other.start];
                    sum.pairs += 1;
                    sum.ticks[0] += ticks[0];
                    sum.ticks[1] += ticks[1];
                    if ticks[0] != ticks[1] && sum.parts_at.is_none_or(|at| turns[n] < at) {
                        sum.parts_at = Some(turns[n]);
                        sum.wait = if matches!(what, SpanKind::Stall(_)) { s.label.to_string() } else { String::new() };
                    }
                }
                None if i == 1 && met[n] => {}
                None => sum.alone[i] += 1,
            }
        }
    }
    let weight = |s: &Sums| s.ticks[0].abs_diff(s.ticks[1]);
    let mut list: Vec<_> = sums.into_iter().filter(|(_, (_, s))| weight(s) > 0 || s.alone != [0, 0]).collect();
    list.sort_by_key(|(_, (_, s))| std::cmp::Reverse((weight(s), s.alone[0].abs_diff(s.alone[1]))));
    let operation = |((who, _, text), (what, s)): (Key, (SpanKind, Sums))| {
        let mean = |ticks: u64| ticks as f64 / TICKS as f64 / f64::from(s.pairs.max(1));
        let cycles = s.ticks.map(mean);
        Operation { who, what, text, pairs: s.pairs, alone: s.alone, cycles, parts_at: s.parts_at, wait: s.wait }
    };
    list.into_iter().map(operation).collect()
}
