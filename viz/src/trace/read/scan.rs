//! Scans lines exactly as [`super::super::chrome`] writes them, with fields in that order. A general JSON reader
//! looks up each key, which for a million lines is most of the time.

use warpline_sim::timeline::SpanKind;

use super::super::naming;
use super::cursor::{Cursor, LineEnd};

/// A slice whose texts have no escapes and whose times are whole ticks.
pub(super) struct Scanned<'a> {
    pub(super) what: SpanKind,
    pub(super) label: &'a str,
    pub(super) pid: u64,
    pub(super) tid: u32,
    /// First tick, and the one after the last.
    pub(super) ticks: (u64, u64),
    pub(super) at: &'a str,
    pub(super) source: &'a str,
    pub(super) bytes: u64,
    pub(super) woken_by: Option<u32>,
    pub(super) started_by: Option<u32>,
    pub(super) on: Option<u32>,
}

/// The slice on the first line of a text, if it is exactly as written, with the end of the line and the text after
/// it.
pub(super) fn slice(text: &str) -> Option<(Scanned<'_>, LineEnd, &str)> {
    let mut s = Cursor::new(text);
    s.skip(r#"{"ph":"X","name":""#)?;
    let name = s.text()?;
    s.skip(r#","cat":""#)?;
    let cat = s.text()?;
    s.skip(r#","pid":"#)?;
    let pid = s.whole()?;
    s.skip(r#","tid":"#)?;
    let tid = s.whole()?;
    // Only their form is checked: the arguments have exact times.
    s.skip(r#","ts":"#)?;
    s.short()?;
    s.skip(r#","dur":"#)?;
    s.short()?;
    s.skip(r#","args":{""#)?;
    let (what, label) = if s.has(r#"kind":""#) {
        let kind = s.text()?;
        let label = s.word(r#","label":""#)?;
        s.skip(r#",""#)?;
        (naming::class(cat, kind)?, label)
    } else {
        naming::named(cat, name)?
    };
    s.skip(r#"start_cycle":"#)?;
    let start = s.ticks()?;
    s.skip(r#","cycles":"#)?;
    let ticks = (start, start + s.ticks()?);
    let at = s.word(r#","at":""#)?;
    let source = s.word(r#","source":""#)?;
    let bytes = if s.has(r#","bytes":"#) { s.whole()? } else { 0 };
    let woken_by = s.optional(r#","woken_by":"#)?;
    let started_by = s.optional(r#","started_by":"#)?;
    let on = s.optional(r#","on":"#)?;
    s.skip("}}")?;
    let (end, behind) = s.end()?;
    Some((Scanned { what, label, pid, tid, ticks, at, source, bytes, woken_by, started_by, on }, end, behind))
}

/// The end of the first line and the text after it. `None` unless the line is an end of a flow or a value of a counter,
/// as written here. Both are computed from the slices again.
pub(super) fn made_again(text: &str) -> Option<(LineEnd, &str)> {
    let mut s = Cursor::new(text);
    s.skip(r#"{"ph":""#)?;
    if s.has(r#"C","name":""#) {
        s.text()?;
        for key in [r#","pid":"#, r#","ts":"#, r#","args":{"value":"#] {
            s.skip(key)?;
            s.short()?;
        }
        s.skip("}}")?;
    } else {
        if !s.has(r#"s","name":""#) {
            s.skip(r#"f","name":""#)?;
        }
        s.text()?;
        s.skip(r#","cat":""#)?;
        s.text()?;
        for key in [r#","pid":"#, r#","tid":"#, r#","ts":"#, r#","id":"#] {
            s.skip(key)?;
            s.short()?;
        }
        let _ = s.has(r#","bp":"e""#);
        s.skip("}")?;
    }
    s.end()
}

#[cfg(test)]
mod tests {
    use super::LineEnd;

    #[test]
    fn nothing_stands_behind_what_is_made_again() {
        let flow = r#"{"ph":"s","name":"wakes","cat":"wake","pid":0,"tid":1,"ts":2.5,"id":7}"#;
        let counter = r#"{"ph":"C","name":"bytes in flight","pid":0,"ts":3,"args":{"value":4}}"#;
        for line in [flow, counter] {
            assert_eq!(super::made_again(line), Some((LineEnd::Last, "")), "{line}");
            assert_eq!(super::made_again(&format!("{line}\n")), Some((LineEnd::Last, "")), "{line}");
            assert_eq!(super::made_again(&format!("{line},\nx")), Some((LineEnd::Comma, "x")), "{line}");
            for behind in ["}", ",", ", ", " ", "\r\n"] {
                assert_eq!(super::made_again(&format!("{line}{behind}")), None, "{line}");
            }
        }
    }
}
