//! Keys, as the table and key files write them: `x`, `X`, `ctrl-d`, `left`, `shift-left`, `space`.

use std::fmt;

/// A key with its modifiers. Shift is part of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The key without modifiers.
    pub code: Code,
    /// With control.
    pub ctrl: bool,
    /// With alt.
    pub alt: bool,
    /// With shift; only for keys that are no characters.
    pub shift: bool,
}

/// A key without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they are named as on the keyboard")]
pub enum Code {
    Char(char),
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Tab,
    Enter,
    Esc,
    Backspace,
    Delete,
}

const NAMED: [(&str, Code); 14] = [
    ("left", Code::Left),
    ("right", Code::Right),
    ("up", Code::Up),
    ("down", Code::Down),
    ("home", Code::Home),
    ("end", Code::End),
    ("page-up", Code::PageUp),
    ("page-down", Code::PageDown),
    ("tab", Code::Tab),
    ("enter", Code::Enter),
    ("esc", Code::Esc),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("space", Code::Char(' ')),
];

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: Code) -> Key {
        Key { code, ctrl: false, alt: false, shift: false }
    }

    /// Parses a key as the table writes it.
    pub fn parse(text: &str) -> Option<Key> {
        let (mut key, mut rest) = (Key::plain(Code::Esc), text);
        loop {
            let (flag, after) = match rest.split_once('-') {
                Some(("ctrl", after)) if !after.is_empty() => (&mut key.ctrl, after),
                Some(("alt", after)) if !after.is_empty() => (&mut key.alt, after),
                Some(("shift", after)) if !after.is_empty() => (&mut key.shift, after),
                _ => break,
            };
            (*flag, rest) = (true, after);
        }
        let mut chars = rest.chars();
        key.code = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_whitespace() && !c.is_control() => Code::Char(c),
            _ => NAMED.iter().find(|(name, _)| *name == rest)?.1,
        };
        // A terminal sends the shifted character, not the modifier.
        (!(key.shift && matches!(key.code, Code::Char(_)))).then_some(key)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (on, name) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            if on {
                f.write_str(name)?;
            }
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, Code::Char(c)) => write!(f, "{c}"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        for text in ["x", "X", "ctrl-d", "alt-1", "left", "shift-left", "space", "-", "ctrl--", "?", "page-down"] {
            assert_eq!(Key::parse(text).map(|k| k.to_string()).as_deref(), Some(text));
        }
        for bad in ["", "shift-x", "lefty", "ctrl-", "hyper-x", " "] {
            assert_eq!(Key::parse(bad), None, "{bad}");
        }
    }
}
