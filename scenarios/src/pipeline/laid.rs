//! A loop laid out: everything its steps are written from.

use std::collections::BTreeMap;

use super::body::Unit;
use super::deps::Deps;
use super::expr::Val;
use super::items::{Item, Queue, landing, moves};
use super::sync::Sync;
use crate::ast::Expr;

/// A scheduled loop.
pub(super) struct Laid<'a> {
    /// The kernel's source.
    pub(super) source: &'a str,
    /// Its statements.
    pub(super) units: &'a [Unit],
    /// `let`s of its body.
    pub(super) lets: &'a BTreeMap<String, Expr>,
    /// What a step does, in order.
    pub(super) items: Vec<Item>,
    /// What that depends on.
    pub(super) deps: Deps,
    /// Waits and barriers.
    pub(super) sync: Sync,
    /// The loop's index.
    pub(super) var: String,
    /// Its trip count.
    pub(super) trips: Val,
    /// The last stage.
    pub(super) depth: i64,
    /// The kernel itself waits for registers and LDS.
    pub(super) manual: bool,
    /// How all its warps meet.
    pub(super) meet: String,
    /// Behind the names made here, where there are several loops.
    pub(super) suffix: String,
    /// Buffers of each group of TMA copies.
    pub(super) groups: Vec<Vec<String>>,
    /// How many warps start the copies of each such group, where some do nothing else.
    pub(super) feeders: Vec<usize>,
    /// First reader of each such group.
    pub(super) firsts: Vec<(usize, usize)>,
    /// Last reader of each such group, where it tells the producer.
    pub(super) lasts: Vec<(usize, usize)>,
    /// Steps between a read and the arrival that says it is over.
    pub(super) lag: i64,
    /// The first warp that executes the loop.
    pub(super) first_warp: u32,
}

