//! Names to texts, scenarios and machines. No other module of this crate reads input files for a kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpline_scenarios::pipeline::{self, PassOptions, Plan};
use warpline_scenarios::{Inputs, Scenario};
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;

use super::{Found, Lowered, builtin_scenarios, hint, machine_named, machine_names};
use crate::error::{Error, Sources};
use crate::request::{Request, text_of};

/// Values of a kernel's parameters, by name; `None` where the request must give the value.
pub(super) type Values = BTreeMap<String, Option<i64>>;

/// The place that names are relative to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// The working folder of the process.
    WorkingFolder,
    /// A folder.
    Folder(PathBuf),
    /// A family of the built-in scenarios.
    BuiltIn(String),
}

/// The texts read so far, and the pipelining pass.
#[derive(Default)]
pub(super) struct Library {
    /// Texts that stand in the place of files.
    pub(super) texts: Sources,
    pub(super) sources: Sources,
    /// Choices for `pipelined` loops above the kernel's own.
    pub(super) ask: PassOptions<'static>,
    /// The plan of each `pipelined` loop.
    pub(super) plans: Vec<Plan>,
    /// Lowered kernels that the points of a sweep share.
    pub(super) lowered: Option<Arc<Lowered>>,
}

impl Library {
    /// A library with the request's texts and choices for `pipelined` loops.
    pub(super) fn of(request: &Request) -> Library {
        Library { ask: request.pipeline, ..Library::with_texts(request) }
    }

    /// A library with the request's texts, for a run that stands beside another.
    pub(super) fn with_texts(request: &Request) -> Library {
        Library { texts: request.texts.clone(), ..Library::default() }
    }

    /// The scenario or kernel that the request names.
    pub(super) fn find(&mut self, name: &str) -> Result<Found, Error> {
        self.find_from(&Place::WorkingFolder, name)
    }

    /// The scenario or kernel of a name, looked up from a place.
    pub(super) fn find_from(&mut self, from: &Place, name: &str) -> Result<Found, Error> {
        if name.ends_with(".pipe") {
            let (kernel_file, kernel_text) = self.text(from, name)?;
            return Ok(Found { scenario: None, file: None, place: place_of(from, name), kernel_file, kernel_text });
        }
        let sibling = (!name.ends_with(".toml")).then(|| sibling(from, name)).flatten();
        let name = sibling.as_deref().unwrap_or(name);
        let (place, file, text) = if name.ends_with(".toml") {
            let (file, text) = self.text(from, name)?;
            (place_of(from, name), file, text)
        } else {
            let (file, text) = built_in(from, name).ok_or_else(|| no_scenario(name))?;
            self.sources.insert(file.clone(), text.clone());
            (Place::BuiltIn(folder(&file)), file, text)
        };
        let scenario = warpline_scenarios::scenario(&file, &text).map_err(|d| self.bad(d))?;
        let (kernel_file, kernel_text) =
            self.text(&place, &scenario.kernel).map_err(|f| self.at(f, &file, &scenario, "kernel"))?;
        let found = Found { scenario: Some(scenario), file: Some(file), place, kernel_file, kernel_text };
        self.check_names(&found)?;
        Ok(found)
    }

