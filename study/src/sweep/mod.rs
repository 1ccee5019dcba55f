//! Sweeps: one run for each point of a grid of values.
//!
//! ```text
//!   --vary, points file ── axes ──▶ Plan ──▶ points of a shard ── one run each ──▶ Part ──▶ table, CSV, JSON, picture
//!                                                                                   ▲ │
//!                                       the same file again, to go on ──────────────┘ └──▶ join(parts)
//! ```
//!
//! Points are numbered and a part holds rows by number, so the result does not depend on who ran what, or in which
//! order.

mod axis;
mod part;
mod plan;
mod row;

pub use axis::{Axis, Value, axis, listed};
pub use part::{Misfit, Part, Subject, join};
pub use plan::{MOST_POINTS, Plan, Shard};
pub use row::{Outcome, Row, best, csv};

use rayon::prelude::*;

/// Runs the points that `part` lacks on all threads, and hands over each row as it comes, in any order.
///
/// # Errors
/// The error of the lowest-numbered point that failed.
pub fn run<E: Send>(
    points: &[usize],
    one: &(dyn Fn(usize) -> Result<Row, E> + Sync),
    done: &(dyn Fn(usize, &Row) + Sync),
) -> Result<Vec<(usize, Row)>, E> {
    let rows: Vec<(usize, Result<Row, E>)> = points
        .par_iter()
        .map(|&i| {
            let row = one(i);
            if let Ok(row) = &row {
                done(i, row);
            }
            (i, row)
        })
        .collect();
    rows.into_iter().map(|(i, row)| row.map(|row| (i, row))).collect()
}
