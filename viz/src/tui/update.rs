//! The effect of messages on the state. Nothing here draws, waits, or reads anything but the runs.

use super::act;
use super::commands::{self, Command};
use super::keys::{Code, Key};
use super::layout::{edge, layout};
use super::runs::Runs;
use super::state::{Mode, Msg, State};

/// Handles one message.
pub fn update(state: &mut State, runs: &Runs, msg: Msg) {
    match msg {
        Msg::Resize(width, height) => state.size = (width, height),
        Msg::Tick(ms) => state.advance(ms),
        Msg::Do(command, given) => act::act(state, runs, command, given.as_deref()),
        Msg::Click(x, y) => click(state, runs, (x, y)),
        Msg::Wheel(x, up) => {
            if let Some(l) = layout(state.size).filter(|l| x >= l.rows.x) {
                state.at = edge(state.from, state.to, l.rows.width, (x - l.rows.x).min(l.rows.width - 1));
            }
            state.zoom(runs, up);
        }
        Msg::Key(key) => {
            state.says.clear();
            match state.mode.clone() {
                Mode::Normal => normal(state, runs, key),
                Mode::Help { top } => help(state, key, top),
                Mode::Palette { text, pick } => palette(state, runs, key, text, pick),
                Mode::Prompt { command, text } => prompt(state, runs, key, command, text),
            }
        }
    }
    state.clamp(runs);
}

fn normal(state: &mut State, runs: &Runs, key: Key) {
    let digit = match key.code {
        Code::Char(c @ '0'..='9') if key == Key::plain(key.code) => Some(c),
        _ => None,
    };
    match (state.keys.command(key), digit) {
        (Some(command), _) => begin(state, runs, command),
        (None, Some(d)) => act::act(state, runs, Command::Recall, Some(&d.to_string())),
        (None, None) => {
            let help = state.keys.keys(Command::Help);
            state.says = format!("`{key}` does nothing; {help} lists the keys");
        }
    }
}

/// Executes a command, or asks for its argument.
fn begin(state: &mut State, runs: &Runs, command: Command) {
    match commands::of(command).and_then(|e| e.takes) {
        Some(_) => state.mode = Mode::Prompt { command, text: String::new() },
        None => act::act(state, runs, command, None),
    }
}

fn help(state: &mut State, key: Key, top: usize) {
    let page = usize::from(state.size.1 / 2);
    let top = match state.keys.command(key) {
        Some(Command::Up) => top.saturating_sub(1),
        Some(Command::Down) => top + 1,
        Some(Command::PageUp) => top.saturating_sub(page),
        Some(Command::PageDown) => top + page,
        _ => {
            state.mode = Mode::Normal;
            return;
        }
    };
    state.mode = Mode::Help { top: top.min(super::render::help_lines(&state.keys).len().saturating_sub(1)) };
}

/// A key in a line of text: the new text, or `None` if the key is not text.
fn typed(mut text: String, key: Key) -> Option<String> {
    match key.code {
        Code::Char('u') if key.ctrl => text.clear(),
        Code::Char(c) if !key.ctrl && !key.alt && text.chars().count() < 200 => text.push(c),
        Code::Backspace => {
            text.pop();
        }
        _ => return None,
    }
    Some(text)
}

fn palette(state: &mut State, runs: &Runs, key: Key, text: String, pick: usize) {
    let found = matching(&text);
    match key.code {
        Code::Esc => state.mode = Mode::Normal,
        Code::Char('c') if key.ctrl => state.mode = Mode::Normal,
        Code::Up => state.mode = Mode::Palette { text, pick: pick.saturating_sub(1) },
        Code::Down => state.mode = Mode::Palette { text, pick: (pick + 1).min(found.len().saturating_sub(1)) },
        Code::Tab => {
            let text = found.get(pick).map_or(text, |e| e.name.to_string());
            state.mode = Mode::Palette { text, pick: 0 };
        }
        Code::Enter => {
            state.mode = Mode::Normal;
            // A command with its argument, or the selected entry.
            match (super::script::line(&text), found.get(pick)) {
                (Ok(Some((command, given @ Some(_)))), _) => act::act(state, runs, command, given.as_deref()),
                (_, Some(e)) => begin(state, runs, e.command),
                (Err(e), None) => state.says = e,
                (Ok(_), None) => {}
            }
        }
        _ => {
            let text = typed(text.clone(), key).unwrap_or(text);
            state.mode = Mode::Palette { text, pick: 0 };
        }
    }
}

/// Commands that match a text in the palette: its letters in order, best match first.
pub(crate) fn matching(text: &str) -> Vec<&'static commands::Entry> {
    let word = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let rank = |e: &commands::Entry| -> Option<usize> {
        let mut letters = e.name.chars();
        let in_order = word.chars().all(|c| letters.any(|l| l == c));
        match e.name.find(&word) {
            Some(i) => Some(i),
            None if in_order => Some(100),
            None if e.help.to_lowercase().contains(&word) => Some(200),
            None => None,
        }
    };
    let mut all: Vec<_> = commands::entries().filter_map(|e| Some((rank(e)?, e))).collect();
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, e)| e).collect()
}

fn prompt(state: &mut State, runs: &Runs, key: Key, command: Command, text: String) {
    let digits = matches!(command, Command::Store | Command::Recall);
    match key.code {
        Code::Esc => state.mode = Mode::Normal,
        Code::Char('c') if key.ctrl => state.mode = Mode::Normal,
        Code::Enter => {
            state.mode = Mode::Normal;
            act::act(state, runs, command, Some(&text));
        }
        // One digit is enough.
        Code::Char(c) if digits => {
            state.mode = Mode::Normal;
            act::act(state, runs, command, Some(&c.to_string()));
        }
        _ => state.mode = Mode::Prompt { command, text: typed(text.clone(), key).unwrap_or(text) },
    }
}

fn click(state: &mut State, runs: &Runs, (x, y): (u16, u16)) {
    let Some(l) = layout(state.size) else { return };
    if state.mode != Mode::Normal {
        return;
    }
    let in_rows = y >= l.rows.y && y < l.rows.y + l.rows.height;
    if x >= l.rows.x && x < l.rows.x + l.rows.width {
        let i = x - l.rows.x;
        if y == l.overview.y {
            let end = runs.models[state.axis()].end;
            state.look_at(edge(0, end, l.rows.width, i));
            return;
        }
        if in_rows || y == l.axis.y {
            let (a, b) = (edge(state.from, state.to, l.rows.width, i), edge(state.from, state.to, l.rows.width, i + 1));
            state.at = a + (b - a) / 2;
        }
    }
    if in_rows && let Some(line) = state.lines(runs).get(state.top + usize::from(y - l.rows.y)) {
        let again = state.focus == line.focus;
        state.focus = line.focus;
        if again && x < l.rows.x {
            act::act(state, runs, Command::Fold, None);
        }
    }
}
