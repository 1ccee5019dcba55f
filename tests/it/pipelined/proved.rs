//! Every expansion of the loops at hand, proved.

use std::collections::BTreeSet;

use rayon::prelude::*;
use warpline_scenarios::pipeline::{PassOptions, Schedule, Via};
use warpline_verify::Outcome;

use super::{decided, expanded, holds, kernel, machine};

/// Machines, with the ways of copies they have.
const MACHINES: [(&str, &[Via]); 6] = [
    ("m4-max", &[Via::Sync]),
    ("v100", &[Via::Sync, Via::Registers]),
    ("a100", &[Via::Registers, Via::Cp]),
    ("h200", &[Via::Cp, Via::Tma, Via::TmaJoint]),
    ("mi300x", &[Via::Sync, Via::Registers, Via::Dma]),
    ("mi355x", &[Via::Registers, Via::Dma]),
];

const KERNELS: [&str; 9] =
    ["gemm", "copy2", "dequant", "attention", "three", "chained", "registers", "conditional", "unread"];

#[test]
fn expansions_hold_for_every_trip_count() {
    let mut cases = Vec::new();
    for name in KERNELS {
        for (on, vias) in MACHINES {
            for via in vias {
                // All of the simplest loop, and of the others what differs most.
                for schedule in [Schedule::NumStages, Schedule::Triton, Schedule::Multistage] {
                    let all = name == "gemm";
                    for stages in 0..=4 {
                        for guarded in [false, true] {
                            let usual = schedule == Schedule::NumStages && (stages == 1 || stages == 3) && !guarded;
                            let other = schedule != Schedule::NumStages && stages == 3 && guarded;
                            if all || usual || other {
                                cases.push((name, on, *via, schedule, stages, guarded));
                            }
                        }
                    }
                }
            }
        }
    }
    for schedule in [Schedule::NumStages, Schedule::Triton, Schedule::Multistage] {
        for via in [Via::Cp, Via::Tma, Via::TmaJoint] {
            cases.extend((1..=4).map(|stages| ("wgmma", "h200", via, schedule, stages, stages == 2)));
        }
    }
    let bounded: BTreeSet<&str> = cases
        .into_par_iter()
        .filter_map(|(name, on, via, schedule, stages, guarded)| {
            let from = if name == "wgmma" { "triton" } else { "tilelang" };
            let text = kernel(&format!("oracles/{from}/{name}.pipe"));
            let (rules, arch) = machine(on);
            let ask = PassOptions {
                arch: Some(&arch),
                via: Some(via),
                schedule: Some(schedule),
                stages: Some(stages),
                guarded: Some(guarded),
                producers: None,
            };
            let e = expanded(&text, &[], &ask);
            let v = decided(&e.text, &[], rules);
            holds(&v, &format!("{name} on {on}, {ask:?}"), &e.text);
            (v.outcome != Outcome::Proved).then_some(name)
        })
        .collect();
    assert_eq!(bounded, BTreeSet::new(), "each is proved for every trip count");
}

#[test]
fn reads_into_registers_that_nothing_uses_are_proved() {
    let text = kernel("oracles/tilelang/unread.pipe").replace("        alu fma 128 x 8 uses fa -> acc\n", "");
    let (rules, arch) = machine("m4-max");
    let ask = PassOptions { arch: Some(&arch), via: Some(Via::Sync), stages: Some(1), ..PassOptions::default() };
    let e = expanded(&text, &[], &ask);
    let v = decided(&e.text, &[], rules);
    assert_eq!(v.outcome, Outcome::Proved);
}
