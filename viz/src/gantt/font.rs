//! The built-in font: widths of text, and the tables that a subset is cut from.
//!
//! Reading these few tables, instead of asking a rasterizer, gives exact widths in font units, equal for both kinds
//! of output.

use std::sync::OnceLock;

/// The font file.
pub(crate) const BYTES: &[u8] = include_bytes!("../../fonts/RobotoCondensed-Regular.ttf");
/// Name of the font in pictures. It is not the name of a real family, so that no other version is used.
pub(crate) const FAMILY: &str = "Warpline Condensed";

/// A parsed font.
pub(crate) struct Font<'a> {
    data: &'a [u8],
    /// Font units of an em.
    pub(crate) units: u16,
    /// Ascent minus descent in font units: the height that rasterizers scale by.
    pub(crate) height: i32,
    metrics: u16,
    hmtx: &'a [u8],
    cmap: &'a [u8],
    loca: &'a [u8],
    glyf: &'a [u8],
    long_loca: bool,
}

pub(super) fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(b.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(b.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Font<'a> {
    pub(crate) fn parse(data: &'a [u8]) -> Option<Font<'a>> {
        let head = table(data, b"head")?;
        let hhea = table(data, b"hhea")?;
        let cmap = table(data, b"cmap")?;
        Some(Font {
            data,
            units: u16_at(head, 18)?,
            height: i32::from(u16_at(hhea, 4)? as i16) - i32::from(u16_at(hhea, 6)? as i16),
            metrics: u16_at(hhea, 34)?,
            hmtx: table(data, b"hmtx")?,
            cmap: unicode(cmap)?,
            loca: table(data, b"loca")?,
            glyf: table(data, b"glyf")?,
            long_loca: u16_at(head, 50)? != 0,
        })
    }

    pub(crate) fn table(&self, tag: &[u8; 4]) -> Option<&'a [u8]> {
        table(self.data, tag)
    }

    /// The glyph of a character; 0 if the font has none.
    pub(crate) fn glyph(&self, c: char) -> u16 {
        u16::try_from(u32::from(c)).ok().and_then(|c| self.lookup(c)).unwrap_or(0)
    }

    fn lookup(&self, c: u16) -> Option<u16> {
        let segments = usize::from(u16_at(self.cmap, 6)? / 2);
        let (ends, starts) = (14, 16 + 2 * segments);
        let (deltas, offsets) = (starts + 2 * segments, starts + 4 * segments);
        for i in 0..segments {
            if u16_at(self.cmap, ends + 2 * i)? < c {
                continue;
            }
            let start = u16_at(self.cmap, starts + 2 * i)?;
            if start > c {
                return None;
            }
            let delta = u16_at(self.cmap, deltas + 2 * i)?;
            let offset = usize::from(u16_at(self.cmap, offsets + 2 * i)?);
            if offset == 0 {
                return Some(c.wrapping_add(delta));
            }
            // The offset is relative to its own place.
            let glyph = u16_at(self.cmap, offsets + 2 * i + offset + 2 * usize::from(c - start))?;
            return (glyph != 0).then(|| glyph.wrapping_add(delta));
        }
        None
    }

    /// Advance width and left side bearing of a glyph, in font units.
    pub(crate) fn metric(&self, glyph: u16) -> Option<(u16, u16)> {
        let last = self.metrics.checked_sub(1)?;
        let at = usize::from(glyph.min(last)) * 4;
        let bearing =
            if glyph <= last { at + 2 } else { usize::from(last) * 4 + 4 + usize::from(glyph - last - 1) * 2 };
        Some((u16_at(self.hmtx, at)?, u16_at(self.hmtx, bearing)?))
    }

    /// The outline of a glyph; empty for a blank.
    pub(crate) fn outline(&self, glyph: u16) -> Option<&'a [u8]> {
        let at = |i: usize| -> Option<usize> {
            if self.long_loca {
                Some(u32_at(self.loca, 4 * i)? as usize)
            } else {
                Some(usize::from(u16_at(self.loca, 2 * i)?) * 2)
            }
        };
        self.glyf.get(at(usize::from(glyph))?..at(usize::from(glyph) + 1)?)
    }
}

