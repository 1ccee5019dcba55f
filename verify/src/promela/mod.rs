//! A second opinion: the program as a model in Promela, for the model checker Spin.
//!
//! The encoding is separate from `World` and made from the [`Program`]. Agents are processes of straight-line steps,
//! with loops and conditions already evaluated. Operations in flight are in queues; a process for each queue ends them
//! in order at any later time. mbarriers have pending arrivals, bytes and phases, and a wait sees only their parity.
//! Each piece of memory records its current readers and writers, and its tile. A race is two accesses that coincide in
//! some order; a stale tile is a read of another tile. A state in which no agent can proceed is an invalid end state of
//! Spin.
//!
//! The model does not contain fences, scopes, sums and stores. It also lacks allocation of tensor memory, exchange of
//! registers, and the end of a CTA before a signal to it. A barrier without memory order is modeled as one that orders
//! memory. A model that Spin finds clean can be wrong in these points. Mailboxes, `clc` and overlaid storage are
//! refused. The model is the first cluster of the grid, so faults of CTAs at an edge are not in it.

mod moves;
mod place;
mod steps;
mod text;
mod walk;

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

/// Spin's limit: process numbers have one byte, and one number is reserved (Spin's manual, `run`).
const PROCESSES: usize = 255;

/// The reason why a program has no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// One sentence.
    pub message: String,
    /// Index into the program's sites; `None` where no single statement is the reason.
    pub site: Option<u32>,
}

/// The model of a program, which has one trip count.
pub fn promela(prog: &Program, rules: Rules) -> Result<String, Inexpressible> {
    if let Some(o) = prog.objects.iter().find(|o| o.overlay.is_some()) {
        return Err(Inexpressible {
            message: format!("`{}` shares its storage with another object", o.name),
            site: None,
        });
    }
    let steps = steps::Steps::new(prog, rules)?;
    let processes = steps.of.len() + steps.queues.len();
    if processes > PROCESSES {
        let message = format!("the model would be {processes} processes; Spin runs at most {PROCESSES}");
        return Err(Inexpressible { message, site: None });
    }
    Ok(text::text(prog, &steps))
}
