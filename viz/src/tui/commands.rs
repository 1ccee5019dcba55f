//! The table of commands, from which dispatch, help, palette, key files and `docs/viewer.md` are made.

use std::fmt::Write;

use super::keys::Key;

/// A command of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the table below says what each does")]
pub enum Command {
    Left,
    Right,
    PanLeft,
    PanRight,
    Start,
    End,
    Goto,
    ZoomIn,
    ZoomOut,
    ZoomOperation,
    ZoomAll,
    Window,
    Up,
    Down,
    PageUp,
    PageDown,
    Row,
    Fold,
    FoldAll,
    RowUp,
    RowDown,
    Filter,
    PrevEdge,
    NextEdge,
    PrevEdgeAny,
    NextEdgeAny,
    Mark,
    PrevMark,
    ClearMarks,
    Store,
    Recall,
    Search,
    SearchNext,
    SearchPrev,
    Waker,
    Woken,
    Back,
    MoreHops,
    FewerHops,
    Fault,
    MoveNext,
    MovePrev,
    PathNext,
    PathPrev,
    Runs,
    Align,
    Same,
    Play,
    Faster,
    Slower,
    Pane,
    Palette,
    Help,
    Cancel,
    Quit,
}

/// A row of the table.
#[derive(Debug)]
pub struct Entry {
    /// The command.
    pub command: Command,
    /// Name in the palette, in scripts and in key files.
    pub name: &'static str,
    /// Name of its argument, if it has one; a key asks for it.
    pub takes: Option<&'static str>,
    /// Default keys, separated by spaces.
    pub keys: &'static str,
    /// Short description.
    pub help: &'static str,
}

const fn entry(
    command: Command,
    name: &'static str,
    takes: Option<&'static str>,
    keys: &'static str,
    help: &'static str,
) -> Entry {
    Entry { command, name, takes, keys, help }
}

/// Headings of the table, with the commands under each.
pub const TABLE: &[(&str, &[Entry])] = &[
    (
        "Time",
        &[
            entry(Command::Left, "left", None, "left h", "move the cursor a cell left"),
            entry(Command::Right, "right", None, "right l", "move the cursor a cell right"),
            entry(Command::PanLeft, "pan-left", None, "shift-left H", "move the window a quarter left"),
            entry(Command::PanRight, "pan-right", None, "shift-right L", "move the window a quarter right"),
            entry(Command::Start, "start", None, "home", "go to the start of the run"),
            entry(Command::End, "end", None, "end", "go to the end of the run"),
            entry(Command::Goto, "goto", Some("CYCLE"), "g", "go to a cycle"),
            entry(Command::ZoomIn, "zoom-in", None, "+ =", "zoom in on the cursor"),
            entry(Command::ZoomOut, "zoom-out", None, "-", "zoom out"),
            entry(Command::ZoomOperation, "zoom-operation", None, "z", "fit the operation to the window"),
            entry(Command::ZoomAll, "zoom-all", None, "a", "show the whole run"),
            entry(Command::Window, "window", Some("FROM TO"), "", "show these cycles"),
        ],
    ),
    (
        "Rows",
        &[
            entry(Command::Up, "up", None, "up k", "go to the row above"),
            entry(Command::Down, "down", None, "down j", "go to the row below"),
            entry(Command::PageUp, "page-up", None, "page-up ctrl-u", "go half a screen up"),
            entry(Command::PageDown, "page-down", None, "page-down ctrl-d", "go half a screen down"),
            entry(Command::Row, "row", Some("NAME"), "R", "go to the next row with this name"),
            entry(Command::Fold, "fold", None, "space", "fold or unfold; on a row, fold its group"),
            entry(Command::FoldAll, "fold-all", None, "F", "fold or unfold all of this kind"),
            entry(Command::RowUp, "row-up", None, "K", "move the row up in its group"),
            entry(Command::RowDown, "row-down", None, "J", "move the row down in its group"),
            entry(Command::Filter, "filter", Some("TEXT"), "f", "show rows with this name; empty: all"),
        ],
    ),
    (
        "Edges and marks",
        &[
            entry(Command::PrevEdge, "prev-edge", None, "[", "go to the previous edge on this row"),
            entry(Command::NextEdge, "next-edge", None, "]", "go to the next edge on this row"),
            entry(Command::PrevEdgeAny, "prev-edge-any", None, "{", "go to the previous edge on any row"),
            entry(Command::NextEdgeAny, "next-edge-any", None, "}", "go to the next edge on any row"),
            entry(Command::Mark, "mark", None, "m", "set or remove a mark here"),
            entry(Command::PrevMark, "prev-mark", None, "'", "go to the previous mark, cyclically"),
            entry(Command::ClearMarks, "clear-marks", None, "M", "remove all marks"),
            entry(Command::Store, "store", Some("DIGIT"), "s", "store position and zoom as a digit"),
            entry(Command::Recall, "recall", Some("DIGIT"), "", "go to a stored position; or its digit"),
        ],
    ),
    (
        "Operations",
        &[
            entry(Command::Search, "search", Some("TEXT"), "/", "search tiles, lines, kinds, row names"),
            entry(Command::SearchNext, "search-next", None, "n", "go to the next match"),
            entry(Command::SearchPrev, "search-prev", None, "N", "go to the previous match"),
            entry(Command::Waker, "waker", None, "w", "go to what woke or started it"),
            entry(Command::Woken, "woken", None, "W", "go to what it woke; again: the next"),
            entry(Command::Back, "back", None, "backspace b", "go back to before the last jump"),
            entry(Command::MoreHops, "more-hops", None, "e", "draw arrows one hop further"),
            entry(Command::FewerHops, "fewer-hops", None, "E", "draw arrows one hop less"),
            entry(Command::Fault, "fault", None, "!", "go to the next fault, cyclically"),
            entry(Command::MoveNext, "move-next", None, ".", "go to the next move of the schedule"),
            entry(Command::MovePrev, "move-prev", None, ",", "go to its previous move"),
            entry(Command::PathNext, "path-next", None, "c", "go to the next link of the chain"),
            entry(Command::PathPrev, "path-prev", None, "C", "go to the previous link of the chain"),
        ],
    ),
    (
        "Two runs",
        &[
            entry(Command::Runs, "runs", None, "o", "show A, B, or B under A"),
            entry(Command::Align, "align", None, "A", "shift B to start this operation with A"),
            entry(Command::Same, "same", None, "x", "go to this operation in the other run"),
        ],
    ),
    (
        "The rest",
        &[
            entry(Command::Play, "play", None, "p", "play or pause"),
            entry(Command::Faster, "faster", None, ">", "play twice as fast"),
            entry(Command::Slower, "slower", None, "<", "play half as fast"),
            entry(Command::Pane, "pane", None, "tab", "show operation, stalls or legend"),
            entry(Command::Palette, "palette", None, ":", "enter a command by name"),
            entry(Command::Help, "help", None, "?", "show this help"),
            entry(Command::Cancel, "cancel", None, "esc", "close, or clear the search"),
            entry(Command::Quit, "quit", None, "q ctrl-c", "quit the viewer"),
        ],
    ),
];

