//! `warpline explain`: a page for each code of a finding, and the names of instructions elsewhere.

use serde::Serialize;
use warpline_scenarios::mnemonics::{MNEMONICS, Mnemonic, mnemonic};
use warpline_sim::alu::{ALU_UNITS, AluUnit};
use warpline_sim::code::Code;
use warpline_sim::report::FindingKind;

use crate::cli::Explain;
use crate::console::{Console, Paint};
use crate::json;
use crate::show::{WIDTH, wrap};
use warpline_api::{Error, Status};

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
        Found { mnemonics, units, .. } => {
            let lines = mnemonics.iter().map(|m| m.sentence()).chain(units.iter().map(unit));
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
    units: Vec<AluUnit>,
}

impl Found {
    fn codes(codes: &[Code]) -> Found {
        Found { codes: codes.to_vec(), ..Found::default() }
    }
}

/// A code, the name of a kind of finding, an instruction of another language, or `alu`.
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
    if let Some(m) = mnemonic(word) {
        return Ok(Found { mnemonics: vec![m], ..Found::default() });
    }
    if word == "alu" || word.strip_prefix("alu ").is_some_and(|u| ALU_UNITS.iter().any(|a| a.name == u)) {
        return Ok(Found { units: ALU_UNITS.to_vec(), ..Found::default() });
    }
    Err(unknown(word))
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

fn object(found: &Found) -> ExplainObject {
    let code = |c: &Code| CodeObject { code: c.id(), kind: c.kind().name(), title: c.title(), page: page(*c).ok() };
    let mnemonic = |m: &&'static Mnemonic| MnemonicObject { name: m.name, language: m.of, here: m.here, note: m.note };
    ExplainObject {
        schema: "warpline.explain/1",
        codes: found.codes.iter().map(code).collect(),
        mnemonics: found.mnemonics.iter().map(mnemonic).collect(),
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
    let names = kinds.into_iter().chain(MNEMONICS.iter().map(|m| m.name));
    let hint = warpline_api::hint(word, names);
    let help = format!("{hint}`warpline explain` lists the codes; the kinds of finding are {}", kinds.join(", "));
    Error::with_help(format!("no finding and no known instruction is called `{word}`"), help)
}
