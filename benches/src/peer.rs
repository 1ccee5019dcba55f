//! The same mix of events on NeXosim, a published discrete-event simulator in Rust.
#![allow(missing_docs)] // what its macros make

use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::Mix;

/// Replays a mix: each event schedules what the run scheduled after its pop. A tick is a nanosecond. NeXosim
/// schedules into the future only, so a delay of 0 is one tick.
#[derive(Serialize, Deserialize)]
struct Replay {
    mix: Mix,
    next: usize,
    pops: u64,
}

#[Model]
impl Replay {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.pushes(cx);
    }

    #[nexosim(schedulable)]
    fn event(&mut self, _: (), cx: &Context<Self>) {
        self.pops += 1;
        self.next += 1;
        self.pushes(cx);
    }

    fn pushes(&mut self, cx: &Context<Self>) {
        while let Some(Some(delay)) = self.mix.get(self.next) {
            let delay = Duration::from_nanos((*delay).max(1));
            cx.schedule_event(delay, schedulable!(Self::event), ()).unwrap();
            self.next += 1;
        }
    }
}

/// Replays the mix on one thread of NeXosim. Returns the simulated nanoseconds at the end, so that the work is not
/// optimized away.
///
/// # Panics
/// If the simulation fails.
pub fn on_nexosim(mix: &Mix) -> u128 {
    let model = Replay { mix: mix.clone(), next: 0, pops: 0 };
    let mut simulation =
        SimInit::with_num_threads(1).add_model(model, Mailbox::new(), "replay").init(MonotonicTime::EPOCH).unwrap();
    simulation.run().unwrap();
    simulation.time().duration_since(MonotonicTime::EPOCH).as_nanos()
}
