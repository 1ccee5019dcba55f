//! `warpline explain`: a page for each code of a finding, statements, and the names of instructions elsewhere.

use serde::Serialize;
use warpline_scenarios::mnemonics::{MNEMONICS, Mnemonic, mnemonic};
use warpline_sim::alu::{ALU_UNITS, AluUnit};
use warpline_sim::code::Code;
use warpline_sim::report::FindingKind;

use crate::cli::Explain;
use crate::console::{Console, Paint};
use crate::json;
use crate::show::{WIDTH, wrap};
use warpline_api::editor::{WordKind, words};
use warpline_api::{Error, Rule, Status, meaning};

pub(super) fn explain(args: &Explain, console: &mut Console) -> Result<Status, Error> {
    let word = args.words.join(" ");
    let found = if word.is_empty() { Found::codes(Code::ALL) } else { find(&word)? };
    let text = match &found {
        _ if args.json => json::text(&object(&found))?,
        _ if word.is_empty() => {
            list(Code::ALL) + "\n`warpline explain WL0104` says what one is, with an example and the fix\n"
        }
        Found { codes, .. } if codes.len() > 1 => {
            list(codes) + &format!("\n`warpline explain {}` says what one is, with an example and the fix\n", codes[0])
        }
        Found { codes, .. } if !codes.is_empty() => shown(page(codes[0])?, console.paint()),
        Found { statement: Some(s), units, .. } => {
            let units = units.iter().map(|u| format!("{}\n", wrap(&unit(u), WIDTH, 2)));
            described(s) + &units.collect::<String>()
        }
        Found { mnemonics, .. } => {
            let lines = mnemonics.iter().map(|m| m.sentence());
            lines.map(|line| format!("{}\n", wrap(&line, WIDTH, 2))).collect()
        }
    };
    console.print(&text)?;
    Ok(Status::Holds)
}

/// What a word stands for.
#[derive(Default)]
struct Found {
    codes: Vec<Code>,
    mnemonics: Vec<&'static Mnemonic>,
    statement: Option<StatementObject>,
    units: Vec<AluUnit>,
}

impl Found {
    fn codes(codes: &[Code]) -> Found {
        Found { codes: codes.to_vec(), ..Found::default() }
    }
}

/// A code, the name of a kind of finding, a statement of the kernel language, or an instruction of another language.
fn find(word: &str) -> Result<Found, Error> {
    if let Ok(code) = word.parse::<Code>() {
        return Ok(Found::codes(&[code]));
    }
    let name = word.to_lowercase().replace(['-', '_'], " ");
    let kind = |c: &&Code| c.kind().name().to_lowercase() == name || c.title().to_lowercase() == name;
    let codes: Vec<Code> = Code::ALL.iter().filter(kind).copied().collect();
    if !codes.is_empty() {
        return Ok(Found::codes(&codes));
    }
    // A statement of this language before a longer name elsewhere: `red.add` is not an unsupported `red` of PTX.
    if let Some(statement) = statement(word) {
        let units = if statement.name == "alu" { ALU_UNITS.to_vec() } else { Vec::new() };
        return Ok(Found { statement: Some(statement), units, ..Found::default() });
    }
    if let Some(m) = mnemonic(word) {
        return Ok(Found { mnemonics: vec![m], ..Found::default() });
    }
    Err(unknown(word))
}

/// The statement of the kernel language that begins with the first word: `cluster.sync`, `alu exp`.
fn statement(word: &str) -> Option<StatementObject> {
    let name = word.split(' ').next()?;
    let kinds = [WordKind::Declaration, WordKind::Head, WordKind::Operation];
    let meaning = words().iter().any(|w| w.text == name && kinds.contains(&w.kind)).then(|| meaning(name))??;
    let rule = |r: Rule| RuleObject { rule: r.rule, fault: r.fault };
    Some(StatementObject {
        name: name.to_string(),
        instruction: meaning.instruction,
        sentences: meaning.sentences,
        rules: meaning.rules.into_iter().map(rule).collect(),
    })
}

