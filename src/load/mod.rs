//! From the words of a command line to a program, a machine and values.
//!
//! What the user names is a built-in scenario, a scenario file or a kernel file. `--machine` and
//! `--set` stand above what the scenario says.

mod library;
mod near;
mod ptx;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use warpline_scenarios::pipeline::{Ask, Plan};
use warpline_scenarios::{Beside, Claim, Expect, Inputs, Scenario, Text};
use warpline_sim::diag::Diagnostic;
use warpline_sim::fences::Fences;
use warpline_sim::ir::Program;
use warpline_sim::machine::{Machine, Vendor};
use warpline_sim::protocol::Rules;
use warpline_sim::report::Fidelity;
use warpline_sim::schedule::Schedule;
use warpline_study::clock::{Line, Sustained};

use crate::cli::{Clock, Proof, Setting, Subject};
use crate::failure::{Failure, Sources};
use crate::schedule;
use library::{Library, Place, Values};

pub(crate) use near::hint;
pub(crate) use ptx::{Imported, is_ptx, lifted};

pub(crate) use library::{
    builtin_scenarios, describe, evaluate, formatted, is_scenario, kernel_of, machine_file, machine_named,
    machine_names, read, set_machine, titles,
};

/// Everything a run needs, and what its displays say about it.
pub(crate) struct Loaded {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) program: Program,
    pub(crate) machine: Machine,
    /// The texts read on the way, for carets.
    pub(crate) sources: Sources,
    /// The kernel's text, once other values were asked for.
    read: OnceLock<Text>,
    /// The kernel with symbols, once somebody asked.
    symbolic: OnceLock<Program>,
    /// What is said of a compiled kernel.
    pub(crate) imported: Option<Imported>,
    /// What became of its `pipelined` loops; empty where it has none.
    pub(crate) plans: Vec<Plan>,
    /// The kernel's file as it was written, before they were.
    pub(crate) plain: String,
    /// What the scenario compares itself with.
    pub(crate) beside: Vec<Beside>,
    /// What a document says about it.
    pub(crate) claims: Vec<Claim>,
    /// What `verify` is to say of it; nothing where the command line changes a value or the machine.
    pub(crate) expect: Option<Expected>,
    pub(crate) skip_repeats: bool,
    /// Everything loaded is in the second-level cache already.
    pub(crate) warm_l2: bool,
    /// How much of the machine a run looks at.
    pub(crate) fidelity: Fidelity,
    /// Where its clock is to be found, the line to find it by.
    pub(crate) line: Option<Line>,
    /// The clock found; `machine` has it then.
    pub(crate) sustained: Option<Sustained>,
    /// How strictly fences are asked for.
    pub(crate) fences: Fences,
    pub(crate) max_events: Option<u64>,
    /// The order it is to keep to.
    pub(crate) schedule: Option<Schedule>,
    /// Where the names in the scenario are looked up.
    place: Place,
    /// Parameters of the kernel, before the command line's.
    values: Values,
    /// The machine's name, before the command line's.
    base_machine: Option<String>,
}

/// What a scenario expects, and where it says so.
pub(crate) struct Expected {
    pub(crate) what: Expect,
    /// Its place in the scenario; the message is what is expected.
    pub(crate) at: Diagnostic,
}

/// Loads what a command names.
pub(crate) fn load(subject: &Subject) -> Result<Loaded, Failure> {
    if is_ptx(&subject.scenario) {
        return asked(ptx::load(&subject.scenario, subject.machine.as_deref(), &subject.set)?, subject);
    }
    let mut library = Library::default();
    let found = library.find(&subject.scenario)?;
    let file = subject.schedule.as_deref().map(schedule::read).transpose()?;
    let set = file.as_ref().map_or(Ok(subject.set.clone()), |f| f.settings(&subject.set))?;
    // A kernel names no machine; its schedule does.
    let own = file.as_ref().filter(|_| found.scenario.is_none()).map(|f| f.machine());
    let loaded = assemble(library, &subject.scenario, found, subject.machine.as_deref().or(own), &set)?;
    let loaded = asked(loaded, subject)?;
    let loaded = if let Some(file) = &file { file.given(loaded)? } else { loaded };
    let schedule = file.map(|f| f.resolve(&loaded)).transpose()?;
    Ok(Loaded { schedule, ..loaded })
}