/// All rows of the table.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().flat_map(|(_, entries)| entries.iter())
}

/// The row of a command.
pub(crate) fn of(command: Command) -> Option<&'static Entry> {
    entries().find(|e| e.command == command)
}

/// The commands of the keys.
#[derive(Clone, Debug)]
pub struct Keymap(Vec<(Key, Command)>);

impl Default for Keymap {
    fn default() -> Keymap {
        let keys = entries().flat_map(|e| e.keys.split_whitespace().map(|k| (k, e.command)));
        Keymap(keys.filter_map(|(k, c)| Some((Key::parse(k)?, c))).collect())
    }
}

impl Keymap {
    /// The table with the changes of a key file: lines of a key and a command (or `none`); `#` begins a comment.
    ///
    /// # Errors
    /// The line, from 1, and what is wrong with it.
    pub fn with_changes(text: &str) -> Result<Keymap, (usize, String)> {
        let mut map = Keymap::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let (key, name) = match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => continue,
                [key, name] => (key, name),
                _ => return Err((i + 1, "expected a key and a command, as in `ctrl-d page-down`".into())),
            };
            let Some(key) = Key::parse(key) else {
                return Err((i + 1, format!("`{key}` is not a key; keys are `x`, `X`, `ctrl-d`, `left`, `space`")));
            };
            map.0.retain(|(k, _)| *k != key);
            if name == "none" {
                continue;
            }
            let Some(entry) = entries().find(|e| e.name == name) else {
                return Err((i + 1, format!("there is no command `{name}`; `?` in the viewer lists them")));
            };
            map.0.push((key, entry.command));
        }
        Ok(map)
    }

    /// The command of a key.
    pub fn command(&self, key: Key) -> Option<Command> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, c)| *c)
    }

    /// The keys of a command, in words.
    pub fn keys(&self, command: Command) -> String {
        let keys = self.0.iter().filter(|(_, c)| *c == command).map(|(k, _)| k.to_string());
        keys.collect::<Vec<_>>().join(" ")
    }

    /// The first key of a command.
    pub(crate) fn first(&self, command: Command) -> Option<Key> {
        self.0.iter().find(|(_, c)| *c == command).map(|(k, _)| *k)
    }
}

/// The table as Markdown, for the documents.
pub fn markdown() -> String {
    let mut out = String::from("| key | command | |\n|---|---|---|\n");
    for (heading, entries) in TABLE {
        let _ = writeln!(out, "| **{heading}** | | |");
        for e in *entries {
            let keys: Vec<String> = e.keys.split_whitespace().map(|k| format!("`{k}`")).collect();
            let takes = e.takes.map(|t| format!(" {t}")).unwrap_or_default();
            let _ = writeln!(out, "| {} | `{}{takes}` | {} |", keys.join(" "), e.name, e.help);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_one_and_has_one_command() {
        let mut seen = std::collections::BTreeMap::new();
        for e in entries() {
            for text in e.keys.split_whitespace() {
                let key = Key::parse(text).unwrap_or_else(|| panic!("`{text}` of {} is no key", e.name));
                assert_eq!(seen.insert(key, e.name), None, "`{text}` has two commands");
            }
        }
    }

    #[test]
    fn every_line_of_the_help_fits_on_80_columns() {
        for e in entries() {
            assert!(e.help.chars().count() <= 42, "{}", e.help);
        }
    }

    #[test]
    fn a_key_file_changes_what_it_names_and_says_what_it_does_not_know() {
        let map = Keymap::with_changes("# mine\n\nq none\nctrl-q quit # as elsewhere\n").unwrap();
        assert_eq!(map.command(Key::parse("q").unwrap()), None);
        assert_eq!(map.command(Key::parse("ctrl-q").unwrap()), Some(Command::Quit));
        assert_eq!(Keymap::with_changes("\nq leave").unwrap_err().0, 2);
        assert_eq!(Keymap::with_changes("shift-q quit").unwrap_err().0, 1);
        assert_eq!(Keymap::with_changes("q quit now").unwrap_err().0, 1);
    }
}
