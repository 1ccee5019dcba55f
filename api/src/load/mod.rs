//! From names to a program, a machine and values.
//!
//! ```text
//!   request ──library──▶ scenario, kernel text ──scenarios──▶ Program ┐
//!      │                                                             ├─▶ Subject
//!      └─────────────────▶ machine file ────────models────▶ Machine ─┘
//! ```
//!
//! A request names a built-in scenario, a scenario file, a kernel file or a compiled kernel. Its machine and settings
//! stand above those of the scenario.

mod library;
mod nearest;
mod ptx;
mod subject;

use std::path::Path;

use warpline_scenarios::{Beside, Scenario};
use warpline_sim::diag::Diagnostic;
use warpline_sim::machine::{Machine, Vendor};
use warpline_sim::report::Fidelity;
use warpline_study::clock::Line;

use crate::error::Error;
use crate::request::{Clock, Request, Setting};
use crate::schedule::{self, ScheduleFile};
use library::{Library, Place, Values};

pub use library::{
    builtin_scenarios, describe, formatted, machine_file, machine_named, machine_names, read, set_machine, titles,
};
pub(crate) use library::{evaluate, is_scenario, kernel_of};
pub use nearest::hint;
pub use ptx::{CompiledKernel, Imported, is_ptx, lifted};
pub use subject::{Expectation, Subject, finding_label, finding_message};

/// Loads what a request names.
///
/// # Errors
/// Files that cannot be read, every problem of their text, unknown names, and values that the kernel rejects.
pub fn load(request: &Request) -> Result<Subject, Error> {
    if is_ptx(&request.scenario) {
        let subject = ptx::load(&request.scenario, request.machine.as_deref(), &request.settings)?;
        return options(subject, request);
    }
    let mut library = Library::new(request.pipeline);
    let found = library.find(&request.scenario)?;
    let file = request.schedule.as_deref().map(schedule::read).transpose()?;
    let settings = file.as_ref().map_or(Ok(request.settings.clone()), |f| f.settings(&request.settings))?;
    // A kernel names no machine; its schedule does.
    let own = file.as_ref().filter(|_| found.scenario.is_none()).map(ScheduleFile::machine);
    let subject = assemble(
        library,
        &request.scenario,
        found,
        MachineChoice::named(request.machine.as_deref().or(own)),
        &settings,
    )?;
    scheduled(options(subject, request)?, file.as_ref())
}

/// Loads a kernel from its text. `name` is the file name in messages and ends in `.pipe`.
///
/// # Errors
/// Every problem of the text, settings of names that do not exist, and values that the kernel rejects.
pub fn load_text(name: &str, text: &str, machine: &Machine, settings: &[Setting]) -> Result<Subject, Error> {
    let mut library = Library::default();
    library.sources.insert(name.to_string(), text.to_string());
    let found = Found {
        scenario: None,
        file: None,
        place: Place::WorkingFolder,
        kernel_file: name.to_string(),
        kernel_text: text.to_string(),
    };
    assemble(library, name, found, MachineChoice::Given(machine), settings)
}

/// Loads what a request names, on a machine of the caller's. The machine that the request names is ignored.
///
/// # Errors
/// As for [`load`].
pub fn load_on(request: &Request, machine: &Machine) -> Result<Subject, Error> {
    let mut library = Library::new(request.pipeline);
    let found = library.find(&request.scenario)?;
    let subject = assemble(library, &request.scenario, found, MachineChoice::Given(machine), &request.settings)?;
    options(subject, request)
}

/// Loads a run that a scenario names under `beside`.
///
/// A setting of the request is carried over where both runs had the same value before. A problem size or a machine so
/// stays common to both, and a stage count that tells them apart stays each one's own.
///
/// # Errors
/// As for [`load`].
pub(crate) fn load_beside(this: &Subject, beside: &Beside, request: &Request) -> Result<Subject, Error> {
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
    let own = Own { beside, settings: &[] };
    carried_over(this, library, &beside_name(this, beside), found, own, request)
}

/// A second run that stands beside a first: what to load, and its own settings.
#[derive(Clone, Copy, Debug)]
pub struct Second<'a> {
    /// The scenario, kernel or compiled kernel.
    pub scenario: &'a str,
    /// Settings of the second run alone.
    pub settings: &'a [Setting],
    /// The schedule file that the second run keeps to.
    pub schedule: Option<&'a Path>,
}

