//! PNG: plotters' bitmap, drawn enlarged and averaged down.
//!
//! Plotters places letters at whole pixels and does not smooth polygons; at two or three times the size neither is
//! visible. The picture is drawn in strips, so that a tall picture needs no tall bitmap. Cores draw strips in
//! parallel.

use std::io::Write as _;

use plotters::backend::{BitMapBackend, DrawingBackend};
use rayon::prelude::*;

use super::font;
use super::options::GanttError;
use super::paint::{self, Paint};
use super::scene::{Area, Scene};
use super::theme::Rgb;

/// Layout pixels of a strip.
const STRIP: i32 = 240;
/// Strips that a core draws before finished ones are written.
const TURNS: usize = 8;

/// Encodes a scene as a PNG with `scale` pixels to the layout pixel.
pub(crate) fn png(scene: &Scene, scale: u32) -> Result<Vec<u8>, GanttError> {
    paint::font_ready()?;
    let font = font::built_in().ok_or(GanttError::Font)?;
    let over = if scale == 1 { 3 } else { 2 };
    let zoom = (scale * over) as i32;
    let (width, height) = (scene.width as u32 * scale, scene.height as u32 * scale);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_filter(png::FilterType::Up);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let ratio = f64::from(font.height) / f64::from(font.units);
    let strip = |pixels: &mut Vec<u8>, top: i32| {
        let wide = width as usize * over as usize;
        let rows = STRIP.min(scene.height - top);
        // Remains of the previous strip are painted over.
        pixels.resize(wide * (rows * zoom) as usize * 3, 0);
        let bitmap = BitMapBackend::with_buffer(pixels, (wide as u32, (rows * zoom) as u32));
        let mut on = Raster { bitmap, strip: Area::new(0, top, scene.width, rows), zoom, ratio };
        paint::scene(scene, &mut on)?;
        drop(on);
        Ok(if over == 3 { shrink::<3>(pixels, wide) } else { shrink::<2>(pixels, wide) })
    };
    let tops: Vec<i32> = (0..scene.height).step_by(STRIP as usize).collect();
    for some in tops.chunks(rayon::current_num_threads().max(1) * TURNS) {
        let strips = some.par_iter().map_init(Vec::new, |pixels, top| strip(pixels, *top));
        for pixels in strips.collect::<Result<Vec<Vec<u8>>, GanttError>>()? {
            stream.write_all(&pixels).map_err(png::EncodingError::from)?;
        }
    }
    stream.finish()?;
    drop(writer);
    Ok(out)
}

/// Averages blocks of `BY` by `BY` pixels; at most 16 a side.
fn shrink<const BY: usize>(pixels: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(pixels.len() / (BY * BY));
    let mut sums = vec![0u16; width * 3];
    let count = (BY * BY) as u16;
    for block in pixels.chunks_exact(width * 3 * BY) {
        sums.fill(0);
        // Vertically, then horizontally.
        for row in block.chunks_exact(width * 3) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += u16::from(*value);
            }
        }
        for cell in sums.chunks_exact(3 * BY) {
            for colour in 0..3 {
                let sum: u16 = (0..BY).map(|i| cell[3 * i + colour]).sum();
                out.push(((sum + count / 2) / count) as u8);
            }
        }
    }
    out
}

/// A strip of the picture, enlarged.
struct Raster<'a> {
    bitmap: BitMapBackend<'a>,
    strip: Area,
    zoom: i32,
    /// Height of the font over its em: plotters scales by the height.
    ratio: f64,
}

impl Raster<'_> {
    /// Fills a box given in enlarged pixels of the whole picture.
    fn dots(&mut self, area: Area, color: Rgb) -> Result<(), GanttError> {
        let top = self.strip.y * self.zoom;
        let bounds = Area::new(0, top, self.strip.w * self.zoom, self.strip.h * self.zoom);
        let a = area.cut(&bounds);
        if a.w <= 0 || a.h <= 0 {
            return Ok(());
        }
        let (from, to) = ((a.x, a.y - top), (a.right(), a.bottom() - top));
        self.bitmap.draw_rect(from, to, &paint::rgb(color), true).map_err(paint::draw_error)
    }
}

