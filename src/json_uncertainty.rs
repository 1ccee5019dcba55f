//! The part of `run --json` that says how sure a time is.

use serde::Serialize;
use warpline_api::{Interval, Uncertainty};

/// How sure the time is.
#[derive(Serialize)]
pub(crate) struct UncertaintyObject {
    traits: String,
    low_cycles: Option<f64>,
    high_cycles: Option<f64>,
    kernels: usize,
    share: f64,
    machine: Option<String>,
    same_copies: bool,
}

/// The part of a run's object.
pub(crate) fn uncertainty_object(u: Uncertainty) -> UncertaintyObject {
    let i = u.interval.as_ref();
    UncertaintyObject {
        traits: u.traits.to_string(),
        low_cycles: i.map(|i| i.low_cycles),
        high_cycles: i.map(|i| i.high_cycles),
        kernels: i.map_or(0, |i| i.kernels),
        share: i.map_or(1.0, Interval::share),
        machine: i.map(|i| i.machine.clone()),
        same_copies: i.is_some_and(|i| i.same_copies),
    }
}
