//! Reads some of the lines of our own file.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use warpline_sim::timeline::{Mark, SourceLine, Span, SpanKind};

use super::super::naming;
use super::cursor::LineEnd;
use super::json::{Any, Args, Event};
use super::rows::Named;
use super::{scan, ticks};

/// The content of some lines. The row of a span is its thread's number in the file.
#[derive(Default)]
pub(super) struct Part {
    pub(super) spans: Vec<Span>,
    /// The process of each thread, to detect a thread in two processes.
    pub(super) process: FxHashMap<u32, u64>,
    pub(super) list: Vec<SourceLine>,
    pub(super) faults: Vec<Mark>,
    pub(super) names: Vec<(u64, u32, Named)>,
    /// The end of the last of the lines, if there are any.
    pub(super) end: Option<LineEnd>,
}

/// State while reading.
#[derive(Default)]
struct PartState<'a> {
    part: Part,
    sites: FxHashMap<(Cow<'a, str>, Cow<'a, str>), u32>,
}

impl Part {
    /// Reads lines into the memory of an earlier part.
    pub(super) fn read(lines: &[u8], mut spans: Vec<Span>) -> Option<Part> {
        spans.clear();
        let mut reading = PartState { part: Part { spans, ..Part::default() }, ..PartState::default() };
        let mut rest = std::str::from_utf8(lines).ok()?;
        while !rest.is_empty() {
            // No line follows a line without a comma.
            if reading.part.end == Some(LineEnd::Last) {
                return None;
            }
            let (end, behind) = reading.line(rest)?;
            (reading.part.end, rest) = (Some(end), behind);
        }
        Some(reading.part)
    }
}

impl<'a> PartState<'a> {
    /// Reads the first line of a text. Returns its end, and the text after it.
    fn line(&mut self, text: &'a str) -> Option<(LineEnd, &'a str)> {
        if let Some((s, end, behind)) = scan::slice(text) {
            self.process(s.tid, s.pid)?;
            let site = if s.at.is_empty() { None } else { Some(self.site(s.at.into(), s.source.into())?) };
            self.part.spans.push(Span {
                row: s.tid,
                start: s.ticks.0,
                end: s.ticks.1,
                what: s.what,
                site,
                label: s.label.into(),
                woken_by: s.woken_by,
                started_by: s.started_by,
                on: s.on,
                bytes: s.bytes,
            });
            return Some((end, behind));
        }
        if let Some(made_again) = scan::made_again(text) {
            return Some(made_again);
        }
        let to = memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
        let behind = text.get(to + 1..).unwrap_or_default();
        let line = text[..to].strip_suffix('\r').unwrap_or(&text[..to]);
        let (line, end) = line.strip_suffix(',').map_or((line, LineEnd::Last), |line| (line, LineEnd::Comma));
        self.general(line)?;
        Some((end, behind))
    }

    /// Reads a line that is not exactly as written, or of a rare kind. It is parsed as the general reader does, so
    /// what that refuses, such as a repeated field, is refused.
    fn general(&mut self, line: &'a str) -> Option<()> {
        let e: Event = serde_json::from_str(line).ok()?;
        match e.ph.text()? {
            "X" => self.slice(e),
            // Flows and counters are computed from the slices again.
            "s" | "f" | "C" => Some(()),
            "M" => {
                if e.name.text() == Some("thread_name") {
                    let tid = u32::try_from(e.tid.whole()?).ok()?;
                    self.part.names.push((e.pid.whole()?, tid, Named::new(&e.args)));
                }
                Some(())
            }
            "i" if e.cat.text() == Some("fault") => {
                let tick = ticks(e.args.start_cycle.number()?);
                let label = e.name.text()?.trim_start_matches("fault: ").to_string();
                let site = self.site_of(e.args)??;
                self.part.faults.push(Mark { tick, label, site });
                Some(())
            }
            _ => None,
        }
    }

    fn slice(&mut self, e: Event<'a>) -> Option<()> {
        let (tid, a) = (u32::try_from(e.tid.whole()?).ok()?, e.args);
        self.process(tid, e.pid.whole()?)?;
        // As strict as the general reader, which reports what is wrong.
        let time = |at: &Any, long: &Any| {
            let (at, long) = (at.number()?, long.number()?);
            (at >= 0.0 && long >= 0.0 && at + long < 1e15).then_some((at, at + long))
        };
        time(&e.ts, &e.dur)?;
        let (start, end) = time(&a.start_cycle, &a.cycles)?;
        let (cat, name) = (e.cat.text()?, e.name.text()?);
        let (what, label): (SpanKind, &str) = match a.kind.text() {
            Some(kind) => (naming::class(cat, kind)?, a.label.text().unwrap_or_default()),
            None => naming::named(cat, name)?,
        };
        let index = |any: &Any| any.whole().and_then(|n| u32::try_from(n).ok());
        let span = Span {
            label: label.into(),
            woken_by: index(&a.woken_by),
            started_by: index(&a.started_by),
            on: index(&a.on),
            bytes: a.bytes.whole().unwrap_or(0),
            ..Span::new(tid, (ticks(start), ticks(end)), what)
        };
        let site = self.site_of(a)?;
        self.part.spans.push(Span { site, ..span });
        Some(())
    }

    /// The statement that arguments name; `Some(None)` without one, `None` if it is no place.
    fn site_of(&mut self, args: Args<'a>) -> Option<Option<u32>> {
        match args.at {
            Any::Text(at) if !at.is_empty() => {
                let text = if let Any::Text(text) = args.source { text } else { Cow::default() };
                self.site(at, text).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Records a thread's process; `None` if it is in another one.
    fn process(&mut self, tid: u32, pid: u64) -> Option<()> {
        (*self.part.process.entry(tid).or_insert(pid) == pid).then_some(())
    }

    fn site(&mut self, at: Cow<'a, str>, text: Cow<'a, str>) -> Option<u32> {
        if let Some(site) = self.sites.get(&(Cow::Borrowed(&*at), Cow::Borrowed(&*text))) {
            return Some(*site);
        }
        let (file, line) = at.rsplit_once(':')?;
        let site = SourceLine { file: file.to_string(), line: line.parse().ok()?, text: text.to_string() };
        self.part.list.push(site);
        let number = self.part.list.len() as u32 - 1;
        self.sites.insert((at, text), number);
        Some(number)
    }
}
