//! Lines just as [`super::super::chrome`] writes them, their fields in that order. A general reader of JSON asks of each key
//! which one it is; of a million lines that is most of the time.

use std::borrow::Cow;

use super::own::{Slice, SliceArgs};

/// The rest of a line without escapes and control characters.
struct Scan<'a>(&'a str);

impl<'a> Scan<'a> {
    /// None of a line that is for the general reader.
    fn new(line: &'a str) -> Option<Scan<'a>> {
        // All of it, so that many bytes are looked at in one go.
        let other = line.bytes().fold(false, |other, b| other | (b < b' ') | (b == b'\\'));
        (!other).then_some(Scan(line))
    }

    fn skip(&mut self, what: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(what)?;
        Some(())
    }

    /// What is not there is left out.
    fn has(&mut self, what: &str) -> bool {
        self.skip(what).is_some()
    }

    /// Up to the next quote.
    fn text(&mut self) -> Option<&'a str> {
        let (text, rest) = self.0.split_at_checked(memchr::memchr(b'"', self.0.as_bytes())?)?;
        self.0 = rest.get(1..)?;
        Some(text)
    }

    /// Digits added to a number, and how many there are.
    fn digits(&mut self, onto: &mut u64) -> usize {
        let bytes = self.0.as_bytes();
        let (mut n, mut value) = (0, *onto);
        while let Some(digit) = bytes.get(n).map(|b| b.wrapping_sub(b'0')).filter(|d| *d <= 9) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            n += 1;
        }
        *onto = value;
        self.0 = &self.0[n..];
        n
    }

    /// Digits before a point. As JSON has it, none begins with a zero but zero.
    fn before_point(&mut self, onto: &mut u64) -> Option<usize> {
        let zero = self.0.starts_with('0');
        let n = self.digits(onto);
        (n > 0 && (n == 1 || !zero)).then_some(n)
    }

    fn whole<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let mut value = 0;
        // So many cannot be too large.
        let n = self.before_point(&mut value)?;
        if n < 19 { value.try_into().ok() } else { None }
    }

    fn number(&mut self) -> Option<f64> {
        /// Powers of ten that are exact.
        const TENS: [f64; 9] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
        let (start, mut value) = (self.0, 0);
        let before = self.before_point(&mut value)?;
        let behind = if self.has(".") { self.digits(&mut value) } else { 0 };
        if behind == 0 && start[..start.len() - self.0.len()].ends_with('.') {
            return None;
        }
        match TENS.get(behind) {
            // Both are exact, so their quotient is the nearest there is.
            Some(ten) if before + behind < 16 => Some(value as f64 / ten),
            _ => start[..start.len() - self.0.len()].parse().ok(),
        }
    }

    /// A number of which only its sort is asked: below 10^14, so that two of them are a time.
    fn short(&mut self) -> Option<()> {
        let mut unread = 0;
        let before = self.before_point(&mut unread)?;
        let sound = before < 15 && (!self.has(".") || self.digits(&mut unread) > 0);
        sound.then_some(())
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
    let mut s = Scan::new(line)?;
    s.skip(r#"{"ph":"X","name":""#)?;
    s.text()?;
    s.skip(r#","cat":""#)?;
    let cat = Cow::Borrowed(s.text()?);
    s.skip(r#","pid":"#)?;
    let pid = s.whole()?;
    s.skip(r#","tid":"#)?;
    let tid = s.whole()?;
    // That they are times is all that is asked of them: the arguments have them exactly.
    s.skip(r#","ts":"#)?;
    s.short()?;
    s.skip(r#","dur":"#)?;
    s.short()?;
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
    (s.0 == "}}").then_some(Slice { cat, pid, tid, ts: 0.0, dur: 0.0, args })
}

/// Whether a line is an end of a flow or a value of a counter, as it would be written: both are made again from the
/// slices.
pub(super) fn made_again(line: &str) -> bool {
    let read = || {
        let mut s = Scan::new(line)?;
        s.skip(r#"{"ph":""#)?;
        let counter = s.text()? == "C";
        s.skip(r#","name":""#)?;
        s.text()?;
        let mut number = |key: &str| s.skip(key).and_then(|()| s.short());
        if counter {
            number(r#","pid":"#)?;
            number(r#","ts":"#)?;
            number(r#","args":{"value":"#)?;
            return (s.0 == "}}").then_some(());
        }
        s.skip(r#","cat":""#)?;
        s.text()?;
        let mut number = |key: &str| s.skip(key).and_then(|()| s.short());
        for key in [r#","pid":"#, r#","tid":"#, r#","ts":"#, r#","id":"#] {
            number(key)?;
        }
        let _ = s.has(r#","bp":"e""#);
        (s.0 == "}").then_some(())
    };
    read().is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Scan;

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(before in any::<u64>(), shift in 0..64u32, behind in "[0-9]{0,12}") {
            let mut text = (before >> shift).to_string();
            if !behind.is_empty() {
                text += &format!(".{behind}");
            }
            prop_assert_eq!(Scan(&text).number(), text.parse().ok(), "{}", text);
            let short = text.find('.').unwrap_or(text.len()) < 15;
            prop_assert_eq!(Scan(&text).short().is_some(), short, "{}", text);
        }
    }

    #[test]
    fn nothing_stands_behind_what_is_made_again() {
        let flow = r#"{"ph":"s","name":"wakes","cat":"wake","pid":0,"tid":1,"ts":2.5,"id":7}"#;
        let counter = r#"{"ph":"C","name":"bytes in flight","pid":0,"ts":3,"args":{"value":4}}"#;
        for line in [flow, counter] {
            assert!(super::made_again(line), "{line}");
            assert!(!super::made_again(&format!("{line}}}")), "{line}");
        }
    }

    #[test]
    fn what_is_no_number_in_json_is_none() {
        for text in ["", "-1", "01", "1.", ".5", "1.x", "x"] {
            assert_eq!(Scan(text).number(), None, "{text}");
            assert_eq!(Scan(text).short(), None, "{text}");
        }
        assert_eq!(Scan("18446744073709551616").whole::<u64>(), None);
        assert_eq!(Scan("4294967296").whole::<u32>(), None);
        assert_eq!(Scan("4294967295").whole::<u32>(), Some(u32::MAX));
    }
}
