//! The critical path: the chain of causes that the end of a run rests on, as shares of the time.
//!
//! [`warpline_sim::chain`] leads from the last operation back to the first. The time from the end of one link to the
//! end of the next belongs to the next link. So the shares of all links add up to the time from the chain's first
//! operation to its end.

use std::collections::BTreeMap;

use warpline_sim::chain::chain;
use warpline_sim::timeline::{Engine, RowKind, SpanKind, TICKS, Timeline};

/// Who works or waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// The warps of a role.
    Role(String),
    /// An engine.
    Engine(Engine),
}

/// A part of the path: all links of one kind at one statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Who.
    pub who: Actor,
    /// Class of work or cause of waiting.
    pub what: SpanKind,
    /// Whether only the wake-up counts: another link ended the wait, and this is the time until the waiter continues.
    pub wake: bool,
    /// The statement, as an index into the sites.
    pub site: Option<u32>,
    /// Share of the path's time.
    pub fraction: f64,
    /// Number of links.
    pub links: u32,
}

/// The critical path of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Critical {
    /// Cycles from its first operation to its end.
    pub cycles: f64,
    /// Parts, largest first.
    pub parts: Vec<Part>,
}

/// Identity of a part: who, what, whether it is a wake-up, where.
type Key = (Actor, (u8, u8), bool, Option<u32>);

/// The critical path of a record; `None` where nothing happens in it.
pub fn critical(t: &Timeline) -> Option<Critical> {
    let chain = chain(t);
    let first = t.spans.get(*chain.first()? as usize)?;
    let mut last = first.start;
    let begin = last;
    let mut sums: BTreeMap<Key, (u64, u32, SpanKind)> = BTreeMap::new();
    for i in chain {
        let s = &t.spans[i as usize];
        let who = match &t.rows[s.row as usize].kind {
            RowKind::Agent { role, .. } => Actor::Role(role.clone()),
            RowKind::Engine(engine) => Actor::Engine(*engine),
            RowKind::Barrier(_) | RowKind::Slot(_) => continue,
        };
        let wake = matches!(s.what, SpanKind::Stall(_)) && s.woken_by.is_some();
        let sum = sums.entry((who, order(s.what), wake, s.site)).or_insert((0, 0, s.what));
        sum.0 += s.end.saturating_sub(last);
        sum.1 += 1;
        last = last.max(s.end);
    }
    let ticks = last - begin;
    if ticks == 0 {
        return None;
    }
    let mut parts: Vec<Part> = sums
        .into_iter()
        .map(|((who, _, wake, site), (sum, links, what))| Part {
            who,
            what,
            wake,
            site,
            fraction: sum as f64 / ticks as f64,
            links,
        })
        .collect();
    // Equal parts stay in the order of the map, by name.
    parts.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
    Some(Critical { cycles: ticks as f64 / TICKS as f64, parts })
}

fn order(what: SpanKind) -> (u8, u8) {
    match what {
        SpanKind::Work(w) => (0, w as u8),
        SpanKind::Stall(s) => (1, s as u8),
        SpanKind::Hold { .. } => (2, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_sim::timeline::{Row, Span, Stall, Work};

    #[test]
    fn the_shares_add_up_and_a_wait_counts_from_its_cause_on() {
        let agent = RowKind::Agent { role: "w".into(), warp: 0, lanes: None };
        let row = |kind| Row { name: "row".into(), cta: 0, kind };
        let mut t = Timeline { rows: vec![row(agent), row(RowKind::Engine(Engine::Copy))], ..Timeline::default() };
        t.spans = vec![
            Span::new(0, (0, 10), SpanKind::Work(Work::Load)),
            Span::new(0, (10, 64), SpanKind::Stall(Stall::Mbarrier)),
            Span::new(1, (20, 60), SpanKind::Work(Work::Load)),
            Span::new(0, (64, 80), SpanKind::Work(Work::Mma)),
        ];
        t.spans[1].woken_by = Some(2);
        t.spans[2].started_by = Some(0);
        let c = critical(&t).unwrap();
        let shares: Vec<(f64, bool)> = c.parts.iter().map(|p| (p.fraction * 80.0, p.wake)).collect();
        assert_eq!(shares, [(50.0, false), (16.0, false), (10.0, false), (4.0, true)]);
        assert_eq!(c.parts[0].who, Actor::Engine(Engine::Copy));
        assert_eq!(critical(&Timeline::default()), None);
    }
}
