//! Arrivals on mbarriers by threads.

use crate::lift::tree::{Effect, Kind, Node};
use crate::lift::walk::Walk;
use crate::ptx::{Error, Inst};

use super::by_value;

impl Walk<'_, '_> {
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`, whose address is operand `mem`.
    pub(crate) fn arrive(&mut self, at: usize, i: &Inst, mem: usize) -> Result<(), Error> {
        if i.has("noComplete") {
            self.s.assume(i.line, "an arrival that must not complete its phase (`.noComplete`) does not");
        }
        let one = self.s.arena.int(1);
        let extra = match i.args.get(mem + 1) {
            Some(a) => Some(self.same(i, a, "count")?),
            None => None,
        };
        let expects = i.has("expect_tx");
        let expect = extra.filter(|_| expects);
        let count = extra.filter(|_| !expects).unwrap_or(one);
        let state = if mem > 0 { self.returned(i)? } else { None };
        let v = self.address(i.arg(mem))?;
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
            let e = Effect::Arrive {
                bar,
                count,
                expect,
                cta,
                relaxed: i.has("relaxed"),
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
fn bytes(e: &Effect) -> Option<crate::symbolic::Term> {
    if let Effect::Arrive { expect, .. } = e { *expect } else { None }
}
