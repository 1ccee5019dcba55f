//! A timeline prepared for the viewer: a tree of rows with an index each, and data for selection and search.
//!
//! ```text
//!   CTA 0                     every node has an index of all that lies under it,
//!   +- math ×8                so a folded node is drawn as exactly as a row
//!   |  +- w4, w5, ...
//!   +- copy engine ×2         spans of one row that overlap go to rows of their own
//!   +- a ×4                   the slots of one buffer
//!   |  +- a[0], a[1], ...
//!   +- full ×4                the stages of one barrier
//! ```

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpline_sim::chain::chain_in;
use warpline_sim::timeline::{Span, Timeline};

use super::by_row::{RowSpan, by_row, ends, of_warps};
use super::index::{Edge, Index, LIMIT};
use super::overview::Overview;
use super::tree::{Draft, tracks, tree};
use crate::counter::{self, Counter};

/// Why a timeline cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It has no rows.
    #[error("the timeline has no rows")]
    Empty,
    /// Its times are too large to add.
    #[error("the timeline's {spans} spans end at tick {end}, too late for their times to be added up")]
    TooLong {
        /// Number of spans.
        spans: usize,
        /// The tick after the last.
        end: u64,
    },
    /// A span refers to a row that is not there.
    #[error("span {span} is on row {row}, but the timeline has {rows} rows")]
    BadRow {
        /// Index of the span.
        span: usize,
        /// Its row.
        row: u32,
        /// Number of rows.
        rows: usize,
    },
}

/// NodeKind of a node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeKind {
    /// A CTA.
    Cta,
    /// Several rows: a role, an engine, a buffer, a barrier with stages.
    Group,
    /// One row, or one lane of a row whose spans overlap; its spans by time.
    Track(Vec<u32>),
    /// A number over time.
    Counter(Counter),
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Name with those of all ancestors: equal in two runs of one kernel.
    pub(crate) path: String,
    pub(crate) kind: NodeKind,
    pub(crate) parent: Option<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) index: Index,
    /// Whether it contains warps, so that its stalls count.
    pub(crate) agents: bool,
}

/// A finished timeline, ready to be shown.
#[derive(Debug)]
pub struct Model {
    pub(crate) t: Timeline,
    pub(crate) nodes: Vec<Node>,
    /// The CTAs.
    pub(crate) roots: Vec<u32>,
    /// Track of each span; the next fields are the class of each span, and the number of its label.
    pub(crate) track: Vec<u32>,
    pub(crate) class: Vec<u8>,
    pub(crate) label: Vec<u32>,
    /// All labels.
    pub(crate) labels: Vec<String>,
    /// The spans that each span woke: `woke[woke_from[i]..woke_from[i + 1]]`.
    woke: Vec<u32>,
    woke_from: Vec<u32>,
    pub(crate) overview: Overview,
    /// The chain of causes that ends last, in order of time.
    pub(crate) chain: Vec<u32>,
    /// The tick after the last, at least a cycle.
    pub(crate) end: u64,
}

impl Model {
    /// Builds a model. Linear in the spans, except for merging rows into their groups.
    ///
    /// # Errors
    /// There are no rows, a span refers to a missing row, or times would overflow. A million spans may last 2^40
    /// ticks.
    pub fn new(t: Timeline) -> Result<Model, ModelError> {
        if t.rows.is_empty() {
            return Err(ModelError::Empty);
        }
        let (rows, last) = by_row(&t)?;
        let end = last.max(t.end).max(warpline_sim::timeline::TICKS);
        if u128::from(end) * (t.spans.len() as u128 + 1) > 1 << 60 || end >= LIMIT {
            return Err(ModelError::TooLong { spans: t.spans.len(), end });
        }
        // Dependent parts run in turn, the others in parallel.
        let chain = || chain_in(&t, |row| ends(&rows[row as usize]));
        let ((nodes, (overview, chain)), ((label, labels), (woke, woke_from))) = rayon::join(
            || rayon::join(|| nodes(&t, &rows), || (Overview::new(of_warps(&rows, &t.rows), end), chain())),
            || labels_and_wakes(&t.spans),
        );
        let (nodes, roots) = nodes;
        let mut class = vec![0u8; t.spans.len()];
        for s in rows.iter().flatten() {
            class[s.span as usize] = s.class;
        }
        let mut track = vec![0u32; t.spans.len()];
        for (n, node) in nodes.iter().enumerate() {
            if let NodeKind::Track(spans) = &node.kind {
                for &i in spans {
                    track[i as usize] = n as u32;
                }
            }
        }
        Ok(Model { t, nodes, roots, track, class, label, labels, woke, woke_from, overview, chain, end })
    }

    /// The spans that continue because this one ended.
    pub(crate) fn woken_by(&self, span: u32) -> &[u32] {
        let i = span as usize;
        &self.woke[self.woke_from[i] as usize..self.woke_from[i + 1] as usize]
    }

    /// The spans of a track by time; empty for other nodes.
    pub(crate) fn spans_of(&self, node: u32) -> &[u32] {
        match &self.nodes[node as usize].kind {
            NodeKind::Track(spans) => spans,
            _ => &[],
        }
    }

    pub(crate) fn span(&self, i: u32) -> &Span {
        &self.t.spans[i as usize]
    }

