//! The results of a run: times, stalls, occupancy, findings.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::fences::Fences;
use crate::machine::{Machine, MissingParam, Vendor};
use crate::schedule::Schedule;
use crate::timeline::{Stall, Timeline, Work};

/// Options of a run: what to simulate and what to record.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Record a timeline of at most this many spans.
    pub timeline: Option<usize>,
    /// Stop after this many events, with an outcome that says so.
    pub max_events: u64,
    /// Skip repetitions of whole CTAs: where the core's state recurs exactly, and in long runs of a steady pace.
    pub skip_repeats: bool,
    /// Whether all loaded data is in the second-level cache already (a benchmark that repeats its kernel on a small
    /// set).
    pub warm_l2: bool,
    /// The part of the machine to simulate.
    pub fidelity: Fidelity,
    /// The strictness of each fence rule.
    pub fences: Fences,
    /// Follow this order of moves: one cluster, alone on its cores, up to the last move.
    pub schedule: Option<Schedule>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            timeline: None,
            max_events: 200_000_000,
            skip_repeats: true,
            warm_l2: false,
            fidelity: Fidelity::Core,
            fences: Fences::default(),
            schedule: None,
        }
    }
}

/// The part of the machine that a run simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// The cores of one cluster, with a fair share of the caches and of DRAM.
    #[default]
    Core,
    /// The whole launch: the tiles in each cache over time, all cores at the slices and at DRAM, every wave and the
    /// tail.
    Device,
}

impl Fidelity {
    /// The word used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fidelity::Core => "core",
            Fidelity::Device => "device",
        }
    }

    /// The default fidelity: the launch, on machines whose launch cost is known. A design on paper has none.
    pub fn usual(m: &Machine) -> Fidelity {
        let known = m.get("launch.device_us").is_some() && m.vendor != Vendor::Paper;
        if known { Fidelity::Device } else { Fidelity::Core }
    }
}

/// The reason why a kernel cannot run on a machine. Nothing was simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A machine parameter is missing.
    #[error(transparent)]
    Missing(#[from] MissingParam),
    /// The machine lacks a feature that an operation or a `needs` asks for.
    #[error("{message}")]
    Unsupported {
        /// One sentence, with the machine's name.
        message: String,
        /// Index into the program's sites.
        site: Option<u32>,
    },
    /// A statement is invalid on any machine.
    #[error("{message}")]
    Misplaced {
        /// One sentence that ends with the correct statement.
        message: String,
        /// Index into the program's sites.
        site: u32,
    },
    /// The schedule has a move that the kernel does not make.
    #[error("{message}")]
    Order {
        /// Index of the move, from 0.
        at: usize,
        /// The move of the schedule and the move of the kernel.
        message: String,
    },
    /// The grid has no CTA.
    #[error("the grid of {m} x {n} x {z} has no CTA: nothing runs")]
    EmptyGrid {
        /// Rows of the grid.
        m: i64,
        /// Columns of the grid.
        n: i64,
        /// Third extent of the grid.
        z: i64,
    },
    /// A resource limit does not allow even one CTA on a core.
    #[error("{message}")]
    DoesNotFit {
        /// The limit: `shared memory`, `registers`, `threads`, `warps`, `tensor memory`, `cluster`, ...
        limit: String,
        /// One sentence, with the numbers.
        message: String,
    },
}

/// The kind of a fault. A run and the verifier share this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// Agents wait for each other without end.
    Deadlock,
    /// A read not ordered after the write it needs.
    Raw,
    /// A write not ordered after a read of the data that it overwrites.
    War,
    /// Two writes without an order.
    Waw,
    /// A read finds another tile version than the program says.
    Stale,
    /// A waiter can lag two phases behind its barrier.
    ParityAlias,
    /// Bytes expected and bytes delivered in a phase differ.
    TxBytes,
    /// More arrivals than a phase has, or counts that differ.
    ArrivalCount,
    /// A proxy fence or tensor-memory fence is missing.
    Fence,
    /// Used before init, after inval, freed while in use, in flight at exit.
    LifeCycle,
    /// A collective reached by some of its participants only.
    Divergent,
    /// CTA scope where cluster scope is needed.
    Scope,
    /// A tile not accumulated once, an output piece not stored once.
    Coverage,
    /// A count outside of the machine's range (`vmcnt` of 64).
    Range,
}

