//! Draws a scene: one routine for every [`Paint`].

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, IntoFont, RGBColor, TextStyle, register_font};

use super::font;
use super::options::GanttError;
use super::scene::{Area, Drawn, Item, Scene};
use super::theme::Rgb;

/// A drawing surface.
pub(crate) trait Paint {
    fn fill(&mut self, area: Area, color: Rgb) -> Result<(), GanttError>;
    fn line(&mut self, ends: [i32; 4], color: Rgb) -> Result<(), GanttError>;
    fn triangle(&mut self, points: [(i32, i32); 3], color: Rgb) -> Result<(), GanttError>;
    fn text(&mut self, text: &str, at: (i32, i32), em: i32, color: Rgb) -> Result<(), GanttError>;
}

/// Draws all of a scene.
pub(crate) fn scene(scene: &Scene, on: &mut impl Paint) -> Result<(), GanttError> {
    on.fill(scene.canvas(), scene.paper)?;
    for Drawn { color, item, .. } in &scene.items {
        match item {
            Item::Fill(area) => on.fill(*area, *color)?,
            Item::Line(ends) => on.line(*ends, *color)?,
            Item::Triangle(points) => on.triangle(*points, *color)?,
            Item::Text { area, baseline, em, text } => on.text(text, (area.x, *baseline), *em, *color)?,
        }
    }
    Ok(())
}

/// Registers the built-in font with plotters, once.
pub(crate) fn font_ready() -> Result<(), GanttError> {
    use std::sync::OnceLock;
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| register_font(font::FAMILY, FontStyle::Normal, font::BYTES).is_ok());
    if *done { Ok(()) } else { Err(GanttError::Font) }
}

pub(crate) fn rgb(c: Rgb) -> RGBColor {
    RGBColor(c.0, c.1, c.2)
}

pub(crate) fn text_style(size: f64, color: Rgb) -> TextStyle<'static> {
    (font::FAMILY, size).into_font().color(&rgb(color)).pos(Pos::new(HPos::Left, VPos::Top))
}

pub(crate) fn draw_error(e: impl std::fmt::Display) -> GanttError {
    GanttError::Draw(e.to_string())
}

/// Plotters' SVG writer.
pub(crate) struct Vector<'a>(pub(crate) SVGBackend<'a>);

/// Plotters writes a font's size divided by this.
const SVG_SIZE: f64 = 1.24;

impl Paint for Vector<'_> {
    fn fill(&mut self, a: Area, color: Rgb) -> Result<(), GanttError> {
        self.0.draw_rect((a.x, a.y), (a.right(), a.bottom()), &rgb(color), true).map_err(draw_error)
    }

    fn line(&mut self, [x0, y0, x1, y1]: [i32; 4], color: Rgb) -> Result<(), GanttError> {
        self.0.draw_line((x0, y0), (x1, y1), &rgb(color)).map_err(draw_error)
    }

    fn triangle(&mut self, points: [(i32, i32); 3], color: Rgb) -> Result<(), GanttError> {
        self.0.fill_polygon(points, &rgb(color)).map_err(draw_error)
    }

    /// `at` becomes the anchor unchanged; [`super::svg`] makes it the baseline.
    fn text(&mut self, text: &str, at: (i32, i32), em: i32, color: Rgb) -> Result<(), GanttError> {
        self.0.draw_text(text, &text_style(f64::from(em) * SVG_SIZE, color), at).map_err(draw_error)
    }
}
