//! Compiled kernels: `k.ptx` or `k.ptx.gz`, and `k.ptx:name` for one of several entries.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use warpline_import::lift::launch::Need;
use warpline_import::lift::{self, Argument, Launch, Lifted, PossibleLaunch, Variants};
use warpline_import::ptx::{self, Entry, Module, Param};
use warpline_import::text;
use warpline_sim::diag::Diagnostic;
use warpline_sim::fences::{Cover, Fences, Level};
use warpline_sim::ir::{self, Class, Instr, Op, Program};
use warpline_sim::machine::Machine;
use warpline_sim::report::Fidelity;

use super::library::{Library, Place, Values};
use super::targets::{declared_shared, too_large, usual_machine};
use super::{Subject, launch, sass, set_machine};
use crate::error::{Error, Sources};
use crate::possible::CompiledText;
use crate::request::{Request, Setting};
use crate::verify::{ProofOptions, outcome_word, verify};

/// The assumptions about a compiled kernel, in addition to those of every verdict.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Each assumption, with the line of the PTX file that needs it.
    pub assumptions: Vec<(String, u32)>,
    /// Symbols whose values may not all be possible together, in words.
    pub related: Option<String>,
    /// What data may decide otherwise than the program has it: a proof of the program is one for some data.
    pub partial: Option<String>,
    /// Line of a wait for a word of global memory by which threads may be in order.
    pub waits_for_word: Option<u32>,
    /// What the program leaves open, so that it is not proved.
    pub unproved: Option<String>,
    /// The kernel with the values of some launches, where symbols are related.
    pub possible: Vec<PossibleLaunch>,
    /// The text to lift again for one launch after the other, where symbols are related.
    pub compiled: Option<CompiledText>,
    /// The kernel for each outcome of undecided conditions.
    pub variants: Variants,
    /// Names of the conditions for which `variants` has both outcomes.
    pub conditions: Vec<String>,
    /// Names of the symbols of which `variants` has every value.
    pub every_value: Vec<String>,
    /// The kernel in which what differs by iteration may be anything in each. A proof of it is one of the kernel.
    pub numbered: Option<Box<Subject>>,
    /// The same where each loop whose length differs by iteration has a step.
    pub stepped: Option<Box<Subject>>,
    /// Whether the program has the values of a launch, so that it can be timed.
    pub launched: bool,
    /// Whether the launch gives no array, so that a run does not know what its accesses to global memory read.
    pub arrays_unknown: bool,
}

impl Imported {
    /// A kernel with the values of one launch.
    fn launched(assumptions: Vec<(String, u32)>, arrays_unknown: bool) -> Imported {
        let (possible, variants, conditions, every_value) = Default::default();
        Imported {
            assumptions,
            related: None,
            waits_for_word: None,
            partial: None,
            unproved: None,
            possible,
            compiled: None,
            variants,
            conditions,
            every_value,
            numbered: None,
            stepped: None,
            launched: true,
            arrays_unknown,
        }
    }
}

/// Whether a name is that of a compiled kernel: `k.ptx`, `k.ptx.gz` or one of them with `:name`.
pub fn is_ptx(name: &str) -> bool {
    split(name).is_some()
}

/// The file and the entry of a name.
fn split(name: &str) -> Option<(&str, Option<&str>)> {
    let of_kernel = |file: &str| file.ends_with(".ptx") || file.ends_with(".ptx.gz");
    if of_kernel(name) {
        return Some((name, None));
    }
    let (file, entry) = name.rsplit_once(':')?;
    of_kernel(file).then_some((file, Some(entry)))
}