impl FindingKind {
    /// All kinds, in order.
    pub const ALL: [FindingKind; 14] = [
        FindingKind::Deadlock,
        FindingKind::Raw,
        FindingKind::War,
        FindingKind::Waw,
        FindingKind::Stale,
        FindingKind::ParityAlias,
        FindingKind::TxBytes,
        FindingKind::ArrivalCount,
        FindingKind::Fence,
        FindingKind::LifeCycle,
        FindingKind::Divergent,
        FindingKind::Scope,
        FindingKind::Coverage,
        FindingKind::Range,
    ];

    /// The word used in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Deadlock => "deadlock",
            FindingKind::Raw => "RAW race",
            FindingKind::War => "WAR race",
            FindingKind::Waw => "WAW race",
            FindingKind::Stale => "stale tile",
            FindingKind::ParityAlias => "parity alias",
            FindingKind::TxBytes => "transaction bytes",
            FindingKind::ArrivalCount => "arrival count",
            FindingKind::Fence => "missing fence",
            FindingKind::LifeCycle => "life cycle",
            FindingKind::Divergent => "divergent barrier",
            FindingKind::Scope => "scope",
            FindingKind::Coverage => "coverage",
            FindingKind::Range => "range",
        }
    }
}

/// A fault or note of a run. A run continues after a finding where it can.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The code; `warpline explain` has a page on it.
    pub code: Code,
    /// The kind of the code.
    pub kind: FindingKind,
    /// One or two sentences with names, slots, phases and numbers.
    pub message: String,
    /// Index into the program's sites of the statement that showed the finding.
    pub site: u32,
    /// The other place involved, with a few words on its part (`written here`).
    pub other: Option<(u32, String)>,
    /// The agent that showed the finding (`math w4 of CTA 0`).
    pub agent: String,
    /// Time of the finding, in cycles.
    pub cycle: f64,
    /// Number of repetitions at the same two places.
    pub times: u64,
    /// Whether the finding is a note, not a fault: wasteful, or dependent on an assumption.
    pub note: bool,
}

impl Finding {
    /// Its stable code, `WL0104`.
    pub fn code(&self) -> &'static str {
        self.code.id()
    }

    /// Whether another finding repeats this one: the same code at the same two places.
    pub fn same_places(&self, other: &Finding) -> bool {
        let places = |f: &Finding| (f.code, f.site, f.other.as_ref().map(|o| o.0));
        places(self) == places(other)
    }
}

/// An agent that does not proceed, in a hang.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The kind of the hang: a cycle of waits, or roles that disagree on the number of steps.
    pub code: Code,
    /// The agent's name.
    pub agent: String,
    /// Index into the program's sites of the waiting statement.
    pub site: u32,
    /// Start of the wait, in cycles.
    pub since: f64,
    /// The target of the wait (`phase 3 of full[1]`), with its state (`1 of 2 arrivals pending, 16384 bytes missing`).
    pub waits_for: String,
    /// The event that would end the wait (`line 14: load arrives`), and why it does not happen.
    pub needs: String,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every agent ended.
    Finished,
    /// No agent can proceed.
    Hung(Vec<Waiting>),
    /// A fault after which the state has no meaning (undefined behavior); see the findings.
    Broken,
    /// The event limit was reached.
    Limit,
    /// The end of the schedule that the run followed; agents could proceed.
    Stopped,
}

/// Time of one role's warps, as fractions of their life.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTime {
    /// Role name; `rest` for warps without a role.
    pub name: String,
    /// Warps of a CTA.
    pub warps: u32,
    /// Fractions of work, by class.
    pub work: BTreeMap<Work, f64>,
    /// Fractions of stalls, by cause. Work and stalls sum to 1.
    pub stalls: BTreeMap<Stall, f64>,
    /// Fractions of stalls, by statement (site index) and cause, largest first.
    pub at: Vec<(u32, Stall, f64)>,
}

/// Occupancy of a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Resident CTAs of a core.
    pub ctas_per_core: u32,
    /// Resident warps of a core.
    pub warps_per_core: u32,
    /// The limiting resource (`shared memory`, `registers`, `warps`, `CTA slots`, `tensor memory`, `grid`).
    pub limit: String,
    /// CTAs that each limit alone would allow, in a fixed order.
    pub by: Vec<(String, u32)>,
}

