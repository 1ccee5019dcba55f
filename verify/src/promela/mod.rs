//! A second opinion: the same program as a model in Promela, for the checker Spin.
//!
//! It is an encoding of its own, made from the [`Program`] and not from `World`: agents are processes of straight lines,
//! loops and conditions worked out; what they start is kept in queues, each with a process that ends the flights in order
//! at any later time; mbarriers have pending arrivals, bytes and phases, and a wait sees their parity only. Each piece of
//! memory says who reads and writes it just now and which tile it holds: a race is two accesses that meet in some order,
//! a stale tile a read of another. Nobody able to go on is Spin's invalid end state.
//!
//! Not in the model: fences of all kinds, scope, what is accumulated and stored, allocation of tensor memory, registers
//! that are handed over, the end of a CTA before what signals it; a barrier that orders no memory is one that does. A model that Spin finds clean can be wrong in these.
//! Mailboxes, `clc` and overlaid storage it cannot express, and says so. It is the first cluster of the grid: a fault of
//! CTAs at an edge is not in it.

mod moves;
mod place;
mod steps;
mod text;
mod walk;

use warpline_sim::ir::Program;
use warpline_sim::protocol::Rules;

/// Spin's own limit: a process has a number of a byte, and one is not given (Spin's manual, `run`).
const PROCESSES: usize = 255;

/// Why a program has no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// One sentence.
    pub message: String,
    /// Where, as an index into the program's sites; none where it is no one statement.
    pub site: Option<u32>,
}

/// The model of a program, as it is compiled: of one trip count.
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
        let message = format!("the model would be {processes} processes; Spin runs {PROCESSES} at most");
        return Err(Inexpressible { message, site: None });
    }
    Ok(text::text(prog, &steps))
}
