//! Checks certificates of PROVED verdicts.
//!
//! ```text
//!   certificate ──▶ kernel      compile the text with symbols
//!                    └ sizes       values that only set the grid and ends of matrices  (lemma 11)
//!                   cells       a partition of the grid                              (lemma 4)
//!                   induction   regions, base cases and comparisons cover all        (lemmas 6 and 8)
//!                   execution   each base case is run; forms decide alike in a cell  (lemmas 1 to 3)
//!                    └ delay       races a second time, without clocks
//!                   lockstep    two or four runs in parallel                        (lemma 5)
//!                    ├ decisions   each number decides alike, by its gain
//!                    └ state       states are one but for a shift
//! ```
//!
//! The checker computes every fact of a certificate from its claims, and compares it. It shares the transition function
//! (`sim::protocol`) and the evaluator of expressions with the prover, but not the search for a proof.
//! `docs/certificates.md` has the format, and the list of what the checker trusts.
//!
//! # Tour
//!
//! * [`read`] parses a certificate. A field is a *claim*, which the prover chose, or a *fact*, which follows from claims;
//!   the descriptions of the fields in [`Certificate`] say which.
//! * [`complete`] computes the facts from the claims. The prover uses it to write certificates.
//! * [`recheck`] computes the facts again and compares them. A difference is a [`Refusal::Rejected`] with its entry.
//!
//! ```
//! use warpline_recheck::{DELAYS, Given, Proof, complete, read, recheck};
//!
//! // The claims for a kernel without loops: one run decides its only cell. All facts are empty.
//! let claims = r#"{
//!   "schema": "warpline.certificate/1",
//!   "statement": {
//!     "kernel": "", "text": ["kernel one()", "  grid 1  warps 2", "  barrier"],
//!     "machine": "h200", "machine_numbers": [], "fences": [], "values": [], "symbols": [],
//!     "trips": null, "turns": null, "sizes": [], "grid": [0, 0, 0], "excludes": [], "digest": ""
//!   },
//!   "cells": [{
//!     "axes": [
//!       {"from": 0, "step": 1, "count": 1}, {"from": 0, "step": 1, "count": 1},
//!       {"from": 0, "step": 1, "count": 1}, {"from": 0, "step": 1, "count": 1}
//!     ],
//!     "cluster": 0, "proof": {"given": {"operations": 0}}
//!   }]
//! }"#;
//! let h200 = warpline_models::embedded("h200").expect("a built-in machine");
//! let mut certificate = complete(&read(claims)?, &h200)?;
//! assert_eq!(recheck(&certificate, &h200, DELAYS)?.cells, 1);
//!
//! // A wrong fact is rejected.
//! certificate.cells[0].proof = Proof::Given(Given { operations: 7 });
//! assert!(recheck(&certificate, &h200, DELAYS).is_err());
//! # Ok::<(), warpline_recheck::Refusal>(())
//! ```

mod cells;
mod compare;
mod counters;
mod decisions;
mod delay;
mod execution;
mod induction;
mod kernel;
mod lockstep;
mod loops;
mod schema;
mod sizes;
mod state;
mod tiles;

use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::protocol::{Rules, World};

pub use schema::{
    Axis, CellProof, Certificate, Column, Compared, Family, Fence, Given, Induction, Inserted, Line, Number, Order,
    Plane, Proof, Region, SCHEMA, Statement, Symbol, Trips, Value,
};

/// The reason why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An entry is wrong.
    Rejected {
        /// The entry, as a path (`cells[0].proof.trips.regions[0].cases[3]`).
        entry: String,
        /// The error, in words.
        why: String,
    },
    /// The text is not a certificate of this schema.
    Unreadable(String),
    /// The certificate may be right, but this checker cannot decide it.
    NotChecked(String),
}

impl Refusal {
    pub(crate) fn rejected(entry: impl Into<String>, why: impl Into<String>) -> Refusal {
        Refusal::Rejected { entry: entry.into(), why: why.into() }
    }
}

