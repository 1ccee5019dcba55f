//! A timeline as the viewer has it: a tree of rows, each with its index, and what selection and search need.
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
use warpline_sim::timeline::{Row, RowKind, Span, Timeline};

use super::class::{self, Class};
use super::index::{BEGINS, Edge, Index};
use super::overview::Overview;
use super::tree::{Draft, tracks, tree};
use crate::counter::{self, Counter};

/// Why a timeline cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// There is nothing to look at.
    #[error("the timeline has no rows")]
    Empty,
    /// Its times are too large to be added up.
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

/// What a node of the tree is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
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
    /// Name with those of all above it: the same in two runs of one kernel.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) index: Index,
    /// It holds warps: its stalls are somebody's.
    pub(crate) agents: bool,
}

/// A finished timeline, ready to be shown.
#[derive(Debug)]
pub struct Model {
    pub(crate) t: Timeline,
    pub(crate) nodes: Vec<Node>,
    /// The CTAs.
    pub(crate) roots: Vec<u32>,
    /// Of each span: the track it is on, its class, the number of its label.
    pub(crate) track: Vec<u32>,
    pub(crate) class: Vec<u8>,
    pub(crate) label: Vec<u32>,
    /// The labels there are.
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
    /// Reads a timeline. Linear in the spans, but for the merging of rows into what is above them.
    ///
    /// # Errors
    /// When there are no rows, a span is on none of them, or times would overflow: a million spans may last 2^40 ticks.
    pub fn new(t: Timeline) -> Result<Model, ModelError> {
        if t.rows.is_empty() {
            return Err(ModelError::Empty);
        }
        let end = t.spans.iter().map(|s| s.end).max().unwrap_or(0).max(t.end).max(warpline_sim::timeline::TICKS);
        if u128::from(end) * (t.spans.len() as u128 + 1) > 1 << 60 {
            return Err(ModelError::TooLong { spans: t.spans.len(), end });
        }
        let rows = by_row(&t)?;
        let mut class = vec![0u8; t.spans.len()];
        let (mut drafts, counters) = rayon::join(|| drafts(&t, &rows, &mut class), || counter::drafts(&t));
        drafts.extend(counters.into_iter().map(|(cta, counter)| Draft {
            cta,
            section: 2,
            group: String::new(),
            name: counter.name().to_string(),
            kind: Kind::Counter(counter),
            agents: false,
        }));
        // Stable: rows keep the timeline's order within their section.
        drafts.sort_by_key(|d| (d.cta, d.section));
        let (mut nodes, roots) = tree(drafts);
        let mut track = vec![0u32; t.spans.len()];
        for (n, node) in nodes.iter().enumerate() {
            if let Kind::Track(spans) = &node.kind {
                for &i in spans {
                    track[i as usize] = n as u32;
                }
            }
        }
        // The rest does not depend on each other.
        let agent = |i: usize| matches!(t.rows[t.spans[i].row as usize].kind, RowKind::Agent { .. });
        let ((), ((overview, chain), ((label, labels), (woke, woke_from)))) = rayon::join(
            || fill_indices(&t, &mut nodes, &class),
            || {
                rayon::join(
                    || (Overview::new(&t.spans, &class, end, agent), warpline_sim::chain::chain(&t)),
                    || (intern(&t.spans), wakes(&t.spans)),
                )
            },
        );
        let m = Model { t, nodes, roots, track, class, label, labels, woke, woke_from, overview, chain, end };
        Ok(m)
    }

    /// The spans that go on because this one ended.
    pub(crate) fn woken_by(&self, span: u32) -> &[u32] {
        let i = span as usize;
        &self.woke[self.woke_from[i] as usize..self.woke_from[i + 1] as usize]
    }

