//! The picture as data: filled boxes, lines, arrow heads and texts, in layers.
//!
//! Layout fills a scene, and [`super::paint`] draws it. The scene checks its invariants itself: nothing lies outside
//! the canvas, and a text that would touch another is refused.

use super::font::Measure;
use super::theme::Rgb;

/// A box of pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Left.
    pub x: i32,
    /// Top.
    pub y: i32,
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

impl Area {
    pub(crate) fn new(x: i32, y: i32, w: i32, h: i32) -> Area {
        Area { x, y, w, h }
    }

    /// The first pixel right of the box.
    pub fn right(&self) -> i32 {
        self.x + self.w
    }

    /// The first pixel below the box.
    pub fn bottom(&self) -> i32 {
        self.y + self.h
    }

    /// Whether two boxes share a pixel.
    pub fn meets(&self, o: &Area) -> bool {
        self.x < o.right() && o.x < self.right() && self.y < o.bottom() && o.y < self.bottom()
    }

    /// Whether `o` is inside.
    pub fn holds(&self, o: &Area) -> bool {
        o.x >= self.x && o.y >= self.y && o.right() <= self.right() && o.bottom() <= self.bottom()
    }

    /// The common part, without width or height if there is none.
    pub(crate) fn cut(&self, o: &Area) -> Area {
        let (x, y) = (self.x.max(o.x), self.y.max(o.y));
        Area { x, y, w: (self.right().min(o.right()) - x).max(0), h: (self.bottom().min(o.bottom()) - y).max(0) }
    }

    pub(crate) fn grown(&self, by: i32) -> Area {
        Area { x: self.x - by, y: self.y - by, w: self.w + 2 * by, h: self.h + 2 * by }
    }
}

/// Drawing order. Nothing overlaps within [`Layer::Bars`], [`Layer::Hatch`] and [`Layer::Plates`], so these are
/// ordered by color, which lets the SVG writer join neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Bands behind rows and headings.
    Bands,
    /// Lines of the axis.
    Grid,
    /// Bars and density columns.
    Bars,
    /// Hatching on bars.
    Hatch,
    /// Barrier lines and wake arrows.
    Marks,
    /// Plain background of a text on a hatched bar.
    Plates,
    /// Text.
    Text,
}

/// A thing to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A filled box.
    Fill(Area),
    /// A line one pixel wide, from pixel to pixel.
    Line([i32; 4]),
    /// A filled triangle.
    Triangle([(i32, i32); 3]),
    /// A text in a box that contains it.
    Text {
        /// The box.
        area: Area,
        /// Vertical position of the letters.
        baseline: i32,
        /// Size of the font in pixels.
        em: i32,
        /// The letters.
        text: String,
    },
}

impl Item {
    /// The box of the item.
    pub fn area(&self) -> Area {
        let around = |points: &[(i32, i32)]| {
            let x = points.iter().map(|p| p.0);
            let y = points.iter().map(|p| p.1);
            let (x0, y0) = (x.clone().min().unwrap_or(0), y.clone().min().unwrap_or(0));
            Area::new(x0, y0, x.max().unwrap_or(0) - x0 + 1, y.max().unwrap_or(0) - y0 + 1)
        };
        match self {
            Item::Fill(area) | Item::Text { area, .. } => *area,
            Item::Line([x0, y0, x1, y1]) => around(&[(*x0, *y0), (*x1, *y1)]),
            Item::Triangle(points) => around(points),
        }
    }
}

/// An item with its layer and color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Its layer.
    pub layer: Layer,
    /// Its color.
    pub color: Rgb,
    /// What is drawn.
    pub item: Item,
}

/// Horizontal position of a text in its box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Center,
    Right,
}

/// A picture.
pub struct Scene {
    /// Width in pixels.
    pub width: i32,
    /// Height in pixels.
    pub height: i32,
    /// Color of the paper.
    pub paper: Rgb,
    /// The box of the time axis, which contains every bar, arrow and barrier line.
    pub plot: Area,
    /// Items in drawing order.
    pub items: Vec<Drawn>,
    texts: Vec<Vec<Area>>,
    measure: Measure,
}

