//! The command line of warpline.
//!
//! A command reads its arguments, asks `warpline-api`, and shows the answer. The library is separate from `main.rs` so that
//! tests can call it: [`main_with`] takes the arguments and two writers, and returns the exit status.
//!
//! ```text
//!   arguments ──cli──▶ commands ──Request──▶ warpline_api ──▶ Simulation, Verification, ...
//!                                                              │
//!   console ◀── show (text), json, gate (CI), report (page) ◀──┘
//! ```
//!
//! # Tour
//!
//! * `cli` has the arguments and help texts of each command; `commands` has one function per command.
//! * `show` writes text for people. The modules `json` and `json_…` have the fields of `--json`, which `docs/json.md` lists.
//! * `gate` is the command for CI, `report` writes the HTML page, `diagnose` shows an error with its source line.
//!
//! A test runs a command line without a process:
//!
//! ```
//! use warpline::{Look, Status, main_with};
//!
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let args = ["warpline", "explain", "deadlock"].map(Into::into);
//! assert_eq!(main_with(args, &mut out, &mut err, Look::default()), Status::Holds);
//! assert!(out.starts_with(b"WL0201"));
//! ```

mod answer;
pub mod cli;
mod commands;
mod console;
mod device;
mod diagnose;
mod gate;
pub mod json;
pub mod json_compare;
mod json_error;
pub mod json_models;
mod json_plan;
pub mod json_sweep;
mod json_uncertainty;
pub mod json_verify;
pub mod json_whatif;
mod output;
mod progress;
mod recorded;
mod report;
#[cfg(test)]
mod sample;
mod show;
pub mod terminal;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::FromArgMatches;

pub use answer::{Answer, answer, error_json, error_text};
use console::Console;
pub use console::Look;
pub use warpline_api::Status;

/// Runs the process's own command line, with its streams and environment.
pub fn main() -> ExitCode {
    cli::complete::answer();
    ExitCode::from(main_of(std::env::args_os()).code())
}

/// Runs a command line with the process's streams and environment. `args` starts with the program's name.
pub fn main_of(args: impl IntoIterator<Item = OsString>) -> Status {
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
    let color = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !dumb;
    let look = Look {
        color: color && stdout.is_terminal(),
        color_err: color && stderr.is_terminal(),
        progress: stderr.is_terminal(),
        interactive: stdout.is_terminal() && std::io::stdin().is_terminal() && !dumb,
    };
    // Not locked: the progress bar writes to the error stream from its own thread.
    main_with(args, &mut stdout, &mut stderr, look)
}

/// Runs one command line. `args` starts with the program's name.
pub fn main_with(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    look: Look,
) -> Status {
    let mut console = Console::new(out, err, look);
    let args: Vec<OsString> = args.into_iter().collect();
    let json = args.iter().any(|a| a == "--json");
    let parsed = cli::command().try_get_matches_from(args).and_then(|m| cli::Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        // `--help` and `--version` arrive here too; clap knows the stream of each.
        Err(e) => {
            let (text, to_err) = (e.render(), e.use_stderr());
            let text = if console.look.color_of(to_err) { text.ansi().to_string() } else { text.to_string() };
            let written = if to_err { console.error(&text) } else { console.print(&text) };
            return match written {
                Ok(()) if !to_err => Status::Holds,
                _ => Status::BadInput,
            };
        }
    };
    match commands::dispatch(&cli, &mut console) {
        Ok(status) => status,
        Err(error) => {
            if json {
                // A reader of JSON gets JSON; the text for people is on the error stream all the same.
                let _ = json_error::error(&error).and_then(|text| console.print(&text));
            }
            // Without an error stream, only the exit status is left.
            let _ = console.error(&diagnose::error(&error, console.look.color_err));
            Status::BadInput
        }
    }
}
