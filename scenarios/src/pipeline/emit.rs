//! Code generation for steps: prologue, body and epilogue, each statement with its guard. `emit_sync` generates waits
//! and barriers.

use std::collections::BTreeSet;

use warpline_sim::ir::Binary;

use super::expr::{Env, Val, binary};
use super::items::{Act, Item, Queue};
use super::laid::Laid;
use super::sync::event_of;
use super::text::Writer;

/// A line of the expansion: its level relative to the loop, its code, its comment.
pub(super) type Line = (usize, String, Option<String>);

/// The step that is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The step with this number, before the body.
    Prologue(i64),
    /// The body, in which all stages take part; its index counts steps.
    Body,
    /// One guarded loop from the first step of the last stage on. Its index counts iterations of the last stage; the
    /// other stages are guarded.
    Guarded,
    /// This many steps after the last copy, behind the body.
    Epilogue(i64),
}

/// LDS operations that no wait covers yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pending {
    /// Registers that loads are filling.
    pub(super) regs: BTreeSet<String>,
    /// Whether a store is pending.
    pub(super) stores: bool,
}

/// Code generation for one loop.
pub(super) struct Emit<'a> {
    pub(super) laid: &'a Laid<'a>,
    pub(super) pending: Pending,
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
        // Pending operations at the start of the body, from the prologue or from the previous step.
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

    /// After a guarded loop, a wait leaves nothing outstanding.
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

    /// The iteration that a stage works on in this step.
    fn index(&self, at: At, stage: i64) -> Val {
        let l = self.laid;
        match at {
            At::Prologue(j) => Val::Const(j - stage),
            At::Body => Val::Off(l.var.clone(), -stage),
            At::Guarded => Val::Off(l.var.clone(), l.depth - stage),
            At::Epilogue(e) => l.trips.plus(e - stage),
        }
    }

    /// Whether a stage takes part in this step.
    fn present(&self, at: At, stage: i64) -> bool {
        match at {
            At::Prologue(j) => j >= stage,
            At::Body | At::Guarded => true,
            At::Epilogue(e) => stage > e,
        }
    }

    /// The condition under which the stage's iteration exists; `None` if it always does.
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

    /// Records the LDS operations that an item leaves pending.
    fn note(&mut self, item: &Item) {
        let reads = item.touches.iter().any(|t| t.shared && !t.write);
        let moves = matches!(item.act, Act::Operands | Act::Plain);
        if reads && moves {
            self.pending.regs.extend(item.touches.iter().filter(|t| t.write && !t.shared).map(|t| t.buffer.clone()));
        }
        self.pending.stores |= item.queue.is_none() && item.touches.iter().any(|t| t.shared && t.write);
    }
}
