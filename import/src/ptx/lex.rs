//! Tokens of PTX text.

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name: register, label, opcode part, directive without its dot.
    Word(String),
    /// An integer, as its 64 bits.
    Int(i64),
    /// A floating-point number: its bits in hexadecimal notation, or those of the nearest of 64 bits.
    Float(u64),
    /// A quoted string.
    Text(String),
    /// One character.
    Punct(char),
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Line, from 1.
    pub(super) line: u32,
    /// First byte, and one past the last.
    pub(super) span: (usize, usize),
}

/// Splits text into tokens; an error has a byte and a message.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, (usize, String)> {
    let b = text.as_bytes();
    let mut list = Vec::new();
    let (mut i, mut line) = (0, 1);
    while i < b.len() {
        let c = b[i];
        let start = i;
        match c {
            b'\n' => {
                line += 1;
                i += 1;
            }
            // Some producers end their text with a NUL byte.
            b' ' | b'\t' | b'\r' | 0 => i += 1,
            b'/' if b.get(i + 1) == Some(&b'/') => {
                while i < b.len() && b[i] != b'\n' {
                    i += 1;
                }
            }
            b'/' if b.get(i + 1) == Some(&b'*') => {
                i += 2;
                while i < b.len() && !(b[i] == b'*' && b.get(i + 1) == Some(&b'/')) {
                    line += (b[i] == b'\n') as u32;
                    i += 1;
                }
                if i >= b.len() {
                    return Err((start, "a comment has no end".into()));
                }
                i += 2;
            }
            b'"' => {
                i += 1;
                while i < b.len() && b[i] != b'"' && b[i] != b'\n' {
                    i += if b[i] == b'\\' { 2 } else { 1 };
                }
                if b.get(i) != Some(&b'"') {
                    return Err((start, "a string has no end".into()));
                }
                let value = text.get(start + 1..i).unwrap_or_default().to_string();
                i += 1;
                list.push(Token { kind: Kind::Text(value), line, span: (start, i) });
            }
            // A modifier such as `.2d`, `.32x32b`, `::128B`.
            b'0'..=b'9' if start > 0 && matches!(b[start - 1], b'.' | b':') => {
                while i < b.len() && (b[i].is_ascii_alphanumeric() || b[i] == b'_') {
                    i += 1;
                }
                let kind = Kind::Word(text[start..i].to_string());
                list.push(Token { kind, line, span: (start, i) });
            }
            b'0'..=b'9' => {
                while i < b.len() && (b[i].is_ascii_alphanumeric() || b[i] == b'.' && number_goes_on(b, i)) {
                    i += 1;
                }
                let word = &text[start..i];
                let kind = number(word).ok_or_else(|| (start, format!("`{word}` is no number")))?;
                list.push(Token { kind, line, span: (start, i) });
            }
            _ if starts_word(c) => {
                i += 1;
                while i < b.len() && (b[i].is_ascii_alphanumeric() || matches!(b[i], b'_' | b'$')) {
                    i += 1;
                }
                let kind = Kind::Word(text[start..i].to_string());
                list.push(Token { kind, line, span: (start, i) });
            }
            _ if c.is_ascii() => {
                i += 1;
                list.push(Token { kind: Kind::Punct(c as char), line, span: (start, i) });
            }
            _ => return Err((start, "PTX is ASCII text".into())),
        }
    }
    Ok(list)
}

fn starts_word(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%')
}

/// A dot belongs to the number before it (`0.5`, also `0.`), unless a word begins behind it.
fn number_goes_on(b: &[u8], i: usize) -> bool {
    !b.get(i + 1).is_some_and(|c| starts_word(*c) || *c == b'.')
}

fn number(word: &str) -> Option<Kind> {
    let digits = word.trim_end_matches('U');
    let (radix, body) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0f" | "0F" | "0d" | "0D") => return u64::from_str_radix(&digits[2..], 16).ok().map(Kind::Float),
        _ if digits.contains('.') || digits.contains(['e', 'E']) => {
            return digits.parse::<f64>().ok().map(|v| Kind::Float(v.to_bits()));
        }
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    u64::from_str_radix(body, radix).ok().map(|v| Kind::Int(v as i64))
}
