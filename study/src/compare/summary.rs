//! Facts about one side of a comparison, from its report or from its record alone.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::Report;
use warpline_sim::ir::Program;
use warpline_sim::report::{Outcome, RoleTime};
use warpline_sim::timeline::{RowKind, Span, SpanKind, Stall, TICKS, Timeline};
use warpline_sim::words;

use super::Side;
use crate::numbers::numbers;

/// Facts about one side of a comparison.
pub(super) struct Summary<'s> {
    pub(super) cycles: f64,
    /// 0 where no clock is known.
    pub(super) time_us: f64,
    pub(super) numbers: BTreeMap<String, f64>,
    pub(super) roles: Cow<'s, [RoleTime]>,
    /// Texts of the statements, indexed as in the waits of roles.
    pub(super) texts: Vec<&'s str>,
    /// The words for waits, by statement and cause.
    waits: BTreeMap<(u32, Stall), String>,
}

impl<'s> Summary<'s> {
    /// Facts from the report of a run.
    pub(super) fn report(program: &'s Program, report: &'s Report) -> Summary<'s> {
        let waits = report.roles.iter().flat_map(|r| &r.at);
        Summary {
            waits: waits.map(|(site, s, _)| ((*site, *s), words::wait(program, *site, *s))).collect(),
            cycles: report.cycles,
            time_us: report.time_us,
            numbers: numbers(program, report).into_iter().collect(),
            roles: Cow::Borrowed(&report.roles),
            texts: program.sites.iter().map(|s| s.text.as_str()).collect(),
        }
    }

    /// Facts from a record: its time, and where the time went.
    pub(super) fn record(side: Side<'s>) -> Summary<'s> {
        let t = side.record;
        let cycles = t.took.unwrap_or(t.end) as f64 / TICKS as f64;
        let time_us = if t.mhz > 0.0 { cycles / t.mhz } else { 0.0 };
        let mut numbers = BTreeMap::new();
        // A stopped run has no time; a record does not say whether its run stopped.
        if side.run.is_none_or(|(_, report)| report.outcome == Outcome::Finished) {
            numbers.insert("cycles".to_string(), cycles);
            if time_us > 0.0 {
                numbers.insert("time_us".to_string(), time_us);
            }
        }
        let texts = t.sites.iter().map(|s| s.text.as_str()).collect();
        Summary { cycles, time_us, numbers, roles: Cow::Owned(roles(t)), texts, waits: waits(t) }
    }

    /// The words for a wait at a statement.
    pub(super) fn wait(&self, site: u32, s: Stall) -> String {
        self.waits.get(&(site, s)).cloned().unwrap_or_else(|| words::stall_long(s).to_string())
    }
}

/// The words for waits whose labels name one barrier, or one limit of open groups.
fn waits(t: &Timeline) -> BTreeMap<(u32, Stall), String> {
    let mut targets: BTreeMap<(u32, Stall), BTreeSet<&str>> = BTreeMap::new();
    for span in &t.spans {
        let (SpanKind::Stall(s), Some(site)) = (span.what, span.site) else { continue };
        if matches!(s, Stall::Mbarrier | Stall::Group | Stall::Counter) && !span.label.is_empty() {
            let target = span.label.split([' ', '[']).next().filter(|_| s == Stall::Mbarrier);
            targets.entry((site, s)).or_default().insert(target.unwrap_or(&span.label));
        }
    }
    let single = targets.into_iter().filter(|(_, names)| names.len() == 1);
    single
        .flat_map(|((site, s), names)| names.into_iter().map(move |n| ((site, s), format!("{} {n}", s.word()))))
        .collect()
}

/// Ticks of a role's rows.
#[derive(Default)]
struct Sums {
    /// Ticks from the first span of each row to the end of its last.
    life: u64,
    /// Warps, by CTA.
    warps: BTreeMap<u32, BTreeSet<u32>>,
    what: BTreeMap<(u8, u8), (Option<SpanKind>, u64)>,
    at: BTreeMap<(u32, Stall), u64>,
}

/// Where the time of each role's warps went.
fn roles(t: &Timeline) -> Vec<RoleTime> {
    let mut rows: Vec<Vec<&Span>> = vec![Vec::new(); t.rows.len()];
    for span in &t.spans {
        rows[span.row as usize].push(span);
    }
    let mut roles: BTreeMap<&str, Sums> = BTreeMap::new();
    for (row, spans) in t.rows.iter().zip(&mut rows) {
        let RowKind::Agent { role, warp, .. } = &row.kind else { continue };
        let sums = roles.entry(role).or_default();
        sums.warps.entry(row.cta).or_default().insert(*warp);
        spans.sort_by_key(|s| (s.start, Reverse(s.end)));
        let first = spans.first().map_or(0, |s| s.start);
        sums.life += spans.iter().map(|s| s.end).max().unwrap_or(0) - first;
        for (span, ticks) in spans.iter().zip(own(spans)) {
            let key = match span.what {
                SpanKind::Work(w) => (0, w as u8),
                SpanKind::Stall(s) => (1, s as u8),
                SpanKind::Hold { .. } => continue,
            };
            let of = sums.what.entry(key).or_default();
            *of = (Some(span.what), of.1 + ticks);
            if let (SpanKind::Stall(s), Some(site)) = (span.what, span.site)
                && !matches!(s, Stall::Launch | Stall::Ended)
            {
                *sums.at.entry((site, s)).or_default() += ticks;
            }
        }
    }
    roles.into_iter().map(|(name, sums)| sums.role(name)).collect()
}

