//! Names of slices, and the class of a name, so that a file states it once.

use warpline_sim::timeline::{Span, SpanKind, Stall, Work};

use warpline_sim::words;

/// Work, stall or state.
pub(super) fn category(what: SpanKind) -> &'static str {
    match what {
        SpanKind::Work(_) => "work",
        SpanKind::Stall(_) => "stall",
        SpanKind::Hold { .. } => "state",
    }
}

/// A slice's name. The class comes first, because viewers color by the name without digits.
pub(super) fn slice_name(span: &Span) -> String {
    let kind = words::what(span.what);
    match (span.what, span.label.as_str()) {
        (SpanKind::Stall(_), "") => format!("wait {kind}"),
        (SpanKind::Stall(_), label) => format!("wait {kind} {label}"),
        (SpanKind::Hold { filling: false }, label) if !label.is_empty() => label.to_owned(),
        (_, "") => kind.to_owned(),
        (_, label) => format!("{kind} {label}"),
    }
}

/// The class and label of a slice from its category and name: the inverse of [`slice_name`]. Two spans with one name
/// may differ.
pub(super) fn named<'n>(category: &str, name: &'n str) -> Option<(SpanKind, &'n str)> {
    match category {
        "work" => {
            let (word, label) = first(name)?;
            Some((SpanKind::Work(work(word)?), label))
        }
        "stall" => {
            let (word, label) = first(name.strip_prefix("wait ")?)?;
            Some((SpanKind::Stall(stall(word)?), label))
        }
        "state" => Some(match first(name) {
            Some((FILLING, label)) => (SpanKind::Hold { filling: true }, label),
            Some((HOLD, "")) => (SpanKind::Hold { filling: false }, ""),
            _ => (SpanKind::Hold { filling: false }, name),
        }),
        _ => None,
    }
}

/// The class that one of our own slices states.
pub(super) fn class(category: &str, kind: &str) -> Option<SpanKind> {
    match (category, short(kind)) {
        ("work", Some(word)) => work(word).map(SpanKind::Work),
        ("stall", Some(word)) => stall(word).map(SpanKind::Stall),
        ("state", word) => Some(SpanKind::Hold { filling: word == Some(FILLING) }),
        _ => None,
    }
}

/// A word of at most eight bytes as a number: a class is looked up for every slice of a file.
type Key = u64;

const fn key(word: &str) -> Key {
    let (bytes, mut key, mut i) = (word.as_bytes(), [0; 8], 0);
    while i < bytes.len() {
        key[i] = bytes[i];
        i += 1;
    }
    Key::from_le_bytes(key)
}

const FILLING: Key = key(words::what(SpanKind::Hold { filling: true }));
const HOLD: Key = key(words::what(SpanKind::Hold { filling: false }));

/// The first word of a text, if it has at most eight bytes, and the text after the space.
fn first(text: &str) -> Option<(Key, &str)> {
    let long = memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len());
    Some((short(&text[..long])?, text.get(long + 1..).unwrap_or_default()))
}

/// A word as a number, if no other word has it.
fn short(word: &str) -> Option<Key> {
    (word.len() <= 8 && !word.ends_with('\0')).then(|| key(word))
}

fn work(word: Key) -> Option<Work> {
    const KEYS: [Key; Work::ALL.len()] = {
        let (mut keys, mut i) = ([0; Work::ALL.len()], 0);
        while i < keys.len() {
            keys[i] = key(words::work(Work::ALL[i]));
            i += 1;
        }
        keys
    };
    KEYS.iter().position(|k| *k == word).map(|i| Work::ALL[i])
}

fn stall(word: Key) -> Option<Stall> {
    const KEYS: [Key; Stall::ALL.len()] = {
        let (mut keys, mut i) = ([0; Stall::ALL.len()], 0);
        while i < keys.len() {
            keys[i] = key(words::stall(Stall::ALL[i]));
            i += 1;
        }
        keys
    };
    KEYS.iter().position(|k| *k == word).map(|i| Stall::ALL[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_name_that_says_it() {
        let hold = [true, false].map(|filling| SpanKind::Hold { filling });
        let all =
            Work::ALL.into_iter().map(SpanKind::Work).chain(Stall::ALL.into_iter().map(SpanKind::Stall)).chain(hold);
        for what in all {
            for label in ["", "A[0, 3]", "a b  c", " ", "φ2"] {
                let span = Span { label: label.into(), ..Span::new(0, (0, 1), what) };
                let name = slice_name(&span);
                assert_eq!(named(category(what), &name), Some((what, label)), "{name}");
                assert_eq!(class(category(what), words::what(what)), Some(what));
            }
        }
        // Arguments distinguish a label that reads like a class.
        assert_eq!(named("state", "filling A"), Some((SpanKind::Hold { filling: true }, "A")));
        assert_eq!(named("work", "idle"), None);
        assert_eq!(named("stall", "mbarrier"), None);
        assert_eq!(named("gpu", "load"), None);
    }
}