/// Loads what a command names, with other words for its `pipelined` loops.
pub(crate) fn load_asked(
    scenario: &str,
    machine: Option<&str>,
    set: &[Setting],
    ask: Ask<'static>,
) -> Result<Loaded, Failure> {
    if is_ptx(scenario) {
        return ptx::load(scenario, machine, set);
    }
    let mut library = Library { ask, ..Library::default() };
    let found = library.find(scenario)?;
    assemble(library, scenario, found, machine, set)
}

/// The same for what a proof is asked of, with its fence levels.
pub(crate) fn load_proof(scenario: &str, proof: &Proof, ask: Ask<'static>) -> Result<Loaded, Failure> {
    let mut loaded = load_asked(scenario, proof.machine.as_deref(), &proof.set, ask)?;
    for f in &proof.fence {
        loaded.fences.set(&f.rule, &f.level).map_err(|e| Failure::new(e.to_string()))?;
    }
    Ok(loaded)
}

/// Loads a run that a scenario names under `beside`.
///
/// What the command line changed is carried over where the two were equal before, so that a problem size
/// or a machine stays common to both, and a stage count that tells them apart stays each one's own.
pub(crate) fn load_beside(this: &Loaded, beside: &Beside, subject: &Subject) -> Result<Loaded, Failure> {
    let mut library = Library::default();
    let mut found = match &beside.scenario {
        Some(other) => library.find_from(&this.place, other)?,
        None => library.find(&this.name)?,
    };
    if let Some(scenario) = &mut found.scenario {
        scenario.set.extend(beside.set.iter().map(|(k, v)| (k.clone(), *v)));
        if let Some(machine) = &beside.machine {
            scenario.machine.clone_from(machine);
            scenario.machine_set.clear();
        }
        scenario.machine_set.extend(beside.machine_set.iter().map(|(k, v)| (k.clone(), *v)));
    }
    carried_over(this, library, &label(this, beside), found, (beside, &[]), subject)
}

/// Loads a second run that the command line names, with values of its own. The rest of the command line is carried over
/// as for [`load_beside`]; a schedule brings its own parameters and keeps its own order.
pub(crate) fn load_with(
    this: &Loaded,
    name: &str,
    set: &[Setting],
    kept: Option<&Path>,
    subject: &Subject,
) -> Result<Loaded, Failure> {
    let mut library = Library::default();
    let found = library.find(name)?;
    let mut beside = Beside::default();
    let file = kept.map(schedule::read).transpose()?;
    let set = file.as_ref().map_or(Ok(set.to_vec()), |f| f.settings(set))?;
    if found.scenario.is_none() {
        beside.machine = file.as_ref().map(|f| f.machine().to_string());
    }
    for s in &set {
        if let Setting::Kernel(name, v) = s {
            beside.set.insert(name.clone(), *v);
        }
    }
    let loaded = carried_over(this, library, name, found, (&beside, &set), subject)?;
    let loaded = if let Some(file) = &file { file.given(loaded)? } else { loaded };
    let schedule = file.map(|f| f.resolve(&loaded)).transpose()?;
    Ok(Loaded { schedule, ..loaded })
}

/// Loads another scenario at the same point of a sweep: what is varied goes for it too, where it has such a parameter. The
/// rest of the command line is carried over as for [`load_beside`].
pub(crate) fn load_at(this: &Loaded, name: &str, varied: &[Setting], subject: &Subject) -> Result<Loaded, Failure> {
    let mut library = Library::default();
    let found = library.find(name)?;
    let values = library.values(&found)?;
    let has = |s: &&Setting| !matches!(s, Setting::Kernel(name, _) if !values.contains_key(name));
    let own: Vec<Setting> = varied.iter().filter(has).cloned().collect();
    carried_over(this, library, name, found, (&Beside::default(), &own), subject)
}

