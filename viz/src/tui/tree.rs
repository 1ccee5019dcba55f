//! The tree of rows: CTAs, groups, rows.

use warpline_sim::timeline::{Row, RowKind};

use super::by_row::RowSpan;
use super::index::{Edge, Index};
use super::model::{Node, NodeKind};
use crate::lanes;

/// A row before it is in the tree.
pub(super) struct Draft {
    pub(super) cta: u32,
    /// Agents, engines, counters, slots, barriers.
    pub(super) section: u8,
    pub(super) group: String,
    pub(super) name: String,
    pub(super) kind: NodeKind,
    /// Index of a track.
    pub(super) index: Index,
    pub(super) agents: bool,
}

/// A track for each lane of a row.
pub(super) fn tracks(row: &Row, spans: &[RowSpan]) -> Vec<Draft> {
    let times: Vec<(u64, u64)> = spans.iter().map(|s| (s.start, s.end)).collect();
    let lane_of = lanes::assign(&times, u32::MAX);
    let lanes = lane_of.iter().max().map_or(1, |last| last + 1) as usize;
    let room = if lanes == 1 { spans.len() } else { 0 };
    let mut split: Vec<(Vec<u32>, Vec<Edge>)> = Vec::new();
    split.resize_with(lanes, || (Vec::with_capacity(room), Vec::with_capacity(2 * room)));
    for (s, lane) in spans.iter().zip(lane_of) {
        let (spans, edges) = &mut split[lane as usize];
        spans.push(s.span);
        // Spans of a track do not overlap, so this is their order.
        edges.extend(s.edges());
    }
    let stem = |name: &str| name.split('[').next().unwrap_or(name).to_string();
    let (section, group, agents) = match &row.kind {
        RowKind::Agent { role, .. } => (0, role.clone(), true),
        RowKind::Engine(_) => (1, row.name.clone(), false),
        RowKind::Slot(_) => (3, stem(&row.name), false),
        RowKind::Barrier(_) => (4, stem(&row.name), false),
    };
    let draft = |(lane, (spans, edges)): (usize, (Vec<u32>, Vec<Edge>))| Draft {
        cta: row.cta,
        section,
        group: group.clone(),
        name: if lanes > 1 { format!("{} {}", row.name, lane + 1) } else { row.name.clone() },
        kind: NodeKind::Track(spans),
        index: Index::new(edges),
        agents,
    };
    split.into_iter().enumerate().map(draft).collect()
}

/// Nodes from drafts, which are ordered by CTA and section. A group of one row is not created.
pub(super) fn tree(drafts: Vec<Draft>) -> (Vec<Node>, Vec<u32>) {
    let mut nodes: Vec<Node> = Vec::with_capacity(drafts.len() * 2);
    let mut roots: Vec<u32> = Vec::new();
    let add = |nodes: &mut Vec<Node>, name: String, (kind, index), parent: Option<u32>, agents| {
        let id = nodes.len() as u32;
        let path = parent.map_or(name.clone(), |p| format!("{} / {name}", nodes[p as usize].path));
        if let Some(p) = parent {
            nodes[p as usize].children.push(id);
        }
        nodes.push(Node { name, path, kind, parent, children: Vec::new(), index, agents });
        id
    };
    let mut rest = drafts.into_iter().peekable();
    let mut cta = None;
    while let Some(first) = rest.next() {
        let root = match cta {
            Some((number, id)) if number == first.cta => id,
            _ => {
                let id = add(&mut nodes, format!("CTA {}", first.cta), (NodeKind::Cta, Index::default()), None, true);
                roots.push(id);
                cta = Some((first.cta, id));
                id
            }
        };
        let mut members = vec![first];
        while let Some(next) = rest.next_if(|d| {
            let f = &members[0];
            (d.cta, d.section, &d.group) == (f.cta, f.section, &f.group) && !d.group.is_empty()
        }) {
            members.push(next);
        }
        let parent = if members.len() > 1 {
            add(
                &mut nodes,
                members[0].group.clone(),
                (NodeKind::Group, Index::default()),
                Some(root),
                members[0].agents,
            )
        } else {
            root
        };
        for m in members {
            add(&mut nodes, m.name, (m.kind, m.index), Some(parent), m.agents);
        }
    }
    (nodes, roots)
}
