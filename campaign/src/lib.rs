//! Compares the verdicts of warpline with brute force, on random kernels.
//!
//! ```text
//!   seed ──generate──▶ kernel text ──warpline verify──▶ verdict ──┐
//!                            │                                    ├──judge──▶ correct, or wrong at these values
//!                            └──oracle: every CTA, many values────┘
//!                                       and schedules
//! ```
//!
//! # Tour
//!
//! [`kernel`] makes the text of a seed, and [`edited`] edits a kernel that is right. A [`Subject`] is a text with its machine; [`Subject::truth`] runs it at many
//! values. [`judge`] compares a [`Verdict`] with the result. The oracle and the verifier share only the transition
//! function and the compiler. `campaign/README.md` says how to run a campaign and what counts as wrong.
//!
//! ```
//! use warpline_campaign::{Subject, kernel};
//!
//! let kernel = kernel(52);
//! let subject = Subject::read(&kernel.text)?;
//! // Brute force, for a verdict that covers only the values given.
//! let given = subject.given();
//! let truth = subject.truth(&|values| *values == given);
//! println!("{:?}: fault at the values given: {:?}", kernel.family, truth.inside);
//! # Ok::<(), String>(())
//! ```

mod cases;
mod dice;
mod edit;
mod generate;
mod judge;
mod oracle;
mod run_report;
mod table;
mod verdict;

pub use cases::{Case, cases, cases_in};
pub use dice::Dice;
pub use edit::{Base, Edit, Edited, bases_in, edited};
pub use generate::{CHAIN, Family, GRIDS, JOBS, Kernel, SIZES, kernel};
pub use judge::{Judgment, Wrong, judge, judge_with_run};
pub use oracle::{Dimension, Fault, Order, OutOfBudget, RunResult, Schedule, Subject, Truth, Values, comment, run};
pub use run_report::fault_of_run;
pub use table::Table;
pub use verdict::{Binary, Verdict, Verifier, Word};