/// The use of a shared resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilization {
    /// `tensor pipe`, `L2 port`, `DRAM share`, `shared memory`, `copy engine`, `issue slots`, `vector unit`.
    pub resource: String,
    /// Fraction of the run's cycles, 0 to 1.
    pub fraction: f64,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The end of the run.
    pub outcome: Outcome,
    /// Cycles from the launch of the first CTA to the end of the last one, on the simulated cores.
    pub cycles: f64,
    /// `cycles` in microseconds; 0 for a design on paper.
    pub time_us: f64,
    /// Launch of the kernel, in microseconds, not part of `time_us`; `None` where the machine does not say.
    pub launch_us: Option<f64>,
    /// Floating-point operations of the whole grid's matrix instructions, as executed, padding of tiles included. Of a run
    /// that did not end, those until then.
    pub flops: f64,
    /// `flops` over `time_us`, in 10^12 per second; 0 for a run that did not end.
    pub tflops: f64,
    /// Operations of `flops` that multiply elements inside the matrices.
    pub useful_flops: f64,
    /// `useful_flops` over `time_us`, in 10^12 per second; 0 for a run that did not end.
    pub useful_tflops: f64,
    /// Fraction of the machine's dense matrix rate at the same clock; `None` without matrix work.
    pub of_peak: Option<f64>,
    /// Whether `flops`, and at core fidelity the DRAM bytes, are scaled from the simulated CTAs (tiles, where `clc`
    /// hands them out). Other CTAs may do more or less: their work depends on values known only at run time, or takes
    /// too long to count.
    pub scaled: bool,
    /// Cycles from one step of the main loop to the next, in the steady state of one CTA. `None` for fewer than three
    /// steps.
    pub cycles_per_tile: Option<f64>,
    /// Number of CTAs of the grid.
    pub ctas: i64,
    /// Number of CTAs that one core runs, one after the other or together.
    pub ctas_of_core: i64,
    /// `ctas_of_core` over the resident ones, rounded up.
    pub waves: i64,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: i64,
    /// Bytes of shared memory that a CTA could still have.
    pub shared_free_bytes: i64,
    /// Occupancy.
    pub occupancy: Occupancy,
    /// The part of the machine that was simulated.
    pub fidelity: Fidelity,
    /// Cycles of the launch itself, part of `cycles`; 0 at core fidelity.
    pub launch_cycles: f64,
    /// Share of the bytes loaded from global memory that the second-level cache serves. At core fidelity the share is
    /// assumed. At device fidelity the share is counted as hardware counts, by lookups, with those between the halves
    /// of the cache.
    pub l2_hit_rate: f64,
    /// Bytes that the second-level cache looks up for each byte loaded by cores, counted likewise. Less than one where
    /// requests of several cores are merged. `None` at core fidelity, and where nothing is loaded.
    pub l2_looked_up: Option<f64>,
    /// Bytes read from DRAM by the whole grid; of a run that did not end, until then.
    pub dram_read_bytes: f64,
    /// Bytes written by the whole grid; of a run that did not end, by the CTAs that ended.
    pub dram_write_bytes: f64,
    /// Number of events that the engine handled.
    pub events: u64,
    /// CTAs simulated one by one; the rest of `ctas_of_core` repeats them.
    pub ctas_simulated: i64,
    /// `None` where the rest repeats them exactly. Where it goes on at the pace of the last wave, the relative difference
    /// of the times of the last two waves, at most 0.005.
    pub pace_change: Option<f64>,
    /// Time by role.
    pub roles: Vec<RoleTime>,
    /// Use of resources, largest first.
    pub uses: Vec<Utilization>,
    /// The bottleneck of the kernel, in one sentence.
    pub bottleneck: String,
    /// Findings, in order of time.
    pub findings: Vec<Finding>,
    /// Number of reads of tiles that state an expectation, and of all reads.
    pub reads_checked: (u64, u64),
    /// Machine parameters the run used, by kind: documented, measured, estimated.
    pub params_used: [u32; 3],
    /// The timeline, if asked for.
    pub timeline: Option<Timeline>,
}

impl Report {
    /// The findings that are faults, without the notes.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| !f.note)
    }

    /// Whether the run ended without a fault.
    pub fn clean(&self) -> bool {
        self.outcome == Outcome::Finished && self.faults().next().is_none()
    }
}
