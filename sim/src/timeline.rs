//! What happened when: the record of a run that displays read.
//!
//! A timeline is finished when it is handed over; nothing here runs anything.
//! Times are ticks, [`TICKS`] to the cycle, from the first CTA's launch.

use serde::Serialize;

use crate::schedule::Act;

/// Ticks in a cycle: times are exact to this fraction.
pub const TICKS: u64 = 256;

/// What a row of the timeline stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum RowKind {
    /// A warp (or one lane class of it). Its spans tile its life without gap.
    Agent {
        /// Role name, or "warp".
        role: String,
        /// Warp index in the CTA.
        warp: u32,
        /// The elected lane only, or the rest only, where the warp is split.
        lanes: Option<Lanes>,
    },
    /// An engine that works beside the warps.
    Engine(Engine),
    /// Phases of one mbarrier, by name and stage.
    Barrier(String),
    /// The tiles one slot of a buffer holds.
    Slot(String),
}

/// Lane classes of a split warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Lanes {
    /// The elected lane.
    Elected,
    /// All others.
    Rest,
}

/// Engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Engine {
    /// Global loads in flight (`ldg`, `cp`, `dma`).
    Loads,
    /// The copy engine (TMA).
    Copy,
    /// The tensor pipe.
    Tensor,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Short label: `load w0`, `tensor`, `full[1]`, `a[2]`.
    pub name: String,
    /// The CTA it belongs to, by order of launch on the simulated cores.
    pub cta: u32,
    /// What it is.
    pub kind: RowKind,
}

/// Classes of work, one colour each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Work {
    /// Global to shared or registers.
    Load,
    /// Registers or shared to shared.
    Shared,
    /// Matrix.
    Mma,
    /// Vector arithmetic.
    Alu,
    /// To global.
    Store,
    /// Issue of synchronisation: arrive, commit, fence.
    Sync,
    /// Loop and index arithmetic, launch.
    Control,
}

/// Why an agent does not proceed. Each cycle of an agent is work or exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Stall {
    /// Not yet launched, or launching.
    Launch,
    /// Queueing for the scheduler's issue slot.
    Issue,
    /// Queueing for or waiting on global memory (scoreboard).
    Global,
    /// Queueing for or waiting on shared memory.
    Shared,
    /// Queueing for or waiting on the matrix unit.
    Tensor,
    /// Queueing for the vector unit.
    Alu,
    /// CTA barrier.
    Barrier,
    /// Numbered barrier.
    Named,
    /// Barrier of the lanes or warps of one warp or warpgroup.
    Join,
    /// Cluster barrier.
    Cluster,
    /// mbarrier phase.
    Mbarrier,
    /// Commit groups: cp, bulk, wgmma.
    Group,
    /// `vmcnt`, `lgkmcnt`, tmem waits.
    Counter,
    /// Registers or tensor memory to be given.
    Pool,
    /// Held back: the schedule that the run keeps to has others go first.
    Held,
    /// Ended; the CTA's other warps still run.
    Ended,
}

/// What a span shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum SpanKind {
    /// Busy with this.
    Work(Work),
    /// Waiting for this.
    Stall(Stall),
    /// A slot holds a tile, or is being filled (`filling`); a barrier is in a phase.
    Hold {
        /// Being written; not yet readable.
        filling: bool,
    },
}

/// A few words. Most are short, and a run has millions: those stand in the span itself.
pub type Label = compact_str::CompactString;

/// A stretch of time on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Index of the row.
    pub row: u32,
    /// First tick.
    pub start: u64,
    /// Tick after the last.
    pub end: u64,
    /// What.
    pub what: SpanKind,
    /// Index into [`Timeline::sites`], if it comes from a statement.
    pub site: Option<u32>,
    /// Short label: tile (`A 0,3`), phase (`φ2`), loop index; may be empty.
    pub label: Label,
    /// For stalls: the span (by index) whose end let it go on.
    pub woken_by: Option<u32>,
    /// For the work of an engine: the span (by index) of the operation that started it.
    pub started_by: Option<u32>,
    /// For waits on an mbarrier: the row of its phases.
    pub on: Option<u32>,
    /// For the work of an engine that copies: the bytes that are on the way.
    pub bytes: u64,
}