    /// Rejects values for parameters that the kernel does not have.
    fn check_names(&self, found: &Found) -> Result<(), Error> {
        let (Some(scenario), Some(file)) = (&found.scenario, &found.file) else { return Ok(()) };
        let known = self.parameters(found)?;
        let unknown = scenario.set.keys().filter(|name| !known.contains_key(*name));
        let errors: Vec<Diagnostic> = unknown
            .map(|name| {
                let span = scenario.spans.get(name).cloned().unwrap_or(0..0);
                let help = hint(name, known.keys().map(String::as_str));
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                Diagnostic::new(file, span, format!("the kernel has no parameter `{name}`"), "no such parameter")
                    .help(format!("{help}`{}` has {}", scenario.kernel, names.join(", ")))
            })
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(self.bad(errors)) }
    }

    /// An error about a value of a scenario, with its place in the file.
    fn at(&self, error: Error, file: &str, scenario: &Scenario, key: &str) -> Error {
        match (error, scenario.spans.get(key)) {
            (Error::Plain { message, help }, Some(span)) => {
                let mut d = Diagnostic::new(file, span.clone(), message, format!("from this {key}"));
                d.help = help;
                self.bad(vec![d])
            }
            (error, _) => error,
        }
    }

    /// The name and text of a file or of a built-in.
    fn text(&mut self, from: &Place, name: &str) -> Result<(String, String), Error> {
        let (file, text) = match from {
            Place::BuiltIn(dir) => {
                let path = join(dir, name);
                let built_in = if name.ends_with(".pipe") {
                    warpline_scenarios::embedded_kernel(&path)
                } else {
                    warpline_scenarios::embedded(&path)
                };
                let (file, text) = built_in.ok_or_else(|| Error::new(format!("there is no built-in `{path}`")))?;
                (file.to_string(), text.to_string())
            }
            Place::WorkingFolder => (name.to_string(), text_of(&self.texts, Path::new(name))?),
            Place::Folder(dir) => {
                let path = dir.join(name);
                (path.display().to_string(), text_of(&self.texts, &path)?)
            }
        };
        self.sources.insert(file.clone(), text.clone());
        Ok((file, text))
    }

    /// The kernel's parameters.
    fn parameters(&self, found: &Found) -> Result<Values, Error> {
        let parameters = warpline_scenarios::parameters(&found.kernel_file, &found.kernel_text);
        Ok(parameters.map_err(|d| self.bad(d))?.into_iter().map(|p| (p.name, p.default)).collect())
    }

    /// The kernel's parameters, with the scenario's values above the kernel's own.
    pub(super) fn values(&self, found: &Found) -> Result<Values, Error> {
        let mut values = self.parameters(found)?;
        for (name, value) in found.scenario.iter().flat_map(|s| &s.set) {
            values.insert(name.clone(), Some(*value));
        }
        Ok(values)
    }

    /// Expands `pipelined` loops, for a machine or for the kernel's `needs`.
    pub(super) fn expand(
        &mut self,
        found: &mut Found,
        set: &BTreeMap<String, i64>,
        machine: Option<&Machine>,
    ) -> Result<(), Error> {
        if !pipeline::is_pipelined(&found.kernel_file, &found.kernel_text) {
            return Ok(());
        }
        let cores = machine.and_then(|m| m.get("core.count")).map(|c| c as i64);
        let ask = PassOptions { arch: machine.map(|m| m.arch.as_str()), ..self.ask };
        let expanded = pipeline::expand(&found.kernel_file, &found.kernel_text, &Inputs { set, cores }, &ask)
            .map_err(|d| self.bad(d))?;
        found.kernel_file = pipeline::expanded_name(&found.kernel_file);
        found.kernel_text = expanded.text;
        self.plans = expanded.plans;
        self.sources.insert(found.kernel_file.clone(), found.kernel_text.clone());
        Ok(())
    }

    /// Compiles the kernel with all parameters bound.
    pub(super) fn compile(
        &self,
        found: &Found,
        set: &BTreeMap<String, i64>,
        machine: Option<&Machine>,
    ) -> Result<Program, Error> {
        let cores = machine.and_then(|m| m.get("core.count")).map(|c| c as i64);
        let (file, text, inputs) = (&found.kernel_file, &found.kernel_text, Inputs { set, cores });
        let bound = self.lowered.as_ref().and_then(|lowered| lowered.program(file, text, &inputs));
        bound.map_or_else(|| warpline_scenarios::compile(file, text, &inputs).map_err(|d| self.bad(d)), Ok)
    }

    /// The machine a scenario names.
    pub(super) fn machine_of(&mut self, found: &Found, name: &str) -> Result<Machine, Error> {
        self.machine(&found.place, name).map_err(|f| match (&found.scenario, &found.file) {
            (Some(scenario), Some(file)) if scenario.machine == name => self.at(f, file, scenario, "machine"),
            _ => f,
        })
    }

    /// A machine by name, or from a file.
    pub(super) fn machine(&mut self, from: &Place, name: &str) -> Result<Machine, Error> {
        if !name.ends_with(".toml") {
            return machine_named(name);
        }
        let (file, text) = self.text(from, name)?;
        warpline_models::parse(&file, &text).map_err(|d| self.bad(d))
    }

    /// The error for a kernel without a machine, with the kernel's `needs` if its text is valid.
    pub(super) fn no_machine(&self, found: &Found, set: &BTreeMap<String, i64>) -> Error {
        let program = match self.compile(found, set, None) {
            Ok(program) => program,
            Err(error) => return error,
        };
        let needs: Vec<String> = program.needs.iter().map(|(n, _)| format!("`{n}`")).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" It needs {}.", needs.join(" and ")) };
        Error::with_help(
            format!("`{}` is a kernel and names no machine.{needs}", found.kernel_file),
            format!("add `--machine NAME` with one of {}, or a machine file", machine_names().join(", ")),
        )
    }

    fn bad(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Input { diagnostics, sources: self.sources.clone() }
    }
}

