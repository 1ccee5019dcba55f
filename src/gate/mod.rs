//! Many scenarios verified at once, and the reports of them that CI services read.
//!
//! ```text
//!   names, folders ──find──▶ Subjects ──verify, in parallel──▶ Gate ──issues──▶ sarif, github, junit
//!                                                               └──────────────▶ text, json
//! ```
//!
//! The order is that of the command line and, in a folder, of the paths, on any number of threads.

mod find;
mod github;
mod issues;
mod json;
mod junit;
mod sarif;
mod text;

pub(crate) use find::Subjects;

use std::time::Instant;

use rayon::prelude::*;

use crate::cli::{Format, Orders, Proof};
use crate::console::{Console, Paint};
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::verdict::{self, Verified};

/// One scenario, and what became of it.
pub(crate) struct Entry {
    /// As it was named or found.
    pub(crate) name: String,
    pub(crate) result: Result<Verified, Failure>,
}

impl Entry {
    /// Its part in the exit status.
    pub(crate) fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::BadInput, Verified::status)
    }
}

/// All scenarios of a command line.
pub(crate) struct Gate {
    pub(crate) entries: Vec<Entry>,
    /// Files that were not verified, and why.
    pub(crate) left_out: Vec<(String, &'static str)>,
    pub(crate) wall_s: f64,
}

impl Gate {
    /// The worst of all: bad input, then a violation, then a limit.
    pub(crate) fn status(&self) -> Status {
        self.entries.iter().map(Entry::status).fold(Status::Holds, Status::and)
    }

    /// What could not be verified.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.entries.iter().filter_map(|e| e.result.as_ref().err())
    }
}

/// Verifies all of them; one that cannot be read does not keep the others from it. No change
/// that mends a fault is looked for.
pub(crate) fn verify(console: &Console, subjects: Subjects, proof: &Proof, orders: Orders) -> Gate {
    let start = Instant::now();
    let progress = Progress::of(console.look.progress, subjects.list.len(), "verifying".to_string());
    let one = |(name, failure): (String, Option<Failure>)| {
        let result = failure.map_or_else(|| verdict::decide(&name, proof, orders, false), Err);
        progress.step();
        Entry { name, result }
    };
    let entries = subjects.list.into_par_iter().map(one).collect();
    Gate { entries, left_out: subjects.left_out, wall_s: start.elapsed().as_secs_f64() }
}

/// The report in one of the formats.
pub(crate) fn text(gate: &Gate, format: Format, paint: Paint) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(text::text(gate, paint)),
        Format::Json => json::json(gate),
        Format::Junit => junit::junit(gate),
        Format::Sarif => sarif::sarif(gate),
        Format::Github => Ok(github::github(gate)),
    }
}
