//! The pipelining pass: a plain loop becomes prologue, body and epilogue.
//!
//! ```text
//!   pipelined i in 0..tiles ──body──▶ what reads and writes what
//!        │ schedule   stage and order of every statement, commit groups
//!        │ items      copies and products as a machine has them
//!        │ deps       versions of every buffer, what must keep its order
//!        │ sync       waits, barriers, how much may stay outstanding
//!        ▼ emit, roles, header
//!   kernel text in the same language
//! ```
//!
//! An item of stage s works on iteration i at step i + s. [`expand`] generates the kernel; [`Plan`] is the record of
//! the decisions.

mod body;
mod deps;
mod emit;
mod emit_sync;
mod expr;
mod header;
mod items;
mod laid;
mod names;
mod one;
mod plan;
mod roles;
mod schedule;
mod settle;
mod split;
mod sync;
mod text;

use std::collections::BTreeMap;

use warpline_sim::diag::Diagnostic;

use crate::Inputs;
use crate::ast::{DeclKind, ExprKind, Head, Pipelined, Stmt, StmtKind};
use crate::lower::lower;
use crate::parse::{Parsed, parse};
use emit::Line;
use header::Header;
use names::Products;
use one::One;

pub use names::{Schedule, Via, limits};
pub use plan::{Buffer, GroupWait, Plan, Planned};

/// Options of the pass. An absent option takes the kernel's own setting.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassOptions<'a> {
    /// Architecture of the machine (`sm_90a`); by default the kernel's `needs`.
    pub arch: Option<&'a str>,
    /// The instruction for the copies.
    pub via: Option<Via>,
    /// The schedule.
    pub schedule: Option<Schedule>,
    /// The number of stages.
    pub stages: Option<i64>,
    /// Whether to generate one guarded loop instead of prologue, body and epilogue.
    pub guarded: Option<bool>,
    /// Number of warps that only copy (`via tma`).
    pub producers: Option<i64>,
}

/// A kernel with its `pipelined` loops expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Expanded {
    /// Its source.
    pub text: String,
    /// The plan of each loop, in order.
    pub plans: Vec<Plan>,
}

/// The name of a file's expansion in messages.
pub fn expanded_name(file: &str) -> String {
    format!("{file} (expanded)")
}

/// Whether a kernel has a `pipelined` loop.
pub fn is_pipelined(file: &str, text: &str) -> bool {
    parse(file, text).kernel.is_some_and(|k| !loops(&k.body).is_empty())
}

/// The parameter that sets the number of members of the first `pipelined` loop's role, if it sets nothing else.
pub fn members(file: &str, text: &str) -> Option<String> {
    let kernel = parse(file, text).kernel?;
    let holds = |s: &&Stmt| !loops(std::slice::from_ref(*s)).is_empty();
    let StmtKind::Block(Head::Name(role), _) = &kernel.body.iter().find(holds)?.kind else { return None };
    let count = kernel.decls.iter().find_map(|d| match &d.kind {
        DeclKind::Role(name, Some(count), _) if name.text == role.text => Some(count),
        _ => None,
    })?;
    let ExprKind::Name(n) = &count.kind else { return None };
    kernel.params.iter().any(|p| p.name.text == *n).then(|| n.clone())
}

/// The `pipelined` loops in statements, outermost first.
fn loops(body: &[Stmt]) -> Vec<&Pipelined> {
    body.iter()
        .flat_map(|s| match &s.kind {
            StmtKind::Pipelined(p) => vec![p.as_ref()],
            StmtKind::Block(_, b) | StmtKind::For(_, b) | StmtKind::While(_, b) => loops(b),
            StmtKind::If(arms, other) => {
                arms.iter().flat_map(|a| loops(&a.body)).chain(other.iter().flat_map(|b| loops(b))).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

/// Expands the `pipelined` loops of a kernel.
pub fn expand(file: &str, text: &str, inputs: &Inputs, ask: &PassOptions) -> Result<Expanded, Vec<Diagnostic>> {
    let parsed = parse(file, text);
    expand_parsed(file, text, &parsed, inputs, ask)
}

pub(crate) fn expand_parsed(
    file: &str,
    text: &str,
    parsed: &Parsed,
    inputs: &Inputs,
    ask: &PassOptions,
) -> Result<Expanded, Vec<Diagnostic>> {
    let (program, found) = lower(file, text, parsed, inputs, &BTreeMap::new())?;
    let Some(kernel) = &parsed.kernel else { return Err(parsed.errors.clone()) };
    let mut header = Header::new(text, kernel, &program);
    let mut plans = Vec::new();
    let mut errors = Vec::new();
    let all = loops(&kernel.body);
    for (n, p) in all.iter().enumerate() {
        let Some(f) = found.iter().find(|f| f.extent == p.extent) else {
            errors.push(Diagnostic::new(file, p.extent.clone(), "this loop is never reached", "nothing to expand"));
            continue;
        };
        let one = One { file, text, kernel, program: &program, inputs, ask, number: n, several: all.len() > 1 };
        match one.expand(p, f, &mut header) {
            Ok(plan) => plans.push(plan),
            Err(e) => errors.extend(e),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let text = header.apply();
    let text = crate::format(file, &text)?;
    Ok(Expanded { text, plans })
}

/// Whether a block is a block of a role.
fn has_role(s: &Stmt) -> bool {
    matches!(&s.kind, StmtKind::Block(Head::Name(_), _))
}

/// Joins lines under a level.
fn indented(lines: &[Line], level: usize) -> String {
    let mut out = String::new();
    for (l, text, comment) in lines {
        let pad = "  ".repeat(level + l);
        match (text.is_empty(), comment) {
            (true, Some(c)) => out.push_str(&format!("{pad}// {c}\n")),
            (_, Some(c)) => out.push_str(&format!("{pad}{text}  // {c}\n")),
            (_, None) => out.push_str(&format!("{pad}{text}\n")),
        }
    }
    out
}
