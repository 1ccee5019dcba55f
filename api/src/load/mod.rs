//! From names to a program, a machine and values.
//!
//! ```text
//!   request ──library──▶ scenario, kernel text ──scenarios──▶ Program ┐
//!      │                                                             ├─▶ Subject
//!      └─────────────────▶ machine file ────────models────▶ Machine ─┘
//! ```
//!
//! A request names a built-in scenario, a scenario file, a kernel file or a compiled kernel. Its machine and settings
//! override those of the scenario.

mod block;
mod entries;
mod launch;
mod library;
mod lowered;
mod names;
mod nearest;
mod ptx;
mod sass;
mod second;
mod subject;
mod targets;

use std::path::Path;
use std::sync::Arc;

use warpline_scenarios::{NO_VALUE, Scenario};
use warpline_sim::diag::Diagnostic;
use warpline_sim::machine::{Machine, Vendor};
use warpline_sim::report::Fidelity;
use warpline_study::clock::Line;

use crate::error::Error;
use crate::request::{Clock, Request, Setting};
use crate::schedule::{self, ScheduleFile};
use library::{Library, Place, Values};

pub(crate) use block::{OpenBlocks, open_blocks};
pub use entries::readable_name;
pub use launch::{collected, parameter_types, parse_argument, parse_grid};
pub(crate) use lowered::Lowered;
pub use names::{
    BuiltinScenario, MachineFile, builtin_scenarios, describe, formatted, machine_file, machine_named, machine_names,
    read, set_machine, titles,
};
pub(crate) use names::{evaluate, is_scenario, kernel_of};
pub use nearest::hint;
pub(crate) use ptx::kernels_of;
pub use ptx::{CompiledKernel, Imported, is_ptx, kernel_text, lifted};
pub use second::{Second, beside_name, load_second, short_name};
pub(crate) use second::{load_at_point, load_beside};
pub use subject::{Expectation, Subject, finding_label, finding_message, waiting_message};

/// Loads the kernel of a request.
///
/// # Errors
/// Files that cannot be read, every problem of their text, unknown names, and values that the kernel rejects.
pub fn load(request: &Request) -> Result<Subject, Error> {
    load_from(Library::of(request), request)
}

/// Loads the kernel of a point of a sweep. Points share lowered kernels.
///
/// # Errors
/// As for [`load`].
pub(crate) fn load_point(request: &Request, lowered: &Arc<Lowered>) -> Result<Subject, Error> {
    load_from(Library { lowered: Some(lowered.clone()), ..Library::of(request) }, request)
}

fn load_from(mut library: Library, request: &Request) -> Result<Subject, Error> {
    if is_ptx(&request.scenario) {
        let subject = ptx::load(request)?;
        return options(subject, request);
    }
    let found = library.find(&request.scenario)?;
    let file = request.schedule.as_deref().map(schedule::read).transpose()?;
    let settings = file.as_ref().map_or(Ok(request.settings.clone()), |f| f.settings(&request.settings))?;
    // A kernel names no machine, but its schedule does.
    let own = file.as_ref().filter(|_| found.scenario.is_none()).map(ScheduleFile::machine);
    let subject = assemble(
        library,
        &request.scenario,
        found,
        MachineChoice::named(request.machine.as_deref().or(own)),
        &settings,
    )
    .map_err(|e| with_scenario_beside(e, &request.scenario))?;
    scheduled(options(subject, request)?, file.as_ref())
}

/// Names the scenario beside a kernel whose parameters have no values.
fn with_scenario_beside(mut error: Error, kernel: &str) -> Error {
    let beside = Path::new(kernel).with_extension("toml");
    if kernel.ends_with(".pipe")
        && beside.is_file()
        && let Error::Input { diagnostics, .. } = &mut error
    {
        for d in diagnostics.iter_mut().filter(|d| d.message.ends_with(NO_VALUE)) {
            let own = d.help.take().unwrap_or_default();
            d.help = Some(format!("{own}; {} is a scenario beside it", beside.display()));
        }
    }
    error
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

/// Loads the kernel of a request on the caller's machine. The machine in the request is ignored.
///
/// # Errors
/// As for [`load`].
pub fn load_on(request: &Request, machine: &Machine) -> Result<Subject, Error> {
    let mut library = Library::of(request);
    let found = library.find(&request.scenario)?;
    let subject = assemble(library, &request.scenario, found, MachineChoice::Given(machine), &request.settings)?;
    options(subject, request)
}

/// The subject with a schedule to follow.
fn scheduled(subject: Subject, file: Option<&ScheduleFile>) -> Result<Subject, Error> {
    let Some(file) = file else { return Ok(subject) };
    let subject = file.with_lets(subject)?;
    let schedule = Some(file.resolve(&subject)?);
    Ok(Subject { schedule, ..subject })
}

/// Applies the request's options of a run.
fn options(mut subject: Subject, request: &Request) -> Result<Subject, Error> {
    if !request.fences.is_empty() {
        // The expected verdict is for the scenario's own levels.
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
            "a run that follows a schedule has no time of its own, so --clock sustained does not apply",
        ));
    }
    if machine.params.get("clock.mhz").is_some_and(|p| p.source == warpline_models::SET) {
        let message = "--clock sustained finds the clock, but clock.mhz is also set, by --set or by the scenario";
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
            format!("built-in machines with such a line: {}; {help}", with.join(", ")),
        )
    })
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
        // A name in a request is relative to the working folder, a name in a scenario to the scenario's folder.
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
    // The expected verdict is for the scenario's own values.
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
