//! SVG: plotters' writer, then three repairs to what it wrote.
//!
//! It carries no font, so the glyphs used are embedded and every text is told its width, which holds it in its box even
//! where a viewer refuses the font. It anchors text by a guess at the letters' height, so the anchor is made the
//! baseline. And it writes an element for every stroke, so runs of one colour are joined into paths, a tenth the size.

use std::collections::BTreeSet;
use std::fmt::Write as _;

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

/// A style sheet with the glyphs that the scene uses.
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
        data = subset::base64(&bytes)
    ))
}

/// A run of elements that can be one.
#[derive(Default)]
struct Run {
    /// `fill` or `stroke`, and the colour.
    paint: Option<(&'static str, String)>,
    path: String,
}

impl Run {
    fn add(&mut self, out: &mut String, how: &'static str, color: &str, step: &str) {
        let same = self.paint.as_ref().is_some_and(|(h, c)| *h == how && c == color);
        if !same {
            self.flush(out);
            self.paint = Some((how, color.to_owned()));
        }
        self.path.push_str(step);
    }

    fn flush(&mut self, out: &mut String) {
        if let Some((how, color)) = self.paint.take() {
            let none = if how == "stroke" { " fill=\"none\"" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<path {how}=\"{color}\"{none} d=\"{}\"/>", self.path);
            self.path.clear();
        }
    }
}

fn repair(raw: &str, face: &str, title: &str, scene: &Scene) -> String {
    let mut out = String::with_capacity(raw.len() / 2 + face.len());
    let mut run = Run::default();
    let mut texts = scene.items.iter().filter_map(|d| match &d.item {
        Item::Text { area, text, .. } => Some((area, text)),
        _ => None,
    });
    let mut lines = raw.lines();
    while let Some(line) = lines.next() {
        if let Some((how, color, step)) = step(line) {
            run.add(&mut out, how, color, &step);
            continue;
        }
        run.flush(&mut out);
        if line.starts_with("<svg ") {
            out.push_str(line);
            let _ = write!(out, "\n<title>{}</title>\n{face}", escaped(title));
        } else if line.starts_with("<text ") {
            // Plotters puts the letters on a line of their own, and the closing tag on another.
            let (Some((area, text)), Some(_), Some(_)) = (texts.next(), lines.next(), lines.next()) else { break };
            let of = |name| attribute(line, name).unwrap_or_default();
            let (x, y, size, fill) = (of("x"), of("y"), of("font-size"), of("fill"));
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
fn step(line: &str) -> Option<(&'static str, &str, String)> {
    let of = |name| attribute(line, name);
    if line.starts_with("<rect ") {
        let (x, y, w, h) = (of("x")?, of("y")?, of("width")?, of("height")?);
        Some(("fill", of("fill")?, format!("M{x} {y}h{w}v{h}h-{w}z")))
    } else if line.starts_with("<line ") {
        let number = |name| of(name)?.parse::<i32>().ok();
        let (x0, y0, x1, y1) = (number("x1")?, number("y1")?, number("x2")?, number("y2")?);
        // Through the middle of pixels.
        Some(("stroke", of("stroke")?, format!("M{x0}.5 {y0}.5l{} {}", x1 - x0, y1 - y0)))
    } else {
        None
    }
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!(" {name}=\""))? + name.len() + 3;
    let rest = line.get(start..)?;
    rest.get(..rest.find('"')?)
}

/// Text as it may stand in XML; characters that may not stand there at all are dropped.
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
        assert_eq!(step(rect), Some(("fill", "#AABBCC", "M1 2h3v4h-3z".into())));
        let line = "<line opacity=\"1\" stroke=\"#AABBCC\" stroke-width=\"1\" x1=\"9\" y1=\"0\" x2=\"5\" y2=\"4\"/>";
        assert_eq!(step(line), Some(("stroke", "#AABBCC", "M9.5 0.5l-4 4".into())));
        assert_eq!(step("<circle cx=\"1\"/>"), None);
    }
}