/// Ticks of each span of a row, with each tick counted once. Programs may record nested spans; a tick belongs to the
/// span that began last.
fn own(spans: &[&Span]) -> Vec<u64> {
    let mut ticks = vec![0; spans.len()];
    let (mut open, mut at): (Vec<usize>, u64) = (Vec::new(), 0);
    let starts = spans.iter().map(|s| s.start).chain([u64::MAX]);
    for (next, until) in starts.enumerate() {
        while let Some(&i) = open.last() {
            let to = spans[i].end.min(until);
            ticks[i] += to.saturating_sub(at);
            at = at.max(to);
            if spans[i].end > until {
                break;
            }
            open.pop();
        }
        at = at.max(until);
        open.push(next);
    }
    ticks
}

impl Sums {
    fn role(self, name: &str) -> RoleTime {
        let share = |ticks: u64| ticks as f64 / self.life.max(1) as f64;
        let mut role = RoleTime {
            name: name.to_string(),
            warps: self.warps.values().map(BTreeSet::len).max().unwrap_or(0) as u32,
            work: BTreeMap::new(),
            stalls: BTreeMap::new(),
            at: self.at.iter().map(|((site, s), ticks)| (*site, *s, share(*ticks))).collect(),
        };
        for (what, ticks) in self.what.into_values() {
            match what {
                Some(SpanKind::Work(w)) => drop(role.work.insert(w, share(ticks))),
                Some(SpanKind::Stall(s)) => drop(role.stalls.insert(s, share(ticks))),
                _ => {}
            }
        }
        role
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_sim::timeline::{Row, SourceLine, Work};

    const MMA: SpanKind = SpanKind::Work(Work::Mma);
    const WAIT: SpanKind = SpanKind::Stall(Stall::Mbarrier);

    fn span(row: u32, times: (u64, u64), what: SpanKind) -> Span {
        Span { site: Some(0), ..Span::new(row, times, what) }
    }

    #[test]
    fn a_tick_is_that_of_the_span_that_began_last() {
        let spans = [(0, 20), (0, 8), (2, 6), (5, 10), (12, 30), (13, 14), (40, 41)].map(|t| span(0, t, MMA));
        assert_eq!(own(&spans.iter().collect::<Vec<_>>()), [2, 2, 3, 5, 17, 1, 1]);
        assert!(own(&[]).is_empty());
    }

    #[test]
    fn a_record_says_where_the_time_of_its_roles_went() {
        let agent = |cta, warp, role: &str| Row {
            name: format!("{role} w{warp}"),
            cta,
            kind: RowKind::Agent { role: role.into(), warp, lanes: None },
        };
        let t = Timeline {
            rows: vec![agent(0, 0, "load"), agent(0, 1, "math"), agent(0, 2, "math"), agent(1, 1, "math")],
            sites: vec![SourceLine { file: "f".into(), line: 3, text: "wait full".into() }],
            // Nothing is recorded for the first ten ticks of `load`, and for ten ticks in the middle.
            spans: vec![
                span(1, (0, 30), MMA),
                span(2, (0, 10), WAIT),
                span(0, (10, 30), MMA),
                span(2, (10, 30), MMA),
                span(3, (30, 60), WAIT),
                span(0, (40, 50), WAIT),
            ],
            end: 64 * TICKS,
            mhz: 2.0,
            ..Timeline::default()
        };
        let summary = Summary::record(Side { run: None, record: &t });
        assert_eq!((summary.cycles, summary.time_us, summary.texts), (64.0, 32.0, vec!["wait full"]));
        let role = |name: &str, warps, mma, wait| RoleTime {
            name: name.into(),
            warps,
            work: BTreeMap::from([(Work::Mma, mma)]),
            stalls: BTreeMap::from([(Stall::Mbarrier, wait)]),
            at: vec![(0, Stall::Mbarrier, wait)],
        };
        assert_eq!(*summary.roles, [role("load", 1, 0.5, 0.25), role("math", 2, 50.0 / 90.0, 40.0 / 90.0)]);
    }
}
