//! The built-in font, and the width of text in it.

use std::sync::OnceLock;

use ttf_parser::Face;

/// The font file.
pub(crate) const BYTES: &[u8] = include_bytes!("../../fonts/RobotoCondensed-Regular.ttf");
/// The font's family name in pictures. No real family has this name, so no viewer picks another version of the font.
pub(crate) const FAMILY: &str = "Warpline Condensed";

/// A parsed font. Widths in font units are exact, and the same for SVG and PNG.
pub(crate) struct Font<'a> {
    face: Face<'a>,
    /// Font units per em.
    pub(crate) units: u16,
    /// Ascent minus descent in font units: the height that rasterizers scale by.
    pub(crate) height: i32,
}

impl<'a> Font<'a> {
    pub(crate) fn parse(data: &'a [u8]) -> Option<Font<'a>> {
        let face = Face::parse(data, 0).ok()?;
        let hhea = face.tables().hhea;
        let height = i32::from(hhea.ascender) - i32::from(hhea.descender);
        Some(Font { units: face.units_per_em(), height, face })
    }

    /// The bytes of a table.
    pub(crate) fn table(&self, tag: &[u8; 4]) -> Option<&'a [u8]> {
        self.face.raw_face().table(ttf_parser::Tag::from_bytes(tag))
    }

    /// The glyph of a character; `None` where the font has none.
    pub(crate) fn glyph(&self, c: char) -> Option<u16> {
        self.face.glyph_index(c).map(|g| g.0)
    }

    /// The advance width of a character in font units; that of the missing glyph where the font has none.
    pub(crate) fn advance(&self, c: char) -> Option<u16> {
        self.face.glyph_hor_advance(self.face.glyph_index(c).unwrap_or_default())
    }
}

/// The built-in font.
pub(crate) fn built_in() -> Option<&'static Font<'static>> {
    static FONT: OnceLock<Option<Font<'static>>> = OnceLock::new();
    FONT.get_or_init(|| Font::parse(BYTES)).as_ref()
}

/// The advance width of each character.
pub(crate) struct Measure {
    ascii: [u16; 128],
    ellipsis: u16,
    font: &'static Font<'static>,
}

impl Measure {
    /// The widths of the built-in font.
    pub(crate) fn new() -> Option<Measure> {
        let font = built_in()?;
        let mut ascii = [0; 128];
        for (c, width) in ascii.iter_mut().enumerate() {
            *width = font.advance(c as u8 as char)?;
        }
        let ellipsis = font.advance('…')?;
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
            None => self.font.advance(c).unwrap_or(self.font.units),
        }
    }

    /// The text, cut with an ellipsis if it is wider than `width`; `None` if fewer than `least` characters would stay.
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
            assert!(font.glyph(c).is_some(), "{c}");
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
