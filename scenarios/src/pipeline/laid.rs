//! The layout of a scheduled loop: everything that code generation needs.

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
    /// The statements.
    pub(super) units: &'a [Unit],
    /// `let`s of its body.
    pub(super) lets: &'a BTreeMap<String, Expr>,
    /// The items of a step, in order.
    pub(super) items: Vec<Item>,
    /// The dependences between items.
    pub(super) deps: Deps,
    /// Waits and barriers.
    pub(super) sync: Sync,
    /// The loop's index.
    pub(super) var: String,
    /// The trip count.
    pub(super) trips: Val,
    /// The last stage.
    pub(super) depth: i64,
    /// Whether the kernel has its own waits for registers and LDS.
    pub(super) manual: bool,
    /// The statement for a barrier of all warps of the loop.
    pub(super) meet: String,
    /// Suffix of generated names, where the kernel has several loops.
    pub(super) suffix: String,
    /// Buffers of each group of TMA copies.
    pub(super) groups: Vec<Vec<String>>,
    /// Number of warps that start the copies of each group, for warps that do nothing else.
    pub(super) feeders: Vec<usize>,
    /// First reader of each group, as group and position.
    pub(super) firsts: Vec<(usize, usize)>,
    /// Last reader of each group that signals the producer, as group and position.
    pub(super) lasts: Vec<(usize, usize)>,
    /// Steps between a read and the arrival that says that the read has ended.
    pub(super) lag: i64,
    /// The first warp that executes the loop.
    pub(super) first_warp: u32,
}

impl Laid<'_> {
    /// Records the buffers of each group of TMA copies.
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

    /// The positions of the items that read a group's buffers.
    pub(super) fn readers(&self, group: usize) -> Vec<usize> {
        let reads = |i: &Item| i.touches.iter().any(|t| !t.write && t.shared && self.groups[group].contains(&t.buffer));
        (0..self.items.len()).filter(|p| reads(&self.items[*p])).collect()
    }

    /// Makes the first reader of each group wait for its bytes.
    pub(super) fn waits_for_bytes(&mut self) {
        for g in 0..self.groups.len() {
            // The first item in the body where all readers have one stage; else the first in time.
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

    /// A TMA copy, elected by the loop's first warp, that completes bytes on the slot's mbarrier. The first copy of its
    /// group also expects the bytes.
    pub(super) fn tma(&self, group: usize, p: usize, lines: Vec<(usize, String)>, index: &Val) -> Vec<(usize, String)> {
        let mut out = vec![(0, format!("warp {}: elect:", self.first_warp))];
        out.extend(self.announced(group, p, lines, index).into_iter().map(|(l, t)| (l + 1, t)));
        out
    }

    /// [`Self::tma`] without the election, for warps that only copy.
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

    /// The arrival that tells the producer that a slot was read.
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

    /// The name of an item's number of instructions in `vmcnt`.
    pub(super) fn weight(&self, p: usize) -> String {
        let item = &self.items[p];
        moves(&self.units[item.unit].stmt).first().map_or("vm".to_string(), |m| landing(&m.dst, "vm"))
    }

    /// The last iteration of an event that starts after the needed one and before a gap, relative to the step's own
    /// iteration.
    pub(super) fn last_started(&self, e: usize, need: (usize, i64), gap: usize) -> i64 {
        let m = self.items.len() as i64;
        let event = &self.sync.events[e];
        let time = |a: i64| (a + event.stage) * m + event.at as i64;
        let needed = &self.sync.events[need.0];
        let from = (need.1 + needed.stage) * m + needed.at as i64;
        (-event.stage - 1..=-event.stage + 1).rev().find(|a| time(*a) < gap as i64 && time(*a) > from).unwrap_or(need.1)
    }

    /// The shared buffers that two items both use.
    pub(super) fn common(&self, x: usize, y: usize) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for a in self.items[x].touches.iter().filter(|t| t.shared) {
            if self.items[y].touches.iter().any(|b| a.conflicts(b)) && !out.contains(&a.buffer) {
                out.push(a.buffer.clone());
            }
        }
        out
    }

    /// A comment with the stage and the versions of an item's accesses.
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

    /// A comment on the body, for its head.
    pub(super) fn trips_comment(&self, guarded: bool) -> String {
        if guarded {
            return "body, the stages before the last guarded".to_string();
        }
        format!("body, {} steps", self.trips.plus(-self.depth).text())
    }
}