impl Paint for Raster<'_> {
    fn fill(&mut self, a: Area, color: Rgb) -> Result<(), GanttError> {
        let z = self.zoom;
        self.dots(Area::new(a.x * z, a.y * z, a.w * z, a.h * z), color)
    }

    /// A stroke as a stack of short runs across it.
    fn line(&mut self, [x0, y0, x1, y1]: [i32; 4], color: Rgb) -> Result<(), GanttError> {
        let z = self.zoom;
        let near = Area::new(0, y0.min(y1), self.strip.w, (y1 - y0).abs() + 1);
        if !near.meets(&self.strip) {
            return Ok(());
        }
        let steep = (y1 - y0).abs() >= (x1 - x0).abs();
        // (a, b): along and across the stroke.
        let ((a0, b0), (a1, b1)) = if steep { ((y0, x0), (y1, x1)) } else { ((x0, y0), (x1, y1)) };
        let ((a0, b0), (a1, b1)) = if a0 <= a1 { ((a0, b0), (a1, b1)) } else { ((a1, b1), (a0, b0)) };
        let length = (((a1 - a0).pow(2) + (b1 - b0).pow(2)) as f64).sqrt();
        let run = i64::from((a1 - a0).max(1));
        // A slanted stroke is cut at an angle, which makes the cut longer.
        let thick = ((f64::from(z) * length / run as f64).round() as i32).max(1);
        for a in a0 * z..(a1 + 1) * z {
            let along = i64::from((a - a0 * z).min((a1 - a0) * z));
            let b = i64::from(b0 * z) + i64::from(b1 - b0) * along / run;
            let b = b as i32 + (z - thick) / 2;
            let dot = if steep { Area::new(b, a, thick, 1) } else { Area::new(a, b, 1, thick) };
            self.dots(dot, color)?;
        }
        Ok(())
    }

    fn triangle(&mut self, points: [(i32, i32); 3], color: Rgb) -> Result<(), GanttError> {
        let z = self.zoom;
        let p = points.map(|(x, y)| (x * z + z / 2, y * z + z / 2));
        let (top, bottom) = (p.iter().map(|p| p.1).min().unwrap_or(0), p.iter().map(|p| p.1).max().unwrap_or(0));
        for y in top..=bottom {
            // Where the horizontal line at y crosses the sides.
            let crossings = [(0, 1), (1, 2), (2, 0)].into_iter().filter_map(|(i, j)| {
                let ((xa, ya), (xb, yb)) = if p[i].1 <= p[j].1 { (p[i], p[j]) } else { (p[j], p[i]) };
                (ya <= y && y <= yb && ya < yb).then(|| xa + (xb - xa) * (y - ya) / (yb - ya))
            });
            if let (Some(x0), Some(x1)) = (crossings.clone().min(), crossings.max()) {
                self.dots(Area::new(x0, y, x1 - x0 + 1, 1), color)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str, (x, baseline): (i32, i32), em: i32, color: Rgb) -> Result<(), GanttError> {
        if baseline + em < self.strip.y || baseline - em > self.strip.bottom() {
            return Ok(());
        }
        let size = f64::from(em * self.zoom) * self.ratio;
        // Plotters puts the baseline half the size below the anchor.
        let y = f64::from((baseline - self.strip.y) * self.zoom) - f64::from(size as f32 / 2.0);
        let style = paint::text_style(size, color);
        self.bitmap.draw_text(text, &style, (x * self.zoom, y.round() as i32)).map_err(paint::draw_error)
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn shrinking_averages_blocks() {
        let pixels = [0, 0, 0, 100, 100, 100, 200, 200, 200, 100, 100, 100];
        assert_eq!(shrink::<2>(&pixels, 2), [100, 100, 100]);
        assert_eq!(shrink::<3>(&[255; 27], 3), [255; 3]);
    }
}
