//! Compiled kernels: `k.ptx`, or `k.ptx:name` for one of several entries.

use std::path::Path;
use std::sync::OnceLock;

use warpline_import::lift::{self, Launch, Lifted};
use warpline_import::ptx;
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;
use warpline_sim::report::Fidelity;

use super::library::{Library, Place, Values};
use super::{Subject, hint, read, set_machine};
use crate::error::{Error, Sources};
use crate::request::{Request, Setting};

/// The assumptions about a compiled kernel beside those of every verdict.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Each assumption, with the line of the PTX file that needs it.
    pub assumptions: Vec<(String, u32)>,
    /// Symbols whose values may not all be possible together, in words.
    pub related: Option<String>,
    /// The kernel with the values of some launches, where symbols are related.
    pub possible: Vec<Program>,
    /// The kernel for each outcome of the conditions that nothing decides.
    pub variants: Vec<Program>,
    /// Names of the conditions of which `variants` has both outcomes.
    pub conditions: Vec<String>,
}

/// Whether a name is that of a compiled kernel: `k.ptx` or `k.ptx:name`.
pub fn is_ptx(name: &str) -> bool {
    split(name).is_some()
}

/// The file and the entry of a name.
fn split(name: &str) -> Option<(&str, Option<&str>)> {
    if name.ends_with(".ptx") {
        return Some((name, None));
    }
    let (file, entry) = name.rsplit_once(':')?;
    file.ends_with(".ptx").then_some((file, Some(entry)))
}

/// A compiled kernel as a program.
#[derive(Debug)]
pub struct CompiledKernel {
    /// The program, its symbols and assumptions.
    pub lifted: Lifted,
    /// The text of the file.
    pub sources: Sources,
    /// The target that the file names (`sm_90a`).
    pub target: String,
}

/// Lifts a compiled kernel to a program.
///
/// # Errors
/// A file that cannot be read, text that is not understood, or an entry that is not there.
pub fn lifted(name: &str, launch: &Launch) -> Result<CompiledKernel, Error> {
    let (file, entry) = split(name).unwrap_or((name, None));
    let text = read(Path::new(file))?;
    let sources = Sources::from([(file.to_string(), text.clone())]);
    let bad = |e: ptx::Error| {
        let span = if e.span == (0, 0) { line_span(&text, e.line) } else { e.span.0..e.span.1 };
        let d = Diagnostic::new(file, span, e.message, format!("expected {}", e.expected))
            .help("docs/import.md says what is read and what is not");
        Error::Input { diagnostics: vec![d], sources: Sources::from([(file.to_string(), text.clone())]) }
    };
    let module = ptx::read(&text).map_err(bad)?;
    let names: Vec<&str> = module.entries.iter().map(|e| e.name.as_str()).collect();
    let found = match (entry, module.entries.as_slice()) {
        (None, [one]) => one,
        (None, []) => return Err(Error::new(format!("`{file}` has no kernel"))),
        (None, _) => {
            return Err(Error::with_help(
                format!("`{file}` has {} kernels", names.len()),
                format!("name one, as in `{file}:{}`; it has {}", names[0], names.join(", ")),
            ));
        }
        (Some(entry), list) => list.iter().find(|e| e.name == entry).ok_or_else(|| {
            let hint = hint(entry, names.iter().copied());
            Error::with_help(format!("`{file}` has no kernel `{entry}`"), format!("{hint}it has {}", names.join(", ")))
        })?,
    };
    let lifted = lift::lift(&module, found, file, &text, launch).map_err(bad)?;
    Ok(CompiledKernel { lifted, sources, target: module.target })
}

fn line_span(text: &str, line: u32) -> std::ops::Range<usize> {
    let start = text.split_inclusive('\n').take((line as usize).saturating_sub(1)).map(str::len).sum();
    start..start + 1
}

/// The text for carets: long register lists show their first and last register. Line numbers stay the same.
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

/// The built-in machine of a target.
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

/// Loads a compiled kernel, for a machine of its target where none is named.
pub(super) fn load(request: &Request) -> Result<Subject, Error> {
    let (name, machine, sets) = (request.scenario.as_str(), request.machine.as_deref(), &request.settings);
    let CompiledKernel { mut lifted, mut sources, target } = lifted(name, &request.launch)?;
    sources.values_mut().for_each(|text| *text = shortened(text));
    let mut library = Library::default();
    let mut model = library.machine(&Place::WorkingFolder, machine.unwrap_or(machine_of(&target)))?;
    for s in sets {
        match s {
            Setting::MachineNumber { key, value } => set_machine(&mut model, key, *value)?,
            Setting::Parameter { name, value } => {
                lifted.program = lifted.program.with(&[(name, *value)]).ok_or_else(|| {
                    let names: Vec<&str> = lifted.meaning.iter().map(|(n, _)| n.as_str()).collect();
                    Error::with_help(
                        format!("the kernel has no symbol `{name}`"),
                        format!("it has {}", names.join(", ")),
                    )
                })?;
            }
        }
    }
    let values: Values = lifted.program.params.iter().map(|(n, v)| (n.clone(), Some(*v))).collect();
    let fidelity = Fidelity::usual(&model);
    let variants = lifted.variants();
    let conditions = lifted.free.iter().map(|f| lifted.program.symbols[f.symbol as usize].name.clone()).collect();
    let symbolic = variants.first().unwrap_or(&lifted.program).clone();
    let possible = lifted.possible();
    let imported =
        Imported { assumptions: lifted.assumptions, related: lifted.related, possible, variants, conditions };
    let loaded = Subject::new(name, lifted.program.bind(), model, sources);
    Ok(Subject { symbolic: OnceLock::from(symbolic), imported: Some(imported), fidelity, values, ..loaded })
}
