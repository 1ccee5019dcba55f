//! Cuts the built-in font down to the glyphs of a picture, so that an SVG can carry the font: about 5 KB, not 300.
//!
//! `subsetter` cuts the outlines. It writes fonts for PDF, which have no character map, and no browser accepts such a font.
//! The character map and the file around the tables are therefore written here. The result has no kerning, so that text is
//! as wide as [`super::font::Measure`] says.

use std::collections::{BTreeMap, BTreeSet};

use subsetter::GlyphRemapper;
use ttf_parser::{RawFace, Tag};

use super::font::{self, Font};

/// The built-in font with only the glyphs of `chars`.
pub(crate) fn subset(font: &Font<'_>, chars: &BTreeSet<char>) -> Option<Vec<u8>> {
    let mut glyphs = GlyphRemapper::new();
    let mut map: BTreeMap<u16, u16> = BTreeMap::new();
    for &c in chars {
        // The map below holds the basic plane, which has every character of a label.
        if let (Some(glyph), Ok(c)) = (font.glyph(c), u16::try_from(u32::from(c))) {
            map.insert(c, glyphs.remap(glyph));
        }
    }
    let cut = subsetter::subset(font::BYTES, 0, &glyphs).ok()?;
    let cut = RawFace::parse(&cut, 0).ok()?;
    let table = |tag: &[u8; 4]| cut.table(Tag::from_bytes(tag)).map(<[u8]>::to_vec);
    let mut head = table(b"head")?;
    // The sum of the whole file goes here.
    head.get_mut(8..12)?.fill(0);
    let tables: [(&[u8; 4], Vec<u8>); 10] = [
        (b"OS/2", font.table(b"OS/2")?.to_vec()),
        (b"cmap", character_map(&map)),
        (b"glyf", table(b"glyf")?),
        (b"head", head),
        (b"hhea", table(b"hhea")?),
        (b"hmtx", table(b"hmtx")?),
        (b"loca", table(b"loca")?),
        (b"maxp", table(b"maxp")?),
        (b"name", vec![0, 0, 0, 0, 0, 6]),
        (b"post", table(b"post")?),
    ];
    assemble(&tables)
}

/// A character map in format 4 with one segment for each character.
fn character_map(map: &BTreeMap<u16, u16>) -> Vec<u8> {
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
    // Version 0, one table: Windows, Unicode, 12 bytes from here.
    [0, 1, 3, 1, 0, 12].iter().chain(&sub).flat_map(|v: &u16| v.to_be_bytes()).collect()
}

/// A font file of tables, which are sorted by tag.
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

/// The sum of big-endian words, as the OpenType specification defines it.
fn checksum(bytes: &[u8]) -> u32 {
    let word = |four: &[u8]| (0..4).fold(0, |w, i| w << 8 | u32::from(four.get(i).copied().unwrap_or(0)));
    bytes.chunks(4).fold(0u32, |sum, four| sum.wrapping_add(word(four)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_is_a_font_with_the_same_widths() {
        let whole = font::built_in().unwrap();
        let chars: BTreeSet<char> = "Kernel é φ2…".chars().collect();
        let bytes = subset(whole, &chars).unwrap();
        assert!(bytes.len() < 8_000, "{}", bytes.len());
        let cut = Font::parse(&bytes).unwrap();
        for &c in &chars {
            assert!(cut.glyph(c).is_some_and(|g| g != 0), "{c}");
            assert_eq!(cut.advance(c), whole.advance(c), "{c}");
        }
        assert_eq!(cut.glyph('Q'), None);
        assert_eq!((cut.units, cut.height), (whole.units, whole.height));
        assert_eq!(checksum(&bytes), 0xB1B0_AFBA);
    }
}
