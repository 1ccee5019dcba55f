//! What stands in some of the lines of a file of our own.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use warpline_sim::timeline::{Mark, SourceLine, Span, What};

use super::super::naming;
use super::cursor::End;
use super::json::Event;
use super::rows::Named;
use super::{scan, ticks};

/// A slice as the general reader has it. Its times are in its arguments exactly, and what it is where its name does not
/// say it.
#[derive(Deserialize)]
struct Slice<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    cat: Cow<'a, str>,
    pid: u64,
    tid: u32,
    ts: f64,
    dur: f64,
    #[serde(borrow)]
    args: SliceArgs<'a>,
}

#[derive(Deserialize)]
struct SliceArgs<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    label: Cow<'a, str>,
    start_cycle: f64,
    cycles: f64,
    #[serde(borrow, default)]
    at: Cow<'a, str>,
    #[serde(borrow, default)]
    source: Cow<'a, str>,
    #[serde(default)]
    bytes: u64,
    woken_by: Option<u32>,
    started_by: Option<u32>,
    on: Option<u32>,
}

/// What stands in some of the lines. The row of a span is its thread's number in the file.
#[derive(Default)]
pub(super) struct Part {
    pub(super) spans: Vec<Span>,
    /// The process of each thread, so that one that is in two is seen.
    pub(super) process: FxHashMap<u32, u64>,
    pub(super) list: Vec<SourceLine>,
    pub(super) faults: Vec<Mark>,
    pub(super) names: Vec<(u64, u32, Named)>,
    /// How the last of the lines ends, if there are any.
    pub(super) end: Option<End>,
}

/// The same while it is read.
#[derive(Default)]
struct Reading<'a> {
    part: Part,
    sites: FxHashMap<(Cow<'a, str>, Cow<'a, str>), u32>,
}

impl Part {
    /// What stands in some lines, in the memory of a part that is done with.
    pub(super) fn read(lines: &[u8], mut spans: Vec<Span>) -> Option<Part> {
        spans.clear();
        let mut reading = Reading { part: Part { spans, ..Part::default() }, ..Reading::default() };
        let mut rest = std::str::from_utf8(lines).ok()?;
        while !rest.is_empty() {
            // Behind a line without a comma there is none.
            if reading.part.end == Some(End::Last) {
                return None;
            }
            let (end, behind) = reading.line(rest)?;
            (reading.part.end, rest) = (Some(end), behind);
        }
        Some(reading.part)
    }
}

impl<'a> Reading<'a> {
    /// Reads the first line of a text: how it ends, and what is behind it.
    fn line(&mut self, text: &'a str) -> Option<(End, &'a str)> {
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
        let (line, end) = line.strip_suffix(',').map_or((line, End::Last), |line| (line, End::Comma));
        self.general(line)?;
        Some((end, behind))
    }

    /// A line that is not just as it would be written, or that is one of a few.
    fn general(&mut self, line: &'a str) -> Option<()> {
        match line.strip_prefix(r#"{"ph":""#)?.get(..2)? {
            "X\"" => self.slice(serde_json::from_str(line).ok()?),
            // Flows and counters are made from the slices again.
            "s\"" | "f\"" | "C\"" => serde_json::from_str::<IgnoredAny>(line).is_ok().then_some(()),
            "M\"" => {
                let e: Event = serde_json::from_str(line).ok()?;
                if e.name.text() == Some("thread_name") {
                    let tid = u32::try_from(e.tid.whole()?).ok()?;
                    self.part.names.push((e.pid.whole()?, tid, Named::new(&e.args)));
                }
                Some(())
            }
            "i\"" => {
                let e: Event = serde_json::from_str(line).ok()?;
                let (at, text) = (e.args.at.text()?.to_string(), e.args.source.text().unwrap_or_default().to_string());
                let site = self.site(at.into(), text.into())?;
                let label = e.name.text()?.trim_start_matches("fault: ").to_string();
                self.part.faults.push(Mark { tick: ticks(e.args.start_cycle.number()?), label, site });
                Some(())
            }
            _ => None,
        }
    }

    fn slice(&mut self, e: Slice<'a>) -> Option<()> {
        self.process(e.tid, e.pid)?;
        let a = e.args;
        // As strictly as the others: what is wrong is told there.
        let sound = |at: f64, long: f64| at >= 0.0 && long >= 0.0 && at + long < 1e15;
        if !(sound(e.ts, e.dur) && sound(a.start_cycle, a.cycles)) {
            return None;
        }
        let (what, label): (What, &str) = match &a.kind {
            Some(kind) => (naming::class(&e.cat, kind)?, &a.label),
            None => naming::named(&e.cat, &e.name)?,
        };
        let site = if a.at.is_empty() { None } else { Some(self.site(a.at, a.source)?) };
        self.part.spans.push(Span {
            site,
            label: label.into(),
            woken_by: a.woken_by,
            started_by: a.started_by,
            on: a.on,
            bytes: a.bytes,
            ..Span::new(e.tid, (ticks(a.start_cycle), ticks(a.start_cycle + a.cycles)), what)
        });
        Some(())
    }

    /// Notes a thread's process; none where it is in another.
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