/// Loads a second run with settings of its own. Other settings of the request are carried over as for
/// [`load_beside`]; a schedule brings its own parameters and keeps its own order.
///
/// # Errors
/// As for [`load`].
pub fn load_second(this: &Subject, second: Second<'_>, request: &Request) -> Result<Subject, Error> {
    let mut library = Library::default();
    let found = library.find(second.scenario)?;
    let mut beside = Beside::default();
    let file = second.schedule.map(schedule::read).transpose()?;
    let settings = file.as_ref().map_or(Ok(second.settings.to_vec()), |f| f.settings(second.settings))?;
    if found.scenario.is_none() {
        beside.machine = file.as_ref().map(|f| f.machine().to_string());
    }
    for s in &settings {
        if let Setting::Parameter { name, value } = s {
            beside.set.insert(name.clone(), *value);
        }
    }
    let own = Own { beside: &beside, settings: &settings };
    let subject = carried_over(this, library, second.scenario, found, own, request)?;
    scheduled(subject, file.as_ref())
}

/// Loads another scenario at the same point of a sweep. The varied values apply to it where it has such a parameter;
/// other settings of the request are carried over as for [`load_beside`].
///
/// # Errors
/// As for [`load`].
pub(crate) fn load_at_point(
    this: &Subject,
    scenario: &str,
    varied: &[Setting],
    request: &Request,
) -> Result<Subject, Error> {
    let mut library = Library::default();
    let found = library.find(scenario)?;
    let values = library.values(&found)?;
    let has = |s: &&Setting| !matches!(s, Setting::Parameter { name, .. } if !values.contains_key(name));
    let settings: Vec<Setting> = varied.iter().filter(has).cloned().collect();
    let own = Own { beside: &Beside::default(), settings: &settings };
    carried_over(this, library, scenario, found, own, request)
}

/// The values of a second run that are not carried over from the first.
struct Own<'a> {
    beside: &'a Beside,
    settings: &'a [Setting],
}

/// Assembles a run that stands beside another, with its own settings above those that are carried over.
fn carried_over(
    this: &Subject,
    library: Library,
    name: &str,
    found: Found,
    own: Own<'_>,
    request: &Request,
) -> Result<Subject, Error> {
    let values = library.values(&found)?;
    let same_machine = found.scenario.as_ref().map(|s| &s.machine) == this.base_machine.as_ref();
    let carried: Vec<Setting> = request
        .settings
        .iter()
        .filter(|s| match s {
            Setting::Parameter { name, .. } => {
                let equal = values.get(name).is_some_and(|v| this.values.get(name) == Some(v));
                !own.beside.set.contains_key(name) && equal
            }
            Setting::MachineNumber { .. } => same_machine,
        })
        .chain(own.settings)
        .cloned()
        .collect();
    // A kernel names no machine; a kernel beside a run takes the run's.
    let is_kernel = found.scenario.is_none();
    let machine = request.machine.as_deref().filter(|_| same_machine || is_kernel);
    let machine = machine.or(own.beside.machine.as_deref().filter(|_| is_kernel));
    options(assemble(library, name, found, MachineChoice::named(machine), &carried)?, request)
}

/// The subject kept to a schedule.
fn scheduled(subject: Subject, file: Option<&ScheduleFile>) -> Result<Subject, Error> {
    let Some(file) = file else { return Ok(subject) };
    let subject = file.with_lets(subject)?;
    let schedule = Some(file.resolve(&subject)?);
    Ok(Subject { schedule, ..subject })
}

/// Applies the request's options of a run.
fn options(mut subject: Subject, request: &Request) -> Result<Subject, Error> {
    if !request.fences.is_empty() {
        // An expectation is about the scenario's own levels.
        subject.expect = None;
    }
    for f in &request.fences {
        subject.fences.set(&f.rule, &f.level).map_err(|e| Error::new(e.to_string()))?;
    }
    let fidelity = request.fidelity.unwrap_or(subject.fidelity);
    let clock_line = match request.clock {
        Clock::Given => None,
        Clock::Sustained => Some(clock_line(&subject.machine, request)?),
    };
    let Request { skip_repeats, max_events, .. } = *request;
    Ok(Subject { clock_line, skip_repeats, max_events, fidelity, ..subject })
}

/// The machine's line for the sustained clock. A clock that is given as well contradicts it.
fn clock_line(machine: &Machine, request: &Request) -> Result<Line, Error> {
    if request.schedule.is_some() {
        return Err(Error::new(
            "what keeps to a schedule has no time of its own, so --clock sustained has none to look at",
        ));
    }
    if machine.params.get("clock.mhz").is_some_and(|p| p.source == warpline_models::SET) {
        let message =
            "--clock sustained looks for the clock, and clock.mhz is set as well, by --set or by the scenario";
        return Err(Error::with_help(message, "leave one of the two out"));
    }
    Line::of(machine).map_err(|missing| {
        let have = |m: &Machine| m.vendor != Vendor::Paper && Line::of(m).is_ok();
        let all =
            warpline_models::names().into_iter().filter(|n| warpline_models::embedded(n).as_ref().is_some_and(have));
        let with: Vec<&str> = all.collect();
        let help = "elsewhere the clock is given, by the machine file or by `--set machine.clock.mhz=VALUE`";
        Error::with_help(
            missing.to_string(),
            format!("of the built-in machines {} has such a line; {help}", with.join(", ")),
        )
    })
}

