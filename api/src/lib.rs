//! warpline as a library.

mod barriers;
mod certificate;
mod claims;
mod collection;
mod compare;
mod critical;
pub mod draw;
mod error;
mod files;
mod load;
mod output;
mod plan;
mod progress;
mod record;
mod request;
mod schedule;
mod simulate;
mod status;
mod sweep;
mod verify;
mod whatif;

pub use barriers::{Barriers, barriers};
pub use certificate::{certificate, refusal_words};
pub use claims::{ClaimResult, evaluate as claims};
pub use collection::{Collection, Entry, Member, Skipped, Verifications, verify_all};
pub use compare::{Side, compare, open, side, two};
pub use critical::{CriticalPath, critical_path};
pub use error::{Error, Position, Sources};
pub use files::{files_below, short_path};
pub use load::{
    CompiledKernel, Expectation, Imported, Second, Subject, beside_name, builtin_scenarios, describe, finding_label,
    finding_message, formatted, hint, is_ptx, lifted, load, load_second, machine_file, machine_named, machine_names,
    read, set_machine, short_name, titles,
};
pub use output::{create_all, replace_file};
pub use plan::{PlanOptions, no_pipelined_loop, plan};
pub use progress::{OnProgress, Progress};
pub use record::{Recording, SPANS, is_trace, read_trace, record};
pub use request::{Clock, FenceLevel, Request, Setting};
pub use schedule::{SCHEDULE, ScheduleFile, schedule_of};
pub use simulate::{Neighbor, Simulation, execute, run, run_beside};
pub use status::Status;
pub use sweep::{SweepRequest, listed_points, read_part, sweep};
pub use verify::{
    ASSUMPTIONS, OuterLoop, ProofOptions, Varied, Verification, engine_words, outcome_word, trips, verdict_status,
    verify,
};
pub use whatif::whatif;
