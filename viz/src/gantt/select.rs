//! Selection and order of the rows and spans of a chart.

use std::collections::{BTreeMap, BTreeSet};

use warpline_sim::timeline::{Row, RowKind, TICKS, Timeline};
use warpline_sim::words;

use super::options::{GanttError, GanttOptions};
use crate::lanes;

/// Most lanes of a row; more overlapping spans share the last lane.
pub(crate) const MAX_LANES: u32 = 8;

/// An interval of time, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    pub(crate) fn new(t: &Timeline, options: &GanttOptions, tracks: &[Track<'_>]) -> Result<Window, GanttError> {
        let end = t.end.max(TICKS);
        let from = options.from.unwrap_or(0).saturating_mul(TICKS);
        // If later CTAs are left out, the window ends with the others.
        if let (None, Some(_)) = (options.to, options.ctas)
            && let Some(last) = last(t, tracks).filter(|last| from < *last)
        {
            return Ok(Window { from, to: last.min(end) });
        }
        let to = options.to.map_or(end, |to| to.saturating_mul(TICKS)).min(end);
        if from >= to {
            let cycles = |ticks: u64| ticks.div_ceil(TICKS);
            return Err(GanttError::Window {
                from: options.from.unwrap_or(0),
                to: options.to.unwrap_or(cycles(end)),
                end: cycles(end),
            });
        }
        Ok(Window { from, to })
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.to - self.from
    }
}

/// The tick after everything on these rows.
fn last(t: &Timeline, tracks: &[Track<'_>]) -> Option<u64> {
    let mut chosen = vec![false; t.rows.len()];
    tracks.iter().for_each(|track| chosen[track.index] = true);
    t.spans.iter().filter(|s| chosen.get(s.row as usize) == Some(&true)).map(|s| s.end).max()
}

/// Sections of a CTA, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Agents,
    Engines,
    Barriers,
    Slots,
}

impl Section {
    pub(crate) fn of(kind: &RowKind) -> Section {
        match kind {
            RowKind::Agent { .. } => Section::Agents,
            RowKind::Engine(_) => Section::Engines,
            RowKind::Barrier(_) => Section::Barriers,
            RowKind::Slot(_) => Section::Slots,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Section::Agents => "agents",
            Section::Engines => "engines",
            Section::Barriers => "barriers",
            Section::Slots => "slots",
        }
    }
}

/// A span in the picture, with its place among the spans of its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownSpan {
    pub(crate) span: u32,
    pub(crate) nth: usize,
}

/// Spans of a row that do not overlap (unless `piled`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) spans: Vec<ShownSpan>,
    pub(crate) piled: bool,
}

/// A row in the picture.
#[derive(Clone, Debug)]
pub(crate) struct Track<'t> {
    pub(crate) index: usize,
    pub(crate) row: &'t Row,
    pub(crate) section: Section,
    /// Role or section; consecutive rows of a group show it once.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) lanes: Vec<Lane>,
}

impl Track<'_> {
    /// Whether nothing happens on it in the window; waiting for others to end counts as nothing.
    pub(crate) fn idle(&self) -> bool {
        self.lanes.iter().all(|lane| lane.spans.is_empty())
    }
}

/// Numbers of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    /// Those to draw, if there is room.
    pub(crate) asked: usize,
    /// Those on which nothing happens in the window.
    pub(crate) idle: usize,
    /// Barriers and slots that stay as they are.
    pub(crate) still: usize,
    /// Further slots of buffers, where a CTA has very many.
    pub(crate) further: usize,
}

/// Most barriers of a CTA, and most slots, that are shown although they stay as they are in the window.
const MANY: usize = 12;

/// Most slots of a CTA of which all are shown; of more, the next constant is the number of each buffer.
const VERY_MANY: usize = 40;
const OF_BUFFER: usize = 4;

/// Leaves out rows without spans, unless no row has any. Of many barriers or slots of a CTA, those go too that stay as
/// they are in the window, and that no wait in it names. Of very many slots, the first of each buffer stay.
pub(crate) fn leave_out(t: &Timeline, window: Window, tracks: &mut Vec<Track<'_>>, chosen: bool) -> RowCounts {
    let all = tracks.len();
    if tracks.iter().any(|track| !track.idle()) {
        tracks.retain(|track| !track.idle());
    }
    let (busy, idle) = (tracks.len(), all - tracks.len());
    let spans = |track: &Track<'_>| track.lanes.iter().flat_map(|l| l.spans.clone()).collect::<Vec<_>>();
    let span = |s: &ShownSpan| &t.spans[s.span as usize];
    let waited: BTreeSet<u32> = tracks.iter().flat_map(spans).filter_map(|s| span(&s).on).collect();
    let mut of: BTreeMap<(u32, Section), usize> = BTreeMap::new();
    tracks.iter().for_each(|track| *of.entry((track.row.cta, track.section)).or_default() += 1);
    let still = |track: &Track<'_>| {
        let many = of.get(&(track.row.cta, track.section)).is_some_and(|n| *n > MANY);
        let state = matches!(track.section, Section::Barriers | Section::Slots);
        let since = |s: &ShownSpan| track.section == Section::Barriers || span(s).start <= window.from;
        let one = matches!(spans(track).as_slice(), [s] if since(s) && span(s).end >= window.to);
        many && state && one && !waited.contains(&(track.index as u32))
    };
    if !chosen {
        tracks.retain(|track| !still(track));
    }
    let still = busy - tracks.len();
    if !chosen {
        only_first_slots(tracks);
    }
    RowCounts { asked: tracks.len(), idle, still, further: busy - still - tracks.len() }
}

