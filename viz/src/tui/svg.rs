//! Frames as one SVG that plays them, for a document: the picture of a terminal, without one.

use std::fmt::Write;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use crate::gantt::{Rgb, Theme};

/// Pixels of a cell; the next constant is the size of the letters.
const CELL: (u32, u32) = (8, 17);
const EM: u32 = 13;
/// Space around the frame.
const MARGIN: u32 = 8;
/// A terminal with a dark background.
const THEME: Theme = Theme::Dark;

/// The frames, each shown for a number of milliseconds, in a loop. The first frame determines the size of the
/// picture.
pub fn svg(frames: &[Buffer], millis: u32) -> String {
    let (cols, rows) = frames.first().map_or((0, 0), |f| (u32::from(f.area.width), u32::from(f.area.height)));
    let (width, height) = (cols * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"{EM}\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{}\"/>\n",
        THEME.paper().css()
    );
    if frames.len() > 1 {
        // Each frame is visible for its part of the loop. Without animation the first frame is on top.
        let (part, round) = (100.0 / frames.len() as f64, u64::from(millis) * frames.len() as u64);
        let _ = writeln!(
            out,
            "<style>.f{{visibility:hidden;animation:f {round}ms step-end infinite}}.f:first-of-type{{visibility:visible}}\
             @keyframes f{{0%{{visibility:visible}}{part:.3}%{{visibility:hidden}}}}</style>"
        );
    }
    for (i, frame) in frames.iter().enumerate() {
        let delay = u64::from(millis) * i as u64;
        let class =
            if frames.len() > 1 { format!(" class=\"f\" style=\"animation-delay:{delay}ms\"") } else { String::new() };
        let _ = writeln!(out, "<g{class} transform=\"translate({MARGIN} {MARGIN})\">");
        for y in 0..frame.area.height {
            line(frame, y, &mut out);
        }
        out += "</g>\n";
    }
    out + "</svg>\n"
}

/// Colors of a cell as drawn: letters, background, weight.
type CellColors = (Rgb, Option<Rgb>, bool);

fn look(frame: &Buffer, x: u16, y: u16) -> CellColors {
    let Some(c) = frame.cell((frame.area.x + x, frame.area.y + y)) else { return (THEME.ink(), None, false) };
    let (mut ink, mut ground) = (colour(c.fg).unwrap_or(THEME.ink()), colour(c.bg));
    if c.modifier.contains(Modifier::REVERSED) {
        (ink, ground) = (ground.unwrap_or(THEME.paper()), Some(ink));
    }
    (ink, ground, c.modifier.contains(Modifier::BOLD))
}

/// A color, unless it is the terminal's own. The viewer uses true color here.
fn colour(c: Color) -> Option<Rgb> {
    match c {
        Color::Rgb(r, g, b) => Some(Rgb(r, g, b)),
        _ => None,
    }
}

/// Runs of cells with one look: a box for the background, and a text of exactly that width.
fn line(frame: &Buffer, y: u16, out: &mut String) {
    let mut x = 0;
    while x < frame.area.width {
        let (first, here) = (x, look(frame, x, y));
        let mut text = String::new();
        while x < frame.area.width && look(frame, x, y) == here {
            text += frame.cell((frame.area.x + x, frame.area.y + y)).map_or(" ", |c| c.symbol());
            x += 1;
        }
        let (ink, ground, bold) = here;
        let (left, top, wide) = (u32::from(first) * CELL.0, u32::from(y) * CELL.1, u32::from(x - first) * CELL.0);
        if let Some(ground) = ground {
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{}\" fill=\"{}\"/>",
                CELL.1,
                ground.css()
            );
        }
        // Blanks at the ends are left out; blanks in between count.
        let start = text.len() - text.trim_start().len();
        let blanks = text[..start].chars().count() as u32;
        let text = text.trim();
        if !text.is_empty() {
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{weight} \
                 xml:space=\"preserve\">{}</text>",
                left + blanks * CELL.0,
                top + CELL.1 * 76 / 100,
                text.chars().count() as u32 * CELL.0,
                ink.css(),
                text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn cells_of_one_look_are_one_text() {
        let mut a = Buffer::empty(Rect::new(0, 0, 10, 1));
        a.set_string(0, 0, "ab <c", Style::new());
        a.set_string(6, 0, "red", Style::new().bg(Color::Rgb(255, 0, 0)));
        let one = svg(&[a.clone()], 1000);
        assert!(
            one.contains(">ab &lt;c</text>") && one.contains(">red</text>") && one.contains("fill=\"#ff0000\""),
            "{one}"
        );
        assert_eq!((one.matches("<text ").count(), one.contains("keyframes")), (2, false));
        let two = svg(&[a.clone(), a], 1000);
        assert!(two.contains("animation:f 2000ms") && two.contains("animation-delay:1000ms"), "{two}");
    }
}