/// Puts a run together that stands beside another, with settings of its own above those that are carried over.
fn carried_over(
    this: &Loaded,
    library: Library,
    name: &str,
    found: Found,
    (beside, own): (&Beside, &[Setting]),
    subject: &Subject,
) -> Result<Loaded, Failure> {
    let values = library.values(&found)?;
    let same_machine = found.scenario.as_ref().map(|s| &s.machine) == this.base_machine.as_ref();
    let carried: Vec<Setting> = subject
        .set
        .iter()
        .filter(|s| match s {
            Setting::Kernel(name, _) => {
                !beside.set.contains_key(name) && values.get(name).is_some_and(|v| this.values.get(name) == Some(v))
            }
            Setting::Machine(..) => same_machine,
        })
        .chain(own)
        .cloned()
        .collect();
    // A kernel names none; one beside it has to be somebody's.
    let machine = subject.machine.as_deref().filter(|_| same_machine || found.scenario.is_none());
    let machine = machine.or(beside.machine.as_deref().filter(|_| found.scenario.is_none()));
    let loaded = assemble(library, name, found, machine, &carried)?;
    asked(loaded, subject)
}

/// What the command line says of how to run it.
fn asked(mut loaded: Loaded, subject: &Subject) -> Result<Loaded, Failure> {
    if !subject.fence.is_empty() {
        // An expectation is about the scenario's own levels.
        loaded.expect = None;
    }
    for f in &subject.fence {
        loaded.fences.set(&f.rule, &f.level).map_err(|e| Failure::new(e.to_string()))?;
    }
    let fidelity = subject.fidelity.map_or(loaded.fidelity, Into::into);
    let line = match subject.clock {
        Clock::Given => None,
        Clock::Sustained => Some(line(&loaded.machine, subject)?),
    };
    Ok(Loaded { line, skip_repeats: !subject.no_skip, max_events: subject.max_events, fidelity, ..loaded })
}

/// The machine's line for the sustained clock. What gives a clock as well contradicts it.
fn line(machine: &Machine, subject: &Subject) -> Result<Line, Failure> {
    if subject.schedule.is_some() {
        return Err(Failure::new(
            "what keeps to a schedule has no time of its own, so --clock sustained has none to look at",
        ));
    }
    if machine.params.get("clock.mhz").is_some_and(|p| p.source == warpline_models::SET) {
        let message =
            "--clock sustained looks for the clock, and clock.mhz is set as well, by --set or by the scenario";
        return Err(Failure::with_help(message, "leave one of the two out"));
    }
    Line::of(machine).map_err(|missing| {
        let have = |m: &Machine| m.vendor != Vendor::Paper && Line::of(m).is_ok();
        let all =
            warpline_models::names().into_iter().filter(|n| warpline_models::embedded(n).as_ref().is_some_and(have));
        let with: Vec<&str> = all.collect();
        let help = "elsewhere the clock is given, by the machine file or by `--set machine.clock.mhz=VALUE`";
        Failure::with_help(
            missing.to_string(),
            format!("of the built-in machines {} has such a line; {help}", with.join(", ")),
        )
    })
}

/// What to call a run beside another: the name it is given, or what is different about it.
pub(crate) fn label(this: &Loaded, beside: &Beside) -> String {
    if !beside.name.is_empty() {
        return beside.name.clone();
    }
    let scenario = beside.scenario.as_deref().unwrap_or(&this.name);
    let mut text = short_name(scenario).to_string();
    let set = beside.set.iter().map(|(n, v)| format!(" {n}={v}"));
    let machine = beside.machine.iter().map(|m| format!(" on {m}"));
    let machine_set = beside.machine_set.iter().map(|(n, v)| format!(" {n}={v}"));
    text.extend(set.chain(machine).chain(machine_set));
    text
}

/// The last part of a scenario's name: runs of one family need no family beside each other.
pub(crate) fn short_name(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".toml").or(name.strip_suffix(".pipe")).or(name.strip_suffix(".ptx")).unwrap_or(name)
}

