//! Colors: Okabe–Ito hues, which readers with any color vision can distinguish, on light or dark paper.

use warpline_sim::timeline::{SpanKind, Stall, Work};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white, for documents.
    #[default]
    Light,
    /// Light on near-black, for slides and dark pages.
    Dark,
}

/// A color as red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rgb(pub u8, pub u8, pub u8);

const ORANGE: Rgb = Rgb(0xE6, 0x9F, 0x00);
const SKY: Rgb = Rgb(0x56, 0xB4, 0xE9);
const GREEN: Rgb = Rgb(0x00, 0x9E, 0x73);
const YELLOW: Rgb = Rgb(0xF0, 0xE4, 0x42);
const BLUE: Rgb = Rgb(0x00, 0x72, 0xB2);
const VERMILLION: Rgb = Rgb(0xD5, 0x5E, 0x00);
const PURPLE: Rgb = Rgb(0xCC, 0x79, 0xA7);
const GREY: Rgb = Rgb(0x8C, 0x8C, 0x8C);

impl Rgb {
    /// This color, with `percent` of it replaced by `other`.
    pub(crate) fn mix(self, other: Rgb, percent: u32) -> Rgb {
        let one = |a: u8, b: u8| ((u32::from(a) * (100 - percent) + u32::from(b) * percent + 50) / 100) as u8;
        Rgb(one(self.0, other.0), one(self.1, other.1), one(self.2, other.2))
    }

    /// The color for a style sheet: `#56b4e9`.
    pub(crate) fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// Perceived brightness, 0 to 255, which decides the color of text.
    fn luma(self) -> u32 {
        (299 * u32::from(self.0) + 587 * u32::from(self.1) + 114 * u32::from(self.2)) / 1000
    }

    /// Black or white, whichever is more readable on this color.
    pub(crate) fn text_on(self) -> Rgb {
        if self.luma() > 125 { Rgb(0x10, 0x12, 0x14) } else { Rgb(0xFF, 0xFF, 0xFF) }
    }
}

impl Theme {
    pub(crate) fn paper(self) -> Rgb {
        match self {
            Theme::Light => Rgb(0xFF, 0xFF, 0xFF),
            Theme::Dark => Rgb(0x16, 0x19, 0x1D),
        }
    }

    pub(crate) fn ink(self) -> Rgb {
        match self {
            Theme::Light => Rgb(0x1A, 0x1C, 0x1F),
            Theme::Dark => Rgb(0xE8, 0xEA, 0xED),
        }
    }

    /// Secondary text.
    pub(crate) fn muted(self) -> Rgb {
        self.ink().mix(self.paper(), 35)
    }

    /// The band behind a row.
    pub(crate) fn track(self) -> Rgb {
        self.paper().mix(self.ink(), if self == Theme::Light { 4 } else { 6 })
    }

    /// Lines of the axis.
    pub(crate) fn grid(self) -> Rgb {
        self.paper().mix(self.ink(), if self == Theme::Light { 14 } else { 20 })
    }

    /// Faults.
    pub(crate) fn fault(self) -> Rgb {
        VERMILLION
    }

    /// The band behind a CTA's heading.
    pub(crate) fn band(self) -> Rgb {
        self.paper().mix(self.ink(), 10)
    }
}

/// The hue of a class. A wait has the hue of what it waits for; its hatch distinguishes it.
pub(crate) fn hue(what: SpanKind) -> Rgb {
    match what {
        SpanKind::Work(w) => match w {
            Work::Load => SKY,
            Work::Shared => GREEN,
            Work::Mma => VERMILLION,
            Work::Alu => ORANGE,
            Work::Store => PURPLE,
            Work::Sync => BLUE,
            Work::Control => GREY,
        },
        SpanKind::Stall(s) => match s {
            Stall::Global | Stall::Counter => SKY,
            Stall::Shared => GREEN,
            Stall::Tensor => VERMILLION,
            Stall::Alu => ORANGE,
            Stall::Group => PURPLE,
            Stall::Barrier | Stall::Named | Stall::Join | Stall::Cluster | Stall::Mbarrier => BLUE,
            Stall::Pool => GREEN,
            Stall::Launch | Stall::Issue | Stall::Held | Stall::Ended => GREY,
        },
        SpanKind::Hold { .. } => YELLOW,
    }
}

/// The fill of a class; lighter under a hatch.
pub(crate) fn fill(theme: Theme, what: SpanKind) -> Rgb {
    let hue = hue(what);
    match what {
        SpanKind::Work(_) => hue,
        SpanKind::Stall(Stall::Ended) => theme.paper().mix(hue, 12),
        SpanKind::Stall(_) => theme.paper().mix(hue, if theme == Theme::Light { 17 } else { 22 }),
        SpanKind::Hold { filling: false } => theme.paper().mix(hue, if theme == Theme::Light { 70 } else { 62 }),
        SpanKind::Hold { filling: true } => theme.paper().mix(hue, 22),
    }
}

/// The lines of a class's hatch, lighter on dark paper.
pub(crate) fn hatch(theme: Theme, what: SpanKind) -> Rgb {
    let hue = hue(what);
    match (what, theme) {
        (SpanKind::Hold { .. }, _) => theme.paper().mix(theme.ink(), 20).mix(hue, 72),
        (_, Theme::Light) => theme.paper().mix(hue, 72),
        (_, Theme::Dark) => theme.paper().mix(hue.mix(theme.ink(), 30), 72),
    }
}

/// Phases of a barrier alternate between two grays, so that each start is visible.
pub(crate) fn phase(theme: Theme, odd: bool) -> Rgb {
    theme.paper().mix(theme.ink(), if odd { 34 } else { 17 })
}
