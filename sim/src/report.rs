//! What a run found out: times, stalls, occupancy, findings.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::fences::Fences;
use crate::machine::{Machine, MissingParam, Vendor};
use crate::schedule::Schedule;
use crate::timeline::{Stall, Timeline, Work};

/// What to simulate, and what to keep of it.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Record a timeline of at most this many spans.
    pub timeline: Option<usize>,
    /// Stop after this many events and say so.
    pub max_events: u64,
    /// Skip repetitions of whole CTAs where the core's state recurs exactly.
    pub skip_repeats: bool,
    /// Everything that is loaded is in the second-level cache already (a benchmark that repeats its kernel on a small set).
    pub warm_l2: bool,
    /// How much of the machine.
    pub fidelity: Fidelity,
    /// How strictly fences are asked for.
    pub fences: Fences,
    /// Keep to this order of moves: one cluster, alone on its cores, up to the last of them.
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

/// How much of the machine a run looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// The cores of one cluster, with a fair share of the caches and of DRAM.
    #[default]
    Core,
    /// The launch: which tile is in which cache when, all cores at the slices and at DRAM, every wave and the tail.
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

    /// What to look at where nobody says: the launch, on machines where it is known what one takes. A design on paper has none.
    pub fn usual(m: &Machine) -> Fidelity {
        let known = m.get("launch.device_us").is_some() && m.vendor != Vendor::Paper;
        if known { Fidelity::Device } else { Fidelity::Core }
    }
}

/// Why a kernel cannot be run on a machine. Nothing was simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A number is missing.
    #[error(transparent)]
    Missing(#[from] MissingParam),
    /// The machine lacks what an operation or a `needs` asks for.
    #[error("{message}")]
    Unsupported {
        /// One sentence, with the machine's name.
        message: String,
        /// Where, as an index into the program's sites.
        site: Option<u32>,
    },
    /// A statement starts more than it can mean, on any machine.
    #[error("{message}")]
    Misplaced {
        /// One sentence that ends in what to write.
        message: String,
        /// Where, as an index into the program's sites.
        site: u32,
    },
    /// The schedule has a move that the kernel does not make.
    #[error("{message}")]
    Order {
        /// Which move, from 0.
        at: usize,
        /// What the schedule says and what the kernel does.
        message: String,
    },
    /// Nothing would be launched.
    #[error("the grid of {m} x {n} x {z} has no CTA: nothing runs")]
    EmptyGrid {
        /// Extent of the grid.
        m: i64,
        /// See `m`.
        n: i64,
        /// See `m`.
        z: i64,
    },
    /// A resource limit forbids even one CTA on a core.
    #[error("{message}")]
    DoesNotFit {
        /// The limit: `shared memory`, `registers`, `threads`, `warps`, `tensor memory`, `cluster`, ...
        limit: String,
        /// One sentence, with the numbers.
        message: String,
    },
}

/// The kinds of fault a run can meet. The same list serves the verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// Agents wait for each other for ever.
    Deadlock,
    /// A read not ordered after the write it needs.
    Raw,
    /// A write not ordered after a read of what it overwrites.
    War,
    /// Two writes that nothing orders.
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
    /// A count outside what the machine has (`vmcnt` of 64).
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

/// Something wrong that a run met. A run goes on after a finding where it can.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What exactly: `warpline explain` has a page on it.
    pub code: Code,
    /// What kind; the code's.
    pub kind: FindingKind,
    /// One or two sentences with names, slots, phases and numbers.
    pub message: String,
    /// Index into the program's sites: where it showed.
    pub site: u32,
    /// The other place involved, with a few words on its part (`written here`).
    pub other: Option<(u32, String)>,
    /// Who met it (`math w4 of CTA 0`).
    pub agent: String,
    /// When, in cycles.
    pub cycle: f64,
    /// How often the same two places met it again.
    pub times: u64,
    /// Worth knowing, and no fault: what is wasteful or relies on an assumption.
    pub note: bool,
}

impl Finding {
    /// Its stable code, `WL0104`.
    pub fn code(&self) -> &'static str {
        self.code.id()
    }

    /// Whether another finding is this one met again: of the same code, at the same two places.
    pub fn same_places(&self, other: &Finding) -> bool {
        let places = |f: &Finding| (f.code, f.site, f.other.as_ref().map(|o| o.0));
        places(self) == places(other)
    }
}

/// One agent that does not proceed, in a hang.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// What hang this is: a cycle of waits, or roles that disagree on the number of steps.
    pub code: Code,
    /// Who.
    pub agent: String,
    /// Where, as an index into the program's sites.
    pub site: u32,
    /// Since when, in cycles.
    pub since: f64,
    /// For what (`phase 3 of full[1]`), with the state of it (`1 of 2 arrivals pending, 16384 bytes missing`).
    pub waits_for: String,
    /// What would have to happen (`line 14: load arrives`), and why it does not.
    pub needs: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every agent ended.
    Finished,
    /// Nobody can proceed.
    Hung(Vec<Waiting>),
    /// A fault after which the state has no meaning (undefined behaviour); see the findings.
    Broken,
    /// The event limit was reached.
    Limit,
    /// The end of the schedule that the run kept to; agents could go on.
    Stopped,
}

