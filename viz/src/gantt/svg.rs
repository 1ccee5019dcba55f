//! SVG: plotters' writer, followed by three repairs.
//!
//! 1. Plotters embeds no font. The used glyphs are embedded, and every text gets its width, which keeps it in its box
//!    even where a viewer refuses the font.
//! 2. Plotters anchors text by an estimated letter height. The anchor becomes the baseline.
//! 3. Plotters writes one element for every stroke. Runs of one color are joined into paths, a tenth of the size.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine};
use plotters::backend::{DrawingBackend, SVGBackend};

use super::font;
use super::options::GanttError;
use super::paint;
use super::scene::{Item, Scene};
use super::subset;

/// Writes a scene.
pub(crate) fn svg(scene: &Scene, title: &str) -> Result<String, GanttError> {
    paint::font_ready()?;
    let mut raw = String::new();
    let mut on = paint::Vector(SVGBackend::with_string(&mut raw, (scene.width as u32, scene.height as u32)));
    paint::scene(scene, &mut on)?;
    on.0.present().map_err(paint::draw_error)?;
    drop(on);
    let face = embedded(scene)?;
    Ok(repair(&raw, &face, title, scene))
}

/// A style sheet with the glyphs of the scene.
fn embedded(scene: &Scene) -> Result<String, GanttError> {
    let mut chars = BTreeSet::new();
    for drawn in &scene.items {
        if let Item::Text { text, .. } = &drawn.item {
            chars.extend(text.chars());
        }
    }
    let font = font::built_in().ok_or(GanttError::Font)?;
    let bytes = subset::subset(font, &chars).ok_or(GanttError::Font)?;
    Ok(format!(
        "<style>@font-face{{font-family:\"{family}\";src:url(data:font/ttf;base64,{data}) format(\"truetype\")}}\
         text{{font-family:\"{family}\",\"Roboto Condensed\",\"Arial Narrow\",sans-serif;font-kerning:none;\
         white-space:pre}}</style>\n",
        family = font::FAMILY,
        data = BASE64_STANDARD.encode(&bytes)
    ))
}

/// A run of elements that can be joined.
#[derive(Default)]
struct ElementRun {
    /// `fill` or `stroke`, and the color.
    paint: Option<(&'static str, String)>,
    path: String,
}

impl ElementRun {
    fn add(&mut self, out: &mut String, step: &Step<'_>) {
        let (how, color) = match step {
            Step::Fill { color, .. } => ("fill", color),
            Step::Stroke { color, .. } => ("stroke", color),
        };
        if self.paint.as_ref().is_none_or(|(h, c)| *h != how || c != color) {
            self.flush(out);
            self.paint = Some((how, (*color).to_owned()));
        }
        // Writing to a String cannot fail.
        let _ = match step {
            Step::Fill { at: (x, y), size: (w, h), .. } => write!(self.path, "M{x} {y}h{w}v{h}h-{w}z"),
            // Through the middle of pixels.
            Step::Stroke { at: (x, y), by: (dx, dy), .. } => write!(self.path, "M{x}.5 {y}.5l{dx} {dy}"),
        };
    }

