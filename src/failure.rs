//! Why a command ends early, and the exit statuses.

use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;

use crate::console::{Look, Paint};
use crate::diagnose;
use crate::show::{WIDTH, wrap};

/// What the exit status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0: done, nothing found.
    Holds,
    /// 1: a fault, a hang, a claim whose verdict is no longer true, a file that is not formatted.
    Violated,
    /// 2: the input is at fault, or the output cannot be written.
    BadInput,
    /// 3: a limit was reached before the answer.
    GaveUp,
}

impl Status {
    /// The number the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Status::Holds => 0,
            Status::Violated => 1,
            Status::BadInput => 2,
            Status::GaveUp => 3,
        }
    }

    /// The more serious of two, for commands that look at several things.
    pub(crate) fn and(self, other: Status) -> Status {
        let rank = |s| match s {
            Status::Holds => 0,
            Status::GaveUp => 1,
            Status::Violated => 2,
            Status::BadInput => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Texts of the files read so far, by the name the user gave them: what carets are drawn over.
pub(crate) type Sources = BTreeMap<String, String>;

/// A command could not do its work. The exit status is 2.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Problems of input files, each with its place.
    Input { diagnostics: Vec<Diagnostic>, sources: Sources },
    /// Anything that has no place in a file: one sentence, and what to do about it.
    Plain { message: String, help: Option<String> },
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Plain { message: message.into(), help: None }
    }

    pub(crate) fn with_help(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Plain { message: message.into(), help: Some(help.into()) }
    }

    /// The first sentence, for a place where there is room for one.
    pub(crate) fn in_a_line(&self) -> String {
        match self {
            Failure::Input { diagnostics, .. } => {
                diagnostics.first().map_or(String::new(), |d| format!("{}: {}", d.file, d.message))
            }
            Failure::Plain { message, .. } => message.clone(),
        }
    }

    /// As the error stream shows it.
    pub(crate) fn render(&self, look: Look) -> String {
        match self {
            Failure::Input { diagnostics, sources } => diagnose::render(diagnostics, sources, look.colour_err),
            Failure::Plain { message, help } => {
                let paint = Paint { colour: look.colour_err };
                let mut text = format!("{} {}\n", paint.bad("error:"), wrap(message, WIDTH, 7));
                if let Some(help) = help {
                    text += &format!("{} {}\n", paint.head("help:"), wrap(help, WIDTH, 6));
                }
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_outranks_a_limit() {
        assert_eq!(Status::GaveUp.and(Status::Violated), Status::Violated);
        assert_eq!(Status::Violated.and(Status::GaveUp), Status::Violated);
        assert_eq!(Status::Holds.and(Status::GaveUp).code(), 3);
    }
}
