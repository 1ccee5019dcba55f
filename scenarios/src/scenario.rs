//! Scenario files: a kernel, a machine, values, runs for comparison, and claims.
//!
//! The reader walks the spanned table of the TOML parser by hand. So every key and value keeps its place, and all
//! mistakes of a file are reported at once; derived deserialization stops at the first.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warpline_sim::diag::Diagnostic;
use warpline_sim::fences::{BadFence, Fences, RULES};

use crate::Expect;
use crate::suggest::did_you_mean;

/// A scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// Name: the path of the file without `.toml`.
    pub name: String,
    /// Title of one line; the name if the file has none.
    pub title: String,
    /// The kernel's file, relative to the folder of the scenario.
    pub kernel: String,
    /// The machine's name.
    pub machine: String,
    /// Values of the kernel's parameters.
    pub set: BTreeMap<String, i64>,
    /// Replacements for numbers of the machine, by key without `machine.`.
    pub machine_set: BTreeMap<String, f64>,
    /// Whether all loaded data is in the second-level cache already (`l2 = "warm"`), as in a benchmark that repeats its
    /// kernel.
    pub warm_l2: bool,
    /// The strictness of fence rules (`[fences]`).
    pub fences: Fences,
    /// A note for readers on what to look at.
    pub note: Option<String>,
    /// The expected verdict; `None` means that the scenario must hold.
    pub expect: Option<Expect>,
    /// Runs for comparison.
    pub beside: Vec<Beside>,
    /// Claims that a run decides.
    pub claims: Vec<Claim>,
    /// Places of values in the file: `kernel`, `machine`, `expect`, and the keys of `[set]`.
    pub spans: BTreeMap<String, Range<usize>>,
}

/// A run for comparison with a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// Title; empty if the file gives none.
    pub name: String,
    /// The name that claims use for the run: `two` in `two.cycles`.
    pub alias: Option<String>,
    /// Whether the run is for claims only and not shown (`show = false`).
    pub hidden: bool,
    /// Another scenario; the same one if absent.
    pub scenario: Option<String>,
    /// Another machine.
    pub machine: Option<String>,
    /// Parameter values that differ.
    pub set: BTreeMap<String, i64>,
    /// Numbers of the machine that differ.
    pub machine_set: BTreeMap<String, f64>,
}

/// A statement about a run, with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The statement.
    pub text: String,
    /// The source of the statement.
    pub from: String,
    /// The expression that decides it.
    pub check: String,
    /// The expected verdict; a test fails when the check gives another one.
    pub verdict: Verdict,
    /// The number that the statement is about, as an expression, with its unit.
    pub value: Option<(String, String)>,
    /// What is true instead, or why, in words.
    pub instead: Option<String>,
    /// Place of the expression in the file.
    pub span: Range<usize>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The check holds.
    #[default]
    Held,
    /// The check does not hold.
    Refuted,
}

impl Verdict {
    /// The word used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Refuted => "refuted",
        }
    }
}

/// Reads a scenario; on failure every error of the file.
pub fn scenario(file: &str, text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut r = Reader { file, errors: Vec::new() };
    for e in &errors {
        let span = e.span().unwrap_or(0..0);
        r.errors.push(Diagnostic::new(file, span, e.message().trim().to_string(), "this is not valid TOML"));
    }
    if !r.errors.is_empty() {
        r.errors.sort_by_key(|d| (d.span.start, d.span.end));
        return Err(r.errors);
    }
    let s = r.scenario(table.get_ref());
    if r.errors.is_empty() {
        return Ok(s);
    }
    r.errors.sort_by_key(|d| (d.span.start, d.span.end));
    Err(r.errors)
}

