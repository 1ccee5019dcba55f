//! The parts over and below the rows: status line, prompts, palette and help.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{
    Block, Clear, List, ListItem, ListState, Padding, Paragraph, Scrollbar, ScrollbarOrientation, ScrollbarState,
    StatefulWidget, Widget,
};

use super::super::commands::{self, Command, Entry, Keymap, TABLE};
use super::super::runs::Runs;
use super::super::state::{Mode, State};
use super::super::update::matching;
use super::{head, put, put_right};

/// The commands whose keys the status line shows, as far as they fit.
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

pub(super) fn status(state: &State, runs: &Runs, buffer: &mut Buffer, area: Rect) {
    let p = state.palette;
    if let Mode::Prompt { command, text } = &state.mode {
        let entry = commands::of(*command);
        let what = entry.map_or(String::new(), |e| format!("{} {}: ", e.name, e.takes.unwrap_or_default()));
        let x = put(buffer, area, 0, &what, p.head());
        // The end of a long text is where the user types.
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
    // A run with faults says so first: an axis of many cycles shows few of them.
    let faults = match runs.model(state.focus).t.faults.len() {
        0 => String::new(),
        1 => "1 fault".to_string(),
        n => format!("{n} faults"),
    };
    let first = Some((Command::Fault, faults.as_str())).filter(|_| !faults.is_empty());
    let mut text = String::new();
    for (command, word) in first.into_iter().chain(HINTS) {
        let Some(key) = state.keys.first(command) else { continue };
        let next = format!("{}{key} {word}", if text.is_empty() { "" } else { "  " });
        if Line::raw(text.as_str()).width() + Line::raw(next.as_str()).width() > usize::from(room.width) {
            break;
        }
        text += &next;
    }
    put_right(buffer, room, &text, p.muted());
}

/// Draws a frame with a heading over the rest, and returns the area inside.
fn frame(state: &State, buffer: &mut Buffer, area: Rect, heading: &str) -> Rect {
    let p = state.palette;
    let block = Block::bordered()
        .border_set(if p.ascii { ASCII_BORDER } else { border::PLAIN })
        .border_style(p.muted())
        .title(Line::styled(format!(" {heading} "), p.head()))
        .padding(Padding::horizontal(1));
    let inside = block.inner(area);
    Clear.render(area, buffer);
    block.render(area, buffer);
    inside
}

/// A border of ASCII characters.
const ASCII_BORDER: border::Set<'_> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Draws a scroll bar on the right border of a frame, where not every line fits. `inside` is the area of the lines.
fn scroll_bar(state: &State, buffer: &mut Buffer, inside: Rect, lines: usize, top: usize) {
    let hidden = lines.saturating_sub(usize::from(inside.height));
    if hidden == 0 {
        return;
    }
    let p = state.palette;
    let (thumb, track) = if p.ascii { ("#", "|") } else { ("█", "│") };
    let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .begin_symbol(None)
        .end_symbol(None)
        .thumb_symbol(thumb)
        .track_symbol(Some(track))
        .style(p.muted());
    let mut at = ScrollbarState::new(hidden + 1).position(top);
    // One column of padding, then the border.
    let area = Rect { width: inside.width + 2, ..inside };
    StatefulWidget::render(bar, area, buffer, &mut at);
}

fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// A line of the help.
pub(crate) struct HelpLine {
    /// The heading of a group of commands, or the keys, the name and the purpose of one.
    pub(crate) text: String,
    /// The line is a heading.
    pub(crate) heading: bool,
}

/// The lines of the help, from the table of commands.
pub(crate) fn help_lines(keys: &Keymap) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    for (heading, entries) in TABLE {
        lines.push(HelpLine { text: (*heading).to_string(), heading: true });
        for e in *entries {
            let text = format!("{:<16} {:<15} {}", keys.keys(e.command), usage(e), e.help);
            lines.push(HelpLine { text, heading: false });
        }
    }
    lines
}

/// The name of a command and its argument.
fn usage(entry: &Entry) -> String {
    format!("{}{}", entry.name, entry.takes.map(|t| format!(" {t}")).unwrap_or_default())
}

pub(super) fn help(state: &State, top: usize, buffer: &mut Buffer, area: Rect) {
    let inside = frame(state, buffer, middle(area, 104, area.height), "Help: up and down scroll, any other key closes");
    let lines = help_lines(&state.keys);
    let count = lines.len();
    let top = top.min(count.saturating_sub(usize::from(inside.height)));
    let style = |heading: bool| if heading { state.palette.head() } else { Style::new() };
    let text: Vec<Line<'_>> = lines.into_iter().map(|l| Line::styled(l.text, style(l.heading))).collect();
    Paragraph::new(text).scroll((top as u16, 0)).render(inside, buffer);
    scroll_bar(state, buffer, inside, count, top);
}

pub(super) fn palette(state: &State, text: &str, pick: usize, buffer: &mut Buffer, area: Rect) {
    let inside = frame(state, buffer, middle(area, 84, area.height.min(18)), "Command: a name and its argument");
    let x = put(buffer, inside, 0, &format!(": {text}"), Style::new());
    put(buffer, inside, x, " ", state.palette.chosen());
    let found = matching(text);
    let room = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    let item = |e: &&Entry| ListItem::new(format!("{:<16} {:<16} {}", usage(e), state.keys.keys(e.command), e.help));
    let list = List::new(found.iter().map(item)).highlight_style(state.palette.chosen());
    let mut chosen = ListState::default().with_selected(Some(pick));
    StatefulWidget::render(list, room, buffer, &mut chosen);
    scroll_bar(state, buffer, room, found.len(), chosen.offset());
}