impl Span {
    /// A span of a row that says no more than what it is.
    pub fn new(row: u32, (start, end): (u64, u64), what: SpanKind) -> Span {
        Span {
            row,
            start,
            end,
            what,
            site: None,
            label: Label::const_new(""),
            woken_by: None,
            started_by: None,
            on: None,
            bytes: 0,
        }
    }
}

/// A source line that spans refer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceLine {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The statement's text.
    pub text: String,
}

/// A point in time that a picture points out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// When.
    pub tick: u64,
    /// A word or two: `WAR race`.
    pub label: String,
    /// Index into [`Timeline::sites`], where it showed.
    pub site: u32,
}

/// A move of the schedule that a run kept to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduledMove {
    /// When.
    pub tick: u64,
    /// The row of the agent whose move it is.
    pub row: u32,
    /// Index into [`Timeline::sites`].
    pub site: u32,
    /// What of it.
    pub act: Act,
}

/// The record of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Kernel, machine and parameters, for a title.
    pub title: String,
    /// Second line of the title: parameters.
    pub subtitle: String,
    /// Clock in MHz, for converting cycles; 0 for a design on paper.
    pub mhz: f64,
    /// Rows, in display order.
    pub rows: Vec<Row>,
    /// Spans, ordered by (start, row).
    pub spans: Vec<Span>,
    /// Faults, by time, and of a run that hangs the waits that nothing ends.
    pub faults: Vec<Mark>,
    /// The moves of the schedule that the run kept to, first to last; none where it kept to none.
    pub moves: Vec<ScheduledMove>,
    /// Statements.
    pub sites: Vec<SourceLine>,
    /// Last tick. Of a run that hangs somewhat later than the last event, so that waits that nothing ends can be seen.
    pub end: u64,
    /// Ticks that the run takes, as its report says: with the launch itself, which has no spans, and without what was
    /// under way still when the run stopped. None of a record that has no report.
    pub took: Option<u64>,
    /// Spans were left out after this tick, because there were too many to record.
    pub truncated_at: Option<u64>,
}

impl Stall {
    /// All causes, in order.
    pub const ALL: [Stall; Stall::Ended as usize + 1] = [
        Stall::Launch,
        Stall::Issue,
        Stall::Global,
        Stall::Shared,
        Stall::Tensor,
        Stall::Alu,
        Stall::Barrier,
        Stall::Named,
        Stall::Join,
        Stall::Cluster,
        Stall::Mbarrier,
        Stall::Group,
        Stall::Counter,
        Stall::Pool,
        Stall::Held,
        Stall::Ended,
    ];

    /// One word, for names and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Stall::Launch => "launch",
            Stall::Issue => "issue",
            Stall::Global => "global",
            Stall::Shared => "shared",
            Stall::Tensor => "tensor",
            Stall::Alu => "alu",
            Stall::Barrier => "barrier",
            Stall::Named => "named",
            Stall::Join => "join",
            Stall::Cluster => "cluster",
            Stall::Mbarrier => "mbarrier",
            Stall::Group => "group",
            Stall::Counter => "counter",
            Stall::Pool => "pool",
            Stall::Held => "held",
            Stall::Ended => "ended",
        }
    }

    /// A few words for reports and legends.
    pub fn name(self) -> &'static str {
        match self {
            Stall::Launch => "launch",
            Stall::Issue => "issue slot",
            Stall::Global => "global memory",
            Stall::Shared => "shared memory",
            Stall::Tensor => "matrix unit",
            Stall::Alu => "vector unit",
            Stall::Barrier => "CTA barrier",
            Stall::Named => "named barrier",
            Stall::Join => "warp join",
            Stall::Cluster => "cluster barrier",
            Stall::Mbarrier => "mbarrier phase",
            Stall::Group => "commit group",
            Stall::Counter => "counter",
            Stall::Pool => "register pool",
            Stall::Held => "turn in schedule",
            Stall::Ended => "nothing (ended)",
        }
    }
}

impl Work {
    /// All classes, in order.
    pub const ALL: [Work; Work::Control as usize + 1] =
        [Work::Load, Work::Shared, Work::Mma, Work::Alu, Work::Store, Work::Sync, Work::Control];

    /// A word for reports and legends.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Load => "load",
            Work::Shared => "shared",
            Work::Mma => "mma",
            Work::Alu => "alu",
            Work::Store => "store",
            Work::Sync => "sync",
            Work::Control => "control",
        }
    }
}
