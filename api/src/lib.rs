//! warpline as a library: load a kernel of a GPU pipeline, time it, prove its barriers, draw it.
//!
//! # A tour
//!
//! ```text
//!   Request ──load──▶ Subject ──run─────▶ Simulation    report: cycles, stalls, occupancy, findings
//!   (name, machine,      │                    │
//!    settings)           │                    └──critical_path──▶ CriticalPath
//!                        ├─────record──▶ Recording ──draw::chart──▶ SVG, PNG
//!                        │                    └──compare──▶ what differs between two recordings
//!                        ├─────verify──▶ Verification  verdict, schedule of the fault, repair
//!                        ├───barriers──▶ Barriers      which synchronization is needed, and against what
//!                        ├─────claims──▶ ClaimResult   statements of documents, decided
//!                        └───────plan──▶ Answer        the proved pipelines of a plain loop, by time
//!   SweepRequest ──sweep──▶ Part ──draw::sweep──▶ a line or a heat map
//! ```
//!
//! A [`Request`] names a kernel; a [`Subject`] is the kernel loaded, with its machine. Every function takes the subject by
//! reference and returns a plain struct with named fields. Load a kernel, run it, verify it and draw it:
//!
//! ```
//! use warpline_api::draw::{ChartOptions, Format, chart};
//! use warpline_api::{ProofOptions, Request, load, outcome_word, record, run, verify};
//!
//! let kernel = load(&Request::named("metal/triple_buffer"))?;
//!
//! let simulation = run(&kernel)?;
//! assert!(simulation.report.cycles > 0.0);
//! println!("{} cycles: {}", simulation.report.cycles, simulation.report.bottleneck);
//!
//! let verification = verify(&kernel, &ProofOptions::default())?;
//! assert_eq!(outcome_word(&verification.verdict.outcome), "proved");
//!
//! let picture = chart(&record(&kernel)?, None, &ChartOptions::default(), Format::Svg)?;
//! assert!(picture.starts_with(b"<svg"));
//! # Ok::<(), warpline_api::Error>(())
//! ```
//!
//! # Values and machines
//!
//! A request changes parameters of the kernel and numbers of the machine. [`load_text`] takes a kernel as text, and
//! [`load_on`] a machine that the caller defines.
//!
//! ```
//! use warpline_api::{Request, Setting, load, run};
//!
//! let faster = Setting::parse("machine.memory.dram_gbps=6000")?;
//! let mut request = Request::named("hopper/tma_wgmma").with("stages", 4);
//! request.settings.push(faster);
//! let subject = load(&request)?;
//! assert_eq!(subject.machine.get("memory.dram_gbps"), Some(6000.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//!
//! An [`Error`] is data: every problem of a file at once, each with its file, span, label and help, or one sentence without
//! a place. This crate draws no carets. [`Position::of`] turns a span into a line and a column, and `Display` writes
//! `file:line:column: message`.
//!
//! ```
//! use warpline_api::{Error, Position, load_text, machine_named};
//!
//! let text = "kernel k()\n  grid 1\n  warps 1\n  oops\n";
//! let Err(Error::Input { diagnostics, .. }) = load_text("k.pipe", text, &machine_named("paper")?, &[]) else {
//!     panic!("the kernel is wrong");
//! };
//! assert_eq!(Position::of(text, diagnostics[0].span.start).line, 4);
//! # Ok::<(), Error>(())
//! ```
//!
//! Findings of runs and proofs have the same form: [`Subject::diagnostic`].
//!
//! # Editors
//!
//! [`editor`] answers for a text that is being written: [`editor::check`], [`editor::measure`] and [`editor::prove`] give
//! messages, values and costs with places, and [`editor::Outline`] has the declarations. [`meaning`] and [`explain_page`]
//! have the texts of the documents.
//!
//! # Certainty
//!
//! [`uncertainty`] gives the interval of a simulated time that the errors of measured kernels allow, or says that no kernel
//! like it was measured. [`spread`] gives the interval that the spread of the machine's numbers gives it, from more runs.
//!
//! # Long computations
//!
//! [`sweep`], [`plan`] and [`verify_all`] use every core and report their [`Progress`] through a callback. The results
//! do not depend on the number of threads.
//!
//! # Units
//!
//! Times of a report are in cycles of the machine's clock (`cycles`) or in microseconds (`us`), rates in TFLOPS, sizes in
//! bytes; fields that end in `_s` are seconds of this computer. Shares lie between 0 and 1. Lines and columns count from 1.

mod barriers;
mod blocks;
mod certificate;
mod claims;
mod collection;
mod compare;
mod conflicts;
mod critical;
pub mod draw;
pub mod editor;
mod error;
mod explain;
mod explained;
mod files;
mod least_step;
mod load;
mod measured;
mod output;
mod plan;
mod possible;
mod progress;
mod record;
mod repair;
mod request;
mod schedule;
mod simulate;
mod status;
mod sweep;
mod verify;
mod whatif;
mod window;

pub use barriers::{Barriers, barriers};
pub use blocks::verify_request;
pub use certificate::{certificate, refusal_words};
pub use claims::{ClaimResult, evaluate as claims};
pub use collection::{Collection, Entry, Member, Skipped, Verifications, verify_all};
pub use compare::{Side, compare, open, side, two};
pub use conflicts::{BankConflict, bank_conflicts};
pub use critical::{CriticalPath, critical_path};
pub use error::{Error, Position, Sources};
pub use explain::{Meaning, Rule, explain_page, meaning};
pub use files::{files_below, short_path};
pub use load::{
    BuiltinScenario, CompiledKernel, Expectation, Imported, MachineFile, Second, Subject, beside_name,
    builtin_scenarios, collected, describe, finding_label, finding_message, formatted, hint, is_ptx, kernel_text,
    lifted, load, load_on, load_second, load_text, machine_file, machine_named, machine_names, parameter_types,
    parse_argument, parse_grid, read, readable_name, set_machine, short_name, titles, waiting_message,
};
pub use measured::{Interval, Traits, Uncertainty, uncertainty};
pub use output::{create_all, replace_file};
pub use plan::{PlanOptions, no_pipelined_loop, plan};
pub use progress::{OnProgress, Progress};
pub use record::{Recording, SPANS, is_trace, read_trace, record};
pub use repair::Repair;
pub use request::{Clock, FenceLevel, Request, Setting};
pub use schedule::{SCHEDULE, ScheduleFile, schedule_of};
pub use simulate::{Neighbor, Simulation, execute, run, run_beside};
pub use status::Status;
pub use sweep::{SweepRequest, listed_points, read_part, sweep};
pub use verify::{
    ASSUMPTIONS, OuterLoop, ProofOptions, Varied, Verification, engine_words, outcome_word, trips, verdict_status,
    verify,
};
pub use whatif::{spread, whatif};
