//! Second runs, beside a first run. Settings are shared where both runs had the same value.

use std::path::Path;
use std::sync::Arc;

use warpline_scenarios::Beside;

use super::library::Library;
use super::{Found, Lowered, MachineChoice, Subject, assemble, is_ptx, load, options, scheduled};
use crate::error::Error;
use crate::request::{Request, Setting};
use crate::schedule;

/// Loads a run that a scenario names under `beside`.
///
/// A setting of the request applies to this run if both runs had the same value before. So a problem size or a machine
/// stays common to both, and a stage count that distinguishes them stays different.
///
/// # Errors
/// As for [`load`].
pub(crate) fn load_beside(this: &Subject, beside: &Beside, request: &Request) -> Result<Subject, Error> {
    let mut library = Library::with_texts(request);
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

/// A second run: what to load, and its own settings.
#[derive(Clone, Copy, Debug)]
pub struct Second<'a> {
    /// The scenario, kernel or compiled kernel.
    pub scenario: &'a str,
    /// Settings of the second run alone.
    pub settings: &'a [Setting],
    /// The schedule file that the second run follows.
    pub schedule: Option<&'a Path>,
}

/// Loads a second run with its own settings. Other settings of the request apply as for `load_beside`. A schedule has
/// its own parameters and its own order.
///
/// # Errors
/// As for `load`.
pub fn load_second(this: &Subject, second: Second<'_>, request: &Request) -> Result<Subject, Error> {
    if is_ptx(second.scenario) {
        return load_compiled(second.scenario, second.settings, request);
    }
    let mut library = Library::with_texts(request);
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

/// Loads another scenario at the same point of a sweep. A varied value applies if the scenario has this parameter.
/// Other settings of the request apply as for [`load_beside`].
///
/// # Errors
/// As for [`load`].
pub(crate) fn load_at_point(
    this: &Subject,
    scenario: &str,
    varied: &[Setting],
    request: &Request,
    lowered: &Arc<Lowered>,
) -> Result<Subject, Error> {
    if is_ptx(scenario) {
        return load_compiled(scenario, varied, request);
    }
    let mut library = Library { lowered: Some(lowered.clone()), ..Library::with_texts(request) };
    let found = library.find(scenario)?;
    let values = library.values(&found)?;
    let has = |s: &&Setting| !matches!(s, Setting::Parameter { name, .. } if !values.contains_key(name));
    let settings: Vec<Setting> = varied.iter().filter(has).cloned().collect();
    let own = Own { beside: &Beside::default(), settings: &settings };
    carried_over(this, library, scenario, found, own, request)
}

/// Loads a compiled kernel beside another run, with the launch and the machine of the request.
fn load_compiled(name: &str, settings: &[Setting], request: &Request) -> Result<Subject, Error> {
    let machine = request.settings.iter().filter(|s| matches!(s, Setting::MachineNumber { .. }));
    let settings = machine.chain(settings).cloned().collect();
    load(&Request { scenario: name.to_string(), settings, ..request.clone() })
}

/// The values of a second run that do not come from the first.
struct Own<'a> {
    beside: &'a Beside,
    settings: &'a [Setting],
}

/// Loads a second run. Its own settings override those that come from the first run.
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
    // A kernel names no machine, so it runs on the machine of the first run.
    let is_kernel = found.scenario.is_none();
    let machine = request.machine.as_deref().filter(|_| same_machine || is_kernel);
    let machine = machine.or(own.beside.machine.as_deref().filter(|_| is_kernel));
    options(assemble(library, name, found, MachineChoice::named(machine), &carried)?, request)
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
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.strip_suffix(".toml").or(name.strip_suffix(".pipe")).or(name.strip_suffix(".ptx")).unwrap_or(name)
}