    fn flush(&mut self, out: &mut String) {
        if let Some((how, color)) = self.paint.take() {
            let none = if how == "stroke" { " fill=\"none\"" } else { "" };
            let _ = writeln!(out, "<path {how}=\"{color}\"{none} d=\"{}\"/>", self.path);
            self.path.clear();
        }
    }
}

fn repair(raw: &str, face: &str, title: &str, scene: &Scene) -> String {
    let mut out = String::with_capacity(raw.len() / 2 + face.len());
    let mut run = ElementRun::default();
    let mut texts = scene.items.iter().filter_map(|d| match &d.item {
        Item::Text { area, text, .. } => Some((area, text)),
        _ => None,
    });
    let mut lines = raw.lines();
    while let Some(line) = lines.next() {
        if let Some(step) = step(line) {
            run.add(&mut out, &step);
            continue;
        }
        run.flush(&mut out);
        if line.starts_with("<svg ") {
            out.push_str(line);
            let _ = write!(out, "\n<title>{}</title>\n{face}", escaped(title));
        } else if line.starts_with("<text ") {
            // Plotters puts the letters on their own line, and the closing tag on another.
            let (Some((area, text)), Some(_), Some(_)) = (texts.next(), lines.next(), lines.next()) else { break };
            let [x, y, size, fill] = attributes(line, ["x", "y", "font-size", "fill"]).map(Option::unwrap_or_default);
            let size = size.parse::<f64>().map_or(size.to_owned(), |s| s.round().to_string());
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\" textLength=\"{}\" \
                 lengthAdjust=\"spacingAndGlyphs\">{}</text>",
                area.w,
                escaped(text)
            );
        } else {
            out.push_str(&line.replace(" opacity=\"1\"", ""));
            out.push('\n');
        }
    }
    out
}

/// A filled box or a line as a step of a path.
#[derive(Debug, PartialEq)]
enum Step<'l> {
    Fill { color: &'l str, at: (&'l str, &'l str), size: (&'l str, &'l str) },
    Stroke { color: &'l str, at: (i32, i32), by: (i32, i32) },
}

fn step(line: &str) -> Option<Step<'_>> {
    if line.starts_with("<rect ") {
        let [x, y, w, h, color] = attributes(line, ["x", "y", "width", "height", "fill"]);
        Some(Step::Fill { color: color?, at: (x?, y?), size: (w?, h?) })
    } else if line.starts_with("<line ") {
        let [x0, y0, x1, y1, color] = attributes(line, ["x1", "y1", "x2", "y2", "stroke"]);
        let number = |text: Option<&str>| text?.parse::<i32>().ok();
        let (x0, y0, x1, y1) = (number(x0)?, number(y0)?, number(x1)?, number(y1)?);
        Some(Step::Stroke { color: color?, at: (x0, y0), by: (x1 - x0, y1 - y0) })
    } else {
        None
    }
}

/// Values of an element's attributes, in one pass: there are a hundred thousand elements, all with quoted values.
fn attributes<'l, const N: usize>(line: &'l str, names: [&str; N]) -> [Option<&'l str>; N] {
    let mut found = [None; N];
    let mut quoted = line.split('"');
    while let (Some(before), Some(value)) = (quoted.next(), quoted.next()) {
        let name = before.strip_suffix('=').and_then(|b| b.rsplit(' ').next());
        if let Some(i) = names.iter().position(|n| Some(*n) == name) {
            found[i] = found[i].or(Some(value));
        }
    }
    found
}

/// Text for XML, without characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\u{FFFE}' | '\u{FFFF}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_and_lines_become_steps() {
        let rect = "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" opacity=\"1\" fill=\"#AABBCC\" stroke=\"none\"/>";
        assert_eq!(step(rect), Some(Step::Fill { color: "#AABBCC", at: ("1", "2"), size: ("3", "4") }));
        let line = "<line opacity=\"1\" stroke=\"#AABBCC\" stroke-width=\"1\" x1=\"9\" y1=\"0\" x2=\"5\" y2=\"4\"/>";
        assert_eq!(step(line), Some(Step::Stroke { color: "#AABBCC", at: (9, 0), by: (-4, 4) }));
        assert_eq!(step("<circle cx=\"1\"/>"), None);
        let mut run = ElementRun::default();
        let mut out = String::new();
        [rect, line].iter().filter_map(|l| step(l)).for_each(|s| run.add(&mut out, &s));
        run.flush(&mut out);
        assert_eq!(
            out,
            "<path fill=\"#AABBCC\" d=\"M1 2h3v4h-3z\"/>\n\
             <path stroke=\"#AABBCC\" fill=\"none\" d=\"M9.5 0.5l-4 4\"/>\n"
        );
    }
}
