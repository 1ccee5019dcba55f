//! The engine: a discrete-event simulation of the cores of one cluster, with all their resident CTAs.
//!
//! ```text
//!   queue ──event──▶ agent goes on ──step──▶ protocol::World     (what it means)
//!     ▲                  │                        │
//!     │                  ▼                        ▼ touched
//!     └── wake ◀── timing (servers, latencies) ◀──┘              (how long it takes; movement, products)
//!                        │
//!                        ▼
//!                     ledger: every tick of every agent is work or one stall; spans of the timeline
//! ```
//!
//! Time is in ticks of 1/256 cycle. Events are ordered by time, then by content. An operation takes effect when it
//! starts, and its agent continues when its time is over. Resources are servers with a rate, so contention shows as
//! queueing, not as a factor.

mod agent;
mod cache;
mod costs;
mod cycle;
mod device;
mod dispatch;
mod flights;
pub mod graph;
mod hang;
mod lags;
mod ledger;
mod movement;
mod occupancy;
mod products;
mod pursuit;
mod queue;
mod record;
mod repeat;
mod report;
mod run;
mod server;
mod state;
mod support;
mod timing;
mod turns;
mod whole;

pub use costs::Costs;
pub use occupancy::{admit, occupancy, tmem_columns};
pub use queue::{EventKind, Queue};
pub use run::{run, run_recorded};
pub use server::{Core, Server};
pub use support::{rules, satisfies, supported};