    /// The span of a track at an instant.
    pub(crate) fn at(&self, node: u32, tick: u64) -> Option<u32> {
        let spans = self.spans_of(node);
        let i = spans.partition_point(|s| self.span(*s).start <= tick).checked_sub(1)?;
        (tick < self.span(spans[i]).end).then_some(spans[i])
    }

    /// NodeKind and place of a fault, on one line.
    pub(crate) fn fault(&self, i: usize) -> String {
        let f = &self.t.faults[i];
        let site = self.t.sites.get(f.site as usize);
        let at = site.map_or(String::new(), |s| format!(" at {}:{}  {}", file_name(&s.file), s.line, s.text));
        format!("{}{at}", f.label)
    }

    /// The first track of a row of the timeline.
    pub(crate) fn track_of_row(&self, row: u32) -> Option<u32> {
        let of = |spans: &Vec<u32>| spans.first().is_some_and(|s| self.span(*s).row == row);
        let node = self.nodes.iter().position(|n| matches!(&n.kind, NodeKind::Track(spans) if of(spans)))?;
        Some(node as u32)
    }

    /// The CTA that a node is in.
    pub(crate) fn root(&self, mut node: u32) -> u32 {
        while let Some(parent) = self.nodes[node as usize].parent {
            node = parent;
        }
        node
    }

    /// Position of a span on its track.
    pub(crate) fn place(&self, span: u32) -> usize {
        let start = self.span(span).start;
        self.spans_of(self.track[span as usize]).partition_point(|s| self.span(*s).start < start)
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The tree of rows with an index for every node. The index of a CTA is that of its warps.
fn nodes(t: &Timeline, rows: &[Vec<RowSpan>]) -> (Vec<Node>, Vec<u32>) {
    let tracks = || t.rows.par_iter().zip(rows).map(|(row, spans)| tracks(row, spans)).collect::<Vec<_>>();
    let spans = rows.iter().enumerate().flat_map(|(row, all)| all.iter().map(move |s| (row, s)));
    let counters = || counter::of(t, spans.map(|(row, s)| (row, (s.start, s.end), s.what, s.span as usize)));
    let (tracks, counters) = rayon::join(tracks, counters);
    let mut drafts: Vec<Draft> = tracks.into_iter().flatten().collect();
    drafts.extend(counters.into_iter().map(|(cta, counter)| Draft {
        cta,
        section: 2,
        group: String::new(),
        name: counter.name().to_string(),
        kind: NodeKind::Counter(counter),
        index: Index::default(),
        agents: false,
    }));
    // A stable sort: rows keep the timeline's order within their section.
    drafts.sort_by_key(|d| (d.cta, d.section));
    let (mut nodes, roots) = tree(drafts);
    // Parents are built from their children.
    for kind in [NodeKind::Group, NodeKind::Cta] {
        let above = |node: &Node| {
            let below =
                || node.children.iter().map(|c| &nodes[*c as usize]).filter(|c| kind == NodeKind::Group || c.agents);
            let mut edges: Vec<Edge> = Vec::with_capacity(below().map(|c| c.index.edges().len()).sum());
            below().for_each(|c| edges.extend_from_slice(c.index.edges()));
            // Fast, because the edges of each child are in order.
            edges.sort();
            Index::new(edges)
        };
        let made: Vec<Option<Index>> = nodes.par_iter().map(|n| (n.kind == kind).then(|| above(n))).collect();
        for (node, index) in nodes.iter_mut().zip(made) {
            node.index = index.unwrap_or_else(|| std::mem::take(&mut node.index));
        }
    }
    (nodes, roots)
}

/// The number of each span's label, and the labels. Also the spans that each span woke, one list after the other,
/// with the start of each.
type Labels = (Vec<u32>, Vec<String>);
type Wakes = (Vec<u32>, Vec<u32>);

/// Both in one pass over the spans, which do not fit in a cache.
fn labels_and_wakes(spans: &[Span]) -> (Labels, Wakes) {
    /// No span.
    const NONE: u32 = u32::MAX;
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let (mut label, mut labels) = (Vec::<u32>::with_capacity(spans.len()), Vec::new());
    let mut wakers = Vec::with_capacity(spans.len());
    let mut before: (&str, u32) = ("", NONE);
    for s in spans {
        // Often the label of the previous span.
        if before.1 == NONE || before.0 != s.label.as_str() {
            let number = *known.entry(s.label.as_str()).or_insert_with(|| {
                labels.push(s.label.to_string());
                labels.len() as u32 - 1
            });
            before = (s.label.as_str(), number);
        }
        label.push(before.1);
        wakers.push(s.woken_by.filter(|w| (*w as usize) < spans.len()).unwrap_or(NONE));
    }
    let mut from = vec![0u32; spans.len() + 2];
    for w in wakers.iter().filter(|w| **w != NONE) {
        from[*w as usize + 2] += 1;
    }
    for i in 2..from.len() {
        from[i] += from[i - 1];
    }
    let mut woke = vec![0u32; from[from.len() - 1] as usize];
    for (i, w) in wakers.iter().enumerate().filter(|(_, w)| **w != NONE) {
        let place = &mut from[*w as usize + 1];
        woke[*place as usize] = i as u32;
        *place += 1;
    }
    from.pop();
    ((label, labels), (woke, from))
}
