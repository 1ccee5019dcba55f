//! The command line of warpline.
//!
//! Everything is here rather than in `main.rs`, so that tests can call it: [`main_with`] takes the
//! arguments and two writers, and gives back the exit status. The way through it is always the same:
//!
//! ```text
//!  args ──cli──▶ commands::run, gantt, ... ──load──▶ Program, Machine ──warpline_sim──▶ Report
//!                                                                                        │
//!                                    console, output  ◀── show (text), json, draw ◀──────┘
//! ```
//!
//! Only this package and `warpline-calibrate` touch files, terminals or clocks.

mod certificate;
mod claims;
pub mod cli;
mod commands;
mod console;
mod critical;
mod device;
mod diagnose;
mod draw;
mod failure;
mod files;
mod gate;
pub mod json;
pub mod json_compare;
pub mod json_models;
mod json_plan;
pub mod json_sweep;
pub mod json_verify;
pub mod json_whatif;
mod load;
mod output;
mod progress;
mod recorded;
mod report;
#[cfg(test)]
mod sample;
pub mod schedule;
mod show;
mod simulate;
mod sweep;
pub mod terminal;
mod trips;
mod verdict;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use console::Console;
pub use console::Look;
pub use failure::Status;

/// What `main` does: the process's own arguments, streams and environment.
pub fn main() -> ExitCode {
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
    let colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !dumb;
    let look = Look {
        colour: colour && stdout.is_terminal(),
        colour_err: colour && stderr.is_terminal(),
        progress: stderr.is_terminal(),
        interactive: stdout.is_terminal() && std::io::stdin().is_terminal() && !dumb,
    };
    // Not locked: the progress line writes to the error stream from a thread of its own.
    let status = main_with(std::env::args_os(), &mut stdout, &mut stderr, look);
    ExitCode::from(status.code())
}

/// Runs one command line. `args` starts with the program's name.
pub fn main_with(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    look: Look,
) -> Status {
    let mut console = Console::new(out, err, look);
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        // `--help` and `--version` arrive here too; clap knows which stream and status each has.
        Err(e) => {
            let (text, to_err) = (e.render(), e.use_stderr());
            let text = if console.look.colour_of(to_err) { text.ansi().to_string() } else { text.to_string() };
            let written = if to_err { console.error(&text) } else { console.print(&text) };
            return match written {
                Ok(()) if !to_err => Status::Holds,
                _ => Status::BadInput,
            };
        }
    };
    match commands::dispatch(&cli, &mut console) {
        Ok(status) => status,
        Err(failure) => {
            // Where even the error stream is gone, the exit status is all that is left to say.
            let _ = console.error(&failure.render(console.look));
            Status::BadInput
        }
    }
}