    /// The spans of a track, by time; none where the node is not one.
    pub(crate) fn spans_of(&self, node: u32) -> &[u32] {
        match &self.nodes[node as usize].kind {
            Kind::Track(spans) => spans,
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

    /// What a fault is and where it showed, in a line.
    pub(crate) fn fault(&self, i: usize) -> String {
        let f = &self.t.faults[i];
        let site = self.t.sites.get(f.site as usize);
        let at = site.map_or(String::new(), |s| format!(" at {}:{}  {}", file_name(&s.file), s.line, s.text));
        format!("{}{at}", f.label)
    }

    /// The first track of a row of the timeline.
    pub(crate) fn track_of_row(&self, row: u32) -> Option<u32> {
        let of = |spans: &Vec<u32>| spans.first().is_some_and(|s| self.span(*s).row == row);
        let node = self.nodes.iter().position(|n| matches!(&n.kind, Kind::Track(spans) if of(spans)))?;
        Some(node as u32)
    }

    /// The CTA that a node is in.
    pub(crate) fn root(&self, mut node: u32) -> u32 {
        while let Some(parent) = self.nodes[node as usize].parent {
            node = parent;
        }
        node
    }

    /// Position of a span among those of its track.
    pub(crate) fn place(&self, span: u32) -> usize {
        let start = self.span(span).start;
        self.spans_of(self.track[span as usize]).partition_point(|s| self.span(*s).start < start)
    }
}

/// A path's last part.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn by_row(t: &Timeline) -> Result<Vec<Vec<u32>>, ModelError> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); t.rows.len()];
    for (i, s) in t.spans.iter().enumerate() {
        let bad = ModelError::BadRow { span: i, row: s.row, rows: t.rows.len() };
        let row = rows.get_mut(s.row as usize).ok_or(bad)?;
        if s.start < s.end {
            row.push(i as u32);
        }
    }
    for row in &mut rows {
        if !row.is_sorted_by_key(|i| t.spans[*i as usize].start) {
            row.sort_by_key(|i| t.spans[*i as usize].start);
        }
    }
    Ok(rows)
}

/// The rows' tracks, and the classes of their spans.
fn drafts(t: &Timeline, rows: &[Vec<u32>], class: &mut [u8]) -> Vec<Draft> {
    let of = |(row, spans): (&Row, &Vec<u32>)| {
        let classes = spans.iter().enumerate().map(|(nth, i)| Class::of(&row.kind, t.spans[*i as usize].what, nth));
        (classes.map(class::number).collect::<Vec<u8>>(), tracks(t, row, spans))
    };
    let all: Vec<_> = t.rows.par_iter().zip(rows).map(of).collect();
    let mut drafts = Vec::new();
    for ((classes, tracks), spans) in all.into_iter().zip(rows) {
        for (i, number) in spans.iter().zip(classes) {
            class[*i as usize] = number;
        }
        drafts.extend(tracks);
    }
    drafts
}

/// Makes the index of every track from its spans' edges, and from those the ones of the nodes above. Only warps count
/// for a CTA: it is drawn as what its warps do.
fn fill_indices(t: &Timeline, nodes: &mut [Node], class: &[u8]) {
    nodes.par_iter_mut().for_each(|node| {
        if let Kind::Track(spans) = &node.kind {
            let edges = |i: &u32| {
                let (s, class) = (&t.spans[*i as usize], class[*i as usize]);
                [(s.start, class | BEGINS), (s.end, class)]
            };
            // Spans of a track do not overlap, so that is their order.
            node.index = Index::new(2 * spans.len(), spans.iter().flat_map(edges));
        }
    });
    // What is above is made of what is below.
    for kind in [Kind::Group, Kind::Cta] {
        let above = |node: &Node| {
            let below =
                || node.children.iter().map(|c| &nodes[*c as usize]).filter(|c| kind == Kind::Group || c.agents);
            let mut edges: Vec<Edge> = Vec::with_capacity(below().map(|c| c.index.len()).sum());
            below().for_each(|c| edges.extend(c.index.edges()));
            // Quick, because each child's are in order.
            edges.sort();
            Index::new(edges.len(), edges.into_iter())
        };
        let made: Vec<Option<Index>> = nodes.par_iter().map(|n| (n.kind == kind).then(|| above(n))).collect();
        for (node, index) in nodes.iter_mut().zip(made) {
            node.index = index.unwrap_or_else(|| std::mem::take(&mut node.index));
        }
    }
}

fn intern(spans: &[Span]) -> (Vec<u32>, Vec<String>) {
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let mut labels: Vec<String> = Vec::new();
    let of = spans
        .iter()
        .map(|s| {
            *known.entry(s.label.as_str()).or_insert_with(|| {
                labels.push(s.label.to_string());
                labels.len() as u32 - 1
            })
        })
        .collect();
    (of, labels)
}

fn wakes(spans: &[Span]) -> (Vec<u32>, Vec<u32>) {
    let waker = |s: &Span| s.woken_by.filter(|w| (*w as usize) < spans.len());
    let mut from = vec![0u32; spans.len() + 2];
    for w in spans.iter().filter_map(waker) {
        from[w as usize + 2] += 1;
    }
    for i in 2..from.len() {
        from[i] += from[i - 1];
    }
    let mut woke = vec![0u32; from[from.len() - 1] as usize];
    for (i, s) in spans.iter().enumerate() {
        if let Some(w) = waker(s) {
            let place = &mut from[w as usize + 1];
            woke[*place as usize] = i as u32;
            *place += 1;
        }
    }
    from.pop();
    (woke, from)
}
