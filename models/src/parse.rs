//! The loader of machine files. It reports everything wrong with a file at once.

use crate::{entry, suggest};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use warpline_sim::diag::Diagnostic;
use warpline_sim::machine::{KEYS, Machine, Param, Vendor, key_named};

const VENDORS: &[(&str, Vendor)] =
    &[("amd", Vendor::Amd), ("apple", Vendor::Apple), ("nvidia", Vendor::Nvidia), ("paper", Vendor::Paper)];
const NAMES: &[&str] = &["name", "title", "vendor", "arch"];

/// Reads a machine file. `file` is its name in messages.
///
/// # Errors
/// All errors in the order of the text, each with the bytes it is about.
pub fn parse(file: &str, text: &str) -> Result<Machine, Vec<Diagnostic>> {
    let (root, syntax) = DeTable::parse_recoverable(text);
    let mut reader = Reader { file, out: Vec::new() };
    // A repeated key leaves the rest readable. After any other syntax error the tables are guesses, and so would be
    // messages about them.
    let readable = syntax.iter().all(|e| is_duplicate(e.message()));
    for error in &syntax {
        reader.syntax(text, error);
    }
    let machine = if readable { reader.machine(root.get_ref()) } else { None };
    reader.out.sort_by_key(|d| (d.span.start, d.span.end));
    // The TOML parser may report one place twice.
    reader.out.dedup();
    match machine {
        Some(machine) if reader.out.is_empty() => Ok(machine),
        _ => Err(reader.out),
    }
}

fn is_duplicate(message: &str) -> bool {
    message.starts_with("duplicate key")
}

/// The state of a reader, with the errors so far.
pub(crate) struct Reader<'a> {
    file: &'a str,
    out: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Records an error.
    pub(crate) fn error(&mut self, span: Range<usize>, message: String, label: impl Into<String>) -> &mut Diagnostic {
        let at = self.out.len();
        self.out.push(Diagnostic::new(self.file, span, message, label));
        &mut self.out[at]
    }

    fn syntax(&mut self, text: &str, error: &toml::de::Error) {
        let span = error.span().unwrap_or(text.len()..text.len());
        if is_duplicate(error.message()) {
            let key = text.get(span.clone()).unwrap_or_default().to_string();
            self.error(span, format!("`{key}` is given twice"), "the second time");
        } else {
            self.error(span, format!("this is not TOML: {}", error.message()), "here");
        }
    }

    /// The machine, as far as it can be read; `None` comes with an error.
    fn machine(&mut self, root: &DeTable<'_>) -> Option<Machine> {
        let mut words: BTreeMap<&str, (String, Range<usize>)> = BTreeMap::new();
        let mut params = BTreeMap::new();
        for (key, value) in root {
            let name: &str = key.get_ref();
            if let Some(word) = NAMES.iter().find(|n| **n == name) {
                match value.get_ref() {
                    DeValue::String(s) if !s.trim().is_empty() => {
                        words.insert(word, (s.to_string(), value.span()));
                    }
                    _ => {
                        self.error(value.span(), format!("`{name}` is not a word"), "expected a string");
                        words.insert(word, (String::new(), value.span()));
                    }
                }
            } else if let (DeValue::Table(table), true) = (value.get_ref(), is_table(name)) {
                self.table(name, table, &mut params);
            } else {
                self.unknown_top(name, key.span());
            }
        }
        for name in NAMES {
            if !words.contains_key(name) {
                let message = format!("the machine has no `{name}`");
                self.error(0..0, message, format!("expected `{name} = \"...\"` at the top"));
            }
        }
        let (vendor, at) = words.get("vendor")?.clone();
        let known: Vec<&str> = VENDORS.iter().map(|(v, _)| *v).collect();
        let Some((_, vendor)) = VENDORS.iter().find(|(v, _)| *v == vendor) else {
            if !vendor.is_empty() {
                self.error(
                    at,
                    format!("there is no vendor `{vendor}`"),
                    format!("expected {}", suggest::one_of(&known)),
                );
            }
            return None;
        };
        let (arch, at) = words.get("arch")?.clone();
        self.arch(*vendor, &arch, at);
        Some(Machine {
            name: words.get("name")?.0.clone(),
            title: words.get("title")?.0.clone(),
            vendor: *vendor,
            arch,
            params,
        })
    }

    /// `needs` compares architectures by spelling, so a misspelled one would fail far from here.
    fn arch(&mut self, vendor: Vendor, arch: &str, span: Range<usize>) {
        let (prefix, like) = match vendor {
            Vendor::Apple => ("apple", "`apple9`"),
            Vendor::Nvidia => ("sm_", "`sm_90a`"),
            Vendor::Amd => ("gfx", "`gfx942`"),
            Vendor::Paper => ("paper", "`paper`"),
        };
        let rest = arch.strip_prefix(prefix);
        let fits = match vendor {
            Vendor::Paper => rest == Some(""),
            _ => rest.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())),
        };
        if !fits && !arch.is_empty() {
            self.error(
                span,
                format!("`{arch}` is not an architecture of this vendor"),
                format!("expected one like {like}"),
            );
        }
    }

    fn unknown_top(&mut self, name: &str, span: Range<usize>) {
        if is_table(name) {
            self.error(span, format!("`{name}` is not a table"), format!("expected `[{name}]` and its numbers"));
            return;
        }
        let mut candidates = tables();
        candidates.extend(NAMES);
        let found = self.error(span, format!("machines have nothing called `{name}`"), "unknown name");
        found.help = suggest::closest(name, candidates).map(|c| format!("did you mean `{c}`?"));
    }

    fn table(&mut self, table: &str, entries: &DeTable<'_>, params: &mut BTreeMap<String, Param>) {
        for (key, value) in entries {
            let full = format!("{table}.{}", key.get_ref());
            let Some(known) = key_named(&full) else {
                let label = "unknown parameter";
                let found = self.error(key.span(), format!("machines have no parameter `{full}`"), label);
                found.help =
                    suggest::closest(&full, KEYS.iter().map(|k| k.key)).map(|k| format!("did you mean `{k}`?"));
                continue;
            };
            if let Some(param) = entry::read(self, known, value) {
                params.insert(full, param);
            }
        }
    }
}

/// Tables of a machine file, in the order of the keys.
fn tables() -> Vec<&'static str> {
    let mut tables: Vec<&str> = KEYS.iter().filter_map(|k| k.key.split_once('.').map(|(t, _)| t)).collect();
    tables.dedup();
    tables
}

fn is_table(name: &str) -> bool {
    tables().contains(&name)
}
