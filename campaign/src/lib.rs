//! Judges the verdicts of warpline against brute force, on random kernels.
//!
//! ```text
//!   seed ──generate──▶ kernel text ──warpline verify──▶ verdict ──┐
//!                            │                                    ├──judge──▶ right, or wrong at these values
//!                            └──oracle: every CTA, many values────┘
//!                                       and schedules
//! ```
//!
//! The oracle shares the transition function and the compiler with the verifier, and nothing else.

mod cases;
mod dice;
mod generate;
mod judge;
mod oracle;
mod table;
mod verdict;

pub use cases::{Case, cases};
pub use dice::Dice;
pub use generate::{Family, Kernel, kernel};
pub use judge::{Judgement, Wrong, judge};
pub use oracle::{Dimension, Fault, Order, OutOfBudget, Schedule, Seen, Subject, Truth, Values, comment, run};
pub use table::Table;
pub use verdict::{Binary, Verdict, Verifier, Word};
