//! The semantics: what each operation does to the state of one cluster.
//!
//! [`World::step`] performs an agent's next operation or says what the operation waits for. [`World::land`] ends an
//! asynchronous operation in flight. The caller chooses the next step or landing: the engine by time, a verifier in
//! every order. Both use these semantics.
//!
//! ```text
//!              step(agent)                         land(flight)
//!   agents ───────────────▶ World ◀───────────────────────────── flights
//!                             │  spec        facts that steps do not change, shared by copies   (spec.rs)
//!                             │  agents      program counters, variables                        (agents.rs)
//!                             │  mbars       phase, pending, tx                                 (mbarrier/)
//!                             │  rendezvous  CTA, numbered, warp, cluster barriers              (rendezvous.rs)
//!                             │  streams     groups and counts, in order                        (stream.rs)
//!                             │  memory      which tile version each piece holds                (memory.rs, coverage.rs)
//!                             │  registers   pools that `setmaxnreg` changes                    (op/registers.rs)
//!                             │  flights     asynchronous operations                            (flight.rs)
//!                             │  global      counters, accesses to matrices, tiles of `clc`     (global.rs, counters.rs)
//!                             │  order       happens-before; races show here                    (order.rs, races.rs)
//!                             └─ results     findings                                           (findings.rs)
//! ```
//!
//! Other files, by what they are for:
//!
//! | files | what they have |
//! |---|---|
//! | `step`, `eval`, `setup` | the step of an agent, values of expressions, facts of the text that steps use |
//! | `lanes`, `who`, `named`, `peers` | lanes of a warp, sets of agents, `bar.sync` with a number, memory of other CTAs |
//! | `footprint`, `overlay`, `touches` | slots and pieces of a place, objects that share bytes, places in words |
//! | `fence`, `counters`, `atomic_order` | what fences cover, words of global memory, who comes first at an `atom` |
//! | `place`, `cell`, `blocks`, `forms`, `linear` | one run for all CTAs of a part of the grid: numbers as forms over the coordinates |
//! | `walk`, `tally/` | a CTA's loads and stores, bytes and FLOP, without performing its operations |
//! | `snapshot`, `open`, `parts`, `numbering` | a state up to a shift of its loops, as a proof over all trip counts compares it |
//! | `rings`, `shift`, `recur`, `divisors`, `users`, `needs` | what a snapshot may rotate, shift or leave out, and on what a step depends |
//! | `explain` | why an agent is blocked, in words |
//!
//! Identities, numbers, targets of waits and reasons of a refusal are in `vocabulary.rs`, which depends on no other file
//! here. What an instruction does is in the file of its family (`op/`). A step returns its result. An [`Observer`] receives
//! the objects that changed, and on request the pieces accessed and the decisions made.
//!
//! Asynchronous operations complete by one of three mechanisms, and every wait is a wait on one of them. The first is
//! an ordered stream of the agent's own: `cp.async`, `wgmma` and bulk groups, `vmcnt`, the scoreboard. The others are a
//! phase of an mbarrier and a rendezvous of agents.

/// Implements `Clone` field by field, so that `clone_from` reuses the allocations of every field.
macro_rules! clone_by_field {
    ($name:ident { $($field:ident),+ }) => {
        impl Clone for $name {
            fn clone(&self) -> Self {
                $name { $($field: self.$field.clone()),+ }
            }

            fn clone_from(&mut self, from: &Self) {
                $(self.$field.clone_from(&from.$field);)+
            }
        }
    };
}

mod agents;
mod atomic_order;
mod blocks;
mod cell;
mod counters;
mod coverage;
mod divisors;
mod eval;
mod explain;
mod fence;
mod findings;
mod flight;
mod footprint;
mod forms;
mod global;
mod lanes;
mod linear;
mod mbarrier;
mod memory;
mod named;
mod needs;
mod numbering;
mod observer;
mod op;
mod open;
mod order;
mod overlay;
mod parts;
mod peers;
mod place;
mod races;
mod recur;
mod rendezvous;
mod rings;
mod setup;
mod shift;
mod snapshot;
mod spec;
mod step;
mod stream;
mod tally;
mod touches;
mod users;
mod vocabulary;
mod walk;
mod who;
mod world;

pub use agents::agents_of as agents;
pub use blocks::{Block, Partition, Position};
pub use cell::{Axis, Cell};
pub use coverage::PartialSum;
pub use eval::decisions_at_launch;
pub use flight::Flight;
pub use footprint::{Footprint, PART, TileKey};
pub use forms::Obstacle;
pub use lanes::waits_again;
pub use mbarrier::Mbar;
pub use observer::{Observer, StepRecord};
pub use open::outstanding;
pub use parts::{PartState, StatePart};
pub use place::Placement;
pub use recur::may_recur;
pub use rendezvous::RendezvousKind;
pub use rings::{counts_rounds, may_rotate};
pub use setup::elected_code;
pub use shift::Rates;
pub use snapshot::{Entry, Family, Snapshot};
pub use spec::Rules;
pub use step::{MmaEffect, MoveEffect, Step, StepEffect};
pub(crate) use stream::KINDS as STREAM_KINDS;
pub use stream::StreamKind;
pub use tally::{Shares, Tally, Times, dram_bytes, flops};
pub use vocabulary::{AgentId, AgentInfo, Decision, FlightId, FormId, WaitTarget};
pub use walk::{GlobalTile, GridDependence, Route, Traffic, Walker};
pub use who::AgentSet;
pub use world::World;
