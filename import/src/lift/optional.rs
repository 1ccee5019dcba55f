//! Accesses behind a condition over data that is not followed. They may happen or not, in each iteration anew.
//!
//! If they order nothing that other code does, all of them can be taken to happen: every run has the order of the run in
//! which all happen, with fewer accesses. So a race of any run is a race of that one. Lanes that wait for each other in
//! such code count for nothing, and a wait for accesses to tensor memory may only be for accesses of the same code.

use super::tree::{Effect, Kind, Node};
use super::walk::Walk;

impl Walk<'_, '_> {
    /// Whether nodes only access memory, and order no other code.
    pub(super) fn optional(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match &n.kind {
            Kind::Op(_, e) => match e {
                Effect::Touch(..) | Effect::TensorLoad(_) | Effect::TensorStore(_) => true,
                Effect::WarpSync | Effect::Elect => true,
                Effect::TensorWait(load) => self.is_quiet(*load),
                _ => false,
            },
            Kind::If(_, a, b) => self.optional(a) && self.optional(b),
            Kind::For(_, _, body) => self.optional(body),
            Kind::Set(..) | Kind::End => false,
        })
    }

    /// Whether no load or store of tensor memory is open where a block ends: a wait follows each of them in its block. In a
    /// text that never waits for loads, they are open until an instruction uses the result.
    fn is_quiet(&self, load: bool) -> bool {
        if load && !self.s.waits_for_loads {
            return self.loaded_before;
        }
        let (access, wait) = if load { ("ld", "wait::ld") } else { ("st", "wait::st") };
        self.s.flow.blocks.iter().all(|b| {
            let code = &self.s.entry.code[b.first..b.end];
            let last = code.iter().rev().find(|i| i.op == "tcgen05" && (i.has(access) || i.has(wait)));
            last.is_none_or(|i| i.has(wait) && i.guard.is_none())
        })
    }
}

/// Nodes without those that only order lanes of a warp.
pub(super) fn accesses(nodes: impl Iterator<Item = Node>) -> Vec<Node> {
    let one = |n: Node| {
        let kind = match n.kind {
            Kind::Op(_, Effect::WarpSync | Effect::Elect) => return None,
            Kind::If(c, a, b) => Kind::If(c, accesses(a.into_iter()), accesses(b.into_iter())),
            Kind::For(h, count, body) => Kind::For(h, count, accesses(body.into_iter())),
            kind => kind,
        };
        Some(Node { kind, ..n })
    };
    nodes.filter_map(one).collect()
}
