//! Subsets a TrueType font to the glyphs of a picture, so that an SVG can embed it: about 10 KB instead of 300.
//!
//! The result has its own glyph numbers, one character map, and no hinting or kerning, so advances are those that
//! [`super::font::Measure`] sums.

use std::collections::{BTreeMap, BTreeSet};

use super::font::{Font, u16_at, u32_at};

/// A font with only the glyphs of `chars`.
pub(crate) fn subset(font: &Font<'_>, chars: &BTreeSet<char>) -> Option<Vec<u8>> {
    // Glyph 0 is the missing glyph and must be there.
    let mut old: Vec<u16> = vec![0];
    let mut new: BTreeMap<u16, u16> = BTreeMap::from([(0, 0)]);
    let mut map: BTreeMap<u16, u16> = BTreeMap::new();
    let mut number = |glyph: u16, old: &mut Vec<u16>| -> u16 {
        *new.entry(glyph).or_insert_with(|| {
            old.push(glyph);
            (old.len() - 1) as u16
        })
    };
    for &c in chars {
        let glyph = font.glyph(c);
        if let (true, Ok(c)) = (glyph != 0, u16::try_from(u32::from(c))) {
            map.insert(c, number(glyph, &mut old));
        }
    }
    let (mut glyf, mut loca, mut hmtx) = (Vec::new(), vec![0u32], Vec::new());
    let mut i = 0;
    // Parts of composite glyphs are appended while the list is walked.
    while i < old.len() {
        let mut outline = font.outline(old[i])?.to_vec();
        for at in parts(&outline)? {
            let part = number(u16_at(&outline, at)?, &mut old);
            outline[at..at + 2].copy_from_slice(&part.to_be_bytes());
        }
        outline.resize(outline.len().next_multiple_of(4), 0);
        glyf.extend(outline);
        loca.push(glyf.len() as u32);
        let (advance, bearing) = font.metric(old[i])?;
        hmtx.extend(advance.to_be_bytes());
        hmtx.extend(bearing.to_be_bytes());
        i += 1;
    }
    let count = (old.len() as u16).to_be_bytes();
    let mut head = font.table(b"head")?.get(..54)?.to_vec();
    head[8..12].fill(0);
    head[50..52].copy_from_slice(&1u16.to_be_bytes());
    let mut hhea = font.table(b"hhea")?.get(..36)?.to_vec();
    hhea[34..36].copy_from_slice(&count);
    let mut maxp = font.table(b"maxp")?.get(..32)?.to_vec();
    maxp[4..6].copy_from_slice(&count);
    let mut post = font.table(b"post")?.get(..32)?.to_vec();
    post[..4].copy_from_slice(&0x0003_0000u32.to_be_bytes());
    let tables: [(&[u8; 4], Vec<u8>); 10] = [
        (b"OS/2", font.table(b"OS/2")?.to_vec()),
        (b"cmap", cmap(&map)),
        (b"glyf", glyf),
        (b"head", head),
        (b"hhea", hhea),
        (b"hmtx", hmtx),
        (b"loca", loca.iter().flat_map(|at| at.to_be_bytes()).collect()),
        (b"maxp", maxp),
        (b"name", vec![0, 0, 0, 0, 0, 6]),
        (b"post", post),
    ];
    assemble(&tables)
}

/// Offsets of the parts in a composite glyph; empty for a simple glyph.
fn parts(outline: &[u8]) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    if outline.is_empty() || u16_at(outline, 0)? < 0x8000 {
        return Some(found);
    }
    let mut at = 10;
    loop {
        let flags = u16_at(outline, at)?;
        found.push(at + 2);
        // Two offsets of one or two bytes, then a scale, two scales or a matrix.
        at += 4 + if flags & 1 != 0 { 4 } else { 2 };
        at += match (flags & 8 != 0, flags & 0x40 != 0, flags & 0x80 != 0) {
            (true, ..) => 2,
            (_, true, _) => 4,
            (_, _, true) => 8,
            _ => 0,
        };
        if flags & 0x20 == 0 {
            return Some(found);
        }
    }
}

/// A character map in format 4, with one segment for each character.
fn cmap(map: &BTreeMap<u16, u16>) -> Vec<u8> {
    let mut segments: Vec<(u16, u16)> = map.iter().map(|(&c, &g)| (c, g.wrapping_sub(c))).collect();
    segments.push((0xFFFF, 1));
    let n = segments.len() as u16;
    let log = n.ilog2();
    let range = 2 << log;
    let mut sub = vec![4, 16 + 8 * n, 0, 2 * n, range, log as u16, 2 * n - range];
    sub.extend(segments.iter().map(|s| s.0));
    sub.push(0);
    sub.extend(segments.iter().map(|s| s.0));
    sub.extend(segments.iter().map(|s| s.1));
    sub.extend(segments.iter().map(|_| 0));
    // Version, one table: Windows, Unicode, 12 bytes from here.
    [0, 1, 3, 1, 0, 12].iter().chain(&sub).flat_map(|v: &u16| v.to_be_bytes()).collect()
}

fn assemble(tables: &[(&[u8; 4], Vec<u8>)]) -> Option<Vec<u8>> {
    let n = tables.len() as u16;
    let log = n.ilog2();
    let range = 16 << log;
    let mut out = 0x0001_0000u32.to_be_bytes().to_vec();
    out.extend([n, range, log as u16, 16 * n - range].iter().flat_map(|v: &u16| v.to_be_bytes()));
    let mut at = 12 + 16 * tables.len();
    for (tag, body) in tables {
        out.extend(*tag);
        out.extend([checksum(body), at as u32, body.len() as u32].iter().flat_map(|v| v.to_be_bytes()));
        at += body.len().next_multiple_of(4);
    }
    let mut head = None;
    for (tag, body) in tables {
        if *tag == b"head" {
            head = Some(out.len());
        }
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    let adjust = 0xB1B0_AFBAu32.wrapping_sub(checksum(&out)).to_be_bytes();
    out.get_mut(head? + 8..head? + 12)?.copy_from_slice(&adjust);
    Some(out)
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    (0..padded.len() / 4).fold(0u32, |sum, i| sum.wrapping_add(u32_at(&padded, 4 * i).unwrap_or(0)))
}

/// Bytes as base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() { digit as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gantt::font;

    #[test]
    fn a_subset_is_a_font_with_the_same_widths() {
        let whole = font::built_in().unwrap();
        let chars: BTreeSet<char> = "Kernel é φ2…".chars().collect();
        let bytes = subset(whole, &chars).unwrap();
        assert!(bytes.len() < 8_000, "{}", bytes.len());
        let cut = Font::parse(&bytes).unwrap();
        for &c in &chars {
            assert_ne!(cut.glyph(c), 0, "{c}");
            assert_eq!(cut.metric(cut.glyph(c)), whole.metric(whole.glyph(c)), "{c}");
        }
        assert_eq!(cut.glyph('Q'), 0);
        assert_eq!(checksum(&bytes), 0xB1B0_AFBA);
    }

    #[test]
    fn base64_of_every_length() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|s| base64(s.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }
}
