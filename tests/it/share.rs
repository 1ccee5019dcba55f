//! Operations of a whole grid, where its CTAs do unequal work: counted, not those of the CTAs simulated times the CTAs.

use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::report::{Fidelity, Outcome, Report, RunOptions};

use crate::facts::load;
use crate::semantics::program;

fn run(program: &Program, machine: &Machine, fidelity: Fidelity) -> Report {
    let r = warpline_sim::run(program, machine, &RunOptions { fidelity, ..RunOptions::default() });
    let r = r.unwrap_or_else(|e| panic!("{}: {e}", program.name));
    assert_eq!(r.outcome, Outcome::Finished, "{}: {:#?}", program.name, r.findings);
    r
}

/// A machine of so many cores.
fn with_cores(name: &str, cores: u32) -> Machine {
    let mut machine = warpline_models::embedded(name).expect("it comes along");
    warpline_models::apply(&mut machine, "core.count", cores as f64).expect("the key exists");
    machine
}

/// A kernel of 60 CTAs (pairs), with one K-tile to multiply as often as they like.
fn kernel(cluster: &str, body: &str) -> String {
    format!(
        "
          grid 12, 5  warps 2  {cluster}
          global A: f16[64, 16]   global B: f16[16, 32]   global C: f16[64, 32]
          shared a: f16[64, 16]   shared b: f16[16, 32]
          reg acc: f32[32, 32]
          all:
            zero acc
            load A[0, 0] -> a;  load B[0, 0] -> b
            barrier
            {body}
        "
    )
}

const MMA: &str = "mma a.rows(warp, 2), b -> acc";

/// Guards and loops that look at the grid, `MMA` standing for the product.
const UNEQUAL: [(&str, &str); 14] = [
    ("", "if cta.m == 0: MMA"),
    ("", "if cta.n < 4: MMA"),
    ("", "if cta.m * 5 + cta.n < 43: MMA\n            else: MMA;  MMA"),
    ("", "for job in cta.id..100 step 60: MMA"),
    ("", "for i in 0..3, j in 0..cta.n: MMA"),
    ("", "if cta.n > 2: exit\n            for i in 0..4: MMA"),
    ("", "for i in 0..4:\n              if cta.m > i and cta.n < 3: MMA\n              else if cta.m > 8: MMA;  MMA"),
    ("", "var n = 0\n            while n * 3 < cta.m:\n              n += 1\n              MMA"),
    ("", "if cta.id * 7 % 5 == 2: MMA"),
    ("", "var n = 0\n            for i in 0..6: if i + cta.m > 9: n += 1\n            for j in 0..n: MMA"),
    ("", "warp 1: if not (cta.m == 3): MMA"),
    ("", "for i in 0..(cta.m > 3 ? 2 : cta.n): MMA"),
    ("cluster 2", "if cta == 0: for i in 0..cta.m: MMA"),
    ("cluster 2", "for i in cta.id..300 step 120: MMA\n            if cluster.m < 2 or cta.n == 4: MMA"),
];

/// A route of many clusters is the route of each: the same copies, with the variables that a walk of the cluster alone
/// finds.
#[test]
fn clusters_that_decide_alike_have_one_route() {
    use warpline_sim::engine::rules;
    use warpline_sim::protocol::{Block, Walker};

    let stores = "store acc -> C.at(32 * cta.m, cta.n)";
    let copies = |body: &str| body.replace("MMA", "load A[cta.m, cta.n] -> a");
    let more = [
        "if cta.m < 3 or cta.n == 2: MMA",
        "let row = min(cta.m, 4), q = (cta.n + 7) / 5\n            if row + q <= 4: MMA",
    ];
    let grids = ["grid 12, 5", "grid 12, 5 group 5", "grid 4, 5, 3"];
    let (machine, mut blocks) = (with_cores("h200", 1), 0);
    for (cluster, body) in UNEQUAL.iter().copied().chain(more.map(|body| ("", body))) {
        for grid in grids {
            let text = kernel(cluster, &format!("{}\n            {stores}", copies(body))).replace("grid 12, 5", grid);
            let program = program(&text);
            let mut walker = Walker::new(&program, rules(&machine), 0);
            let (partition, routes) = walker.routes(Block::whole(&program.grid), true).expect("the control flow ends");
            blocks += routes.len();
            for id in 0..program.grid.len() {
                let at = walker.position(id);
                assert_eq!(program.grid.id(at[0], at[1], at[2]), id);
                let (route, own) = (&routes[partition.of(at)], walker.route_of(id).expect("the control flow ends"));
                assert_eq!((route.length, route.copies.len()), (own.length, own.copies.len()), "{text} {at:?}");
                for (t, of) in route.copies.iter().zip(&own.copies) {
                    assert_eq!((t.pc, t.agent, t.progress), (of.pc, of.agent, of.progress), "{text} {at:?}");
                    assert_eq!(route.vars(t, at), own.vars(of, at), "{text} {at:?}");
                }
            }
            assert!(routes.len() as i64 <= program.grid.len(), "{text}");
        }
    }
    assert!(blocks < 16 * 3 * 60 / 4, "{blocks} routes");
}

