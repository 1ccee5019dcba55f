//! An invented run for tests of displays. Its numbers mean nothing.

use std::collections::BTreeMap;

use warpline_sim::code::Code;
use warpline_sim::ir::{Grid, Program, Site, Waits};
use warpline_sim::machine::{Kind, Machine, Param, Vendor};
use warpline_sim::report::{
    Fidelity, Finding, FindingKind, Occupancy, Outcome, Report, RoleTime, Utilization, Waiting,
};
use warpline_sim::timeline::{Stall, Timeline, Work};

use warpline_api::Recording;
use warpline_api::Simulation;
use warpline_api::Subject;
use warpline_api::{Sources, Status};
use warpline_study::spread::{Effect, Spread};

const TEXT: &str = "kernel sample(m)\n  all:\n    wait full[0] for 1\n    load A[cta.m, 0] -> a[0]\n";

fn site(line: u32, text: &str) -> Site {
    Site { file: "sample.pipe".into(), line, col: 5, text: text.into() }
}

fn role(name: &str) -> RoleTime {
    RoleTime {
        name: name.into(),
        warps: 2,
        work: BTreeMap::from([(Work::Load, 0.25), (Work::Mma, 0.25)]),
        stalls: BTreeMap::from([(Stall::Mbarrier, 0.5)]),
        at: vec![(0, Stall::Mbarrier, 0.5)],
    }
}

/// A run of 1000 cycles in 2 us without a fault.
pub(crate) fn ran(name: &str) -> Simulation {
    let param =
        |value| Param { value, unit: "MHz".into(), kind: Kind::Documented, source: "made up".into(), spread: None };
    let machine = Machine {
        name: "mill".into(),
        title: "A made-up machine".into(),
        vendor: Vendor::Nvidia,
        arch: "sm_80".into(),
        params: BTreeMap::from([("clock.mhz".to_string(), param(500.0)), ("core.count".to_string(), param(4.0))]),
    };
    let program = Program {
        name: "sample".into(),
        file: "sample.pipe".into(),
        params: vec![("m".into(), 64)],
        symbols: vec![],
        forms: Default::default(),
        needs: vec![],
        grid: Grid { m: 1, n: 1, z: 1, group: 0 },
        cluster: 1,
        cooperative: false,
        atomic_order: vec![],
        warps: 4,
        regs: None,
        waits: Waits::Auto,
        objects: vec![],
        mbars: vec![],
        named: vec![],
        counters: vec![],
        roles: vec![],
        tapes: vec![],
        vars: vec![],
        code: vec![],
        at: vec![],
        sites: vec![site(3, "wait full[0] for 1"), site(4, "load A[cta.m, 0] -> a[0]")],
        loops: vec![],
        lets: vec![("tiles".into(), 2)],
        loose: false,
        opaque_globals: false,
        ended_leave: false,
        reads_checked: false,
    };
    let report = Report {
        outcome: Outcome::Finished,
        cycles: 1000.0,
        time_us: 2.0,
        launch_us: Some(3.0),
        flops: 2e6,
        tflops: 1.0,
        useful_flops: 1.0,
        useful_tflops: 1.0,
        of_peak: Some(0.5),
        scaled: false,
        cycles_per_tile: Some(400.5),
        ctas: 8,
        ctas_of_core: 2,
        waves: 1,
        shared_bytes: 24576,
        shared_free_bytes: 8192,
        occupancy: Occupancy {
            ctas_per_core: 2,
            warps_per_core: 8,
            limit: "shared memory".into(),
            by: vec![("shared memory".into(), 2), ("warps".into(), 8)],
        },
        fidelity: Fidelity::Core,
        launch_cycles: 0.0,
        l2_hit_rate: 0.75,
        l2_looked_up: None,
        dram_read_bytes: 1e6,
        dram_write_bytes: 5e5,
        events: 12345,
        ctas_simulated: 1,
        pace_change: None,
        roles: vec![role("loader"), role("compute")],
        uses: vec![Utilization { resource: "tensor pipe".into(), fraction: 0.5 }],
        bottleneck: "the tensor pipe, in use half of the time".into(),
        findings: vec![],
        reads_checked: (3, 4),
        params_used: [5, 4, 3],
        timeline: None,
    };
    let sources = Sources::from([(program.file.clone(), TEXT.to_string())]);
    Simulation { subject: Subject::new(name, program, machine, sources), report, wall_s: 0.25, spread: None }
}

/// [`ran`] with an empty record.
pub(crate) fn recorded(name: &str) -> Recording {
    Recording {
        name: name.into(),
        timeline: Timeline::default(),
        opening: None,
        cluster: Some(1),
        scheduled: false,
        status: Status::Holds,
        left_out: 0,
        simulation: Some(ran(name)),
    }
}

/// [`ran`] with a race and a hang.
pub(crate) fn faulty(name: &str) -> Simulation {
    let mut simulation = ran(name);
    simulation.report.outcome = Outcome::Hung(vec![Waiting {
        code: Code::Hang,
        agent: "loader w0 of CTA 0".into(),
        site: 0,
        since: 640.0,
        waits_for: "phase 1 of full[0] (1 of 2 arrivals pending)".into(),
        needs: "line 4: load arrives, but its warp has ended".into(),
    }]);
    simulation.report.findings = vec![Finding {
        code: Code::RawShared,
        kind: FindingKind::Raw,
        message: "a[0] is read while tile A 0,0 is still being written".into(),
        site: 0,
        other: Some((1, "written here".into())),
        agent: "compute w2 of CTA 0".into(),
        cycle: 512.5,
        times: 3,
        note: false,
    }];
    let effect = Effect { key: "k".into(), kind: "measured", ends: [1.0, 2.0], cycles: [Ok(1.0), Err("no".into())] };
    simulation.spread = Some(Spread { low_cycles: 1.0, high_cycles: 2.0, numbers: 1, effects: vec![effect] });
    simulation
}
