//! Causes: what let an operation start or a wait end, by the rule of `warpline_sim::chain`.

use super::model::Model;

/// The span that woke or started an operation: recorded, never guessed.
pub(crate) fn cause(m: &Model, span: u32) -> Option<u32> {
    warpline_sim::chain::cause(&m.t, span)
}