/// With one unit the engine executes every CTA, and nothing is left to count.
#[test]
fn what_others_do_is_counted_as_the_engine_would_execute_it() {
    for (cluster, body) in UNEQUAL {
        let p = program(&kernel(cluster, &body.replace("MMA", MMA)));
        let all = run(&p, &with_cores("h200", p.cluster), Fidelity::Core);
        assert!(all.flops > 0.0 && all.ctas_simulated == all.ctas, "{body}: {} CTAs", all.ctas_simulated);
        for cores in [14, 60 * p.cluster] {
            let some = run(&p, &with_cores("h200", cores), Fidelity::Core);
            assert!(some.ctas_simulated < some.ctas, "{body}");
            assert_eq!((some.flops, some.scaled, all.scaled), (all.flops, false, false), "{body}, {cores} cores");
        }
    }
}

#[test]
fn tiles_that_are_not_shared_evenly_are_multiplied_once_each() {
    for (name, m, n, k) in [
        ("hopper/persistent", 4096, 4096, 64),
        ("hopper/persistent", 1024, 3072, 256),
        ("hopper/pingpong", 4096, 2048, 128),
        ("blackwell/gemm_2sm_persistent", 3072, 4096, 128),
    ] {
        let (p, machine) = load(name, &[("m", m as f64), ("n", n as f64), ("k", k as f64)]);
        for fidelity in [Fidelity::Core, Fidelity::Device] {
            let r = run(&p, &machine, fidelity);
            assert_eq!((r.flops, r.scaled), (2.0 * (m * n * k) as f64, false), "{name} {m} {n} {k}");
            assert!((r.tflops - r.flops / r.time_us / 1e6).abs() < 1e-9 * r.tflops, "{name}: {}", r.tflops);
        }
    }
    // Two products of seq x seq x d a head; 256 blocks of queries on 132 cores.
    let (p, machine) = load("attention/fa3", &[("heads", 16.0), ("seq", 2048.0)]);
    assert_eq!(run(&p, &machine, Fidelity::Core).flops, 2.0 * 2.0 * 16.0 * 2048.0 * 2048.0 * 128.0);
}

/// Bytes as well: three of twelve tiles are read, and the last unit has none of them.
#[test]
fn bytes_of_guarded_copies_are_those_of_the_grid() {
    let p = program(
        "
          grid 12  warps 1
          global A: f32[768, 256]   global C: f32[64, 16]
          shared a: f32[64, 256]
          reg r: f32[64, 16]
          all:
            if cta.m < 3: load A[cta.m, 0] -> a
            if cta.m == 11: store r -> C[0, 0]
        ",
    );
    let bytes = (3 * 64 * 256 * 4) as f64;
    let (some, all) =
        (run(&p, &with_cores("a100", 12), Fidelity::Core), run(&p, &with_cores("a100", 1), Fidelity::Core));
    assert_eq!((some.dram_read_bytes, some.dram_write_bytes), (bytes, (64 * 16 * 4) as f64));
    assert!((all.dram_read_bytes / bytes - 1.0).abs() < 0.01, "{}", all.dram_read_bytes);
}

/// What a CTA does follows from the tiles it is handed: the simulated ones are taken for all, tile by tile, and it is said.
#[test]
fn what_is_handed_out_is_scaled_by_its_tiles_and_said_to_be() {
    let (p, machine) = load("correct/thunderkittens_clc", &[]);
    let r = run(&p, &machine, Fidelity::Core);
    // 592 tiles of 256 x 128, four steps of 64.
    assert_eq!((r.flops, r.scaled), (592.0 * 2.0 * 256.0 * 128.0 * 256.0, true));
    assert!(r.of_peak.is_some_and(|p| p < 1.0), "{:?}", r.of_peak);
}

/// A count that takes too long is given up, and it is said.
#[test]
fn a_count_that_takes_too_long_is_given_up() {
    let body = "MMA\n            for j in 0..64: if (cta.id * 7919 + j) % 1009 == 0: MMA".replace("MMA", MMA);
    let p = program(&kernel("", &body).replace("grid 12, 5", "grid 4096, 16"));
    let r = run(&p, &with_cores("a100", 4096), Fidelity::Core);
    assert!(r.scaled && r.flops > 0.0, "{}", r.flops);
}

/// Clusters whose guards differ by their place repeat those of the same route, once the run is long.
#[test]
fn repetitions_of_one_route_are_skipped_in_a_long_run_and_change_nothing() {
    let text = "
          grid 8, 12000  warps 4
          global A: f16[512, 64]   global C: f16[512, 768000]
          shared a: f16[64, 64]
          reg r: f16[16, 64]
          all:
            for i in 0..(cta.n < 3000 ? 2 : 3):
              load A[cta.m, 0] -> a
              barrier
              lds a.rows(warp, 4) -> r
              barrier
            let row = 64 * cta.m
            if cta.n < 11000: store r -> C[row / 64, cta.n].rows(warp, 4)
        ";
    let (program, machine) = (program(text), with_cores("h200", 2));
    let [short, full] = [true, false].map(|skip_repeats| {
        let options = RunOptions { skip_repeats, ..RunOptions::default() };
        let r = warpline_sim::run(&program, &machine, &options).expect("it runs");
        // How many CTAs were simulated differs.
        ((r.cycles, r.flops, r.reads_checked, r.outcome, format!("{:?} {:?}", r.roles, r.uses)), r.ctas_simulated)
    });
    assert_eq!(short.0, full.0);
    assert!(short.1 < full.1, "{} of {} CTAs", short.1, full.1);
}