impl Loaded {
    /// What the machine and the fence levels make of an operation.
    pub(crate) fn rules(&self) -> Rules {
        Rules { fences: self.fences, ..warpline_sim::engine::rules(&self.machine) }
    }

    /// A digest of every text and machine number it was made from. The same on every machine and for every version of
    /// the compiler (FNV-1a); it tells one input from another by accident, not against somebody's will.
    pub(crate) fn digest(&self) -> u64 {
        let texts = self.sources.iter().flat_map(|(file, text)| [file.clone(), text.clone()]);
        let numbers = self.machine.params.iter().map(|(key, p)| format!("{key}={}", p.value));
        let words = texts.chain([self.machine.name.clone(), self.machine.arch.clone()]).chain(numbers);
        words.fold(0xcbf2_9ce4_8422_2325, |digest, word| {
            let bytes = word.bytes().chain([0xff]);
            bytes.fold(digest, |d, b| (d ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
        })
    }

    /// The same kernel with another value of one parameter; `None` where it refuses it.
    pub(crate) fn with(&self, name: &str, value: i64) -> Option<Program> {
        self.with_all([(name, value)])
    }

    /// The kernel with what only counts kept symbolic; the bound program where it cannot be kept.
    pub(crate) fn symbolic(&self) -> &Program {
        self.symbolic.get_or_init(|| self.symbolic_with(&[]).unwrap_or_else(|| self.program.clone()))
    }

    /// Takes another program for the symbolic one.
    pub(crate) fn keep(&mut self, symbolic: Program) {
        self.program = symbolic.bind();
        self.symbolic = OnceLock::from(symbolic);
    }

    /// The same with other values of some parameters.
    pub(crate) fn symbolic_with(&self, values: &[(&str, i64)]) -> Option<Program> {
        if self.imported.is_some() {
            return self.symbolic().with(values);
        }
        let mut set: BTreeMap<String, i64> = self.program.params.iter().cloned().collect();
        set.extend(values.iter().map(|(name, value)| (name.to_string(), *value)));
        let file = &self.program.file;
        let source = self.sources.get(file)?;
        let cores = self.machine.get("core.count").map(|c| c as i64);
        self.read.get_or_init(|| Text::read(file, source)).compile_symbolic(&Inputs { set: &set, cores }).ok()
    }

    /// The same kernel with other values of some parameters, or of some header `let`s as if they were parameters.
    pub(crate) fn with_all<'a>(&self, values: impl IntoIterator<Item = (&'a str, i64)>) -> Option<Program> {
        if self.imported.is_some() {
            let values: Vec<(&str, i64)> = values.into_iter().collect();
            return self.symbolic().with(&values).map(|p| p.bind());
        }
        let mut set: BTreeMap<String, i64> = self.program.params.iter().cloned().collect();
        let mut given = BTreeMap::new();
        for (name, value) in values {
            let of = if set.contains_key(name) { &mut set } else { &mut given };
            of.insert(name.to_string(), value);
        }
        let file = &self.program.file;
        let source = self.sources.get(file)?;
        let cores = self.machine.get("core.count").map(|c| c as i64);
        let text = self.read.get_or_init(|| Text::read(file, source));
        text.compile_given(&Inputs { set: &set, cores }, &given).ok()
    }
}

/// A kernel, and the scenario it comes from if there is one.
struct Found {
    scenario: Option<Scenario>,
    /// The scenario's file.
    file: Option<String>,
    place: Place,
    kernel_file: String,
    kernel_text: String,
}