/// Height of the strips by which texts are found.
const STRIP: i32 = 64;

impl Scene {
    pub(crate) fn new(width: i32, height: i32, paper: Rgb, measure: Measure) -> Scene {
        let strips = vec![Vec::new(); (height / STRIP + 1) as usize];
        Scene { width, height, paper, plot: Area::default(), items: Vec::new(), texts: strips, measure }
    }

    pub(crate) fn measure(&self) -> &Measure {
        &self.measure
    }

    /// The whole picture.
    pub fn canvas(&self) -> Area {
        Area::new(0, 0, self.width, self.height)
    }

    pub(crate) fn fill(&mut self, layer: Layer, area: Area, color: Rgb) {
        let area = area.cut(&self.canvas());
        if area.w > 0 && area.h > 0 {
            self.items.push(Drawn { layer, color, item: Item::Fill(area) });
        }
    }

    pub(crate) fn line(&mut self, layer: Layer, ends: [i32; 4], color: Rgb) {
        self.push(layer, color, Item::Line(ends));
    }

    pub(crate) fn triangle(&mut self, layer: Layer, points: [(i32, i32); 3], color: Rgb) {
        self.push(layer, color, Item::Triangle(points));
    }

    fn push(&mut self, layer: Layer, color: Rgb, item: Item) {
        if self.canvas().holds(&item.area()) {
            self.items.push(Drawn { layer, color, item });
        }
    }

    /// Puts a text in `room` and returns its box. The text may be cut with an ellipsis to at least `least`
    /// characters. `None`, and nothing is drawn, if it does not fit or would touch another text.
    pub(crate) fn text(
        &mut self,
        room: Area,
        text: &str,
        em: i32,
        align: Align,
        color: Rgb,
        least: usize,
    ) -> Option<Area> {
        let room = room.cut(&self.canvas());
        if text.is_empty() || em < 4 || room.h < em {
            return None;
        }
        // A line break in a title would break the lines of the SVG writer too.
        let text = text.replace(char::is_control, " ");
        let text = self.measure.fit(&text, em, room.w, least)?;
        let w = self.measure.width(&text, em);
        let x = match align {
            Align::Left => room.x,
            Align::Center => room.x + (room.w - w) / 2,
            Align::Right => room.right() - w,
        };
        // Letters are on the line that centers capitals; descenders reach about a fifth below it.
        let top = room.y + (room.h - em) / 2;
        let baseline = top + (em * 86 + 50) / 100;
        let area = Area::new(x, top, w, em);
        if self.touched(&area) {
            return None;
        }
        for strip in area.y / STRIP..=area.bottom() / STRIP {
            if let Some(strip) = self.texts.get_mut(strip as usize) {
                strip.push(area);
            }
        }
        self.items.push(Drawn { layer: Layer::Text, color, item: Item::Text { area, baseline, em, text } });
        Some(area)
    }

    fn touched(&self, area: &Area) -> bool {
        self.texts_near(area).any(|other| other.meets(area))
    }

    /// Boxes of texts in the strips of `area`.
    pub(crate) fn texts_near(&self, area: &Area) -> impl Iterator<Item = &Area> {
        let strips = (area.y / STRIP).max(0) as usize..=(area.bottom() / STRIP).max(0) as usize;
        strips.filter_map(|s| self.texts.get(s)).flatten()
    }

    /// Sorts items into drawing order.
    pub(crate) fn finish(&mut self) {
        self.items.sort_by(|a, b| {
            let by_color = |d: &Drawn| matches!(d.layer, Layer::Bars | Layer::Hatch | Layer::Plates).then_some(d.color);
            a.layer.cmp(&b.layer).then_with(|| by_color(a).cmp(&by_color(b)))
        });
    }
}
