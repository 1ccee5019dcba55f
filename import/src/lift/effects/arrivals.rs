//! Arrivals on mbarriers by threads.

use crate::lift::tree::{Effect, Kind, Node};
use crate::lift::walk::Walk;
use crate::ptx::{Arg, Error, Inst};
use crate::symbolic::Term;

use super::by_value;

impl Walk<'_, '_> {
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`, whose address is operand `mem`.
    pub(crate) fn arrive(&mut self, at: usize, i: &Inst, mem: usize) -> Result<(), Error> {
        if i.has("noComplete") {
            self.s.assume(i.line, "an arrival that must not complete its phase (`.noComplete`) does not");
        }
        let one = self.s.arena.int(1);
        let extra = i.args.get(mem + 1);
        let expects = extra.filter(|_| i.has("expect_tx"));
        let count = match extra.filter(|_| expects.is_none()) {
            Some(a) => self.same(i, a, "count")?,
            None => one,
        };
        let state = if mem > 0 { self.returned(i)? } else { None };
        let v = self.address(i.arg(mem))?;
        let released = i.has("relaxed") && self.is_released(at);
        // Each lane may signal another CTA's barrier.
        let lanes = self.lanes;
        for (n, (t, mask)) in by_value(&v, lanes).into_iter().enumerate() {
            if self.dry == 0 && self.opaque(t) {
                self.same(i, i.arg(mem), "address")?;
            }
            self.lanes = mask;
            let (bar, cta) = self.s.remote(t);
            let scoped = ["cta", "gpu", "sys", "cluster"].iter().any(|s| i.has(s));
            if cta.is_some() && !scoped {
                self.s.assume(i.line, "an arrival on another CTA's barrier that names no scope is of cluster scope");
            }
            let mut expect = None;
            match expects {
                Some(a) if mask.count_ones() > 1 => self.expect_each(at, i, n as u8, (bar, a, cta))?,
                Some(a) => expect = Some(self.same(i, a, "count")?),
                None => {}
            }
            let e = Effect::Arrive {
                bar,
                count,
                expect,
                cta,
                relaxed: i.has("relaxed") && !released,
                cluster: !scoped || i.has("cluster") || i.has("gpu") || i.has("sys"),
                in_step: !self.apart && mask.count_ones() == 1 && mask != 1,
                drop: i.has("arrive_drop"),
                state,
            };
            match self.completed_warp(&e) {
                Some(nodes) => self.nodes.extend(nodes),
                None => self.push(at, n as u8, e)?,
            }
        }
        self.lanes = lanes;
        Ok(())
    }

    /// Whether a fence that releases to the cluster stands before a relaxed arrival, with no access between them. The two
    /// together release what is before the fence. A fence restricted to memory of the own CTA does so in a text whose
    /// threads store to no other memory of the cluster.
    fn is_released(&self, at: usize) -> bool {
        let code = &self.s.entry.code;
        let first = self.s.flow.blocks.iter().find(|b| b.first <= at && at < b.end).map_or(at, |b| b.first);
        let computes = |i: &Inst| {
            matches!(i.op.as_str(), "mapa" | "mov" | "add" | "mad" | "mul" | "shl" | "shr" | "cvt" | "and" | "or")
        };
        let arrives = |i: &Inst| i.op == "mbarrier" && i.has("arrive") && i.has("relaxed");
        let Some(fence) = code[first..at].iter().rev().find(|i| !computes(i) && !arrives(i)) else { return false };
        let any = |i: &Inst, all: &[&str]| all.iter().any(|m| i.has(m));
        let releases = any(fence, &["release", "acq_rel", "sc"]) && any(fence, &["cluster", "gpu", "sys"]);
        let plain = fence.op == "fence" && fence.guard.is_none() && !any(fence, &["proxy", "mbarrier_init"]);
        let is_restricted = fence.mods.iter().any(|m| m.starts_with("sync_restrict"));
        let far = |i: &Inst| i.op == "st" && i.has("shared::cluster") && !i.has("async");
        releases && plain && (!is_restricted || !code.iter().any(far))
    }

    /// The bytes that the executing lanes expect on a barrier, each its own, as one operation of the first lane.
    pub(crate) fn expect_each(
        &mut self,
        at: usize,
        i: &Inst,
        part: u8,
        (bar, arg, cta): (Term, &Arg, Option<Term>),
    ) -> Result<(), Error> {
        let lanes = self.lanes;
        let v = self.operand(arg)?;
        let mut sum = self.s.arena.int(0);
        for (bytes, mask) in by_value(&v, lanes) {
            if self.dry == 0 && self.opaque(bytes) {
                self.same(i, arg, "count")?;
            }
            let all = self.s.arena.scale(bytes, i64::from(mask.count_ones()));
            sum = self.s.arena.add(sum, all);
        }
        self.lanes = lanes & lanes.wrapping_neg();
        self.push(at, part + 16, Effect::Expect { bar, bytes: sum, cta })?;
        self.lanes = lanes;
        Ok(())
    }

    /// The arrival of a whole warp, if the operation before this arrival is the same by all other lanes. One of the two may
    /// also expect bytes, before its arrival.
    fn completed_warp(&mut self, e: &Effect) -> Option<Vec<Node>> {
        let Node { at, part, kind: Kind::Op(lanes, first) } = self.nodes.last()? else { return None };
        let (at, part, lanes) = (*at, *part, *lanes);
        if self.dry > 0 || self.unsure > 0 || lanes & self.lanes != 0 || lanes | self.lanes != u32::MAX {
            return None;
        }
        let (whole, expected) = (together(first), [bytes(first), bytes(e)]);
        if whole.is_none() || whole != together(e) || expected.iter().flatten().count() > 1 {
            return None;
        }
        self.nodes.pop();
        let mut nodes = Vec::new();
        let Some(Effect::Arrive { bar, cta, .. }) = whole else { return None };
        for (lanes, bytes) in [(lanes, expected[0]), (self.lanes, expected[1])] {
            let expect = bytes.map(|bytes| Effect::Expect { bar, bytes, cta });
            nodes.extend(expect.map(|e| Node { at, part: part + 16, kind: Kind::Op(lanes, e) }));
        }
        nodes.extend(whole.map(|e| Node { at, part, kind: Kind::Op(u32::MAX, e) }));
        Some(nodes)
    }
}

/// An arrival by a whole warp without bytes, as far as an arrival of some lanes says what it is.
fn together(e: &Effect) -> Option<Effect> {
    let Effect::Arrive { bar, count, cta, relaxed, cluster, drop, state, .. } = *e else { return None };
    // The scope says nothing on a barrier of the own CTA.
    let cluster = cluster || cta.is_none();
    Some(Effect::Arrive { bar, count, expect: None, cta, relaxed, cluster, in_step: false, drop, state })
}

/// The bytes that an arrival expects.
fn bytes(e: &Effect) -> Option<Term> {
    if let Effect::Arrive { expect, .. } = e { *expect } else { None }
}