fn table<'a>(data: &'a [u8], tag: &[u8; 4]) -> Option<&'a [u8]> {
    let tables = usize::from(u16_at(data, 4)?);
    for i in 0..tables {
        let entry = data.get(12 + 16 * i..28 + 16 * i)?;
        if &entry[..4] == tag {
            let at = u32_at(entry, 8)? as usize;
            return data.get(at..at + u32_at(entry, 12)? as usize);
        }
    }
    None
}

/// The sub-table for the basic plane (format 4), which every font has.
fn unicode(cmap: &[u8]) -> Option<&[u8]> {
    for i in 0..usize::from(u16_at(cmap, 2)?) {
        let sub = cmap.get(u32_at(cmap, 8 + 8 * i)? as usize..)?;
        let windows = u16_at(cmap, 4 + 8 * i)? == 3 && u16_at(cmap, 6 + 8 * i)? == 1;
        if windows && u16_at(sub, 0)? == 4 {
            return Some(sub);
        }
    }
    None
}

/// The built-in font.
pub(crate) fn built_in() -> Option<&'static Font<'static>> {
    static FONT: OnceLock<Option<Font<'static>>> = OnceLock::new();
    FONT.get_or_init(|| Font::parse(BYTES)).as_ref()
}

/// Advance widths by character.
pub(crate) struct Measure {
    ascii: [u16; 128],
    ellipsis: u16,
    font: &'static Font<'static>,
}

impl Measure {
    /// Widths of the built-in font.
    pub(crate) fn new() -> Option<Measure> {
        let font = built_in()?;
        let mut ascii = [0; 128];
        for (c, width) in ascii.iter_mut().enumerate() {
            *width = font.metric(font.glyph(c as u8 as char))?.0;
        }
        let ellipsis = font.metric(font.glyph('…'))?.0;
        Some(Measure { ascii, ellipsis, font })
    }

    /// Width of a text in pixels, rounded up.
    pub(crate) fn width(&self, text: &str, em: i32) -> i32 {
        let units: i64 = text.chars().map(|c| i64::from(self.advance(c))).sum();
        let per = i64::from(self.font.units.max(1));
        let width = (units * i64::from(em) + per - 1) / per;
        i32::try_from(width).unwrap_or(i32::MAX)
    }

    fn advance(&self, c: char) -> u16 {
        match self.ascii.get(c as usize) {
            Some(&width) => width,
            None => self.font.metric(self.font.glyph(c)).map_or(self.font.units, |m| m.0),
        }
    }

    /// The text, cut with an ellipsis if it is wider than `width`. `None` if fewer than `least` characters would
    /// remain.
    pub(crate) fn fit(&self, text: &str, em: i32, width: i32, least: usize) -> Option<String> {
        if self.width(text, em) <= width {
            return Some(text.to_owned());
        }
        let per = i64::from(self.font.units.max(1));
        let mut room = i64::from(width) * per - i64::from(self.ellipsis) * i64::from(em);
        let mut kept = String::new();
        let mut count = 0;
        for c in text.chars() {
            room -= i64::from(self.advance(c)) * i64::from(em);
            if room < 0 {
                break;
            }
            kept.push(c);
            count += 1;
        }
        if count < least.max(1) {
            return None;
        }
        let mut kept = kept.trim_end().to_owned();
        kept.push('…');
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_font_has_every_glyph_that_labels_use() {
        let font = built_in().unwrap();
        for c in ('!'..='~').chain("φµ×·…–≥≤".chars()) {
            assert_ne!(font.glyph(c), 0, "{c}");
        }
    }

    #[test]
    fn elided_text_fits() {
        let m = Measure::new().unwrap();
        for width in 0..200 {
            if let Some(cut) = m.fit("consumer warp 12, φ3", 17, width, 1) {
                assert!(m.width(&cut, 17) <= width, "{cut}");
            }
        }
        assert_eq!(m.fit("abc", 17, 100, 1).unwrap(), "abc");
        assert_eq!(m.fit("abc", 17, 3, 1), None);
    }
}
