//! Accesses behind a condition over data that is not followed. They may happen or not, in each iteration anew.
//!
//! If they order nothing that other code does, all of them can be taken to happen: every run has the order of the run in
//! which all happen, with fewer accesses. So a race of any run is a race of that one. Lanes that wait for each other in such
//! code count for nothing. A wait for accesses to tensor memory may only be for accesses of the same code.

use rustc_hash::FxHashMap;

use crate::lift::tree::{Effect, Fence, Kind, Node};
use crate::ptx::Reg;

use super::Walk;

/// Accesses to tensor memory that may not be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenTensor {
    /// `tcgen05.ld`.
    pub(crate) loads: bool,
    /// `tcgen05.st`.
    pub(crate) stores: bool,
}

impl OpenTensor {
    /// What may be open in one of two states.
    pub(crate) fn or(self, other: OpenTensor) -> OpenTensor {
        OpenTensor { loads: self.loads || other.loads, stores: self.stores || other.stores }
    }
}

/// Loads of tensor memory that no operation has waited for, in a text that never waits. Loads arrive in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loading {
    /// The number of the newest load that writes each register.
    of: FxHashMap<Reg, u32>,
    /// The oldest load that may not have arrived, and one more than the newest.
    open: std::ops::Range<u32>,
    /// The newest load whose registers a side of a branch by data uses, and the line of this use.
    behind: Option<(u32, u32)>,
}

impl Loading {
    /// Adds a load of these registers; `loads` counts all loads.
    pub(crate) fn push(&mut self, regs: Vec<Reg>, loads: &mut u32) {
        if self.is_empty() {
            self.open.start = *loads;
        }
        self.of.extend(regs.into_iter().map(|r| (r, *loads)));
        *loads += 1;
        self.open.end = *loads;
    }

    /// Whether all loads have arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The newest load that writes a register, if it may not have arrived.
    pub(crate) fn newest(&self, r: Reg) -> Option<u32> {
        self.of.get(&r).copied().filter(|n| self.open.contains(n))
    }

    /// Records that a load and all before it have arrived. Returns whether these are all.
    pub(crate) fn arrived(&mut self, n: u32) -> bool {
        self.open.start = n + 1;
        self.is_empty()
    }

    /// Records that a side of a branch by data uses registers of a load.
    pub(crate) fn used_behind(&mut self, n: u32, line: u32) {
        self.behind = self.behind.max(Some((n, line)));
    }

    /// Records that what sides of a branch by data used has arrived. Returns the line of a use if these are all loads.
    pub(crate) fn arrived_behind(&mut self) -> Option<u32> {
        let (n, line) = self.behind.take()?;
        (self.open.contains(&n) && self.arrived(n)).then_some(line)
    }

    /// Records that all loads have arrived. Returns whether there was one.
    pub(crate) fn all_arrived(&mut self) -> bool {
        let open = !self.is_empty();
        self.open.start = self.open.end;
        open
    }

    /// The loads that may not have arrived in one of two states.
    pub(crate) fn or(self, other: Loading) -> Loading {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other } else { self };
        }
        let mut of = self.of;
        for (r, n) in other.of {
            let newest = of.entry(r).or_insert(n);
            *newest = n.max(*newest);
        }
        let open = self.open.start.min(other.open.start)..self.open.end.max(other.open.end);
        Loading { of, open, behind: self.behind.max(other.behind) }
    }
}

impl Walk<'_, '_> {
    /// Whether nodes only access memory, and order no other code.
    pub(crate) fn optional(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match &n.kind {
            Kind::Op(_, e) => match e {
                Effect::Touch(..) | Effect::Registers(_) | Effect::TensorLoad(_) | Effect::TensorStore(_) => true,
                // Its group is complete where another copy of the group would be.
                Effect::BulkStore { bytes: Some(_), .. } => true,
                Effect::WarpSync | Effect::Elect | Effect::Fence(Fence::Cta) => true,
                Effect::TensorWait(true) => !self.open_before.loads,
                Effect::TensorWait(false) => !self.open_before.stores,
                _ => false,
            },
            Kind::If(_, a, b) => self.optional(a) && self.optional(b),
            Kind::For(_, _, body) => self.optional(body),
            Kind::Set(..) | Kind::End => false,
        })
    }
}

/// Nodes without those that only order lanes of a warp.
pub(crate) fn accesses(nodes: impl Iterator<Item = Node>) -> Vec<Node> {
    let one = |n: Node| {
        let kind = match n.kind {
            Kind::Op(_, Effect::WarpSync | Effect::Elect | Effect::Fence(Fence::Cta)) => return None,
            Kind::If(c, a, b) => Kind::If(c, accesses(a.into_iter()), accesses(b.into_iter())),
            Kind::For(h, count, body) => Kind::For(h, count, accesses(body.into_iter())),
            kind => kind,
        };
        Some(Node { kind, ..n })
    };
    nodes.filter_map(one).collect()
}
