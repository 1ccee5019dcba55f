//! The work that benchmarks measure: runs of scenarios, and the mix of events of a run.
//!
//! ```text
//!   scenario ──▶ Work ──run──▶ Report                     the engine as a whole
//!                  └──mix──▶ Mix ──▶ on_own_queue,        the same pushes and pops
//!                                    on_binary_heap,      on three queues
//!                                    on_nexosim
//! ```
//!
//! # Tour
//!
//! `benches/README.md` has the results and the commands. A [`Mix`] is the sequence of pushes and pops of a run, so that other queues and
//! simulators can be measured on the same work.
//!
//! ```
//! use warpline_benches::{Work, on_binary_heap, on_own_queue};
//!
//! let work = Work::new("ampere/naive", &[("k", 256)]);
//! let mix = work.mix();
//! // Both pop as many events. Their sums add different payloads.
//! assert_eq!(on_own_queue(&mix).0, on_binary_heap(&mix).0);
//! ```
#![allow(clippy::unwrap_used)] // a measurement that fails ends here

mod peer;
pub mod view;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpline_scenarios::{Inputs, compile_for, embedded, embedded_kernel_of, scenario};
use warpline_sim::engine::{EventKind, Queue, run_recorded};
use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::report::Fidelity;
use warpline_sim::{Report, RunOptions};

pub use peer::on_nexosim;

/// Scenarios with long loops, one for each family of synchronization, with values that make them long.
pub const SCENARIOS: &[(&str, &[(&str, i64)])] = &[
    ("metal/triple_buffer", &[("m", 1024), ("n", 1024), ("k", 65536)]),
    ("ampere/marlin_4stage", &[("m", 64), ("n", 2048), ("k", 131_072)]),
    ("hopper/tma_warp_specialized", &[("m", 1024), ("n", 2048), ("k", 1_048_576)]),
    ("hopper/cp_async_wgmma", &[("m", 1024), ("n", 1024), ("k", 524_288)]),
    ("blackwell/gemm_1sm", &[("k", 1_048_576)]),
    ("blackwell/level2_2sm_fixed", &[("m", 1024), ("n", 1024), ("k", 1_048_576)]),
    ("cdna/two_step_ahead", &[("m", 1024), ("n", 1024), ("k", 524_288)]),
];

/// Pushes (ticks until the event) and pops, in the order of a run.
pub type Mix = Vec<Option<u64>>;

/// A kernel and its machine.
#[derive(Debug)]
pub struct Work {
    /// The scenario's name.
    pub name: &'static str,
    program: Program,
    machine: Machine,
    options: RunOptions,
}

impl Work {
    /// A built-in scenario with other values.
    ///
    /// # Panics
    /// If there is no such scenario.
    pub fn new(name: &'static str, set: &[(&str, i64)]) -> Work {
        let (file, text) = embedded(name).unwrap();
        let s = scenario(file, text).unwrap();
        let (kernel, text) = embedded_kernel_of(name, &s.kernel).unwrap();
        let machine = warpline_models::embedded(&s.machine).unwrap();
        let mut values = s.set;
        values.extend(set.iter().map(|(k, v)| ((*k).to_string(), *v)));
        let inputs = Inputs { set: &values, cores: machine.get("core.count").map(|c| c as i64) };
        let program = compile_for(&machine.arch, kernel, text, &inputs).unwrap();
        // Simulate everything: no repetition is skipped.
        let options = RunOptions { skip_repeats: false, ..RunOptions::default() };
        Work { name, program, machine, options }
    }

    /// The same as a whole launch, as `run` simulates it.
    ///
    /// # Panics
    /// If there is no such scenario.
    pub fn launch(name: &'static str, set: &[(&str, i64)]) -> Work {
        Work { options: RunOptions { fidelity: Fidelity::Device, ..RunOptions::default() }, ..Work::new(name, set) }
    }

    /// Runs the kernel.
    ///
    /// # Panics
    /// If the machine refuses it.
    pub fn run(&self) -> Report {
        warpline_sim::run(&self.program, &self.machine, &self.options).unwrap()
    }

    /// The pushes and pops of a run.
    ///
    /// # Panics
    /// If the machine refuses the kernel.
    pub fn mix(&self) -> Mix {
        let mut mix = Some(Vec::new());
        run_recorded(&self.program, &self.machine, &self.options, &mut mix).unwrap();
        mix.unwrap()
    }
}

/// Replays the mix on a binary heap of (time, sequence number, payload). Returns the number of pops and a sum over
/// their times.
pub fn on_binary_heap(mix: &Mix) -> (u64, u64) {
    let mut heap: BinaryHeap<Reverse<(u64, u64, u64)>> = BinaryHeap::new();
    let (mut now, mut seq, mut pops, mut sum) = (0u64, 0u64, 0u64, 0u64);
    for op in mix {
        match op {
            Some(delay) => {
                heap.push(Reverse((now + delay, seq, seq ^ 0x55)));
                seq += 1;
            }
            None => {
                if let Some(Reverse((at, _, v))) = heap.pop() {
                    now = at;
                    pops += 1;
                    sum = sum.wrapping_mul(31).wrapping_add(at ^ (v & 1));
                }
            }
        }
    }
    (pops, sum)
}

/// Replays the mix on the engine's own queue.
pub fn on_own_queue(mix: &Mix) -> (u64, u64) {
    let mut queue = Queue::default();
    let (mut now, mut seq, mut pops, mut sum) = (0u64, 0u32, 0u64, 0u64);
    for op in mix {
        match op {
            Some(delay) => {
                queue.push(now + delay, EventKind::Go { seat: 0, agent: seq & 0xff });
                seq += 1;
            }
            None => {
                if let Some((at, _)) = queue.pop() {
                    now = at;
                    pops += 1;
                    sum = sum.wrapping_mul(31).wrapping_add(at);
                }
            }
        }
    }
    (pops, sum)
}