/// The extent of a successful check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Cells of the grid.
    pub cells: usize,
    /// Base cases that ran.
    pub cases: u64,
    /// Base cases in which each access was delayed to search for races.
    pub delayed: u64,
    /// Comparisons of two or four runs.
    pub comparisons: u64,
    /// Operations of all base cases, and moves of all comparisons.
    pub moves: u64,
}

/// What the checker trusts; `docs/certificates.md` explains each entry.
pub const TRUSTED: [&str; 7] = [
    "the compiler from the kernel language to programs (`scenarios`)",
    "the transition function with its happens-before (`sim::protocol`)",
    "the evaluator of expressions, and forms over CTA coordinates (`sim/src/ir`, `sim/src/protocol/place.rs`)",
    "the snapshot of a state and the names of slots (`sim/src/protocol/snapshot.rs`, `open.rs`, `rings.rs`)",
    "the numbers of the machine (`models`)",
    "the lemmas of docs/proof.md",
    "the assumptions that each verdict lists",
];

/// Reads a certificate.
///
/// # Errors
/// [`Refusal::Unreadable`] where the text is not a certificate.
pub fn read(text: &str) -> Result<Certificate, Refusal> {
    let c: Certificate = serde_json::from_str(text).map_err(|e| Refusal::Unreadable(e.to_string()))?;
    if c.schema != SCHEMA {
        return Err(Refusal::Unreadable(format!("the schema is `{}`, and this version reads `{SCHEMA}`", c.schema)));
    }
    Ok(c)
}

/// Checks a certificate on its machine ([`Statement::machine`]). In each cell, races of base cases are checked a second
/// time ([`delayed`]), from the smallest case on, until `delays` steps are used.
///
/// # Errors
/// The reason why the certificate is not accepted.
pub fn recheck(certificate: &Certificate, machine: &Machine, delays: u64) -> Result<Checked, Refusal> {
    let kernel = kernel::Kernel::of(&certificate.statement, machine)?;
    compare::same("statement", &certificate.statement, &kernel.statement)?;
    let (cells, checked) = proved(&kernel, &certificate.cells, delays)?;
    compare::same("cells", &certificate.cells, &cells)?;
    Ok(checked)
}

/// Checks one cluster's run for races without clocks, by delaying each access. Returns whether the budget of steps
/// sufficed.
///
/// # Errors
/// Two accesses that race, described in words.
pub fn delayed(prog: &Program, rules: Rules, cluster: i64, steps: u64) -> Result<bool, String> {
    let mut budget = steps;
    delay::races(World::alone(prog, rules, cluster), &mut budget)
}

/// Computes the facts of a certificate from its claims.
///
/// # Errors
/// The reason why the claims prove nothing.
pub fn complete(claims: &Certificate, machine: &Machine) -> Result<Certificate, Refusal> {
    let kernel = kernel::Kernel::of(&claims.statement, machine)?;
    let (cells, _) = proved(&kernel, &claims.cells, 0)?;
    Ok(Certificate { schema: SCHEMA.into(), statement: kernel.statement, cells })
}

/// Default budget for each cell, in steps of runs with a delayed access.
pub const DELAYS: u64 = 200_000;

/// Computes the facts of all cells from their claims. `delays` is the budget of each cell.
fn proved(kernel: &kernel::Kernel, claims: &[CellProof], delays: u64) -> Result<(Vec<CellProof>, Checked), Refusal> {
    if let Some(why) = kernel.limit() {
        return Err(Refusal::NotChecked(why));
    }
    cells::partition(kernel, claims)?;
    let mut checked = Checked { cells: claims.len(), ..Checked::default() };
    let cells = claims.iter().enumerate();
    let cells = cells.map(|(i, cell)| induction::cell(kernel, cell, &format!("cells[{i}]"), (&mut checked, delays)));
    let cells = cells.collect::<Result<_, _>>()?;
    Ok((cells, checked))
}
