//! The legend: an entry for every class in the picture, and no other.

use std::collections::BTreeSet;

use super::class::Class;
use super::font::Measure;
use super::hatch;
use super::layout::Frame;
use super::marks::{self, Marks};
use super::scene::{Align, Area, Layer, Scene};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Heading(&'static str),
    Class(Class),
    Shares,
    Release,
    Wake,
}

impl Entry {
    fn text(self) -> &'static str {
        match self {
            Entry::Heading(text) => text,
            Entry::Class(class) => class.legend(),
            Entry::Shares => "crowded: shares of time",
            Entry::Release => "barrier opens",
            Entry::Wake => "wakes",
        }
    }
}

/// A legend, broken into lines.
pub(crate) struct Legend {
    entries: Vec<(Entry, i32, i32)>,
    lines: i32,
    em: i32,
}

/// Width of a swatch, in tenths of an em.
const SWATCH: i32 = 22;

impl Legend {
    /// `None` if there is nothing to explain.
    pub(crate) fn new(
        classes: &BTreeSet<Class>,
        dense: bool,
        marks: &Marks,
        measure: &Measure,
        em: i32,
        width: i32,
    ) -> Option<Legend> {
        let mut all = Vec::new();
        let mut part = |heading, entries: Vec<Entry>| {
            if !entries.is_empty() {
                all.push(Entry::Heading(heading));
                all.extend(entries);
            }
        };
        let of = |keep: fn(&Class) -> bool| classes.iter().copied().filter(keep).map(Entry::Class).collect::<Vec<_>>();
        part("Work", of(|c| matches!(c, Class::Work(_))));
        part("Waits for", of(|c| matches!(c, Class::Stall(_))));
        let mut state = of(|c| matches!(c, Class::Full | Class::Filling));
        state.extend(classes.iter().copied().find(|c| matches!(c, Class::Phase(_))).map(Entry::Class));
        part("State", state);
        let mut rest = Vec::new();
        rest.extend((!marks.releases.is_empty()).then_some(Entry::Release));
        rest.extend((!marks.wakes.is_empty()).then_some(Entry::Wake));
        rest.extend(dense.then_some(Entry::Shares));
        part("Marks", rest);
        Legend::flow(all, measure, em, width)
    }

    /// Places entries one after another; a heading stays with its first entry.
    fn flow(all: Vec<Entry>, measure: &Measure, em: i32, width: i32) -> Option<Legend> {
        let size = |entry: &Entry| {
            let text = measure.width(entry.text(), em * 9 / 10);
            if matches!(entry, Entry::Heading(_)) { text + em * 7 / 10 } else { text + em * (SWATCH + 4 + 10) / 10 }
        };
        let (mut x, mut line) = (0, 0);
        let mut entries = Vec::new();
        for (i, entry) in all.iter().enumerate() {
            let heading = matches!(entry, Entry::Heading(_));
            let extra = if heading { all.get(i + 1).map_or(0, size) } else { 0 };
            if x > 0 && x + (if heading && i > 0 { em } else { 0 }) + size(entry) + extra > width {
                (x, line) = (0, line + 1);
            } else if heading && i > 0 {
                x += em;
            }
            entries.push((*entry, x, line));
            x += size(entry);
        }
        (!entries.is_empty()).then_some(Legend { entries, lines: line + 1, em })
    }

    pub(crate) fn height(&self) -> i32 {
        self.lines * self.em * 16 / 10
    }

    pub(crate) fn draw(&self, frame: &Frame<'_>, scene: &mut Scene, top: i32) {
        let (em, theme, right) = (self.em, frame.theme, scene.width - self.em / 2);
        for &(entry, x, line) in &self.entries {
            let (x, y) = (em + x, top + line * em * 16 / 10);
            let h = em * 13 / 10;
            let room = |x: i32| Area::new(x, y, right - x, h);
            if let Entry::Heading(text) = entry {
                scene.text(room(x), text, em * 9 / 10, Align::Left, theme.muted(), 1);
                continue;
            }
            let swatch = Area::new(x, y + em / 10, em * SWATCH / 10, h - em / 5);
            draw_swatch(frame, scene, entry, swatch);
            scene.text(room(x + em * (SWATCH + 4) / 10), entry.text(), em * 9 / 10, Align::Left, theme.ink(), 1);
        }
    }
}

fn draw_swatch(frame: &Frame<'_>, scene: &mut Scene, entry: Entry, area: Area) {
    let theme = frame.theme;
    match entry {
        Entry::Heading(_) => {}
        Entry::Class(Class::Phase(_)) => {
            let half = Area { w: area.w / 2, ..area };
            scene.fill(Layer::Bars, half, Class::Phase(false).fill(theme));
            scene.fill(
                Layer::Bars,
                Area { x: half.right(), w: area.w - half.w, ..area },
                Class::Phase(true).fill(theme),
            );
        }
        Entry::Class(class) => {
            scene.fill(Layer::Bars, area, class.fill(theme));
            if let Some((pattern, color)) = class.hatch(theme) {
                hatch::draw(scene, area, pattern, frame.em, color);
            }
        }
        Entry::Shares => {
            let bars = [3, 5, 4, 7, 6, 4, 8, 5];
            scene.fill(Layer::Bands, area, theme.track());
            for (i, tenths) in bars.into_iter().enumerate() {
                let (x0, x1) = (area.w * i as i32 / 8, area.w * (i as i32 + 1) / 8);
                let h = area.h * tenths / 10;
                scene.fill(Layer::Bars, Area::new(area.x + x0, area.bottom() - h, x1 - x0, h), theme.muted());
            }
        }
        Entry::Release => marks::release(frame, scene, area.x + area.w / 2, area.y, area.bottom(), &[]),
        Entry::Wake => {
            let x = area.x + area.w / 2;
            marks::arrow(frame, scene, (x, area.y), (x, area.bottom()), &[]);
        }
    }
}