/// The names `k.ptx:kernel` of all kernels of a file, if its name is that of a compiled file and it has several.
pub(crate) fn kernels_of(file: &str) -> Option<Vec<String>> {
    let (_, None) = split(file)? else { return None };
    let text = crate::request::text_of(&Sources::new(), Path::new(file)).ok()?;
    // Most files have one kernel, and are read where they are verified. So is what cannot be read.
    text.match_indices(".entry").nth(1)?;
    let module = ptx::read(&text).ok().filter(|m| m.entries.len() > 1)?;
    Some(module.entries.iter().map(|e| format!("{file}:{}", e.name)).collect())
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
    /// The launch, with the values of its file.
    pub launch: Launch,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// Bytes of shared memory that the text declares.
    pub declared_shared: u64,
    /// For a run, why the program lacks the instructions between operations of the protocol, if it does.
    pub untimed: Option<String>,
    /// For a run, what is known of the assembler's work, in words.
    pub assembled: String,
}

/// The file of compiled kernels that a request names, and the entry.
fn named(request: &Request) -> (&str, Option<&str>) {
    let (file, entry) = split(&request.scenario).unwrap_or((&request.scenario, None));
    (file, request.entry.as_deref().or(entry))
}

/// Lifts the compiled kernel that a request names to a program.
///
/// # Errors
/// A file that cannot be read, unsupported text, an entry that does not exist, or a launch that the kernel does not
/// allow.
pub fn lifted(request: &Request) -> Result<CompiledKernel, Error> {
    let (file, entry) = named(request);
    let text = request.read(Path::new(file))?;
    let sources = Sources::from([(file.to_string(), text.clone())]);
    let bad = |e: ptx::Error| {
        let span = if e.span == (0, 0) { line_span(&text, e.line) } else { e.span.0..e.span.1 };
        let d = Diagnostic::new(file, span, e.message, format!("expected {}", e.expected))
            .help("docs/import.md says what is read and what is not");
        Error::Input { diagnostics: vec![d], sources: Sources::from([(file.to_string(), text.clone())]) }
    };
    let module = ptx::read(&text).map_err(bad)?;
    let found = super::entries::entry_of(&module, file, entry)?;
    let launch = launch::launch(request, found)?;
    let timed = request.bind_launch && launch.grid.is_some();
    let mut launch = Launch { timed, every_fence: every_fence(request), ..launch };
    let assembled = if launch.timed { sass::assembled(request, found, &mut launch)? } else { String::new() };
    let timed = launch.timed.then(|| lift::lift(&module, found, file, &text, &launch));
    let untimed = timed.as_ref().and_then(|t| t.as_ref().err().map(|e| format!("line {}: {}", e.line, e.message)));
    let lifted = match timed {
        Some(Ok(lifted)) => lifted,
        _ => lift::lift(&module, found, file, &text, &Launch { timed: false, ..launch.clone() }).map_err(bad)?,
    };
    let params = found.params.clone();
    let declared_shared = declared_shared(&module, found);
    Ok(CompiledKernel { lifted, sources, target: module.target, launch, params, declared_shared, untimed, assembled })
}

/// What follows from the text and the launch of a request, before the kernel is lifted. `None` where they cannot be read.
pub(super) fn of_text<T>(request: &Request, what: impl FnOnce(&Module, &Entry, &Launch) -> T) -> Option<T> {
    let (file, entry) = named(request);
    let module = ptx::read(&request.read(Path::new(file)).ok()?).ok()?;
    let found = super::entries::entry_of(&module, file, entry).ok()?;
    let launch = launch::launch(request, found).ok()?;
    Some(what(&module, found, &launch))
}

/// Whether fences are required where kernels work without them.
fn every_fence(request: &Request) -> bool {
    let mut fences = Fences::default();
    // Levels that do not exist are refused elsewhere.
    let known = request.fences.iter().all(|f| fences.set(&f.rule, &f.level).is_ok());
    !known || fences.async_read == Cover::Strict || fences.tcgen05 == Level::Error
}

fn line_span(text: &str, line: u32) -> std::ops::Range<usize> {
    let start = text.split_inclusive('\n').take((line as usize).saturating_sub(1)).map(str::len).sum();
    start..start + 1
}

/// The text for carets: a long register list shows only its first and last register. Line numbers stay the same.
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

