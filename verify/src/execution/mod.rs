//! Runs of a bound kernel: the canonical run that decides for every schedule, and runs in other orders.
//!
//! ```text
//!   canonical    one run in one order; happens-before says what every other order does
//!   aligned      agents that begin turns of outer loops together
//!   shared       runs that begin alike are made once
//!   livelock     a state that comes again without anybody having gone on
//!   adversarial  orders that hold one warp back, where the canonical run does not decide
//!   other_values launches with other values of parameters, where a proof settles nothing
//!   random       orders drawn at random, for tests
//! ```

pub(crate) mod adversarial;
pub(crate) mod aligned;
pub(crate) mod canonical;
pub(crate) mod live_variables;
pub(crate) mod livelock;
pub(crate) mod other_values;
pub(crate) mod random;
pub(crate) mod run_time;
pub(crate) mod shared;