fn assemble(
    mut library: Library,
    name: &str,
    mut found: Found,
    machine: Option<&str>,
    sets: &[Setting],
) -> Result<Loaded, Failure> {
    let values = library.values(&found)?;
    let base_machine = found.scenario.as_ref().map(|s| s.machine.clone());
    let mut set = found.scenario.as_ref().map(|s| s.set.clone()).unwrap_or_default();
    for s in sets {
        if let Setting::Kernel(name, value) = s {
            if !values.contains_key(name) {
                return Err(unknown_parameter(name, &values, &found));
            }
            set.insert(name.clone(), *value);
        }
    }
    let mut model = match (machine, &base_machine) {
        // On the command line a file is named from where the user stands; in a scenario, from its folder.
        (Some(m), _) => library.machine(&Place::Here, m)?,
        (None, Some(m)) => library.machine_of(&found, m)?,
        (None, None) => return Err(library.no_machine(&found, &set)),
    };
    let own = found.scenario.iter().flat_map(|s| &s.machine_set).map(|(k, v)| (k, *v));
    // Numbers a scenario gives are for the machine it names.
    let own: Vec<_> = if machine.is_some_and(|m| Some(m) != base_machine.as_deref()) { vec![] } else { own.collect() };
    let given = sets.iter().filter_map(|s| match s {
        Setting::Machine(k, v) => Some((k, *v)),
        Setting::Kernel(..) => None,
    });
    for (key, value) in own.into_iter().chain(given) {
        library::set_machine(&mut model, key, value)?;
    }
    let plain = found.kernel_file.clone();
    library.expand(&mut found, &set, Some(&model))?;
    let program = library.compile(&found, &set, Some(&model))?;
    let warm_l2 = found.scenario.as_ref().is_some_and(|s| s.warm_l2);
    let fidelity = Fidelity::usual(&model);
    let fences = found.scenario.as_ref().map(|s| s.fences).unwrap_or_default();
    // An expectation is about the scenario's own values.
    let own = machine.is_none() && sets.is_empty();
    let expect = found.scenario.as_ref().filter(|_| own).and_then(|s| {
        let what = s.expect?;
        let span = s.spans.get("expect").cloned().unwrap_or(0..0);
        let at = Diagnostic::new(found.file.as_deref().unwrap_or(""), span, what.name(), "expected here");
        Some(Expected { what, at })
    });
    let (title, note, beside, claims) = match found.scenario {
        Some(s) => (Some(s.title), s.note, s.beside, s.claims),
        None => (None, None, Vec::new(), Vec::new()),
    };
    Ok(Loaded {
        name: name.to_string(),
        title,
        note,
        program,
        machine: model,
        sources: library.sources,
        read: OnceLock::new(),
        symbolic: OnceLock::new(),
        imported: None,
        plans: library.plans,
        plain,
        beside,
        claims,
        expect,
        skip_repeats: true,
        warm_l2,
        fidelity,
        line: None,
        sustained: None,
        fences,
        max_events: None,
        schedule: None,
        place: found.place,
        values,
        base_machine,
    })
}

fn unknown_parameter(name: &str, values: &Values, found: &Found) -> Failure {
    let kernel = Path::new(&found.kernel_file).file_name().map_or("".into(), |f| f.to_string_lossy());
    let message = format!("kernel `{kernel}` has no parameter `{name}`");
    let all: Vec<String> = values
        .iter()
        .map(|(n, v)| match v {
            Some(v) => format!("{n}={v}"),
            None => n.clone(),
        })
        .collect();
    let known = if all.is_empty() { "it has none".to_string() } else { format!("it has {}", all.join(" ")) };
    Failure::with_help(message, format!("{}{known}", near::hint(name, values.keys().map(String::as_str))))
}

impl Loaded {
    /// A subject without a scenario around it: a program, a machine, and the texts that the program came from.
    pub(crate) fn plain(name: &str, program: Program, machine: Machine, sources: Sources) -> Loaded {
        Loaded {
            name: name.to_string(),
            title: None,
            note: None,
            sources,
            read: OnceLock::new(),
            symbolic: OnceLock::new(),
            imported: None,
            plans: Vec::new(),
            plain: program.file.clone(),
            program,
            machine,
            beside: Vec::new(),
            claims: Vec::new(),
            expect: None,
            skip_repeats: true,
            warm_l2: false,
            fidelity: Fidelity::default(),
            line: None,
            sustained: None,
            fences: Fences::default(),
            max_events: None,
            schedule: None,
            place: Place::Here,
            values: Values::new(),
            base_machine: None,
        }
    }
}
