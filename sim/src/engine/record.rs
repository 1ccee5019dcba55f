//! The timeline of a run, written while the run proceeds.

use std::collections::BTreeMap;

use crate::ir::Program;
use crate::protocol::{AgentInfo, Footprint, PART};
use crate::schedule::Move;
use crate::timeline::{Engine, Row, RowKind, ScheduledMove, SourceLine, Span, SpanKind, Timeline};

/// Identity of a row before it has its final place: rows are ordered by CTA, then kind, then index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowKey {
    /// Index of an agent in the cluster.
    Agent(u32),
    /// An asynchronous engine.
    Engine(Engine),
    /// A slot of a buffer.
    Slot(u16, u32),
    /// Index of an mbarrier in the world.
    Barrier(u32),
}

/// The relations of a span to other spans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    pub(super) woken_by: Option<u32>,
    pub(super) started_by: Option<u32>,
    pub(super) on: Option<u32>,
    pub(super) bytes: u64,
}

/// A timeline under construction.
pub(super) struct Recorder<'p> {
    prog: &'p Program,
    limit: usize,
    rows: BTreeMap<(u32, RowKey), u32>,
    kinds: Vec<(u32, RowKey, Row)>,
    spans: Vec<Span>,
    truncated: Option<u64>,
    /// The last span of each slot or barrier row that is still open.
    open: BTreeMap<u32, u32>,
    moves: Vec<ScheduledMove>,
}

impl<'p> Recorder<'p> {
    /// A recorder for at most `limit` spans.
    pub(super) fn new(prog: &'p Program, limit: usize) -> Self {
        Recorder {
            prog,
            limit,
            rows: BTreeMap::new(),
            kinds: Vec::new(),
            spans: Vec::new(),
            truncated: None,
            open: BTreeMap::new(),
            moves: Vec::new(),
        }
    }

    fn row(&mut self, cta: u32, key: RowKey, make: impl FnOnce() -> (String, RowKind)) -> u32 {
        let next = self.kinds.len() as u32;
        let id = *self.rows.entry((cta, key)).or_insert(next);
        if id == next {
            let (name, kind) = make();
            self.kinds.push((cta, key, Row { name, cta, kind }));
        }
        id
    }

    /// Whether later spans are left out.
    pub(super) fn is_full(&self) -> bool {
        self.spans.len() >= self.limit
    }

    /// The row of an agent.
    pub(super) fn agent(&mut self, cta: u32, index: u32, who: AgentInfo) -> u32 {
        let role = self.prog.role_of(who.warp).map_or("warp".to_string(), |r| r.name.clone());
        let name = match who.lanes {
            Some(crate::timeline::Lanes::Elected) => format!("{role} w{} elected", who.warp),
            Some(crate::timeline::Lanes::Rest) => format!("{role} w{} rest", who.warp),
            None => format!("{role} w{}", who.warp),
        };
        self.row(cta, RowKey::Agent(index), || (name, RowKind::Agent { role, warp: who.warp, lanes: who.lanes }))
    }

    /// Records a move of the schedule that the run follows.
    pub(super) fn made(&mut self, cta: u32, who: AgentInfo, m: Move, tick: u64) {
        let row = self.agent(cta, m.agent, who);
        self.moves.push(ScheduledMove { tick, row, site: m.site, act: m.act });
    }

    /// The row of an engine.
    pub(super) fn engine(&mut self, cta: u32, engine: Engine) -> u32 {
        let name = match engine {
            Engine::Loads => "loads in flight",
            Engine::Copy => "copy engine",
            Engine::Tensor => "tensor pipe",
        };
        self.row(cta, RowKey::Engine(engine), || (name.to_string(), RowKind::Engine(engine)))
    }

    /// Adds a span. Returns its index, or `None` at the limit.
    pub(super) fn span(
        &mut self,
        row: u32,
        (start, end): (u64, u64),
        what: SpanKind,
        site: Option<u32>,
        label: String,
        links: Links,
    ) -> Option<u32> {
        if end <= start {
            return None;
        }
        if self.is_full() {
            self.truncated = Some(self.truncated.map_or(start, |t| t.min(start)));
            return None;
        }
        let Links { woken_by, started_by, on, bytes } = links;
        self.spans.push(Span { row, start, end, what, site, label: label.into(), woken_by, started_by, on, bytes });
        Some((self.spans.len() - 1) as u32)
    }

    /// The end of the span that ends last, apart from those that are open.
    pub(super) fn upto(&self) -> u64 {
        self.spans.iter().map(|s| s.end).filter(|end| *end < u64::MAX).max().unwrap_or(0)
    }

    /// The span that ends last.
    pub(super) fn latest(&self, of: impl Iterator<Item = Option<u32>>) -> Option<u32> {
        of.flatten().max_by_key(|i| (self.spans[*i as usize].end, std::cmp::Reverse(*i)))
    }