/// The name of a run beside another: the name that the scenario gives, or the differences.
pub fn beside_name(this: &Subject, beside: &Beside) -> String {
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

/// The last part of a scenario's name, without its ending.
pub fn short_name(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".toml").or(name.strip_suffix(".pipe")).or(name.strip_suffix(".ptx")).unwrap_or(name)
}

/// A kernel's text, and the scenario that names the kernel.
struct Found {
    scenario: Option<Scenario>,
    /// The scenario's file.
    file: Option<String>,
    place: Place,
    kernel_file: String,
    kernel_text: String,
}

/// The machine that a subject is loaded on.
enum MachineChoice<'a> {
    /// The scenario's.
    OfScenario,
    /// A built-in machine or a machine file.
    Named(&'a str),
    /// The caller's.
    Given(&'a Machine),
}

impl<'a> MachineChoice<'a> {
    fn named(name: Option<&'a str>) -> MachineChoice<'a> {
        name.map_or(MachineChoice::OfScenario, MachineChoice::Named)
    }
}

fn assemble(
    mut library: Library,
    name: &str,
    mut found: Found,
    machine: MachineChoice<'_>,
    settings: &[Setting],
) -> Result<Subject, Error> {
    let values = library.values(&found)?;
    let base_machine = found.scenario.as_ref().map(|s| s.machine.clone());
    let mut set = found.scenario.as_ref().map(|s| s.set.clone()).unwrap_or_default();
    for s in settings {
        if let Setting::Parameter { name, value } = s {
            if !values.contains_key(name) {
                return Err(unknown_parameter(name, &values, &found));
            }
            set.insert(name.clone(), *value);
        }
    }
    let mut model = match (&machine, &base_machine) {
        // A request names a file from the working folder; a scenario, from its own folder.
        (MachineChoice::Given(m), _) => (*m).clone(),
        (MachineChoice::Named(m), _) => library.machine(&Place::WorkingFolder, m)?,
        (MachineChoice::OfScenario, Some(m)) => library.machine_of(&found, m)?,
        (MachineChoice::OfScenario, None) => return Err(library.no_machine(&found, &set)),
    };
    let own = found.scenario.iter().flat_map(|s| &s.machine_set).map(|(k, v)| (k, *v));
    // Numbers in a scenario are for the machine that the scenario names.
    let is_own_machine = match machine {
        MachineChoice::OfScenario => true,
        MachineChoice::Named(m) => base_machine.as_deref() == Some(m),
        MachineChoice::Given(_) => false,
    };
    let own: Vec<_> = if is_own_machine { own.collect() } else { vec![] };
    let given = settings.iter().filter_map(|s| match s {
        Setting::MachineNumber { key, value } => Some((key, *value)),
        Setting::Parameter { .. } => None,
    });
    for (key, value) in own.into_iter().chain(given) {
        set_machine(&mut model, key, value)?;
    }
    let kernel_file = found.kernel_file.clone();
    library.expand(&mut found, &set, Some(&model))?;
    let program = library.compile(&found, &set, Some(&model))?;
    let fidelity = Fidelity::usual(&model);
    // An expectation is about the scenario's own values.
    let own = matches!(machine, MachineChoice::OfScenario) && settings.is_empty();
    let expect = found.scenario.as_ref().filter(|_| own).and_then(|s| {
        let what = s.expect?;
        let span = s.spans.get("expect").cloned().unwrap_or(0..0);
        let at = Diagnostic::new(found.file.as_deref().unwrap_or(""), span, what.name(), "expected here");
        Some(Expectation { what, at })
    });
    let subject = Subject::new(name, program, model, library.sources);
    let subject = Subject {
        plans: library.plans,
        kernel_file,
        expect,
        fidelity,
        place: found.place,
        values,
        base_machine,
        ..subject
    };
    Ok(match found.scenario {
        None => subject,
        Some(s) => Subject {
            title: Some(s.title),
            note: s.note,
            beside: s.beside,
            claims: s.claims,
            warm_l2: s.warm_l2,
            fences: s.fences,
            ..subject
        },
    })
}

fn unknown_parameter(name: &str, values: &Values, found: &Found) -> Error {
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
    Error::with_help(message, format!("{}{known}", hint(name, values.keys().map(String::as_str))))
}