/// Time of one role's warps, as fractions of their life.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTime {
    /// Role name; `rest` for warps without a role.
    pub name: String,
    /// Warps of a CTA.
    pub warps: u32,
    /// Busy, by class of work.
    pub work: BTreeMap<Work, f64>,
    /// Stalled, by cause. Work and stalls sum to 1.
    pub stalls: BTreeMap<Stall, f64>,
    /// Stalled, by statement (site index) and cause, largest first.
    pub at: Vec<(u32, Stall, f64)>,
}

/// How full a core is.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Resident CTAs of a core.
    pub ctas_per_core: u32,
    /// Resident warps of a core.
    pub warps_per_core: u32,
    /// What limits it (`shared memory`, `registers`, `warps`, `CTA slots`, `tensor memory`, `grid`).
    pub limit: String,
    /// CTAs each limit alone would allow, in a fixed order.
    pub by: Vec<(String, u32)>,
}

/// How much of the time a shared resource was in use.
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
    /// How it ended.
    pub outcome: Outcome,
    /// Cycles from the first CTA's launch to the last one's end, on the cores simulated.
    pub cycles: f64,
    /// The same in microseconds; 0 for a design on paper.
    pub time_us: f64,
    /// Launch of the kernel, in microseconds, not part of `time_us`; `None` where the machine does not say.
    pub launch_us: Option<f64>,
    /// Floating-point operations of the whole grid's matrix instructions, as executed, padding of tiles included. Of a run
    /// that did not end, those until then.
    pub flops: f64,
    /// `flops` over `time_us`, in 10^12 a second; 0 for a run that did not end.
    pub tflops: f64,
    /// Of `flops`, those that multiply elements inside the matrices.
    pub useful_flops: f64,
    /// `useful_flops` over `time_us`, in 10^12 a second; 0 for a run that did not end.
    pub useful_tflops: f64,
    /// Of the machine's dense matrix rate at the same clock; `None` without matrix work.
    pub of_peak: Option<f64>,
    /// `flops`, and at core fidelity the bytes from and to DRAM, are those of the CTAs simulated times the CTAs (tiles, where `clc`
    /// hands them out), though others may do more or less: it follows from what is handed over at run time, or would take too
    /// long to count.
    pub scaled: bool,
    /// Cycles from one step of the main loop to the next, in the steady state of one CTA; `None` for fewer than three steps.
    pub cycles_per_tile: Option<f64>,
    /// CTAs of the grid.
    pub ctas: i64,
    /// CTAs one core runs, one after the other or together.
    pub ctas_of_core: i64,
    /// `ctas_of_core` over the resident ones, rounded up.
    pub waves: i64,
    /// Shared memory of a CTA.
    pub shared_bytes: i64,
    /// What a CTA could still have.
    pub shared_free_bytes: i64,
    /// Occupancy.
    pub occupancy: Occupancy,
    /// How much of the machine it looked at.
    pub fidelity: Fidelity,
    /// Cycles of the launch itself, part of `cycles`; 0 at core fidelity.
    pub launch_cycles: f64,
    /// Share of the bytes loaded from global memory that the second-level cache serves: assumed for the cores simulated, or at
    /// device fidelity counted as hardware counts, by lookups, those between the halves of the cache included.
    pub l2_hit_rate: f64,
    /// Bytes that the second-level cache looks up for each byte loaded by cores, counted likewise: less than one where requests of
    /// several cores are merged on the way. `None` at core fidelity, and where nothing is loaded.
    pub l2_looked_up: Option<f64>,
    /// Bytes read from DRAM by the whole grid; of a run that did not end, until then.
    pub dram_read_bytes: f64,
    /// Bytes written by the whole grid; of a run that did not end, by the CTAs that ended.
    pub dram_write_bytes: f64,
    /// Events the engine handled.
    pub events: u64,
    /// CTAs simulated one by one; the rest of `ctas_of_core` repeats them exactly.
    pub ctas_simulated: i64,
    /// Time by role.
    pub roles: Vec<RoleTime>,
    /// Use of resources, largest first.
    pub uses: Vec<Utilization>,
    /// What bounds the kernel, in one sentence.
    pub bottleneck: String,
    /// Faults met, in order of time.
    pub findings: Vec<Finding>,
    /// Reads of tiles that state what they expect, of all reads.
    pub reads_checked: (u64, u64),
    /// Machine parameters the run used, by kind: documented, measured, estimated.
    pub params_used: [u32; 3],
    /// The record, if asked for.
    pub timeline: Option<Timeline>,
}

impl Report {
    /// The findings that are faults, without the notes.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| !f.note)
    }

    /// Whether it ended and met no fault.
    pub fn clean(&self) -> bool {
        self.outcome == Outcome::Finished && self.faults().next().is_none()
    }
}