/// Loads a compiled kernel, by default on a machine of its target.
pub(super) fn load(request: &Request) -> Result<Subject, Error> {
    let request = &if request.bind_launch { with_arguments(request) } else { request.clone() };
    let (name, machine) = (request.scenario.as_str(), request.machine.as_deref());
    let mut kernel = lifted(request).map_err(|e| too_large(request).unwrap_or(e))?;
    let compiled = CompiledText::of(&kernel, named(request).0);
    kernel.sources.values_mut().for_each(|text| *text = shortened(text));
    let mut library = Library::default();
    let mut model = match machine {
        Some(name) => library.machine(&Place::WorkingFolder, name)?,
        None => {
            let (model, later) = usual_machine(&mut library, &kernel)?;
            kernel.lifted.assumptions.extend(later);
            model
        }
    };
    let mut set = BTreeMap::new();
    for s in &request.settings {
        match s {
            Setting::MachineNumber { key, value } => set_machine(&mut model, key, *value)?,
            Setting::Parameter { name, value } => {
                if kernel.lifted.program.symbol(name).is_none() {
                    let names: Vec<&str> = kernel.lifted.meaning.iter().map(|(n, _)| n.as_str()).collect();
                    let help = match names.as_slice() {
                        [] => "no value of it is open: it has no symbols".to_string(),
                        names => format!("it has {}", names.join(", ")),
                    };
                    return Err(Error::with_help(format!("the kernel has no symbol `{name}`"), help));
                }
                set.insert(name.clone(), *value);
            }
        }
    }
    if request.bind_launch {
        let program = launched(&kernel, request, &set)?;
        let chosen =
            if machine.is_some() { "--machine named the machine" } else { "the machine is one of that target" };
        let arrays_unknown = !kernel.launch.args.values().any(gives_array);
        let charged = match &kernel.untimed {
            None => {
                let schedule = &kernel.assembled;
                let arrays = if arrays_unknown { ARRAYS_UNKNOWN.to_string() } else { unknown_places(&program) };
                format!("{CHARGED} {schedule} {arrays}Races are not looked for: `verify` does that")
            }
            Some(why) => format!("{NOT_CHARGED} ({why})"),
        };
        let note = format!("The PTX is for {}, and {chosen}. {charged}", kernel.target);
        let imported = Imported::launched(kernel.lifted.assumptions, arrays_unknown);
        let fidelity = Fidelity::usual(&model);
        let values: Values = program.params.iter().map(|(n, v)| (n.clone(), Some(*v))).collect();
        let loaded = Subject::new(name, program.clone(), model, kernel.sources);
        let symbolic = OnceLock::from(program);
        return Ok(Subject { symbolic, imported: Some(imported), note: Some(note), fidelity, values, ..loaded });
    }
    let CompiledKernel { mut lifted, sources, .. } = kernel;
    let values: Vec<(&str, i64)> = set.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    let other = |l: Option<Box<Lifted>>| {
        let l = l.filter(|_| values.is_empty());
        l.map(|l| Box::new(subject_of(*l, &[], (name, model.clone()), sources.clone())))
    };
    let (numbered, stepped) = (other(lifted.numbered.take()), other(lifted.stepped.take()));
    let mut subject = subject_of(lifted, &values, (name, model), sources);
    if let Some(imported) = &mut subject.imported {
        (imported.numbered, imported.stepped) = (numbered, stepped);
        imported.compiled = compiled;
    }
    Ok(subject)
}