/// Whether a TOML file is meant as a scenario: it names a kernel or a machine, or is not valid TOML.
pub fn is_scenario(text: &str) -> bool {
    let (table, errors) = DeTable::parse_recoverable(text);
    let has = |key: &str| table.get_ref().keys().any(|k| k.get_ref() == key);
    !errors.is_empty() || has("kernel") || has("machine")
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'a> {
    file: &'a str,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&mut self, span: Range<usize>, message: String, label: &str) -> &mut Diagnostic {
        self.errors.push(Diagnostic::new(self.file, span, message, label));
        let last = self.errors.len() - 1;
        &mut self.errors[last]
    }

    fn l2(&mut self, value: &Value) -> bool {
        let word = self.string(value);
        if word != "warm" && word != "cold" && !word.is_empty() {
            self.error(value.span(), format!("`{word}` is not a state of the L2 cache"), "write \"warm\" or \"cold\"");
        }
        word == "warm"
    }

    fn expect(&mut self, value: &Value) -> Option<Expect> {
        let word = self.string(value);
        let found = Expect::named(&word);
        if found.is_none() && value.get_ref().is_str() {
            let near = did_you_mean(&word, Expect::all().map(Expect::name));
            let all = Expect::all().map(Expect::name).collect::<Vec<_>>().join(", ");
            self.error(
                value.span(),
                format!("`{word}` is nothing that `verify` can find"),
                "a verdict or a kind of fault",
            )
            .help = Some(near.unwrap_or(format!("write one of {all}")));
        }
        found
    }

    fn scenario(&mut self, table: &DeTable) -> Scenario {
        let name = self.file.strip_suffix(".toml").unwrap_or(self.file).to_string();
        let mut s = Scenario { name, ..Scenario::default() };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "title" => s.title = self.string(value),
                "note" => s.note = Some(self.string(value)),
                "expect" => {
                    s.expect = self.expect(value);
                    s.spans.insert("expect".into(), value.span());
                }
                "l2" => s.warm_l2 = self.l2(value),
                "kernel" => {
                    s.kernel = self.string(value);
                    s.spans.insert("kernel".into(), value.span());
                }
                "machine" => {
                    s.machine = self.string(value);
                    s.spans.insert("machine".into(), value.span());
                }
                "set" => {
                    let spans = self.set(value, &mut s.set, &mut s.machine_set);
                    s.spans.extend(spans);
                }
                "fences" => self.fences(value, &mut s.fences),
                "beside" => self.tables(value, "[[beside]]", |r, t, _| {
                    let b = r.beside(t);
                    s.beside.push(b);
                }),
                "claim" => self.tables(value, "[[claim]]", |r, t, span| {
                    let c = r.claim(t, span);
                    s.claims.push(c);
                }),
                _ => {
                    let known =
                        ["title", "note", "kernel", "machine", "l2", "expect", "set", "fences", "beside", "claim"];
                    self.unknown(key, &known)
                }
            }
        }
        for (what, value, example) in [("kernel", &s.kernel, "triple_buffer.pipe"), ("machine", &s.machine, "m4-max")] {
            if value.is_empty() && !s.spans.contains_key(what) {
                self.error(0..0, format!("this scenario names no {what}"), "the file starts here").help =
                    Some(format!("write `{what} = \"{example}\"`"));
            }
        }
        if s.title.is_empty() {
            s.title = s.name.clone();
        }
        s
    }

    fn fences(&mut self, value: &Value, out: &mut Fences) {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value, "a table of fence rules, `async-read = \"strict\"`");
            return;
        };
        for (rule, level) in table {
            let Some(word) = level.get_ref().as_str() else {
                self.wrong(level, "a level");
                continue;
            };
            match out.set(rule.get_ref(), word) {
                Ok(()) => {}
                Err(BadFence::Rule(_)) => self.unknown(rule, &RULES.map(|r| r.0)),
                Err(e) => {
                    self.error(level.span(), e.to_string(), "a level was expected here");
                }
            }
        }
    }

    fn beside(&mut self, table: &DeTable) -> Beside {
        let mut b = Beside::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => b.name = self.string(value),
                "as" => b.alias = Some(self.string(value)),
                "show" => match value.get_ref().as_bool() {
                    Some(show) => b.hidden = !show,
                    None => self.wrong(value, "`true` or `false`"),
                },
                "scenario" => b.scenario = Some(self.string(value)),
                "machine" => b.machine = Some(self.string(value)),
                "set" => {
                    self.set(value, &mut b.set, &mut b.machine_set);
                }
                _ => self.unknown(key, &["name", "as", "show", "scenario", "machine", "set"]),
            }
        }
        b
    }

    fn claim(&mut self, table: &DeTable, span: Range<usize>) -> Claim {
        let mut c = Claim {
            text: String::new(),
            from: String::new(),
            check: String::new(),
            verdict: Verdict::Held,
            value: None,
            instead: None,
            span: span.clone(),
        };
        let mut seen = Vec::new();
        let mut unit = String::new();
        for (key, value) in table {
            seen.push(key.get_ref().to_string());
            match key.get_ref().as_ref() {
                "text" => c.text = self.string(value),
                "from" => c.from = self.string(value),
                "value" => c.value = Some((self.string(value), String::new())),
                "unit" => unit = self.string(value),
                "instead" => c.instead = Some(self.string(value)),
                "check" => {
                    c.check = self.string(value);
                    c.span = value.span();
                }
                "verdict" => match self.string(value).as_str() {
                    "held" => c.verdict = Verdict::Held,
                    "refuted" => c.verdict = Verdict::Refuted,
                    other if value.get_ref().is_str() => {
                        let message = format!("`{other}` is not a verdict");
                        self.error(value.span(), message, "\"held\" or \"refuted\" was expected");
                    }
                    _ => {}
                },
                _ => self.unknown(key, &["text", "from", "check", "verdict", "value", "unit", "instead"]),
            }
        }
        if let Some(value) = &mut c.value {
            value.1 = unit;
        }
        for want in ["text", "check", "verdict"] {
            if !seen.iter().any(|s| s == want) {
                self.error(span.clone(), format!("this claim has no `{want}`"), "the claim starts here").help =
                    Some("a claim has `text`, `from`, `check` and `verdict`".into());
            }
        }
        c
    }

    /// Values: integers for the kernel, numbers below `machine` for the machine.
    fn set(
        &mut self,
        value: &Value,
        ints: &mut BTreeMap<String, i64>,
        numbers: &mut BTreeMap<String, f64>,
    ) -> BTreeMap<String, Range<usize>> {
        let mut spans = BTreeMap::new();
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value, "a table, such as `{ stages = 2 }`,");
            return spans;
        };
        for (key, value) in table {
            let name = key.get_ref().to_string();
            if name == "machine" {
                self.numbers("", value, numbers);
            } else if let Some(name) = name.strip_prefix("machine.") {
                self.numbers(name, value, numbers);
            } else if let Some(v) = self.int(value) {
                spans.insert(name.clone(), key.span());
                ints.insert(name, v);
            }
        }
        spans
    }

    /// Adds a number, or a table of numbers with keys joined by dots.
    fn numbers(&mut self, prefix: &str, value: &Value, out: &mut BTreeMap<String, f64>) {
        if let Some(table) = value.get_ref().as_table() {
            for (key, value) in table {
                let name = key.get_ref();
                let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
                self.numbers(&path, value, out);
            }
            return;
        }
        let text = match value.get_ref() {
            DeValue::Float(f) => f.as_str().parse::<f64>().ok().filter(|v| v.is_finite()),
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|v| v as f64),
            _ => None,
        };
        match text {
            Some(v) if !prefix.is_empty() => {
                out.insert(prefix.into(), v);
            }
            _ => self.wrong(value, "a number of the machine"),
        }
    }

    fn int(&mut self, value: &Value) -> Option<i64> {
        let v = match value.get_ref() {
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok(),
            _ => None,
        };
        if v.is_none() {
            self.wrong(value, "an integer");
        }
        v
    }

    fn string(&mut self, value: &Value) -> String {
        match value.get_ref().as_str() {
            Some(s) => s.to_string(),
            None => {
                self.wrong(value, "a string");
                String::new()
            }
        }
    }

    fn tables(&mut self, value: &Value, how: &str, mut f: impl FnMut(&mut Self, &DeTable, Range<usize>)) {
        let Some(array) = value.get_ref().as_array() else {
            self.wrong(value, &format!("one or more tables `{how}`"));
            return;
        };
        for item in array {
            match item.get_ref().as_table() {
                Some(t) => f(self, t, item.span()),
                None => self.wrong(item, "a table"),
            }
        }
    }

    fn wrong(&mut self, value: &Value, want: &str) {
        let found = value.get_ref().type_str();
        let message = format!("expected {want}, found {found}").replace(",,", ",");
        self.error(value.span(), message, &format!("{} was expected here", want.trim_end_matches(',')));
    }

    fn unknown(&mut self, key: &Key, known: &[&str]) {
        let name = key.get_ref().to_string();
        let help = did_you_mean(&name, known.iter().copied());
        let all = known.join(", ");
        self.error(key.span(), format!("unknown key `{name}`"), "a key of a scenario was expected").help =
            Some(help.unwrap_or_else(|| format!("the keys here are {all}")));
    }
}
