//! The timeline of a run: the record that displays read.
//!
//! A timeline is complete when it is handed over; this module runs nothing. Times are ticks, [`TICKS`] to the cycle,
//! from the launch of the first CTA.

use serde::Serialize;

use crate::schedule::Act;

/// Ticks in a cycle: times are exact to this fraction.
pub const TICKS: u64 = 256;

/// The kind of a row of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum RowKind {
    /// A warp, or one lane class of a warp. Its spans cover its life without gaps.
    Agent {
        /// Role name, or "warp".
        role: String,
        /// Warp index in the CTA.
        warp: u32,
        /// The lane class, where the warp is split.
        lanes: Option<Lanes>,
    },
    /// An engine that works asynchronously to the warps.
    Engine(Engine),
    /// Phases of one mbarrier, by name and stage.
    Barrier(String),
    /// The tiles that one slot of a buffer holds.
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

/// An asynchronous engine of a core.
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
    /// Index of the row's CTA, by order of launch on the simulated cores.
    pub cta: u32,
    /// The kind of the row.
    pub kind: RowKind,
}

/// A class of work; each class has one color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Work {
    /// Moves from global memory to shared memory or registers.
    Load,
    /// Moves between registers and shared memory.
    Shared,
    /// Matrix operations.
    Mma,
    /// Vector arithmetic.
    Alu,
    /// Moves to global memory.
    Store,
    /// Issue of synchronization: arrive, commit, fence.
    Sync,
    /// Loop and index arithmetic, launch.
    Control,
}

/// The cause of a stall. Each cycle of an agent is work or has exactly one of these causes.
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
    /// Waiting for registers or tensor memory to be freed.
    Pool,
    /// Waiting for its turn in the schedule that the run follows.
    Held,
    /// Ended; the CTA's other warps still run.
    Ended,
}

/// The content of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum SpanKind {
    /// Busy with this.
    Work(Work),
    /// Waiting for this.
    Stall(Stall),
    /// A slot holds a tile, or is being filled (`filling`); a barrier is in a phase.
    Hold {
        /// Whether the slot is being written and is not readable yet.
        filling: bool,
    },
}

/// A label of a few words. Short labels, which most are, are stored in the span itself, since a run has millions.
pub type Label = compact_str::CompactString;

/// An interval of time on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Index of the row.
    pub row: u32,
    /// First tick.
    pub start: u64,
    /// One past the last tick.
    pub end: u64,
    /// The content.
    pub what: SpanKind,
    /// Index into [`Timeline::sites`], if it comes from a statement.
    pub site: Option<u32>,
    /// Short label: tile (`A 0,3`), phase (`φ2`), loop index; may be empty.
    pub label: Label,
    /// For stalls: index of the span whose end ended the stall.
    pub woken_by: Option<u32>,
    /// For the work of an engine: index of the span of the operation that started the work.
    pub started_by: Option<u32>,
    /// For waits on an mbarrier: index of the row of its phases.
    pub on: Option<u32>,
    /// For copies by an engine: bytes in flight.
    pub bytes: u64,
}

impl Span {
    /// A span of a row with its content only.
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

/// A point in time that a picture marks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Tick of the mark.
    pub tick: u64,
    /// A word or two: `WAR race`.
    pub label: String,
    /// Index into [`Timeline::sites`] of the statement that showed the fault.
    pub site: u32,
}

/// A move of the schedule that a run followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduledMove {
    /// Tick of the move.
    pub tick: u64,
    /// Index of the row of the agent that moves.
    pub row: u32,
    /// Index into [`Timeline::sites`].
    pub site: u32,
    /// The event of the move.
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
    /// Faults, by time; for a run that hangs, also the waits that never end.
    pub faults: Vec<Mark>,
    /// The moves of the schedule that the run followed, in order; empty without a schedule.
    pub moves: Vec<ScheduledMove>,
    /// Statements.
    pub sites: Vec<SourceLine>,
    /// Last tick. For a run that hangs, somewhat later than the last event, so that the waits that never end are
    /// visible.
    pub end: u64,
    /// Ticks of the run as its report states them: with the launch itself, which has no spans, and without operations
    /// still in flight when the run stopped. `None` for a record without a report.
    pub took: Option<u64>,
    /// The tick after which spans were left out, because there were too many to record.
    pub truncated_at: Option<u64>,
}

/// The label of a wait that never ends.
pub const WAITS_FOR_EVER: &str = "waits for ever";

impl Timeline {
    /// Whether the run hangs.
    pub fn hangs(&self) -> bool {
        self.faults.iter().any(|f| f.label == WAITS_FOR_EVER)
    }
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
