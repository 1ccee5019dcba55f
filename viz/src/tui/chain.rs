//! Causes: what let an operation begin or a wait end. The rule is `warpline_sim::chain`'s.

use super::model::Model;

/// What woke or started an operation: recorded, never guessed.
pub(crate) fn cause(m: &Model, span: u32) -> Option<u32> {
    warpline_sim::chain::cause(&m.t, span)
}