/// The file of a folder that a scenario in this folder names. `metal/double_buffer`, inside `metal/`, is the file
/// beside the scenario, not the built-in one.
fn sibling(from: &Place, name: &str) -> Option<String> {
    let Place::Folder(dir) = from else { return None };
    let file = format!("{name}.toml");
    [file.clone(), format!("../{file}")].into_iter().find(|f| dir.join(f).is_file())
}

/// A built-in scenario by its full name, or by its last part from inside its family.
fn built_in(from: &Place, name: &str) -> Option<(String, String)> {
    let near = match from {
        Place::BuiltIn(dir) => warpline_scenarios::embedded(&join(dir, name)),
        _ => None,
    };
    near.or_else(|| warpline_scenarios::embedded(name)).map(|(f, t)| (f.to_string(), t.to_string()))
}

fn no_scenario(name: &str) -> Error {
    let names = builtin_scenarios();
    let hint = hint(name, names.iter().map(String::as_str));
    let path = Path::new(name);
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => {
            let families = names.iter().filter_map(|n| n.split_once('/')).any(|(family, _)| family == name);
            let message = if families { "a family of scenarios" } else { "a folder" };
            return Error::with_help(
                format!("`{name}` is {message}, and this command takes one scenario or kernel"),
                format!("name one of its files; `warpline verify {name}` takes all of them"),
            );
        }
        Ok(about) if !about.is_file() => {
            return Error::new(format!("`{name}` is a device or a pipe, not a scenario or kernel file"));
        }
        _ => {}
    }
    if let Some(ending) = path.extension() {
        let kinds = "scenarios end in .toml, kernels in .pipe, saved traces (of Chrome's format, as `warpline trace` \
                     writes it) in .json";
        let message = match std::fs::metadata(path) {
            Err(e) => format!("cannot read `{name}`: {e}"),
            Ok(_) => format!("`{name}`: files that end in .{} are not read", ending.display()),
        };
        return Error::with_help(message, format!("{hint}{kinds}"));
    }
    let file = ["toml", "pipe"].into_iter().map(|e| format!("{name}.{e}")).find(|f| Path::new(f).exists());
    let hint = match file {
        Some(file) => format!("there is a file `{file}`: write its name with the ending"),
        None => format!("{hint}`warpline list` lists the built-in ones; files end in .toml or .pipe"),
    };
    Error::with_help(format!("there is no built-in scenario `{name}`"), hint)
}

/// The folder a named file is in.
fn place_of(from: &Place, name: &str) -> Place {
    let dir = Path::new(name).parent().unwrap_or(Path::new(""));
    match from {
        Place::WorkingFolder if dir == Path::new("") => Place::WorkingFolder,
        Place::WorkingFolder => Place::Folder(dir.to_path_buf()),
        Place::Folder(at) => Place::Folder(at.join(dir)),
        Place::BuiltIn(at) => Place::BuiltIn(folder(&join(at, name))),
    }
}

/// Everything before the last slash.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(dir, _)| dir.to_string())
}

/// Joins built-in names and resolves `..`.
fn join(dir: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_their_scenario() {
        assert_eq!(join("metal", "../mla/rope.pipe"), "mla/rope.pipe");
        assert_eq!(folder("metal/triple_buffer.toml"), "metal");
        assert_eq!(place_of(&Place::WorkingFolder, "x.toml"), Place::WorkingFolder);
        assert_eq!(place_of(&Place::WorkingFolder, "a/x.toml"), Place::Folder("a".into()));
        assert_eq!(place_of(&Place::Folder("a".into()), "b/x.toml"), Place::Folder("a/b".into()));
    }
}
