//! A slice on a line just as [`super::super::chrome`] writes it, its fields in that order. A general reader of JSON asks of each
//! key which one it is; of a million lines that is most of the time.

use std::borrow::Cow;

use super::own::{Slice, SliceArgs};

struct Scan<'a>(&'a str);

impl<'a> Scan<'a> {
    fn skip(&mut self, what: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(what)?;
        Some(())
    }

    /// What is not there is left out.
    fn has(&mut self, what: &str) -> bool {
        self.skip(what).is_some()
    }

    fn take(&mut self, n: usize) -> Option<&'a str> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// Up to the next quote; one with escapes is for the general reader.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.bytes().position(|b| b == b'"' || b == b'\\' || b < b' ')?;
        let text = self.take(end)?;
        self.skip("\"")?;
        Some(text)
    }

    fn digits(&self) -> Option<usize> {
        let n = self.0.bytes().position(|b| !b.is_ascii_digit())?;
        // As JSON has it: none begins with a zero but zero.
        (n > 0 && (n == 1 || !self.0.starts_with('0'))).then_some(n)
    }

    fn whole<T: std::str::FromStr>(&mut self) -> Option<T> {
        let n = self.digits()?;
        self.take(n)?.parse().ok()
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.0;
        let n = self.digits()?;
        self.take(n)?;
        if self.has(".") {
            let n = self.0.bytes().position(|b| !b.is_ascii_digit()).filter(|n| *n > 0)?;
            self.take(n)?;
        }
        start[..start.len() - self.0.len()].parse().ok()
    }

    fn optional(&mut self, key: &str) -> Option<Option<u32>> {
        if self.has(key) { self.whole().map(Some) } else { Some(None) }
    }

    fn word(&mut self, key: &str) -> Option<Cow<'a, str>> {
        Some(Cow::Borrowed(if self.has(key) { self.text()? } else { "" }))
    }
}

/// The slice on a line, if it is as it would be written.
pub(super) fn slice(line: &str) -> Option<Slice<'_>> {
    let mut s = Scan(line);
    s.skip(r#"{"ph":"X","name":""#)?;
    s.text()?;
    s.skip(r#","cat":""#)?;
    let cat = Cow::Borrowed(s.text()?);
    s.skip(r#","pid":"#)?;
    let pid = s.whole()?;
    s.skip(r#","tid":"#)?;
    let tid = s.whole()?;
    s.skip(r#","ts":"#)?;
    let ts = s.number()?;
    s.skip(r#","dur":"#)?;
    let dur = s.number()?;
    s.skip(r#","args":{"kind":""#)?;
    let kind = Cow::Borrowed(s.text()?);
    let label = s.word(r#","label":""#)?;
    s.skip(r#","start_cycle":"#)?;
    let start_cycle = s.number()?;
    s.skip(r#","cycles":"#)?;
    let cycles = s.number()?;
    let at = s.word(r#","at":""#)?;
    let source = s.word(r#","source":""#)?;
    let bytes = if s.has(r#","bytes":"#) { s.whole()? } else { 0 };
    let woken_by = s.optional(r#","woken_by":"#)?;
    let started_by = s.optional(r#","started_by":"#)?;
    let on = s.optional(r#","on":"#)?;
    let args = SliceArgs { kind, label, start_cycle, cycles, at, source, bytes, woken_by, started_by, on };
    (s.0 == "}}").then_some(Slice { cat, pid, tid, ts, dur, args })
}