/// A compiled kernel to be verified, with other values of some symbols.
fn subject_of(mut lifted: Lifted, values: &[(&str, i64)], (name, model): (&str, Machine), sources: Sources) -> Subject {
    lifted.program = lifted.program.with(values).unwrap_or(lifted.program);
    let values: Values = lifted.program.params.iter().map(|(n, v)| (n.clone(), Some(*v))).collect();
    let fidelity = Fidelity::usual(&model);
    let variants = lifted.variants();
    let free = lifted.free.iter().map(|f| lifted.program.symbols[f.symbol as usize].name.clone());
    let conditions = free.chain(lifted.under.iter().map(|(s, _)| s.name.clone())).collect();
    let every_value = lifted.capped.iter().map(|c| lifted.program.symbols[c.symbol as usize].name.clone()).collect();
    let symbolic = variants.clone().next().map_or_else(|| lifted.program.clone(), |p| Program::clone(&p));
    let possible = lifted.possible();
    let imported = Imported {
        assumptions: lifted.assumptions,
        related: lifted.related,
        waits_for_word: lifted.waits_for_word,
        partial: lifted.partial,
        unproved: lifted.unproved,
        possible,
        compiled: None,
        variants,
        conditions,
        every_value,
        numbered: None,
        stepped: None,
        launched: false,
        arrays_unknown: false,
    };
    let loaded = Subject::new(name, lifted.program.bind(), model, sources);
    Subject { symbolic: OnceLock::from(symbolic), imported: Some(imported), fidelity, values, ..loaded }
}

/// The request with settings such as `arg5` as values of parameters, so that a sweep can vary them.
fn with_arguments(request: &Request) -> Request {
    let mut request = request.clone();
    for s in std::mem::take(&mut request.settings) {
        let place = match &s {
            Setting::Parameter { name, value } => name.strip_prefix("arg").and_then(launch::place_of).zip(Some(*value)),
            _ => None,
        };
        match place {
            Some(((param, offset), value)) => {
                request.launch.give(param, launch::placed(Argument::Number(value), offset));
            }
            None => request.settings.push(s),
        }
    }
    request
}

/// A compiled kernel as text of the kernel language that loads again and has the same verdict.
///
/// # Errors
/// As for [`lifted`], and a kernel that the language cannot express yet: the first missing feature, and its line.
pub fn kernel_text(request: &Request) -> Result<String, Error> {
    let kernel = lifted(request)?;
    let refused = |why: String| {
        Error::with_help(
            format!("`{}` is not a kernel of the kernel language: {why}", request.scenario),
            "a file with another ending, such as `.txt`, gets the text to read; `warpline verify` takes the `.ptx` itself",
        )
    };
    if let Some((why, line)) = text::beyond_the_language(&kernel.lifted) {
        return Err(refused(format!("at line {line} {why}")));
    }
    let text = text::kernel(&kernel.lifted);
    let proof = Request { bind_launch: false, ..request.clone() };
    let subject = load(&proof)?;
    let again = super::load_text("imported.pipe", &text, &subject.machine, &[]).map_err(|e| refused(e.to_string()))?;
    let word = |s: &Subject| verify(s, &ProofOptions::default()).map(|v| outcome_word(&v.verdict.outcome));
    let (ptx, pipe) = (word(&subject)?, word(&again).map_err(|e| refused(e.to_string()))?);
    if ptx != pipe {
        return Err(refused(format!("the PTX is {ptx}, and its text would be {pipe}")));
    }
    Ok(text)
}

/// The source of the time of a compiled kernel.
const CHARGED: &str = "Instructions are those of the PTX, by class, and addresses those of the launch.";

/// What a run leaves out where the launch has numbers alone.
const ARRAYS_UNKNOWN: &str = "The launch gives no array: all accesses to global memory are taken to hit L2, and the time is \
                              too short by the traffic of DRAM. `--launch FILE` gives arrays. ";

/// The accesses to global memory at places that are not known, in words.
fn unknown_places(program: &Program) -> String {
    let is_unknown = |p: &ir::Place| {
        let o = &program.objects[p.obj as usize];
        o.class == Class::Global && o.name == lift::UNKNOWN_GLOBAL
    };
    let unknown =
        |i: &Instr| matches!(i, Instr::Op { op: Op::Move { src, dst, .. }, .. } if is_unknown(src) || is_unknown(dst));
    let mut lines: Vec<u32> =
        (0..).zip(&program.code).filter(|(_, i)| unknown(i)).map(|(pc, _)| program.site(pc).line).collect();
    lines.sort_unstable();
    lines.dedup();
    let first: Vec<String> = lines.iter().take(3).map(u32::to_string).collect();
    match lines.len() {
        0 => String::new(),
        1 => format!("{UNKNOWN_PLACES} (line {}). ", first[0]),
        n if n <= first.len() => format!("{UNKNOWN_PLACES} (lines {}). ", first.join(", ")),
        n => format!("{UNKNOWN_PLACES} (lines {} and {} more). ", first.join(", "), n - first.len()),
    }
}