/// The statement with its instruction, its meaning and its rules.
fn described(s: &StatementObject) -> String {
    let head = match &s.instruction {
        Some(instruction) => format!("`{}` is a statement of the kernel language, for {instruction}", s.name),
        None => format!("`{}` is a statement of the kernel language", s.name),
    };
    let rules = s.rules.iter().map(|r| match &r.fault {
        Some(fault) => format!("* {} (fault: {fault})", r.rule),
        None => format!("* {}", r.rule),
    });
    let lines = [head].into_iter().chain(s.sentences.iter().cloned()).chain(rules);
    lines.map(|line| format!("{}\n", wrap(&line.replace("**", "`"), WIDTH, 2))).collect()
}

fn page(code: Code) -> Result<&'static str, Error> {
    warpline_api::explain_page(code).ok_or_else(|| Error::new(format!("{code} has no page: {}", code.title())))
}

fn unit(u: &AluUnit) -> String {
    format!("`alu {} N` is N operations of all executing warps, at the machine's `{}`: {}", u.name, u.key, u.doc)
}

#[derive(Serialize)]
struct ExplainObject {
    schema: &'static str,
    codes: Vec<CodeObject>,
    mnemonics: Vec<MnemonicObject>,
    statement: Option<StatementObject>,
}

#[derive(Serialize)]
struct CodeObject {
    code: &'static str,
    kind: &'static str,
    title: &'static str,
    page: Option<&'static str>,
}

#[derive(Serialize)]
struct MnemonicObject {
    name: &'static str,
    language: &'static str,
    here: Option<&'static str>,
    note: &'static str,
}

#[derive(Clone, Serialize)]
struct StatementObject {
    name: String,
    instruction: Option<String>,
    sentences: Vec<String>,
    rules: Vec<RuleObject>,
}

#[derive(Clone, Serialize)]
struct RuleObject {
    rule: String,
    fault: Option<String>,
}

fn object(found: &Found) -> ExplainObject {
    let code = |c: &Code| CodeObject { code: c.id(), kind: c.kind().name(), title: c.title(), page: page(*c).ok() };
    let mnemonic = |m: &&'static Mnemonic| MnemonicObject { name: m.name, language: m.of, here: m.here, note: m.note };
    ExplainObject {
        schema: "warpline.explain/1",
        codes: found.codes.iter().map(code).collect(),
        mnemonics: found.mnemonics.iter().map(mnemonic).collect(),
        statement: found.statement.clone(),
    }
}

/// Codes with their titles.
fn list(codes: &[Code]) -> String {
    let mut text = String::new();
    for c in codes {
        text += &format!("{c}  {}\n", wrap(&format!("{}: {}", c.kind().name(), c.title()), WIDTH - 8, 8));
    }
    text
}

/// A page for a terminal: wrapped prose, indented kernels.
fn shown(page: &str, paint: Paint) -> String {
    let mut text = String::new();
    let mut kernel = false;
    for line in page.lines() {
        if line.starts_with("```") {
            kernel = !kernel;
        } else if kernel {
            text += &format!("  {line}\n");
        } else if let Some(title) = line.strip_prefix("# ").or(line.strip_prefix("## ")) {
            text += &format!("{}\n", paint.head(&wrap(title, WIDTH, 0)));
        } else {
            text += &format!("{}\n", wrap(line, WIDTH, 0));
        }
    }
    text
}

fn unknown(word: &str) -> Error {
    if word.to_uppercase().starts_with("WL") {
        let hint = warpline_api::hint(&word.to_uppercase(), Code::ALL.iter().map(|c| c.id()));
        let help = format!("{hint}`warpline explain` lists them all");
        return Error::with_help(format!("no finding has the code `{word}`"), help);
    }
    let kinds = FindingKind::ALL.map(FindingKind::name);
    let own = words().into_iter().filter(|w| w.kind == WordKind::Operation).map(|w| w.text);
    let names = kinds.into_iter().chain(MNEMONICS.iter().map(|m| m.name)).chain(own);
    let hint = warpline_api::hint(word, names);
    let help = format!("{hint}`warpline explain` lists the codes; the kinds of finding are {}", kinds.join(", "));
    Error::with_help(format!("no finding, statement or known instruction is called `{word}`"), help)
}
