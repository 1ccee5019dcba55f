//! Colors and glyphs: as many colors as a terminal has, in Okabe–Ito hues, and never color alone.
//!
//! With colors, work is a bar of its color. Without colors, it is drawn with glyphs and weight only. Some terminal
//! libraries drop weight together with color, so a palette without colors names none.

use ratatui::style::{Color, Modifier, Style};

use super::class::{self, Class};
use crate::gantt::theme::{Rgb, Theme, hue};

/// Colors of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// True color.
    True,
    /// 256 colors, in the usual cube.
    Indexed,
    /// The 16 colors that the user chose.
    Sixteen,
    /// No color.
    None,
}

/// Appearance of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Available colors.
    pub colours: Colours,
    /// ASCII only.
    pub ascii: bool,
}

/// The glyphs of one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyphs {
    /// For a run of cells: the first cell if the word does not fit; the next field is for the other cells.
    pub(crate) first: char,
    pub(crate) rest: char,
}

impl Palette {
    /// The palette of a terminal, from its environment: `NO_COLOR`, `COLORTERM`, `TERM` and the locale.
    pub fn of(var: impl Fn(&str) -> Option<String>) -> Palette {
        let set = |name: &str| var(name).unwrap_or_default();
        let term = set("TERM");
        let colours = match set("COLORTERM").as_str() {
            _ if !set("NO_COLOR").is_empty() || term == "dumb" => Colours::None,
            "truecolor" | "24bit" => Colours::True,
            _ if term.contains("256color") => Colours::Indexed,
            _ => Colours::Sixteen,
        };
        // The first variable that is set decides. Without any, assume a modern terminal.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(set).find(|v| !v.is_empty()).unwrap_or_default();
        let plain = matches!(locale.as_str(), "C" | "POSIX") || (locale.contains('.') && !utf8(&locale));
        Palette { colours, ascii: plain }
    }

    fn colour(self, rgb: Rgb) -> Color {
        match self.colours {
            Colours::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
            Colours::Indexed => Color::Indexed(cube(rgb)),
            Colours::Sixteen => nearest(rgb),
            Colours::None => Color::Reset,
        }
    }

    /// A fault.
    pub(crate) fn fault(self) -> Style {
        match self.colours {
            Colours::None => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            _ => Style::new().fg(self.colour(Theme::Dark.fault())).add_modifier(Modifier::BOLD | Modifier::REVERSED),
        }
    }

    /// Style of a class, with or without a bar of its color.
    pub(crate) fn class(self, number: u8, bar: bool) -> Style {
        let class = class::ALL[usize::from(number)];
        if self.colours == Colours::None {
            let heavy = if bar && class::works(number) { Modifier::BOLD } else { Modifier::empty() };
            return Style::new().add_modifier(heavy);
        }
        let rgb = hue(class.what());
        if bar && class::works(number) {
            Style::new().bg(self.colour(rgb)).fg(self.colour(rgb.text_on()))
        } else {
            Style::new().fg(self.colour(rgb))
        }
    }

    /// Glyphs of a class, for one operation.
    pub(crate) fn glyphs(self, number: u8) -> Glyphs {
        use warpline_sim::timeline::{Stall, Work};
        let bar = self.colours != Colours::None;
        let g = |first, rest, plain| Glyphs { first, rest: if self.ascii { plain } else { rest } };
        match class::ALL[usize::from(number)] {
            Class::Work(w) => {
                let first = match w {
                    Work::Load => 'L',
                    Work::Shared => 'S',
                    Work::Mma => 'M',
                    Work::Alu => 'V',
                    Work::Store => 'W',
                    Work::Sync => 'Y',
                    Work::Control => 'C',
                };
                if bar { Glyphs { first, rest: ' ' } } else { g(first, '━', '=') }
            }
            Class::Stall(s) => {
                let first = match s {
                    Stall::Ended => return Glyphs { first: ' ', rest: ' ' },
                    Stall::Launch => '^',
                    Stall::Issue => 'i',
                    Stall::Global => 'g',
                    Stall::Shared => 's',
                    Stall::Tensor => 't',
                    Stall::Alu => 'v',
                    Stall::Barrier => 'b',
                    Stall::Named => 'n',
                    Stall::Join => 'j',
                    Stall::Cluster => 'c',
                    Stall::Mbarrier => 'p',
                    Stall::Group => 'q',
                    Stall::Counter => '#',
                    Stall::Pool => 'r',
                    Stall::Held => 'h',
                };
                g(first, '╱', '/')
            }
            Class::Filling => g(if self.ascii { '~' } else { '┄' }, '┄', '~'),
            Class::Full => g(if self.ascii { '|' } else { '├' }, '─', '-'),
            Class::Phase(odd) => {
                g(if odd { '1' } else { '0' }, if odd { '━' } else { '─' }, if odd { '=' } else { '-' })
            }
        }
    }

