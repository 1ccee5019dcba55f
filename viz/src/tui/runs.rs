//! The run in the viewer, or two runs, with matching rows and operations.

use rustc_hash::FxHashMap;
use warpline_sim::align::operation;
use warpline_sim::timeline::{RowKind, SpanKind};

use super::model::{Model, Node, NodeKind};
use super::state::Focus;

/// One run, A, or two, A and B.
#[derive(Debug)]
pub struct Runs {
    pub(crate) models: Vec<Model>,
    /// For each node, the node of the other run with the same path.
    partners: Vec<Vec<Option<u32>>>,
}

impl Runs {
    /// One run, or two.
    pub fn new(a: Model, b: Option<Model>) -> Runs {
        let models: Vec<Model> = std::iter::once(a).chain(b).collect();
        let by_path = |m: &Model| -> FxHashMap<String, u32> {
            m.nodes.iter().enumerate().map(|(i, n)| (n.path.clone(), i as u32)).collect()
        };
        let partners = match &models[..] {
            [a, b] => {
                let of = |m: &Model, there: &FxHashMap<String, u32>, other: &Model| -> Vec<Option<u32>> {
                    let own: FxHashMap<u32, (u32, u32)> = by_warp(m).into_iter().map(|(warp, n)| (n, warp)).collect();
                    let warps = by_warp(other);
                    let warp = |i: usize| warps.get(own.get(&(i as u32))?).copied();
                    let nodes = m.nodes.iter().enumerate();
                    nodes.map(|(i, n)| there.get(&n.path).copied().or_else(|| warp(i))).collect()
                };
                vec![of(a, &by_path(b), b), of(b, &by_path(a), a)]
            }
            _ => vec![vec![None; models[0].nodes.len()]],
        };
        Runs { models, partners }
    }

    /// Number of rows of A that are also in B.
    pub fn shared_rows(&self) -> usize {
        self.partners[0].iter().flatten().count()
    }

    pub(crate) fn a(&self) -> &Model {
        &self.models[0]
    }

    pub(crate) fn model(&self, focus: Focus) -> &Model {
        &self.models[focus.run]
    }

    pub(crate) fn two(&self) -> bool {
        self.models.len() > 1
    }

    /// The matching row of the other run.
    pub(crate) fn partner(&self, focus: Focus) -> Option<Focus> {
        let node = self.partners[focus.run][focus.node as usize]?;
        Some(Focus { run: 1 - focus.run, node })
    }

    /// The matching operation of the other run: on the same row, after as many others of its statement and kind.
    pub(crate) fn same(&self, run: usize, span: u32) -> Option<(usize, u32)> {
        let m = &self.models[run];
        let there = self.partner(Focus { run, node: m.track[span as usize] })?;
        let other = self.model(there);
        // A trace of another program names no statements; then the kind alone decides.
        let said = !m.t.sites.is_empty() && !other.t.sites.is_empty();
        let key = |m, s| {
            let (class, text) = key(m, s);
            (class, text.filter(|_| said))
        };
        let this = key(m, span);
        let before = &m.spans_of(m.track[span as usize])[..m.place(span)];
        let place = before.iter().filter(|s| key(m, **s) == this).count();
        let NodeKind::Track(spans) = &other.nodes[there.node as usize].kind else { return None };
        spans.iter().filter(|s| key(other, **s) == this).nth(place).map(|s| (there.run, *s))
    }
}

/// Identity of an operation, without its time.
fn key(m: &Model, span: u32) -> (SpanKind, Option<&str>) {
    operation(&m.t, m.span(span))
}

/// The rows of whole warps by CTA and warp, because a measured run names them differently from a simulated one.
fn by_warp(m: &Model) -> FxHashMap<(u32, u32), u32> {
    let warp = |(i, n): (usize, &Node)| {
        let NodeKind::Track(spans) = &n.kind else { return None };
        let row = &m.t.rows[m.span(*spans.first()?).row as usize];
        match row.kind {
            RowKind::Agent { warp, lanes: None, .. } => Some(((row.cta, warp), i as u32)),
            _ => None,
        }
    };
    m.nodes.iter().enumerate().filter_map(warp).collect()
}
