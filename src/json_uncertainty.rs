//! The part of `run --json` that says how sure a time is.

use serde::Serialize;
use warpline_api::{Interval, Uncertainty};
use warpline_study::spread::{Effect, Spread};

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
    spread: Option<SpreadObject>,
}

/// The interval that the spread of the machine's numbers gives.
#[derive(Serialize)]
struct SpreadObject {
    low_cycles: f64,
    high_cycles: f64,
    numbers: usize,
    effects: Vec<EffectObject>,
}

#[derive(Serialize)]
struct EffectObject {
    key: String,
    kind: &'static str,
    low: f64,
    high: f64,
    cycles_at_low: Option<f64>,
    cycles_at_high: Option<f64>,
}

/// The part of a run's object.
pub(crate) fn uncertainty_object(u: Uncertainty, spread: Option<&Spread>) -> UncertaintyObject {
    let i = u.interval.as_ref();
    UncertaintyObject {
        traits: u.traits.to_string(),
        low_cycles: i.map(|i| i.low_cycles),
        high_cycles: i.map(|i| i.high_cycles),
        kernels: i.map_or(0, |i| i.kernels),
        share: i.map_or(1.0, Interval::share),
        machine: i.map(|i| i.machine.clone()),
        same_copies: i.is_some_and(|i| i.same_copies),
        spread: spread.map(|s| SpreadObject {
            low_cycles: s.low_cycles,
            high_cycles: s.high_cycles,
            numbers: s.numbers,
            effects: s.effects.iter().map(effect).collect(),
        }),
    }
}

fn effect(e: &Effect) -> EffectObject {
    let [at_low, at_high] = &e.cycles;
    EffectObject {
        key: e.key.clone(),
        kind: e.kind,
        low: e.ends[0],
        high: e.ends[1],
        cycles_at_low: at_low.as_ref().ok().copied(),
        cycles_at_high: at_high.as_ref().ok().copied(),
    }
}
