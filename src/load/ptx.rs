//! Compiled kernels: `k.ptx`, or `k.ptx:name` for one of several entries.

use std::path::Path;
use std::sync::OnceLock;

use warpline_import::lift::{self, Lifted};
use warpline_import::ptx::{self, Error};
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;
use warpline_sim::report::Fidelity;

use super::library::{self, Place, Values, read};
use super::{Loaded, near};
use crate::cli::Setting;
use crate::failure::{Failure, Sources};

/// What a compiled kernel's verdict rests on beside what every verdict does.
pub(crate) struct Imported {
    pub(crate) assumptions: Vec<(String, u32)>,
    /// Symbols whose values are not all possible together.
    pub(crate) related: Option<String>,
    /// The kernel for each outcome of conditions that nothing decides.
    pub(crate) variants: Vec<Program>,
}

/// Whether a name is one of a compiled kernel.
pub(crate) fn is_ptx(name: &str) -> bool {
    split(name).is_some()
}

/// File and entry.
fn split(name: &str) -> Option<(&str, Option<&str>)> {
    if name.ends_with(".ptx") {
        return Some((name, None));
    }
    let (file, entry) = name.rsplit_once(':')?;
    file.ends_with(".ptx").then_some((file, Some(entry)))
}

/// Lifts a compiled kernel.
pub(crate) fn lifted(name: &str) -> Result<(Lifted, Sources, String), Failure> {
    let (file, entry) = split(name).unwrap_or((name, None));
    let text = read(Path::new(file))?;
    let sources = Sources::from([(file.to_string(), text.clone())]);
    let bad = |e: Error| {
        let span = if e.span == (0, 0) { line_span(&text, e.line) } else { e.span.0..e.span.1 };
        let d = Diagnostic::new(file, span, e.message, format!("expected {}", e.expected))
            .help("docs/import.md says what is read and what is not");
        Failure::Input { diagnostics: vec![d], sources: Sources::from([(file.to_string(), text.clone())]) }
    };
    let module = ptx::read(&text).map_err(bad)?;
    let names: Vec<&str> = module.entries.iter().map(|e| e.name.as_str()).collect();
    let found = match (entry, module.entries.as_slice()) {
        (None, [one]) => one,
        (None, []) => return Err(Failure::new(format!("`{file}` has no kernel"))),
        (None, _) => {
            return Err(Failure::with_help(
                format!("`{file}` has {} kernels", names.len()),
                format!("name one, as in `{file}:{}`; it has {}", names[0], names.join(", ")),
            ));
        }
        (Some(entry), list) => list.iter().find(|e| e.name == entry).ok_or_else(|| {
            let hint = near::hint(entry, names.iter().copied());
            Failure::with_help(
                format!("`{file}` has no kernel `{entry}`"),
                format!("{hint}it has {}", names.join(", ")),
            )
        })?,
    };
    let lifted = lift::lift(&module, found, file, &text).map_err(bad)?;
    Ok((lifted, sources, module.target))
}

fn line_span(text: &str, line: u32) -> std::ops::Range<usize> {
    let start = text.split_inclusive('\n').take((line as usize).saturating_sub(1)).map(str::len).sum();
    start..start + 1
}

/// The text as it is shown: of a long list of registers the first and the last. Every line stays the line it is.
fn shortened(text: &str) -> String {
    let list = |line: &str| -> Option<String> {
        let (start, end) = (line.find('{')?, line.rfind('}')?);
        let registers: Vec<&str> = line.get(start + 1..end)?.split(',').collect();
        let long = registers.len() > 4 && line.len() > 120 && !line[start + 1..end].contains(['{', '}']);
        let (first, last) = (registers.first()?, registers.last()?);
        long.then(|| format!("{}{{{first}, ..., {last}}}{}", &line[..start], &line[end + 1..]))
    };
    text.split('\n').map(|line| list(line).unwrap_or_else(|| line.to_string())).collect::<Vec<_>>().join("\n")
}

/// The machine of a target.
fn machine_of(target: &str) -> &'static str {
    let number: u32 = target
        .trim_start_matches("sm_")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(0);
    match number {
        0..90 => "a100",
        90..100 => "h200",
        _ => "b200",
    }
}

/// Loads a compiled kernel; without a machine, for one of its target.
pub(super) fn load(name: &str, machine: Option<&str>, sets: &[Setting]) -> Result<Loaded, Failure> {
    let (mut lifted, mut sources, target) = lifted(name)?;
    sources.values_mut().for_each(|text| *text = shortened(text));
    let mut library = library::Library::default();
    let mut model = library.machine(&Place::Here, machine.unwrap_or(machine_of(&target)))?;
    for s in sets {
        match s {
            Setting::Machine(key, value) => library::set_machine(&mut model, key, *value)?,
            Setting::Kernel(key, value) => {
                lifted.program = lifted.program.with(&[(key, *value)]).ok_or_else(|| {
                    let names: Vec<&str> = lifted.meaning.iter().map(|(n, _)| n.as_str()).collect();
                    Failure::with_help(
                        format!("the kernel has no symbol `{key}`"),
                        format!("it has {}", names.join(", ")),
                    )
                })?;
            }
        }
    }
    let values: Values = lifted.program.params.iter().map(|(n, v)| (n.clone(), Some(*v))).collect();
    let fidelity = Fidelity::usual(&model);
    let variants = lifted.variants();
    let symbolic = variants.first().unwrap_or(&lifted.program).clone();
    let imported = Imported { assumptions: lifted.assumptions, related: lifted.related, variants };
    let loaded = Loaded::plain(name, lifted.program.bind(), model, sources);
    Ok(Loaded { symbolic: OnceLock::from(symbolic), imported: Some(imported), fidelity, values, ..loaded })
}