/// What a run leaves out where the places of some accesses are not known.
const UNKNOWN_PLACES: &str = "Some accesses to global memory have a place that is not known, such as one that memory gives, or a \
                              tensor map that the kernel writes: they are taken to hit L2, and DRAM does not count them";

/// Whether an argument is an array, or has one inside.
fn gives_array(a: &Argument) -> bool {
    match a {
        Argument::Array(_) | Argument::Map(_) => true,
        Argument::Fields(inner) => inner.values().any(gives_array),
        _ => false,
    }
}

/// Costs that the time of a compiled kernel does not contain where its instructions cannot be followed.
const NOT_CHARGED: &str = "Only copies, waits, barriers, accesses to shared memory, `wgmma` and `tcgen05` have a time: instructions \
                           between them (arithmetic, `mma.sync`, loads and stores of global memory) are not charged yet, and \
                           addresses in global memory are not followed, so that every copy reads one place";

/// The program of a launch.
fn launched(kernel: &CompiledKernel, request: &Request, set: &BTreeMap<String, i64>) -> Result<Program, Error> {
    let (lifted, launch) = (&kernel.lifted, &kernel.launch);
    if let Some(grid) = launch.grid
        && (0..3).any(|d| grid[d] % lifted.cluster[d].max(1) != 0)
    {
        let x = |s: [u32; 3]| s.map(|n| n.to_string()).join("x");
        let message = format!("a grid of {} CTAs is not a multiple of the cluster, {}", x(grid), x(lifted.cluster));
        return Err(Error::with_help(message, "name a grid of whole clusters with `--grid`"));
    }
    let mut program = lifted.launched(launch, set).map_err(|needs| needed(kernel, request, &needs))?;
    if let Some(bytes) = launch.shared {
        launch::reserve(&mut program, kernel.declared_shared as i64 + i64::from(bytes));
    }
    Ok(program)
}

/// The error for a launch without all needed values.
fn needed(kernel: &CompiledKernel, request: &Request, needs: &[Need]) -> Error {
    if let Some(line) = needs.iter().find_map(|n| if let Need::Iterations(line) = n { Some(line) } else { None }) {
        let message = format!("`{}`: data decide what the loop at line {line} does", request.scenario);
        return Error::with_help(message, "`verify` decides it for all data; a run cannot know the data".to_string());
    }
    let (mut what, mut options) = (Vec::new(), Vec::new());
    for need in needs {
        match need {
            Need::Argument(f) => {
                let p = f.param;
                let param = kernel.params.get(usize::from(p));
                let named = param.map_or_else(|| format!("parameter {p}"), |param| launch::parameter(p, param));
                if param.is_some_and(|p| p.bytes <= 8) && f.offset == 0 {
                    what.push(format!("the value of {named}"));
                    options.push(format!("--arg {p}=VALUE"));
                } else {
                    what.push(format!("the value at byte {} of {named}", f.offset));
                    options.push(format!("--arg {p}+{}=VALUE", f.offset));
                }
            }
            Need::Grid => {
                what.push("the size of the grid".to_string());
                options.push("--grid XxYxZ".to_string());
            }
            Need::Symbol(name, meaning) => {
                what.push(format!("the value of `{name}`, which stands for {meaning}"));
                options.push(format!("--set {name}=VALUE"));
            }
            Need::Iterations(_) => {}
        }
    }
    let message = format!("`{}`: a run needs {}", request.scenario, what.join("; "));
    Error::with_help(message, format!("give `{}`, or a launch file with `--launch FILE`", options.join(" ")))
}
