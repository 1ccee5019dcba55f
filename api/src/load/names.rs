//! Built-in scenarios and machines, files by name, and their contents.

use std::path::{Path, PathBuf};

use warpline_sim::diag::Diagnostic;
use warpline_sim::machine::Machine;

use super::hint;
use super::library::{Library, Place};
use crate::error::Error;

/// The kernel file that a scenario's text names, relative to the scenario; `None` where the text is no scenario.
pub(crate) fn kernel_of(file: &Path, text: &str) -> Option<PathBuf> {
    let scenario = warpline_scenarios::scenario(&file.display().to_string(), text).ok()?;
    Some(file.parent().unwrap_or(Path::new("")).join(scenario.kernel))
}

/// Whether the text of a TOML file is a scenario's.
pub(crate) fn is_scenario(text: &str) -> bool {
    warpline_scenarios::is_scenario(text)
}

/// The names of the built-in scenarios, sorted.
pub fn builtin_scenarios() -> Vec<String> {
    let mut names: Vec<String> = warpline_scenarios::embedded_names().into_iter().map(|n| n.to_string()).collect();
    names.sort();
    names
}

/// A built-in scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinScenario {
    /// Its name (`metal/triple_buffer`).
    pub name: String,
    /// Its title, one line.
    pub title: String,
}

/// The built-in scenarios with their titles, sorted by name.
///
/// # Errors
/// None for the scenarios in this build; a test loads them all.
pub fn titles() -> Result<Vec<BuiltinScenario>, Error> {
    let mut library = Library::default();
    let title = |name: String| {
        let title = library.find(&name)?.scenario.map(|s| s.title).unwrap_or_default();
        Ok(BuiltinScenario { name, title })
    };
    builtin_scenarios().into_iter().map(title).collect()
}

/// A kernel's text in the standard layout.
///
/// # Errors
/// Every problem of the text.
pub fn formatted(file: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    warpline_scenarios::format(file, text)
}

/// The value of an expression of the kernel language over named numbers.
///
/// # Errors
/// A sentence: the expression does not parse, or `value` does not know a name.
pub(crate) fn evaluate(text: &str, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
    warpline_scenarios::evaluate("check", text, value)
        .map_err(|errors| errors.into_iter().map(|d| d.message).collect::<Vec<_>>().join("; "))
}

/// The names of the built-in machines, sorted.
pub fn machine_names() -> Vec<String> {
    warpline_models::names().into_iter().map(|n| n.to_string()).collect()
}

/// A machine by name, or from a file.
///
/// # Errors
/// An unknown name, or every problem of the file.
pub fn machine_named(name: &str) -> Result<Machine, Error> {
    if name.ends_with(".toml") {
        return Library::default().machine(&Place::WorkingFolder, name);
    }
    warpline_models::embedded(name).ok_or_else(|| {
        let names = machine_names();
        let hint = hint(name, names.iter().map(String::as_str));
        Error::with_help(
            format!("there is no machine `{name}`"),
            format!("{hint}machines: {}; or a machine file ending in .toml", names.join(", ")),
        )
    })
}

/// A machine with the text of its file.
#[derive(Clone, Debug)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// The text of the file (TOML).
    pub text: String,
}

/// A machine with the text of its file, by name or from a file.
///
/// # Errors
/// As for [`machine_named`].
pub fn machine_file(name: &str) -> Result<MachineFile, Error> {
    let machine = machine_named(name)?;
    let text = if name.ends_with(".toml") {
        read(Path::new(name))?
    } else {
        warpline_models::text(name).unwrap_or_default().to_string()
    };
    Ok(MachineFile { machine, text })
}

/// The numbers of a machine as a table: value, unit, kind and source.
pub fn describe(machine: &Machine) -> String {
    warpline_models::render(&warpline_models::describe(machine))
}

/// Changes one number of a machine, in the unit of its file.
///
/// # Errors
/// A key that the machine does not have, or a value out of range.
pub fn set_machine(machine: &mut Machine, key: &str, value: f64) -> Result<(), Error> {
    warpline_models::apply(machine, key, value)
        .map_err(|e| Error::with_help(e, format!("`warpline models {}` lists its numbers", machine.name)))
}

/// The text of a file.
///
/// # Errors
/// A file that cannot be read or is not UTF-8.
pub fn read(path: &Path) -> Result<String, Error> {
    let failed = |e| Error::new(format!("cannot read `{}`: {e}", path.display()));
    let about = std::fs::metadata(path).map_err(failed)?;
    if about.is_dir() {
        return Err(Error::with_help(
            format!("`{}` is a folder, and one file is needed", path.display()),
            "name a file in it; `warpline verify FOLDER` takes a whole folder",
        ));
    }
    // Devices and pipes may never end, and contain no kernel.
    if !about.is_file() {
        return Err(Error::new(format!("`{}` is a device or a pipe, not a file", path.display())));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        Error::new(format!("`{}` is not text: line {line} is not valid UTF-8", path.display()))
    })
}
