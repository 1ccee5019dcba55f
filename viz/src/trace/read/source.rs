//! Sources of a file's bytes, read in parts.

use std::io;
use std::ops::Range;

/// A file, or anything like one.
pub trait Source: Sync {
    /// Number of bytes.
    fn length(&self) -> u64;

    /// Reads the bytes of a range into a buffer, replacing its content.
    ///
    /// # Errors
    /// They cannot be read.
    fn stretch(&self, at: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()>;
}

impl Source for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn stretch(&self, at: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()> {
        let bytes = self.get(at.start as usize..at.end as usize).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Ok(())
    }
}

/// The whole lines that begin in a range.
pub(super) fn lines<'b>(
    source: &(impl Source + ?Sized),
    at: Range<u64>,
    buffer: &'b mut Vec<u8>,
) -> io::Result<&'b [u8]> {
    /// Bytes after the range in which most lines end.
    const BEHIND: u64 = 1 << 10;
    // A line begins after the end of another.
    let (from, end) = (at.start.saturating_sub(1), source.length());
    let (mut behind, last) = (BEHIND, (at.end - 1 - from) as usize);
    loop {
        let to = at.end.saturating_add(behind).min(end);
        source.stretch(from..to, buffer)?;
        let ends = buffer.get(last..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|n| last + n + 1);
        if ends.is_some() || to == end {
            let begins = if at.start == 0 { Some(0) } else { memchr::memchr(b'\n', buffer).map(|n| n + 1) };
            let (begins, ends) = (begins.unwrap_or(buffer.len()), ends.unwrap_or(buffer.len()));
            return Ok(&buffer[begins..ends.max(begins)]);
        }
        behind *= 8;
    }
}

/// The end of the last line other than `last`, if the file ends with `last`.
pub(super) fn tail(source: &(impl Source + ?Sized), last: &[u8]) -> io::Result<Option<u64>> {
    /// More blank bytes than any file has at its end.
    const BYTES: u64 = 1 << 10;
    let end = source.length();
    let from = end.saturating_sub(BYTES);
    let mut bytes = Vec::new();
    source.stretch(from..end, &mut bytes)?;
    let rest = bytes.trim_ascii_end().strip_suffix(last).map(<[u8]>::trim_ascii_end);
    Ok(rest.map(|rest| from + rest.len() as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lines_of_all_stretches_are_those_of_the_file(
            text in "[ab\n]{0,60}",
            long in 0..3usize,
            step in 1..20u64,
        ) {
            let text = text.replace('b', &"b".repeat(long * 700));
            let starts = (0..text.len() as u64).step_by(step as usize);
            let mut all = Vec::new();
            for at in starts {
                let mut buffer = Vec::new();
                all.extend_from_slice(lines(text.as_bytes(), at..(at + step).min(text.len() as u64), &mut buffer).unwrap());
            }
            prop_assert_eq!(String::from_utf8(all).unwrap(), text);
        }
    }

    #[test]
    fn the_tail_is_found_where_it_is_the_last() {
        assert_eq!(tail(&b"{},\n{}\n]}\n"[..], b"]}").unwrap(), Some(6));
        assert_eq!(tail(&b"{}]} x"[..], b"]}").unwrap(), None);
        assert_eq!(tail(&b""[..], b"]}").unwrap(), None);
    }
}
