//! The fast reader for our own files: one event on each line, as [`super::super::chrome`] writes them. All cores
//! read, one part of the file at a time, so the file need not be in memory as a whole.
//!
//! A line break cannot be inside a string of JSON, so lines can be read independently. A file that differs in any way
//! from what we write is read by the general reader, with the same result.

use std::io;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use warpline_sim::timeline::{Mark, SourceLine, Span, Timeline};

use super::cursor::LineEnd;
use super::json::About;
use super::part::Part;
use super::rows::{Key, Named, Rows, Thread};
use super::source::{Source, lines, tail};
use super::{Read, build};

/// The first line, closed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    other_data: About<'a>,
    trace_events: Vec<IgnoredAny>,
}

/// Bytes of a part, few enough for a core's cache.
const PART: u64 = 1 << 18;

/// Reads a file that is exactly as we write it; `None` for other files.
pub(super) fn read(source: &(impl Source + ?Sized)) -> io::Result<Option<Read>> {
    let mut buffer = Vec::new();
    if source.length() == 0 {
        return Ok(None);
    }
    let head = lines(source, 0..1, &mut buffer)?;
    let from = head.len() as u64;
    let text = std::str::from_utf8(head).ok().map(|head| format!("{}]}}", head.trim_end()));
    let Some(head) = text.as_ref().and_then(|text| serde_json::from_str::<Head>(text).ok()) else { return Ok(None) };
    // The lines after it are events.
    let begins =
        text.as_ref().is_some_and(|text| text.ends_with(r#""traceEvents":[]}"#)) && head.trace_events.is_empty();
    if !begins || head.other_data.producer.text() != Some("warpline") {
        return Ok(None);
    }
    let Some(to) = tail(source, b"]}")? else { return Ok(None) };
    let starts: Vec<u64> = (from..to.max(from)).step_by(PART as usize).collect();
    let fill = |room: &mut PartBuffers, at: u64| {
        let spans = std::mem::take(&mut room.part.spans);
        let part = Part::read(lines(source, at..(at + PART).min(to), &mut room.buffer)?, spans);
        Ok(part.map(|part| room.part = part))
    };
    // Several parts at a time, in reused buffers, because fresh pages cost more than reading into them. Meanwhile the
    // parts of the previous turn are appended.
    let (mut rooms, mut before) = (Vec::<PartBuffers>::new(), Vec::<PartBuffers>::new());
    let mut whole = Whole { t: build::timeline(&head.other_data, true, None), ..Whole::default() };
    for starts in starts.chunks(16 * rayon::current_num_threads()) {
        rooms.resize_with(starts.len(), PartBuffers::default);
        let read =
            || rooms.par_iter_mut().zip(starts).map(|(room, at)| fill(room, *at)).collect::<io::Result<Option<()>>>();
        let (read, added) = rayon::join(read, || whole.add(&mut before));
        if read?.and(added).is_none() {
            return Ok(None);
        }
        std::mem::swap(&mut rooms, &mut before);
    }
    Ok(whole.add(&mut before).and_then(|()| whole.read()))
}

/// Buffers for one part.
#[derive(Default)]
struct PartBuffers {
    buffer: Vec<u8>,
    part: Part,
}

/// The parts so far, appended.
#[derive(Default)]
struct Whole {
    t: Timeline,
    spans: Vec<Span>,
    sites: FxHashMap<SourceLine, u32>,
    /// For each part: where its spans end, and the global numbers of its statements.
    sites_of: Vec<(usize, Vec<u32>)>,
    threads: Vec<Thread<'static>>,
    names: FxHashMap<u32, Named>,
    /// For each thread's number in the file: its index, and its process.
    number: FxHashMap<u32, (u32, u64)>,
    processes: FxHashMap<u32, u64>,
    /// The end of the last line, if there are lines.
    end: Option<LineEnd>,
}

impl Whole {
    /// Appends parts in order and returns their memory. `None` if they contradict each other.
    fn add(&mut self, rooms: &mut [PartBuffers]) -> Option<()> {
        for part in rooms.iter_mut().map(|room| &mut room.part) {
            let of: Vec<u32> = part.list.drain(..).map(|s| intern(&mut self.sites, &mut self.t, s)).collect();
            self.spans.append(&mut part.spans);
            self.t.faults.extend(part.faults.drain(..).map(|f| Mark { site: of[f.site as usize], ..f }));
            for (pid, tid, named) in part.names.drain(..) {
                let n = self.threads.len() as u32;
                self.threads.push(Thread { pid: Key::Number(pid), tid: Key::Number(u64::from(tid)) });
                self.names.insert(n, named);
                if self.number.insert(tid, (n, pid)).is_some() {
                    return None;
                }
            }
            for (tid, pid) in part.process.drain() {
                if *self.processes.entry(tid).or_insert(pid) != pid {
                    return None;
                }
            }
            self.sites_of.push((self.spans.len(), of));
            if part.end.is_some() {
                // Only the last line has no comma.
                if self.end == Some(LineEnd::Last) {
                    return None;
                }
                self.end = part.end;
            }
        }
        Some(())
    }

    /// The whole, if it is as we would write it.
    fn read(mut self) -> Option<Read> {
        if self.end == Some(LineEnd::Comma) {
            return None;
        }
        // Every thread has a name, in the process that its name states.
        if self.processes.iter().any(|(tid, pid)| self.number.get(tid).is_none_or(|n| n.1 != *pid)) {
            return None;
        }
        let none = FxHashMap::default();
        let mut rows = Rows::new(self.t, &self.threads, &self.names, &none);
        rows.all_named();
        let row: FxHashMap<u32, u32> = self.number.into_iter().map(|(tid, (n, _))| (tid, rows.of(n))).collect();
        let (mut rest, mut from) = (&mut self.spans[..], 0);
        let parts: Vec<(&mut [Span], &[u32])> = self
            .sites_of
            .iter()
            .map(|(to, of)| {
                let (part, behind) = std::mem::take(&mut rest).split_at_mut(to - from);
                (rest, from) = (behind, *to);
                (part, &of[..])
            })
            .collect();
        parts.into_par_iter().try_for_each(|(part, of)| {
            part.iter_mut().try_for_each(|s| {
                s.site = s.site.map(|i| of[i as usize]);
                s.row = *row.get(&s.row)?;
                Some(())
            })
        })?;
        let mut t = rows.timeline();
        t.spans = build::in_order(self.spans);
        Some(Read { timeline: t, left_out: 0 })
    }
}

fn intern(sites: &mut FxHashMap<SourceLine, u32>, t: &mut Timeline, site: SourceLine) -> u32 {
    *sites.entry(site).or_insert_with_key(|site| {
        t.sites.push(site.clone());
        t.sites.len() as u32 - 1
    })
}