/// Keeps the first slots of each buffer of a CTA that has very many slots.
fn only_first_slots(tracks: &mut Vec<Track<'_>>) {
    let mut of_cta: BTreeMap<u32, usize> = BTreeMap::new();
    let slots = tracks.iter().filter(|track| track.section == Section::Slots);
    slots.for_each(|track| *of_cta.entry(track.row.cta).or_default() += 1);
    let mut of_buffer: BTreeMap<(u32, String), usize> = BTreeMap::new();
    tracks.retain(|track| {
        let cta = track.row.cta;
        if track.section != Section::Slots || of_cta.get(&cta).is_none_or(|n| *n <= VERY_MANY) {
            return true;
        }
        let buffer = track.name.split('[').next().unwrap_or_default().to_string();
        let nth = of_buffer.entry((cta, buffer)).or_default();
        *nth += 1;
        *nth <= OF_BUFFER
    });
}

/// The selected rows, grouped by CTA and section, without spans.
pub(crate) fn tracks<'t>(t: &'t Timeline, options: &GanttOptions) -> Result<Vec<Track<'t>>, GanttError> {
    let mut tracks: Vec<Track<'t>> = t
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| options.ctas.is_none_or(|n| row.cta < n))
        .filter(|(_, row)| options.rows.is_empty() || options.rows.iter().any(|word| matches(row, word)))
        .map(|(index, row)| {
            let (group, name) = labels(row);
            Track { index, row, section: Section::of(&row.kind), group, name, lanes: Vec::new() }
        })
        .collect();
    if tracks.is_empty() && !options.rows.is_empty() {
        let words: Vec<_> = options.rows.iter().map(|w| format!("`{w}`")).collect();
        return Err(GanttError::NoRows(words.join(", ")));
    }
    tracks.sort_by_key(|track| (track.row.cta, track.section));
    Ok(tracks)
}

/// Most CTAs that share the room; of more CTAs, the first are shown.
const FEW: usize = 4;

/// Which tracks remain if only some fit: the first ones, or for a few CTAs the first of each.
pub(crate) fn that_fit(tracks: &[Track<'_>], room: usize) -> Vec<bool> {
    let mut of: BTreeMap<u32, usize> = BTreeMap::new();
    for track in tracks {
        *of.entry(track.row.cta).or_default() += 1;
    }
    if of.len() > FEW {
        return (0..tracks.len()).map(|i| i < room).collect();
    }
    // One more of each in turn, while it has more.
    let turns = (0..tracks.len()).flat_map(|nth| of.iter().filter(move |(_, all)| nth < **all).map(|(cta, _)| *cta));
    let mut given: BTreeMap<u32, usize> = BTreeMap::new();
    turns.take(room).for_each(|cta| *given.entry(cta).or_default() += 1);
    let mut stays = |track: &Track<'_>| match given.get_mut(&track.row.cta) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    tracks.iter().map(&mut stays).collect()
}

fn matches(row: &Row, word: &str) -> bool {
    let word = word.trim().to_lowercase();
    let section = Section::of(&row.kind).name();
    let is_role = matches!(&row.kind, RowKind::Agent { role, .. } if role.to_lowercase() == word);
    let in_name = !word.is_empty() && row.name.to_lowercase().contains(&word);
    word == section || word == format!("cta {}", row.cta) || is_role || in_name
}

/// Group and name; a name that repeats the group loses that part.
fn labels(row: &Row) -> (String, String) {
    let group = match &row.kind {
        RowKind::Agent { role, .. } => role.clone(),
        kind => Section::of(kind).name().to_owned(),
    };
    let rest = row.name.strip_prefix(&group).map(str::trim_start).filter(|rest| !rest.is_empty());
    let name = match (&row.kind, rest) {
        (_, Some(rest)) => rest.to_owned(),
        (RowKind::Engine(e), None) if row.name.is_empty() => words::engine(*e).to_owned(),
        _ => row.name.clone(),
    };
    (group, name)
}

/// Gives tracks the spans of the window, in lanes.
pub(crate) fn place(t: &Timeline, window: Window, tracks: &mut [Track<'_>]) -> Result<(), GanttError> {
    let mut rows: Vec<Vec<ShownSpan>> = vec![Vec::new(); t.rows.len()];
    let mut counts = vec![0usize; t.rows.len()];
    for (i, span) in t.spans.iter().enumerate() {
        let row = span.row as usize;
        let (Some(shown), Some(count)) = (rows.get_mut(row), counts.get_mut(row)) else {
            return Err(GanttError::BadRow { span: i, row: span.row, rows: t.rows.len() });
        };
        if span.start < window.to && span.end > window.from && span.start < span.end {
            shown.push(ShownSpan { span: i as u32, nth: *count });
        }
        *count += 1;
    }
    for track in tracks {
        let mut spans = std::mem::take(&mut rows[track.index]);
        spans.sort_by_key(|s| (t.spans[s.span as usize].start, s.span));
        let times: Vec<_> = spans.iter().map(|s| &t.spans[s.span as usize]).map(|s| (s.start, s.end)).collect();
        let of = lanes::assign(&times, MAX_LANES);
        let count = of.iter().max().map_or(1, |&last| last as usize + 1);
        track.lanes = vec![Lane::default(); count];
        let mut ends = vec![0; count];
        for ((&lane, shown), (start, end)) in of.iter().zip(spans).zip(times) {
            let into = &mut track.lanes[lane as usize];
            into.piled |= start < ends[lane as usize];
            ends[lane as usize] = end.max(ends[lane as usize]);
            into.spans.push(shown);
        }
    }
    Ok(())
}
