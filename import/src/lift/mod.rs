//! From a kernel's text to a program.
//!
//! ```text
//!                     each warp
//!   text ──facts──▶ ┌────────────────┐ trees ──merge──▶ one tree ──iterations──▶ loops that a program has
//!                   │ walk           │                                               │
//!   launch ───────▶ │ loops, effects │                       Program ◀──emit── objects of memory, slots
//!                   └────────────────┘
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `ways`, `build` | the order of these steps, and other ways where the first one gives no program |
//! | `launch` | values of a launch, symbols over them, cases that are lifted apart |
//! | `facts` | facts of the text that hold for every launch |
//! | `walk`, `loops`, `effects` | the operations of one warp, as a `tree` of conditions and loops |
//! | `merge` | one tree of all warps |
//! | `iterations` | loops of the tree in a form that the program can state |
//! | `memory` | shared memory as objects with slots and pieces; barriers; accesses at places that are not known |
//! | `emit` | the code of the program |
//! | `timed` | what a run charges beyond the protocol |
//! | `variants` | the programs of all outcomes of conditions over the launch |

mod build;
mod effects;
mod emit;
mod facts;
mod iterations;
pub mod launch;
mod loops;
mod memory;
mod merge;
mod timed;
mod tree;
mod variants;
mod walk;
mod ways;

use warpline_sim::ir::{ParamId, Program};

pub use facts::room::room_of;
pub use facts::threads::{block_of, leaves_block_open, may_have_rows_of_warps};
pub use facts::unordered::never_ordered_behind_init;
pub use facts::unwaited::never_waited_for;
pub use launch::capped::Capped;
pub use launch::clusters::lift;
pub use launch::one_launch::{OneLaunch, in_launches};
pub use launch::possible_launch::{Later, PossibleLaunch};
pub use launch::{Argument, Launch};
pub use memory::objects::UNKNOWN_GLOBAL;
pub(crate) use timed::loaded::{Loaded, loads_global};
pub use timed::pressure::load_order;
pub use variants::Variants;

/// The unit of addresses in other CTAs of the cluster: `address + REMOTE * (cta + 1)`.
const REMOTE: i64 = 1 << 24;

/// A condition over the launch that selects operations and is not a comparison of trip counts. Both outcomes are
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// The symbol, 0 or 1.
    pub symbol: ParamId,
    /// Line of the branch.
    pub line: u32,
}

/// The largest number of free conditions of a kernel: every combination of their outcomes is checked.
const MOST_FREE: usize = 11;

/// A kernel as a program.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The program.
    pub program: Program,
    /// The assumptions of the lift, each with the first line that needed it.
    pub assumptions: Vec<(String, u32)>,
    /// Symbols for which both values are checked.
    pub free: Vec<Free>,
    /// Symbols of which every value is checked, as large values are one.
    pub capped: Vec<Capped>,
    /// Symbols and what they stand for.
    pub meaning: Vec<(String, String)>,
    /// Symbols that are computed from the same arguments, so that some combinations of their values are impossible. A
    /// fault that is found with such a combination may not be a fault.
    pub related: Option<String>,
    /// Line of a wait for a word of global memory that the kernel also stores: threads may be in order by it.
    pub waits_for_word: Option<u32>,
    /// What data may decide otherwise than the program has it: a proof of the program is one for some data.
    pub partial: Option<String>,
    /// What the program leaves open, so that it is not proved. Its faults count.
    pub unproved: Option<String>,
    /// Values of all symbols that occur together in some launches, if symbols are related.
    pub launches: Vec<Vec<(String, i64)>>,
    /// The symbols in this launch, in order.
    pub bound: Vec<launch::BoundSymbol>,
    /// Line of a loop that stands for any number of iterations, as data decide: the program is one to prove and not to run.
    pub cut: Option<u32>,
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Conditions over the launch under which the program is the kernel, each with its outcome.
    pub under: Vec<(launch::BoundSymbol, bool)>,
    /// The kernel under the other outcomes.
    pub others: Vec<Lifted>,
    /// The kernel without the accesses that its program takes to happen always. A fault of this kernel is one in any case.
    pub without: Option<Later>,
    /// The kernel in which what differs by iteration may be anything in each. A proof of it is one of the kernel.
    pub numbered: Option<Box<Lifted>>,
    /// The same where each loop whose length differs by iteration has a step.
    pub stepped: Option<Box<Lifted>>,
    /// Whether the program takes what differs by iteration to be the same in each, or to change a few times.
    differs: bool,
    /// Line of the first access at a place that is not known, which covers more bytes than it touches.
    unknown_at: Option<u32>,
}
