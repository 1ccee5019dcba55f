//! What a shell offers behind each argument: names of scenarios and machines, what `explain` knows, and files.
//!
//! The shell asks the program itself, so that the names are always those of the installed version.

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use warpline_scenarios::mnemonics::MNEMONICS;
use warpline_sim::code::Code;
use warpline_sim::report::FindingKind;

use super::command;

/// The variable by which a shell asks for completions.
const ASKED: &str = "COMPLETE";

/// Answers a shell that asks for completions, and ends the process; otherwise nothing.
pub(crate) fn answer() {
    clap_complete::CompleteEnv::with_factory(completed).var(ASKED).bin("warpline").completer("warpline").complete();
}

/// The script with which a shell learns to ask.
pub(crate) fn script(shell: Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        shell.write_registration(ASKED, "warpline", "warpline", "warpline", &mut script)?;
    }
    Ok(script)
}

/// The command line with completers: an argument is known by the name of its value in the help.
fn completed() -> Command {
    command().mut_subcommands(|sub| sub.mut_args(with_completer))
}

fn with_completer(arg: Arg) -> Arg {
    let names: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let name = names.first().map_or("", String::as_str);
    match name {
        "SCENARIO" | "SCENARIO|TRACE" | "SCENARIO|FOLDER" => arg.add(ArgValueCompleter::new(scenarios)),
        "PREFIX" => arg.add(ArgValueCompleter::new(builtin_scenarios)),
        "NAME|FILE" => arg.add(ArgValueCompleter::new(machines)),
        "WHAT" => arg.add(ArgValueCompleter::new(explained)),
        _ => arg,
    }
}

/// Built-in scenarios with their titles. The museum of bugs has as many names as all others together, so it takes its prefix.
fn builtin_scenarios(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let all = warpline_api::titles().unwrap_or_default().into_iter();
    let offered = all.filter(|s| s.name.starts_with(typed) && (!typed.is_empty() || !s.name.starts_with("museum/")));
    offered.map(|s| CompletionCandidate::new(s.name).help(Some(s.title.into()))).collect()
}

fn scenarios(typed: &OsStr) -> Vec<CompletionCandidate> {
    builtin_scenarios(typed).into_iter().chain(PathCompleter::any().complete(typed)).collect()
}

fn machines(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = warpline_api::machine_names();
    let named = names.iter().filter(|n| typed.to_str().is_some_and(|t| n.starts_with(t)));
    named.map(CompletionCandidate::new).chain(PathCompleter::any().complete(typed)).collect()
}

/// Codes with their titles, kinds of findings, and instructions of other languages.
fn explained(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let codes = Code::ALL.iter().map(|c| (c.id(), c.title()));
    let kinds = FindingKind::ALL.iter().map(|k| (k.name(), "a kind of finding"));
    let mnemonics = MNEMONICS.iter().map(|m| (m.name, m.of));
    let all =
        codes.chain(kinds).chain(mnemonics).filter(|(word, _)| word.to_lowercase().starts_with(&typed.to_lowercase()));
    all.map(|(word, about)| CompletionCandidate::new(word).help(Some(about.into()))).collect()
}