    /// Glyph of a cell with several operations: mostly work, or mostly something else.
    pub(crate) fn many(self, number: u8) -> char {
        match (class::works(number), self.ascii) {
            (true, false) => '▒',
            (true, true) => '%',
            (false, false) => '░',
            (false, true) => ':',
        }
    }

    /// A share, 0 to 1, as a column glyph.
    pub(crate) fn column(self, share: f64) -> char {
        let levels: [char; 9] = if self.ascii {
            [' ', '.', ',', '-', '+', '=', '*', '%', '@']
        } else {
            [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
        };
        // A small share is not zero.
        let level = (share.clamp(0.0, 1.0) * 8.0).round() as usize;
        levels[if share > 0.0 { level.max(1) } else { 0 }]
    }

    /// Unicode if available, else ASCII.
    pub(crate) fn pick(self, glyph: char, plain: char) -> char {
        if self.ascii { plain } else { glyph }
    }

    /// Style of secondary text.
    pub(crate) fn muted(self) -> Style {
        match self.colours {
            Colours::None => Style::new(),
            Colours::Sixteen => Style::new().fg(Color::DarkGray),
            _ => Style::new().fg(self.colour(Rgb(0x90, 0x94, 0x9A))),
        }
    }

    /// Style of the row in focus, the selected operation, the mark and the cursor.
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// Headings.
    pub(crate) fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

fn utf8(locale: &str) -> bool {
    let l = locale.to_lowercase();
    l.contains("utf-8") || l.contains("utf8")
}

/// The nearest of the 6 by 6 by 6 colors from 16 on.
fn cube(Rgb(r, g, b): Rgb) -> u8 {
    let level = |v: u8| match v {
        0..48 => 0u8,
        48..115 => 1,
        _ => (v - 35) / 40,
    };
    16 + 36 * level(r) + 6 * level(g) + level(b)
}

/// The one of the 16 colors for a hue; the user decides what it looks like.
fn nearest(rgb: Rgb) -> Color {
    match (rgb.0, rgb.1, rgb.2) {
        (0x56, 0xB4, 0xE9) => Color::Cyan,
        (0x00, 0x9E, 0x73) => Color::Green,
        (0xD5, 0x5E, 0x00) => Color::Red,
        (0xE6, 0x9F, 0x00) => Color::LightRed,
        (0xCC, 0x79, 0xA7) => Color::Magenta,
        (0x00, 0x72, 0xB2) => Color::Blue,
        (0xF0, 0xE4, 0x42) => Color::Yellow,
        (0x10, 0x12, 0x14) => Color::Black,
        (0xFF, 0xFF, 0xFF) => Color::White,
        _ => Color::Gray,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vars: &[(&str, &str)]) -> Palette {
        Palette::of(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
    }

    #[test]
    fn the_environment_decides() {
        assert_eq!(of(&[("COLORTERM", "truecolor")]).colours, Colours::True);
        assert_eq!(of(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]).colours, Colours::None);
        assert_eq!(of(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]).colours, Colours::Indexed);
        assert_eq!(of(&[("TERM", "dumb")]).colours, Colours::None);
        assert_eq!(of(&[("TERM", "linux")]).colours, Colours::Sixteen);
        assert!(of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).ascii);
        assert!(of(&[("LANG", "de_DE.ISO-8859-1")]).ascii);
        assert!(!of(&[("LANG", "C.UTF-8")]).ascii && !of(&[]).ascii);
    }

    #[test]
    fn without_colours_no_style_names_one() {
        for ascii in [false, true] {
            let p = Palette { colours: Colours::None, ascii };
            for number in 0..class::CLASSES as u8 {
                for bar in [false, true] {
                    let s = p.class(number, bar);
                    assert_eq!((s.fg, s.bg), (None, None));
                }
                let g = p.glyphs(number);
                assert!(!ascii || (g.first.is_ascii() && g.rest.is_ascii() && p.many(number).is_ascii()));
            }
        }
    }

    #[test]
    fn work_and_waiting_are_told_apart_by_their_letters() {
        let p = Palette { colours: Colours::True, ascii: true };
        let mut letters: Vec<char> = (0..class::ENDED).map(|n| p.glyphs(n).first).collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), usize::from(class::ENDED));
    }
}