impl Laid<'_> {
    /// Notes the buffers of each group of TMA copies.
    pub(super) fn group_buffers(&mut self) {
        for item in &self.items {
            let Some(Queue::Tma(g)) = item.queue else { continue };
            if self.groups.len() <= g {
                self.groups.resize(g + 1, Vec::new());
            }
            for t in item.touches.iter().filter(|t| t.write) {
                if !self.groups[g].contains(&t.buffer) {
                    self.groups[g].push(t.buffer.clone());
                }
            }
        }
    }

    /// The readers of each group: who waits for its bytes, and who is last.
    pub(super) fn readers(&self, group: usize) -> Vec<usize> {
        let reads = |i: &Item| i.touches.iter().any(|t| !t.write && t.shared && self.groups[group].contains(&t.buffer));
        (0..self.items.len()).filter(|p| reads(&self.items[*p])).collect()
    }

    /// Lets the first reader of each group wait for its bytes.
    pub(super) fn waits_for_bytes(&mut self) {
        for g in 0..self.groups.len() {
            // At one stage the first in the body; else the first in time.
            let first = self.readers(g).into_iter().min_by_key(|p| (self.items[*p].stage, *p));
            self.firsts.extend(first.map(|p| (p, g)));
        }
    }

    /// Slots of a group's ring.
    pub(super) fn slots_of(&self, group: usize) -> usize {
        self.groups[group].iter().map(|b| self.deps.versions[b]).max().unwrap_or(1)
    }

    /// The name of a group's mbarriers.
    pub(super) fn bar(&self, kind: &str, group: usize) -> String {
        let used = self.groups.iter().filter(|g| !g.is_empty()).count();
        let number = if used > 1 { format!("_{}", self.groups[group].join("_")) } else { String::new() };
        format!("{kind}{number}{}", self.suffix)
    }

    /// Bytes of a group's slot, as an expression.
    fn bytes(&self, group: usize) -> String {
        self.groups[group].iter().map(|b| format!("bytes({b})")).collect::<Vec<_>>().join(" + ")
    }

    /// A TMA copy that bytes on the slot's mbarrier announce; the first of its group expects them.
    pub(super) fn tma(&self, group: usize, p: usize, lines: Vec<(usize, String)>, index: &Val) -> Vec<(usize, String)> {
        let mut out = vec![(0, format!("warp {}: elect:", self.first_warp))];
        out.extend(self.announced(group, p, lines, index).into_iter().map(|(l, t)| (l + 1, t)));
        out
    }

    /// The same for whoever copies already.
    pub(super) fn announced(
        &self,
        group: usize,
        p: usize,
        lines: Vec<(usize, String)>,
        index: &Val,
    ) -> Vec<(usize, String)> {
        let full = format!("{}[{}]", self.bar("full", group), index.slot(self.slots_of(group)).text());
        let first = self.items.iter().position(|i| i.queue == Some(Queue::Tma(group))) == Some(p);
        let mut out = Vec::new();
        if first {
            out.push((0, format!("arrive {full} expect {}", self.bytes(group))));
        }
        out.extend(lines.into_iter().map(|(l, t)| (l, format!("{t} signals {full}"))));
        out
    }

    /// Tells the producer that a slot is read.
    pub(super) fn release(&self, group: usize, index: &Val) -> String {
        let slots = self.slots_of(group);
        let done = index.plus(-self.lag);
        let arrive = format!("arrive {}[{}] per warp", self.bar("empty", group), done.slot(slots).text());
        match (self.lag, index) {
            (0, _) => arrive,
            (lag, Val::Const(c)) if *c >= lag => arrive,
            (_, Val::Const(_)) => String::new(),
            (lag, index) => format!("if {} >= {lag}: {arrive}", index.at(4)),
        }
    }

    /// The name of what an item counts in `vmcnt`.
    pub(super) fn weight(&self, p: usize) -> String {
        let item = &self.items[p];
        moves(&self.units[item.unit].stmt).first().map_or("vm".to_string(), |m| landing(&m.dst, "vm"))
    }

    /// The last iteration of an event that is started behind the one needed, up to a gap, counted from the step's own.
    pub(super) fn last_started(&self, e: usize, need: (usize, i64), gap: usize) -> i64 {
        let m = self.items.len() as i64;
        let event = &self.sync.events[e];
        let time = |a: i64| (a + event.stage) * m + event.at as i64;
        let needed = &self.sync.events[need.0];
        let from = (need.1 + needed.stage) * m + needed.at as i64;
        (-event.stage - 1..=-event.stage + 1).rev().find(|a| time(*a) < gap as i64 && time(*a) > from).unwrap_or(need.1)
    }

    /// Shared buffers two items meet on.
    pub(super) fn common(&self, x: usize, y: usize) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for a in self.items[x].touches.iter().filter(|t| t.shared) {
            if self.items[y].touches.iter().any(|b| a.conflicts(b)) && !out.contains(&a.buffer) {
                out.push(a.buffer.clone());
            }
        }
        out
    }

    /// Stage and versions of an item's accesses.
    pub(super) fn comment(&self, item: &Item, index: &Val) -> String {
        let mut names: Vec<String> = Vec::new();
        for t in &item.touches {
            let n = self.deps.versions[&t.buffer];
            if (t.shared || n > 1) && !names.contains(&t.buffer) {
                names.push(t.buffer.clone());
            }
        }
        let versions: Vec<String> =
            names.iter().map(|b| format!("{b} version {}", index.slot(self.deps.versions[b]).text())).collect();
        let versions = if versions.is_empty() { String::new() } else { format!(": {}", versions.join(", ")) };
        format!("stage {}{versions}", item.stage)
    }

    /// What the body is, for its head.
    pub(super) fn trips_comment(&self, guarded: bool) -> String {
        if guarded {
            return "body, the stages before the last guarded".to_string();
        }
        format!("body, {} steps", self.trips.plus(-self.depth).text())
    }
}
