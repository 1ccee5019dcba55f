//! The commands, one file each.

mod barriers;
mod calibrate;
mod check;
mod compare;
mod emit;
mod expand;
mod explain;
mod export;
mod fmt;
pub(crate) mod gantt;
mod generate;
mod import;
mod list;
mod lsp;
mod measured_rows;
pub(crate) mod merge;
mod models;
mod new;
pub(crate) mod plan;
mod rankings;
mod recheck;
pub(crate) mod report;
mod run;
pub(crate) mod sweep;
mod trace;
mod validate;
mod verify;
mod view;
mod whatif;

use crate::cli::{Cli, Command};
use crate::console::Console;
use warpline_api::{Error, Status};

/// Runs a command.
pub(crate) fn dispatch(cli: &Cli, console: &mut Console) -> Result<Status, Error> {
    match &cli.command {
        Command::Run(args) => run::run(args, console),
        Command::Verify(args) => verify::verify(args, console),
        Command::Recheck(args) => recheck::recheck(args, console),
        Command::Barriers(args) => barriers::barriers(args, console),
        Command::Sweep(args) => sweep::sweep(args, console),
        Command::Merge(args) => merge::merge(args, console),
        Command::Compare(args) => compare::compare(args, console),
        Command::Whatif(args) => whatif::whatif(args, console),
        Command::Check(args) => check::check(args, console),
        Command::Import(args) => import::import(args, console),
        Command::Expand(args) => expand::expand(args, console),
        Command::Plan(args) => plan::plan(args, console),
        Command::Explain(args) => explain::explain(args, console),
        Command::Gantt(args) => gantt::gantt(args, console),
        Command::View(args) => view::view(args, console),
        Command::Trace(args) => trace::trace(args, console),
        Command::Export(args) => export::export(args, console),
        Command::Emit(args) => emit::emit(args, console),
        Command::Report(args) => report::report(args, console),
        Command::Calibrate(args) => calibrate::calibrate(args, console),
        Command::Validate(args) => validate::validate(args, console),
        Command::Models(args) => models::models(args, console),
        Command::List(args) => list::list(args, console),
        Command::New(args) => new::new(args, console),
        Command::Fmt(args) => fmt::fmt(args, console),
        Command::Lsp(args) => lsp::lsp(args),
        Command::Completions(args) => generate::completions(args, console),
        Command::Man => generate::man(console),
    }
}
