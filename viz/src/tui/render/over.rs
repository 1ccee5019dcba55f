//! Overlays and the status line: prompts, the palette, the help.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Line as Text;

use super::super::commands::{self, Command, Keymap, TABLE};
use super::super::runs::Runs;
use super::super::state::{Mode, State};
use super::super::update::matching;
use super::{clear, head, put, put_right, row};

/// Commands whose keys the status line shows, as far as there is room.
const HINTS: [(Command, &str); 8] = [
    (Command::Help, "help"),
    (Command::Quit, "quit"),
    (Command::ZoomIn, "zoom"),
    (Command::NextEdge, "edge"),
    (Command::Waker, "waker"),
    (Command::Fold, "fold"),
    (Command::Search, "search"),
    (Command::Pane, "pane"),
];

pub(super) fn status(state: &State, _: &Runs, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    if let Mode::Prompt { command, text } = &state.mode {
        let entry = commands::of(*command);
        let what = entry.map_or(String::new(), |e| format!("{} {}: ", e.name, e.takes.unwrap_or_default()));
        let x = put(buffer, area, 0, &what, p.head());
        // The cursor is at the end of a long text.
        let room = usize::from(area.width.saturating_sub(x + 1));
        let skip = text.chars().count().saturating_sub(room);
        let x = put(buffer, area, x, &text.chars().skip(skip).collect::<String>(), Style::new());
        put(buffer, area, x, " ", p.chosen());
        return;
    }
    let playing = if state.plays() { format!("playing, {} cycles a second; ", state.speed) } else { String::new() };
    let filter = if state.filter.is_empty() { String::new() } else { format!("; rows with `{}`", state.filter) };
    let left = format!("{playing}{}{filter}", head::position(state));
    let x = put(buffer, area, 0, &left, Style::new());
    let room = Rect { x: area.x + (x + 2).min(area.width), width: area.width.saturating_sub(x + 2), ..area };
    if !state.says.is_empty() {
        put(buffer, room, 0, &state.says, p.head());
        return;
    }
    let mut text = String::new();
    for (command, word) in HINTS {
        let Some(key) = state.keys.first(command) else { continue };
        let next = format!("{}{key} {word}", if text.is_empty() { "" } else { "  " });
        if Text::raw(text.as_str()).width() + Text::raw(next.as_str()).width() > usize::from(room.width) {
            break;
        }
        text += &next;
    }
    put_right(buffer, room, &text, p.muted());
}

/// Draws a frame with a heading over the screen. Returns the area inside.
fn frame(state: &State, buffer: &mut Buffer, area: Rect, heading: &str) -> Rect {
    let p = state.palette;
    clear(buffer, area);
    let line = p.pick('─', '-').to_string().repeat(usize::from(area.width.saturating_sub(2)));
    let corner = |glyph: char| p.pick(glyph, '+');
    put(buffer, area, 0, &format!("{}{line}{}", corner('┌'), corner('┐')), p.muted());
    put(buffer, row(area, area.height - 1), 0, &format!("{}{line}{}", corner('└'), corner('┘')), p.muted());
    for y in 1..area.height.saturating_sub(1) {
        let side = p.pick('│', '|').to_string();
        put(buffer, row(area, y), 0, &side, p.muted());
        put(buffer, row(area, y), area.width - 1, &side, p.muted());
    }
    put(buffer, area, 2, &format!(" {heading} "), p.head());
    Rect { x: area.x + 2, y: area.y + 1, width: area.width.saturating_sub(4), height: area.height.saturating_sub(2) }
}

fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Lines of the help, from the table of commands: a heading, or keys, name and description.
pub(crate) fn help_lines(keys: &Keymap) -> Vec<(String, bool)> {
    let mut lines = Vec::new();
    for (heading, entries) in TABLE {
        lines.push(((*heading).to_string(), true));
        for e in *entries {
            let takes = e.takes.map(|t| format!(" {t}")).unwrap_or_default();
            lines
                .push((format!("{:<16} {:<15} {}", keys.keys(e.command), format!("{}{takes}", e.name), e.help), false));
        }
    }
    lines
}

pub(super) fn help(state: &State, top: usize, buffer: &mut Buffer, area: Rect) {
    let inside = frame(state, buffer, middle(area, 104, area.height), "Help: up and down scroll, any other key closes");
    let lines = help_lines(&state.keys);
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    for (y, (line, heading)) in lines.iter().skip(top).take(usize::from(inside.height)).enumerate() {
        let style = if *heading { state.palette.head() } else { Style::new() };
        put(buffer, row(inside, y as u16), 0, line, style);
    }
}

pub(super) fn palette(state: &State, text: &str, pick: usize, buffer: &mut Buffer, area: Rect) {
    let inside = frame(state, buffer, middle(area, 84, area.height.min(18)), "Command: a name and its argument");
    let x = put(buffer, inside, 0, &format!(": {text}"), Style::new());
    put(buffer, inside, x, " ", state.palette.chosen());
    let found = matching(text);
    let room = usize::from(inside.height.saturating_sub(1));
    let top = (pick + 1).saturating_sub(room);
    for (y, e) in found.iter().skip(top).take(room).enumerate() {
        let takes = e.takes.map(|t| format!(" {t}")).unwrap_or_default();
        let line = format!("{:<16} {:<16} {}", format!("{}{takes}", e.name), state.keys.keys(e.command), e.help);
        let style = if top + y == pick { state.palette.chosen() } else { Style::new() };
        put(buffer, row(inside, y as u16 + 1), 0, &line, style);
    }
}
