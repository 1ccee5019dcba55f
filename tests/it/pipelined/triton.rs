//! What Triton 3.9 compiles of a matrix product, as read off its PTX and AMDGCN for S = 1 to 5: slots, groups of the
//! prologue, what the loop's wait leaves outstanding, and the drain.

use warpline_scenarios::pipeline::{PassOptions, Schedule, Via};
use warpline_sim::ir::{Class, Instr, Op, Program, Queue};

use super::{expanded, kernel, program};

/// Constant counts of the waits on a queue, in order of the text. A count that depends on the trip count is listed with
/// its largest value.
fn waits(p: &Program, queue: Queue) -> Vec<i64> {
    p.code
        .iter()
        .filter_map(|i| match i {
            Instr::Op { op: Op::Wait(q, n), .. } if *q == queue => {
                let mut most = n.constant();
                n.visit(&mut |e| most = most.max(e.constant()));
                most
            }
            _ => None,
        })
        .collect()
}

fn slots(p: &Program) -> Vec<u32> {
    p.objects.iter().filter(|o| o.class == Class::Shared).map(|o| o.slots).collect()
}

fn made(arch: &str, via: Via, stages: i64) -> (warpline_scenarios::pipeline::Plan, Program) {
    let name = if via == Via::Cp && arch == "sm_90a" || via == Via::TmaJoint { "wgmma" } else { "gemm" };
    let text = kernel(&format!("oracles/triton/{name}.pipe"));
    let ask = PassOptions {
        arch: Some(arch),
        via: Some(via),
        schedule: Some(Schedule::Triton),
        stages: Some(stages),
        guarded: None,
        producers: None,
    };
    let mut e = expanded(&text, &[], &ask);
    let p = program(&e.text, &[]).unwrap();
    (e.plans.remove(0), p)
}

#[test]
fn sm_80_has_s_less_one_buffers_and_two_groups_a_tile() {
    for s in 1..=5 {
        let (plan, p) = made("sm_80", Via::Cp, s);
        if s == 1 {
            assert_eq!((plan.commits, slots(&p)), (0, vec![1, 1]), "no cp.async at all");
            continue;
        }
        assert_eq!(slots(&p), vec![s as u32 - 1; 2]);
        assert_eq!((plan.commits, plan.prologue_commits), (2, 2 * (s - 1)));
        // One wait in the loop, one behind it.
        assert_eq!(waits(&p, Queue::Cp), vec![2 * (s - 2), 0]);
        assert_eq!(plan.barriers, 2, "two bar.sync an iteration");
    }
}

#[test]
fn sm_90_has_a_buffer_more_because_the_product_is_asynchronous() {
    for s in 2..=5 {
        let (plan, p) = made("sm_90a", Via::Cp, s);
        assert_eq!(slots(&p), vec![s as u32; 2]);
        assert_eq!(plan.prologue_commits, 2 * (s - 1));
        assert_eq!(waits(&p, Queue::Cp), vec![2 * (s - 2), 0]);
        assert_eq!(waits(&p, Queue::Wgmma), vec![1, 0]);
    }
}

#[test]
fn sm_90_tma_has_full_barriers_only() {
    for s in 2..=5 {
        let (plan, p) = made("sm_90a", Via::TmaJoint, s);
        assert_eq!(slots(&p), vec![s as u32; 2]);
        let bars: Vec<(u32, u32)> = p.mbars.iter().map(|b| (b.stages, b.count)).collect();
        assert_eq!(bars, [(s as u32, 1)], "S full barriers, no empty ones");
        assert_eq!(plan.prologue_commits, s - 1, "S - 1 times the bytes of both operands");
        assert_eq!(waits(&p, Queue::Wgmma), vec![1, 0]);
        assert_eq!(plan.barriers, 1);
    }
}

#[test]
fn gfx942_goes_through_registers_into_s_less_one_buffers() {
    for s in 2..=5 {
        let (_, p) = made("gfx942", Via::Registers, s);
        assert_eq!(slots(&p), vec![s as u32 - 1; 2]);
    }
}

#[test]
fn gfx950_leaves_eight_loads_a_tile_in_flight() {
    for s in 2..=5 {
        let (plan, p) = made("gfx950", Via::Dma, s);
        assert_eq!(slots(&p), vec![s as u32; 2]);
        let q: i64 = ["a_vm", "b_vm"].iter().map(|n| p.value(n).unwrap()).sum();
        assert_eq!(q, 8, "loads of a tile and wave");
        assert_eq!(q * (s - 1), 8 * (s - 1), "and of the prologue");
        assert_eq!(plan.barriers, 1);
        // The loop's, then S - 1 tiles without a load behind them.
        let epilogue: Vec<i64> = (0..s - 1).rev().map(|left| 8 * left.min(s - 2)).collect();
        let mut want = vec![8 * (s - 2)];
        want.extend(epilogue);
        assert_eq!(wait_values(&p), want);
    }
}

/// Values of the `vmcnt` waits, with the kernel's own numbers.
fn wait_values(p: &Program) -> Vec<i64> {
    waits(p, Queue::Vm)
}
