//! Writes the steps out: prologue, body and epilogue, each statement with its guard, its waits and its barriers.

use std::collections::BTreeSet;

use warpline_sim::ir::Binary;

use super::expr::{Env, Val, binary};
use super::items::{Act, Item, Queue};
use super::laid::Laid;
use super::sync::{Barrier, Wait, after, event_of};
use super::text::Writer;

/// A line of the expansion: its level below the loop's, its code, its comment.
pub(super) type Line = (usize, String, Option<String>);

/// Which step is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Before the body: the step with this number.
    Prologue(i64),
    /// The steps that all stages take part in; the index counts steps.
    Body,
    /// All steps from the first of the last stage on; the index counts its iterations, the other stages are guarded.
    Guarded,
    /// Behind the body: so many steps after the last copy.
    Epilogue(i64),
}

/// LDS operations that nobody has waited for yet.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pending {
    regs: BTreeSet<String>,
    stores: bool,
}

/// Writes the steps of one loop.
pub(super) struct Emit<'a> {
    pub(super) laid: &'a Laid<'a>,
    pending: Pending,
}

impl<'a> Emit<'a> {
    pub(super) fn new(laid: &'a Laid<'a>) -> Emit<'a> {
        Emit { laid, pending: Pending::default() }
    }

    /// The whole loop, unrolled or guarded.
    pub(super) fn whole(&mut self, guarded: bool) -> Vec<Line> {
        let l = self.laid;
        let mut out: Vec<Line> = Vec::new();
        for j in 0..l.depth {
            let lines = self.step(At::Prologue(j));
            if !lines.is_empty() {
                out.push((0, String::new(), Some(format!("prologue, step {j}"))));
                out.extend(lines);
            }
        }
        let (at, head) = if guarded {
            (At::Guarded, format!("for {} in 0..{}:", l.var, l.trips.at(5)))
        } else {
            (At::Body, format!("for {} in {}..{}:", l.var, l.depth, l.trips.at(5)))
        };
        let before = self.pending.clone();
        self.step(at);
        // What is open where the body begins: from the prologue, or from the step before.
        self.pending.regs.extend(before.regs);
        self.pending.stores |= before.stores;
        out.push((0, head, Some(l.trips_comment(guarded))));
        out.extend(self.step(at).into_iter().map(|(level, text, c)| (level + 1, text, c)));
        if guarded {
            out.extend(self.drain());
            return out;
        }
        for e in 0..l.depth {
            let lines = self.step(At::Epilogue(e));
            if lines.is_empty() {
                continue;
            }
            let guard = binary(Binary::Gt, l.trips.clone(), Val::Const(l.depth - e - 1));
            let comment = Some(format!("epilogue, step {e}"));
            match guard {
                Val::Const(0) => {}
                Val::Const(_) => {
                    out.push((0, String::new(), comment));
                    out.extend(lines);
                }
                g => {
                    out.push((0, format!("if {}:", g.text()), comment));
                    out.extend(lines.into_iter().map(|(level, text, c)| (level + 1, text, c)));
                }
            }
        }
        out.extend(self.drain_products());
        out
    }

    /// After a guarded loop: nothing stays outstanding.
    fn drain(&self) -> Vec<Line> {
        let mut out = self.drain_products();
        if self.laid.sync.events.iter().any(|e| matches!(e.queue, Queue::Cp(_))) {
            out.push((0, "wait cp <= 0".to_string(), None));
        }
        out
    }

    fn drain_products(&self) -> Vec<Line> {
        let open = self.laid.items.iter().any(|i| matches!(i.act, Act::Wgmma(n) if n > 0));
        if open { vec![(0, "wait wgmma <= 0".to_string(), None)] } else { Vec::new() }
    }

    /// Where iteration of a stage is at in this step.
    fn index(&self, at: At, stage: i64) -> Val {
        let l = self.laid;
        match at {
            At::Prologue(j) => Val::Const(j - stage),
            At::Body => Val::Off(l.var.clone(), -stage),
            At::Guarded => Val::Off(l.var.clone(), l.depth - stage),
            At::Epilogue(e) => l.trips.plus(e - stage),
        }
    }

    /// Whether a stage takes part.
    fn present(&self, at: At, stage: i64) -> bool {
        match at {
            At::Prologue(j) => j >= stage,
            At::Body | At::Guarded => true,
            At::Epilogue(e) => stage > e,
        }
    }

    /// The condition under which its iteration exists, if there is any doubt.
    fn guard(&self, at: At, stage: i64) -> Option<Val> {
        let l = self.laid;
        let g = match at {
            At::Prologue(_) => binary(Binary::Gt, l.trips.clone(), self.index(at, stage)),
            At::Guarded if stage < l.depth => binary(Binary::Lt, self.index(at, stage), l.trips.clone()),
            _ => return None,
        };
        Some(g)
    }

    fn step(&mut self, at: At) -> Vec<Line> {
        let l = self.laid;
        let mut out = Vec::new();
        for (p, item) in l.items.iter().enumerate() {
            for w in l.sync.waits.iter().filter(|w| w.gap == p) {
                if let Some(line) = self.wait(at, w) {
                    out.push((0, line, None));
                }
            }
            if let Some(b) = l.sync.barriers.iter().find(|b| b.gap == p)
                && self.meets(at, b)
            {
                self.barrier(b, &mut out);
            }
            if self.present(at, item.stage) {
                self.item(at, p, item, &mut out);
            }
        }
        out
    }

    fn wait(&self, at: At, w: &Wait) -> Option<String> {
        let l = self.laid;
        let m = l.items.len();
        let needs: Vec<(usize, i64)> = w
            .needs
            .iter()
            .copied()
            .filter(|(_, off)| match at {
                At::Prologue(j) => j + off >= 0,
                At::Body | At::Guarded => true,
                At::Epilogue(e) => e + off < 0,
            })
            .collect();
        // The one that was started last is the one to wait for.
        let time = |(e, a): &(usize, i64)| (a + l.sync.events[*e].stage) * m as i64 + l.sync.events[*e].at as i64;
        let need = *needs.iter().max_by_key(|n| time(n))?;
        let count = |bounds| after(&l.sync.events, need, w.gap, m, bounds);
        let open = match at {
            At::Prologue(j) => count((Some(-j), None)),
            At::Epilogue(e) => count((None, Some(-1 - e))),
            // The first steps have less behind them.
            At::Body | At::Guarded => (l.depth..=2 * l.depth)
                .map(|j| count((Some(-j), None)))
                .min_by_key(|c| c.iter().map(|(_, n)| n).sum::<i64>())?,
        };
        let total: i64 = open.iter().map(|(_, n)| n).sum();
        if matches!(l.sync.events[need.0].queue, Queue::Cp(_)) {
            return Some(format!("wait cp <= {total}"));
        }
        let terms: Vec<String> = open
            .iter()
            .map(|(e, n)| {
                let name = l.weight(l.sync.events[*e].at);
                if *n == 1 { name } else { format!("{n} * {name}") }
            })
            .collect();
        let sum = if terms.is_empty() { "0".to_string() } else { terms.join(" + ") };
        // Loads past the end are not started, and do not count.
        let last = open.iter().map(|(e, _)| l.last_started(*e, need, w.gap)).max();
        let exists = last.and_then(|a| match at {
            At::Prologue(j) => Some(binary(Binary::Gt, l.trips.clone(), Val::Const(j + a))),
            At::Guarded if l.depth + a > 0 => {
                Some(binary(Binary::Lt, Val::Off(l.var.clone(), l.depth + a), l.trips.clone()))
            }
            _ => None,
        });
        Some(match exists {
            Some(Val::Const(0)) => "wait vm <= 0".to_string(),
            Some(c @ (Val::Text(..) | Val::Off(..))) => format!("wait vm <= ({} ? {sum} : 0)", c.text()),
            _ => format!("wait vm <= {sum}"),
        })
    }

    /// Whether a barrier has somebody to serve in this step.
    fn meets(&self, at: At, b: &Barrier) -> bool {
        let stage = |p: usize| self.laid.items[p].stage;
        b.serves.iter().any(|(p, ahead)| match at {
            At::Body | At::Guarded => true,
            At::Prologue(j) => j + ahead - stage(p.after) - p.apart >= 0,
            At::Epilogue(e) => e + ahead - stage(p.after) < 0,
        })
    }

    fn barrier(&mut self, b: &Barrier, out: &mut Vec<Line>) {
        let l = self.laid;
        let generic = |p: usize| !matches!(l.items[p].queue, Some(Queue::Tma(_)));
        if b.serves.iter().any(|(p, _)| p.flows && l.items[p.after].proxy && generic(p.before)) {
            out.push((0, "fence async".to_string(), None));
        }
        if l.manual && (self.pending.stores || !self.pending.regs.is_empty()) {
            out.push((0, "wait lgkm <= 0".to_string(), None));
            self.pending = Pending::default();
        }
        let why = |flows: bool| {
            let names: BTreeSet<String> = b
                .serves
                .iter()
                .filter(|(p, _)| p.flows == flows && (flows || p.apart > 0))
                .flat_map(|(p, _)| l.common(p.before, p.after))
                .collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let (there, free) = (why(true), why(false));
        let comment = match (there.is_empty(), free.is_empty()) {
            (false, false) => Some(format!("{there} there; {free} read")),
            (false, true) => Some(format!("{there} there")),
            (true, false) => Some(format!("{free} read")),
            (true, true) => None,
        };
        out.push((0, l.meet.clone(), comment));
    }

    fn item(&mut self, at: At, p: usize, item: &Item, out: &mut Vec<Line>) {
        let l = self.laid;
        let index = self.index(at, item.stage);
        let uses = |t: &super::body::Touch| !t.shared && self.pending.regs.contains(&t.buffer);
        if l.manual && item.touches.iter().any(uses) {
            out.push((0, "wait lgkm <= 0".to_string(), None));
            self.pending = Pending::default();
        }
        let env = Env { var: &l.var, index: index.clone(), lets: l.lets };
        let w = Writer { source: l.source, env, versions: &l.deps.versions, manual: l.manual };
        let mut lines = item.lines(l.units, &w);
        let mut around: Vec<(usize, String)> = Vec::new();
        if let Some(Queue::Tma(group)) = item.queue {
            lines = l.tma(group, p, lines, &index);
        }
        for (pos, group) in &l.firsts {
            if *pos == p {
                let slots = l.slots_of(*group);
                let full = l.bar("full", *group);
                around
                    .push((0, format!("wait {full}[{}] for {}", index.slot(slots).text(), index.round(slots).text())));
            }
        }
        for (pos, group) in &l.lasts {
            if *pos == p {
                lines.push((0, l.release(*group, &index)));
            }
        }
        let comment = Some(l.comment(item, &index));
        let guard = self.guard(at, item.stage);
        match guard {
            Some(Val::Const(0)) => {}
            Some(g @ (Val::Text(..) | Val::Off(..))) => {
                let mut first = comment;
                if around.is_empty() && lines.len() == 1 {
                    out.push((0, format!("if {}: {}", g.text(), lines[0].1), first.take()));
                } else {
                    out.push((0, format!("if {}:", g.text()), first.take()));
                    out.extend(around.into_iter().chain(lines).map(|(level, text)| (level + 1, text, None)));
                }
            }
            _ => {
                out.extend(around.into_iter().map(|(level, text)| (level, text, None)));
                let mut first = comment;
                out.extend(lines.into_iter().map(|(level, text)| (level, text, first.take())));
            }
        }
        if let Some(e) = event_of(&l.sync.events, p)
            && l.sync.events[e].at == p
            && matches!(item.queue, Some(Queue::Cp(_)))
        {
            out.push((0, "commit cp".to_string(), None));
        }
        if l.manual {
            self.note(item);
        }
    }

    /// What an item leaves open in LDS.
    fn note(&mut self, item: &Item) {
        let reads = item.touches.iter().any(|t| t.shared && !t.write);
        let moves = matches!(item.act, Act::Operands | Act::Plain);
        if reads && moves {
            self.pending.regs.extend(item.touches.iter().filter(|t| t.write && !t.shared).map(|t| t.buffer.clone()));
        }
        self.pending.stores |= item.queue.is_none() && item.touches.iter().any(|t| t.shared && t.write);
    }
}