    /// A slot starts to receive a tile, and holds it from tick `full` on.
    pub(super) fn fill(&mut self, cta: u32, footprint: &Footprint, tile: String, now: u64, full: u64, site: u32) {
        let o = &self.prog.objects[footprint.obj as usize];
        let name = if o.slots > 1 { format!("{}[{}]", o.name, footprint.slot) } else { o.name.clone() };
        let row = self.row(cta, RowKey::Slot(footprint.obj, footprint.slot), || (name.clone(), RowKind::Slot(name)));
        // Warps that share a tile fill it together, and so do parts of it: the first one opens the span, the last one ends the
        // filling.
        if let Some(&last) = self.open.get(&row) {
            let s = &mut self.spans[last as usize];
            if whole(&s.label) == whole(&tile) && s.start >= now {
                s.start = s.start.max(full);
                let start = s.start;
                let of_parts = (s.label != tile).then(|| whole(&tile).to_string());
                let filling = last.checked_sub(1).filter(|i| self.spans[*i as usize].row == row);
                if let Some(before) = filling {
                    self.spans[before as usize].end = start;
                }
                for i in [Some(last), filling].into_iter().flatten() {
                    if let Some(name) = &of_parts {
                        self.spans[i as usize].label = name.clone().into();
                    }
                }
                return;
            }
            s.end = now.max(s.start);
        }
        if self
            .span(row, (now, full), SpanKind::Hold { filling: true }, Some(site), tile.clone(), Links::default())
            .is_some()
            && let Some(i) =
                self.span(row, (full, u64::MAX), SpanKind::Hold { filling: false }, Some(site), tile, Links::default())
        {
            self.open.insert(row, i);
        }
    }

    /// The row of an mbarrier's phases.
    pub(super) fn barrier(&mut self, cta: u32, index: u32, name: &str) -> u32 {
        self.row(cta, RowKey::Barrier(index), || (name.to_string(), RowKind::Barrier(name.to_string())))
    }

    /// A phase of an mbarrier starts.
    pub(super) fn phase(&mut self, cta: u32, index: u32, name: &str, phase: u32, now: u64) {
        let row = self.barrier(cta, index, name);
        if let Some(last) = self.open.remove(&row) {
            self.spans[last as usize].end = now;
        }
        if let Some(i) = self.span(
            row,
            (now, u64::MAX),
            SpanKind::Hold { filling: false },
            None,
            format!("φ{phase}"),
            Links::default(),
        ) {
            self.open.insert(row, i);
        }
    }

    /// Ends the open spans of a CTA's slots and barriers.
    pub(super) fn close(&mut self, cta: u32, now: u64) {
        let rows: Vec<u32> = self.open.keys().copied().filter(|r| self.kinds[*r as usize].0 == cta).collect();
        for r in rows {
            if let Some(i) = self.open.remove(&r) {
                let s = &mut self.spans[i as usize];
                s.end = now.max(s.start);
            }
        }
    }

    /// Ends the record at this tick: open spans are drawn up to it.
    pub(super) fn cut(&mut self, end: u64) {
        for s in &mut self.spans {
            s.end = s.end.min(end).max(s.start);
        }
    }

    /// The finished timeline; the caller sets its titles.
    pub(super) fn finish(mut self, end: u64) -> Timeline {
        for i in std::mem::take(&mut self.open).into_values() {
            let s = &mut self.spans[i as usize];
            s.end = end.max(s.start);
        }
        let mut order: Vec<usize> = (0..self.kinds.len()).collect();
        order.sort_by_key(|&i| (self.kinds[i].0, self.kinds[i].1));
        let mut place = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new as u32;
        }
        let rows = order.iter().map(|&i| self.kinds[i].2.clone()).collect();
        let all = self.spans.len();
        let mut spans: Vec<(usize, Span)> = self
            .spans
            .into_iter()
            .enumerate()
            .map(|(i, mut s)| {
                s.row = place[s.row as usize];
                (i, s)
            })
            .filter(|(_, s)| s.end > s.start)
            .collect();
        spans.sort_unstable_by_key(|(i, s)| (s.start, s.row, s.end, *i));
        let mut moved: Vec<Option<u32>> = vec![None; all];
        for (new, (old, _)) in spans.iter().enumerate() {
            moved[*old] = Some(new as u32);
        }
        let spans = spans
            .into_iter()
            .map(|(_, mut s)| {
                s.woken_by = s.woken_by.and_then(|w| moved[w as usize]);
                s.started_by = s.started_by.and_then(|w| moved[w as usize]);
                s.on = s.on.map(|row| place[row as usize]);
                s
            })
            .collect();
        let sites = self
            .prog
            .sites
            .iter()
            .map(|s| SourceLine { file: s.file.clone(), line: s.line, text: s.text.clone() })
            .collect();
        let moves = self.moves.into_iter().map(|m| ScheduledMove { row: place[m.row as usize], ..m }).collect();
        Timeline { rows, spans, moves, sites, end, truncated_at: self.truncated, ..Timeline::default() }
    }
}

/// The name of a tile without the part of it: `A[0, 1]` of `A[0, 1] from row 64, column 0`.
fn whole(tile: &str) -> &str {
    tile.split(PART).next().unwrap_or(tile)
}
