//! A cursor over text with a known format: keys, numbers, words without escapes.

use warpline_sim::timeline::TICKS;

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LineEnd {
    /// A comma: another line follows.
    Comma,
    /// The last line.
    Last,
}

/// The rest of a text: this line and those after it. No operation crosses the end of a line.
pub(super) struct Cursor<'a> {
    text: &'a str,
    rest: &'a [u8],
}

const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number of digits at the start of eight bytes, and their value.
#[inline(always)]
fn eight_digits(eight: [u8; 8]) -> (usize, u64) {
    // Each byte minus the digit 0: above 9 for other characters.
    let less = u64::from_le_bytes(eight) ^ 0x3030_3030_3030_3030;
    let others = (((less & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | less) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    // Pad with leading zeros to eight digits; then combine pairs, fours, and all.
    let mut x = if count == 0 { 0 } else { less << (64 - 8 * count) };
    x = (x.wrapping_mul(10).wrapping_add(x >> 8)) & 0x00ff_00ff_00ff_00ff;
    x = (x.wrapping_mul(100).wrapping_add(x >> 16)) & 0x0000_ffff_0000_ffff;
    x = (x.wrapping_mul(10_000).wrapping_add(x >> 32)) & 0xffff_ffff;
    (count, x)
}

/// The lowest set bit marks the first of eight bytes that ends a text: a quote, a backslash or a control character.
fn stops(eight: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (zero(eight ^ (ONES * 0x22)) | zero(eight ^ (ONES * 0x5c)) | control) & TOPS
}

// Everything is inlined, so that the rest is in registers and not in memory.
impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, rest: text.as_bytes() }
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, what: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(what.as_bytes())?;
        Some(())
    }

    /// Skips a text, if it is there.
    #[inline(always)]
    pub(super) fn has(&mut self, what: &str) -> bool {
        self.skip(what).is_some()
    }

    /// The text up to the next quote; `None` if an escape or a control character comes first.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let from = self.text.len() - self.rest.len();
        while let Some((eight, behind)) = self.rest.split_first_chunk() {
            let stops = stops(u64::from_le_bytes(*eight));
            if stops != 0 {
                self.rest = &self.rest[stops.trailing_zeros() as usize / 8..];
                break;
            }
            self.rest = behind;
        }
        // For fewer than eight remaining bytes.
        while self.rest.first().is_some_and(|b| !matches!(b, 0..0x20 | b'"' | b'\\')) {
            self.rest = &self.rest[1..];
        }
        let to = self.text.len() - self.rest.len();
        self.skip("\"")?;
        self.text.get(from..to)
    }

    /// Appends digits to a number, and returns how many.
    #[inline(always)]
    fn digits(&mut self, onto: &mut u64) -> usize {
        let mut n = 0;
        while let Some((eight, behind)) = self.rest.split_first_chunk() {
            let (count, number) = eight_digits(*eight);
            *onto = onto.wrapping_mul(TENS[count]).wrapping_add(number);
            n += count;
            if count < 8 {
                self.rest = &self.rest[count..];
                return n;
            }
            self.rest = behind;
        }
        // For fewer than eight remaining bytes.
        while let Some(digit) = self.rest.first().map(|b| b.wrapping_sub(b'0')).filter(|d| *d <= 9) {
            *onto = onto.wrapping_mul(10).wrapping_add(u64::from(digit));
            n += 1;
            self.rest = &self.rest[1..];
        }
        n
    }

    /// Digits before a point. JSON allows no leading zero, except zero itself.
    #[inline(always)]
    fn before_point(&mut self, onto: &mut u64) -> Option<usize> {
        let zero = self.rest.first() == Some(&b'0');
        let n = self.digits(onto);
        (n > 0 && (n == 1 || !zero)).then_some(n)
    }

    #[inline(always)]
    pub(super) fn whole<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let mut value = 0;
        // So many digits cannot overflow.
        let n = self.before_point(&mut value)?;
        if n < 19 { value.try_into().ok() } else { None }
    }

    /// Cycles as ticks, if they are close enough to whole ticks that the sum of two is too. Every rounding then gives
    /// the same result.
    #[inline(always)]
    pub(super) fn ticks(&mut self) -> Option<u64> {
        let (mut whole, mut part) = (0, 0);
        if self.before_point(&mut whole)? > 11 {
            return None;
        }
        if !self.has(".") {
            return Some(whole * TICKS);
        }
        // As many digits as an exact fraction of a cycle can have.
        let part = match self.digits(&mut part) {
            n @ 1..=8 => part * TENS[8 - n] * TICKS,
            _ => return None,
        };
        let ticks = (part + TENS[8] / 2) / TENS[8];
        (part.abs_diff(ticks * TENS[8]) <= TENS[8] / 16).then_some(whole * TICKS + ticks)
    }

    /// A number whose value is not needed: below 10^14, so that the sum of two is a valid time.
    #[inline(always)]
    pub(super) fn short(&mut self) -> Option<()> {
        let mut unread = 0;
        let before = self.before_point(&mut unread)?;
        let sound = before < 15 && (!self.has(".") || self.digits(&mut unread) > 0);
        sound.then_some(())
    }

    #[inline(always)]
    pub(super) fn optional(&mut self, key: &str) -> Option<Option<u32>> {
        if self.has(key) { self.whole().map(Some) } else { Some(None) }
    }

    #[inline(always)]
    pub(super) fn word(&mut self, key: &str) -> Option<&'a str> {
        if self.has(key) { self.text() } else { Some("") }
    }

    /// The end of the line, and the text after it.
    #[inline(always)]
    pub(super) fn end(self) -> Option<(LineEnd, &'a str)> {
        let end = match self.rest {
            [b',', b'\n', ..] => (LineEnd::Comma, 2),
            [b'\n', ..] => (LineEnd::Last, 1),
            [] => (LineEnd::Last, 0),
            _ => return None,
        };
        Some((end.0, self.text.get(self.text.len() - self.rest.len() + end.1..)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ticks;
    use super::Cursor;

    proptest! {
        #[test]
        fn times_are_those_of_the_general_reader(before in any::<u64>(), shift in 0..64u32, behind in "[0-9]{0,9}", n in 0..256u64) {
            for fraction in [behind.as_str(), (n as f64 / 256.0).to_string().trim_start_matches("0.")] {
                let mut text = (before >> shift).to_string();
                if !fraction.is_empty() {
                    text += &format!(".{fraction}");
                }
                let short = text.find('.').unwrap_or(text.len()) < 15;
                prop_assert_eq!(Cursor::new(&text).short().is_some(), short, "{}", text);
                let (general, found) = (ticks(text.parse().unwrap()), Cursor::new(&text).ticks());
                prop_assert!(found.is_none_or(|t| t == general), "{}", text);
                // Text after the number makes no difference.
                prop_assert_eq!(Cursor::new(&format!("{text},\"cycles\":40")).ticks(), found, "{}", text);
            }
            let exact = (before >> shift) as f64 / 256.0;
            prop_assert!(exact >= 1e11 || Cursor::new(&exact.to_string()).ticks() == Some(before >> shift), "{}", exact);
        }

        #[test]
        fn a_text_ends_at_its_quote(text in "[ -!#-\\[\\]-~é漢]{0,30}", stop in "[\"\\\\\n\t]", behind in "[a-z]{0,20}") {
            let all = format!("{text}{stop}{behind}");
            let mut s = Cursor::new(&all);
            let found = s.text();
            prop_assert_eq!(found, (stop == "\"").then_some(text.as_str()));
            prop_assert!(found.is_none() || s.rest == behind.as_bytes());
        }
    }

    #[test]
    fn what_is_no_number_in_json_is_none() {
        for text in ["", "-1", "01", "1.", ".5", "1.x", "x"] {
            assert_eq!(Cursor::new(text).ticks(), None, "{text}");
            assert_eq!(Cursor::new(text).short(), None, "{text}");
        }
        assert_eq!(Cursor::new("18446744073709551616").whole::<u64>(), None);
        assert_eq!(Cursor::new("4294967296").whole::<u32>(), None);
        assert_eq!(Cursor::new("4294967295").whole::<u32>(), Some(u32::MAX));
    }
}
