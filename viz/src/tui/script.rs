//! Commands as text: one on each line, by name, with arguments. `dump` prints a frame.

use super::commands::{self, Command};

/// A line of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Execute a command with its argument.
    Do(Command, Option<String>),
    /// Print the frame.
    Dump,
    /// Press a key.
    Key(super::keys::Key),
}

/// Parses one command; `None` for an empty line or a comment.
pub(crate) fn line(text: &str) -> Result<Option<(Command, Option<String>)>, String> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let (name, given) = text.split_once(char::is_whitespace).map_or((text, None), |(n, g)| (n, Some(g.trim())));
    let Some(entry) = commands::entries().find(|e| e.name == name) else {
        return Err(format!("there is no command `{name}`"));
    };
    match (entry.takes, given) {
        (None, Some(more)) => Err(format!("`{name}` has no argument, but `{more}` follows it")),
        (_, given) => Ok(Some((entry.command, given.map(str::to_string)))),
    }
}

/// Parses a script.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn script(text: &str) -> Result<Vec<Step>, (usize, String)> {
    let mut steps = Vec::new();
    for (i, text) in text.lines().enumerate() {
        let bad = |e| (i + 1, e);
        match text.trim().split_once(' ').unwrap_or((text.trim(), "")) {
            ("dump", "") => steps.push(Step::Dump),
            ("key", key) => {
                let key = super::keys::Key::parse(key.trim()).ok_or_else(|| bad(format!("`{key}` is not a key")))?;
                steps.push(Step::Key(key));
            }
            _ => {
                if let Some((command, given)) = line(text).map_err(bad)? {
                    steps.push(Step::Do(command, given));
                }
            }
        }
    }
    Ok(steps)
}
