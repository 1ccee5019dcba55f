//! Draws a state as cells. The same state gives the same cells.

mod arrows;
mod detail;
mod head;
mod names;
mod over;
mod rows;
mod stalls;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line as Text;

use super::layout::{LEAST, edge, layout};
use super::runs::Runs;
use super::state::{Focus, Mode, State};

pub(crate) use over::help_lines;

/// Draws the state. Text that does not fit is cut, and nothing is drawn outside of the buffer.
pub fn render(state: &State, runs: &Runs, buffer: &mut Buffer) {
    let area = buffer.area;
    let size = (area.width, area.height);
    let Some(l) = layout(size) else {
        let text = format!("needs {} x {} cells", LEAST.0, LEAST.1);
        put(buffer, area, 0, &text, Style::new());
        return;
    };
    let lines = state.lines(runs);
    let focus = state.line(runs, &lines);
    head::title(state, runs, buffer, l.title);
    head::overview(state, runs, buffer, l.overview);
    head::axis(state, runs, buffer, l.axis);
    let shown = lines.iter().skip(state.top).take(usize::from(l.rows.height));
    for (i, line) in shown.enumerate() {
        let chosen = state.top + i == focus;
        names::name(state, runs, line, chosen, buffer, row(l.names, i as u16));
        rows::row(state, runs, line.focus, chosen, buffer, row(l.rows, i as u16));
    }
    arrows::arrows(state, runs, &lines, buffer, l.rows);
    detail::detail(state, runs, buffer, l.detail, l.wide);
    over::status(state, runs, buffer, l.status);
    match &state.mode {
        Mode::Help { top } => over::help(state, *top, buffer, area),
        Mode::Palette { text, pick } => over::palette(state, text, *pick, buffer, area),
        Mode::Normal | Mode::Prompt { .. } => {}
    }
    in_ascii(state, buffer);
}

/// Replaces characters that an ASCII terminal lacks.
fn in_ascii(state: &State, buffer: &mut Buffer) {
    if !state.palette.ascii {
        return;
    }
    for c in buffer.content.iter_mut().filter(|c| !c.symbol().is_ascii()) {
        let plain = if c.symbol() == "φ" { 'p' } else { '?' };
        c.set_char(plain);
    }
}

/// The rows alone with a title and an axis, as high as they need, for output without a terminal. Folded CTAs that do
/// nothing in the window are counted and left out.
pub fn chart(state: &State, runs: &Runs, width: u16) -> Buffer {
    let mut lines = state.lines(runs);
    let all = lines.len();
    lines.retain(|line| !rows::idle_cta(state, runs, line.focus));
    let idle = all - lines.len();
    // A buffer's size has 16 bits; a chart with more lines is not useful.
    let most = u16::MAX / width.max(LEAST.0);
    let width = width.max(LEAST.0);
    let shown = lines.len().min(usize::from(most.saturating_sub(3))) as u16;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, shown + 3));
    let Some(l) = layout((width, u16::MAX)) else { return buffer };
    head::title(state, runs, &mut buffer, l.title);
    head::axis(state, runs, &mut buffer, Rect { y: 1, ..l.axis });
    for (i, line) in lines.iter().take(usize::from(shown)).enumerate() {
        let at = |area: Rect| Rect { y: 2 + i as u16, height: 1, ..area };
        names::name(state, runs, line, false, &mut buffer, at(l.names));
        rows::row(state, runs, line.focus, false, &mut buffer, at(l.rows));
    }
    let legend = Rect::new(0, shown + 2, width, 1);
    let mut words = stalls::legend_line(state);
    if idle > 0 {
        words += &format!("; {idle} idle CTAs left out");
    }
    put(&mut buffer, legend, 0, &words, Style::new());
    in_ascii(state, &mut buffer);
    buffer
}

/// One line of an area.
fn row(area: Rect, i: u16) -> Rect {
    Rect { y: area.y + i, height: 1, ..area }
}

/// Writes on the first line of an area from a column on, cut at its end. Returns the column after the text.
fn put(buffer: &mut Buffer, area: Rect, x: u16, text: &str, style: Style) -> u16 {
    let area = area.intersection(buffer.area);
    if area.is_empty() || x >= area.width {
        return x;
    }
    // Names and tiles come from files: control characters are not sent to a terminal.
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    let (end, _) = buffer.set_stringn(area.x + x, area.y, clean, usize::from(area.width - x), style);
    end - area.x
}

/// Writes at the right end of the first line of an area, if there is room. Returns the first column.
fn put_right(buffer: &mut Buffer, area: Rect, text: &str, style: Style) -> u16 {
    let width = Text::raw(text).width() as u16;
    match area.width.checked_sub(width) {
        Some(x) => {
            put(buffer, area, x, text, style);
            x
        }
        None => area.width,
    }
}

/// The edges of the cells of a row, in the time of a run.
fn edges(state: &State, run: usize, cells: u16) -> impl Iterator<Item = u64> {
    let (from, to) = (state.from, state.to);
    let shift = state.in_run(run, 0);
    (0..=cells).map(move |i| (edge(from, to, cells, i) as i64 + shift).max(0) as u64)
}

/// The operation under the cursor, if it is on this row.
fn selected_on(state: &State, runs: &Runs, focus: Focus) -> Option<u32> {
    state.selected(runs).filter(|_| state.focus == focus).map(|(_, span)| span)
}

/// Adds to the style of a cell.
fn restyle(buffer: &mut Buffer, x: u16, y: u16, add: Modifier) {
    if let Some(c) = buffer.cell_mut((x, y)) {
        c.modifier |= add;
    }
}
