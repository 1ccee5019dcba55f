//! Code generation for the waits and barriers of a step: the number of operations that may stay outstanding, and the
//! buffers that a barrier serves.

use std::collections::BTreeSet;

use warpline_sim::ir::Binary;

use super::emit::{At, Emit, Line, Pending};
use super::expr::{Val, binary};
use super::items::Queue;
use super::sync::{Barrier, Wait, after};

impl Emit<'_> {
    /// The wait of a step at a gap, with the number of operations that may stay outstanding.
    pub(super) fn wait(&self, at: At, w: &Wait) -> Option<String> {
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
        // The wait is for the event that started last.
        let time = |(e, a): &(usize, i64)| (a + l.sync.events[*e].stage) * m as i64 + l.sync.events[*e].at as i64;
        let need = *needs.iter().max_by_key(|n| time(n))?;
        let count = |bounds| after(&l.sync.events, need, w.gap, m, bounds);
        let open = match at {
            At::Prologue(j) => count((Some(-j), None)),
            At::Epilogue(e) => count((None, Some(-1 - e))),
            // The first steps have fewer operations behind the event.
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
        // Loads past the end are not started and do not count.
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

    /// Whether a barrier separates any pair in this step.
    pub(super) fn meets(&self, at: At, b: &Barrier) -> bool {
        let stage = |p: usize| self.laid.items[p].stage;
        b.serves.iter().any(|(p, ahead)| match at {
            At::Body | At::Guarded => true,
            At::Prologue(j) => j + ahead - stage(p.after) - p.apart >= 0,
            At::Epilogue(e) => e + ahead - stage(p.after) < 0,
        })
    }

    /// A barrier, with the waits before it and a comment on the buffers that it serves.
    pub(super) fn barrier(&mut self, b: &Barrier, out: &mut Vec<Line>) {
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
}
