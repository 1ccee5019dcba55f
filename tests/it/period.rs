//! The steady period twice: as the engine runs into it, and as the maximum cycle ratio of the periodic graph, which knows
//! what waits for what and nothing of when. `docs/period.md` has all scenarios; `WARPLINE_PERIOD=write` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use rayon::prelude::*;
use warpline_sim::engine::graph::{Graph, Kind, graph, resource_name};
use warpline_sim::ir::Program;
use warpline_sim::report::RunOptions;
use warpline_study::period::{Bound, Period, period};

use crate::facts::load;

/// Long enough for a steady state, on few CTAs.
const LONG: &[(&str, f64)] = &[("m", 1024.0), ("n", 1024.0), ("k", 8192.0), ("kv", 16384.0)];

/// Scenarios whose engine beats the bound, and why.
const BEATEN: &[(&str, &str)] = &[(
    "correct/thunderkittens_clc",
    "the clusters that share a core do not get the same share of it; the engine's is the first one's",
)];

struct SearchResult {
    program: Program,
    schedulers: usize,
    graph: Graph,
    period: Period,
    engine: f64,
}

impl SearchResult {
    fn ratio(&self) -> f64 {
        self.period.cycles / self.engine
    }

    /// What the period rests on, in words.
    fn bound(&self) -> String {
        match &self.period.bound {
            Bound::Resource(n) => {
                let name = resource_name(self.schedulers, *n);
                let shared = if self.graph.resident > 1 {
                    format!(", shared by {} CTAs", self.graph.resident)
                } else {
                    String::new()
                };
                format!("{name}, always at work{shared}")
            }
            Bound::Cycle(events) => {
                // Who arrives at a rendezvous and waits elsewhere does not come to it: that is what a generation follows.
                let next = events.iter().cycle().skip(1);
                let hops = events.iter().zip(next).filter(|(e, next)| {
                    matches!(e.kind, Kind::Land(_) | Kind::Woken | Kind::Come | Kind::Ready) || next.kind == Kind::Met
                });
                let lines: std::collections::BTreeSet<u32> = hops.map(|(e, _)| self.program.site(e.pc).line).collect();
                if lines.is_empty() {
                    return "one agent's own instructions".into();
                }
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                format!("the cycle through lines {}", lines.join(", "))
            }
        }
    }
}

fn both(name: &str, set: &[(&str, f64)]) -> Option<SearchResult> {
    let (program, _) = load(name, &[]);
    let set: Vec<_> = set.iter().copied().filter(|(n, _)| program.params.iter().any(|p| p.0 == *n)).collect();
    let (program, machine) = load(name, &set);
    let options = RunOptions::default();
    let graph = graph(&program, &machine, &options).ok()??;
    let period = period(&graph)?;
    let ran = warpline_sim::run(&program, &machine, &options).ok()?;
    let engine = ran.cycles_per_tile.filter(|_| ran.clean())?;
    let schedulers = machine.get("core.schedulers").unwrap_or(1.0) as usize;
    Some(SearchResult { program, schedulers, graph, period, engine })
}

fn all() -> Vec<(&'static str, SearchResult)> {
    let names: Vec<_> = warpline_scenarios::embedded_names()
        .into_iter()
        .filter(|n| !n.starts_with("museum/") && !n.starts_with("global/"))
        .collect();
    names.into_par_iter().filter_map(|n| Some((n, both(n, LONG)?))).collect()
}

#[test]
fn the_engine_never_beats_the_bound_and_meets_it_where_agents_do_not_queue() {
    let all = all();
    for (name, found) in &all {
        let beaten = BEATEN.iter().any(|(n, _)| n == name);
        assert_eq!(found.ratio() > 1.01, beaten, "{name}: {} against {}", found.period.cycles, found.engine);
    }
    let met: Vec<&str> = all.iter().filter(|(_, f)| (f.ratio() - 1.0).abs() < 0.005).map(|(n, _)| *n).collect();
    assert!(met.len() >= 20, "{met:?}");
    for name in ["hopper/tma_warp_specialized", "blackwell/gemm_1sm", "hopper/pingpong", "metal/triple_buffer"] {
        assert!(met.contains(&name), "{name} is not met");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/period.md");
    let text = page(&all);
    if std::env::var("WARPLINE_PERIOD").is_ok_and(|v| v == "write") {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        text,
        "WARPLINE_PERIOD=write writes docs/period.md anew"
    );
}

/// docs/rules.md 46: a ring's step takes the larger of its round trip over its stages and what its tensor work takes.
#[test]
fn a_ring_takes_its_round_trip_over_its_stages_or_its_work() {
    let of = |name, stages: f64| {
        let found = both(name, &[("k", 16384.0), ("stages", stages)]).expect("it has a period");
        let (period, engine) = (found.period.cycles, found.engine);
        assert!((period / engine - 1.0).abs() < 0.005, "{name}, {stages} stages: {period} against {engine}");
        period
    };
    let ring = |stages| of("blackwell/gemm_1sm", stages);
    let (trip, work) = (ring(1.0), ring(8.0));
    for stages in [2.0, 3.0, 4.0, 6.0] {
        let (period, law) = (ring(stages), work.max(trip / stages));
        assert!((period / law - 1.0).abs() < 0.02, "{stages} stages: {period} against the law's {law}");
    }
    // Where the release lags a tile it is another law, and the two still agree.
    for stages in [3.0, 4.0] {
        of("hopper/tma_warp_specialized", stages);
    }
}

fn page(all: &[(&str, SearchResult)]) -> String {
    let mut s = String::from(
        "# The steady period, from dependences alone\n\n\
         Written by `tests/it/period.rs`; nothing here is written by hand. Each scenario has K = 8192 and few CTAs, at `core` fidelity.\n\n\
         **Conclusion.** Where the last share is 100 %, the loop is at its bound, and the last column says what to change. Where it is less,\n\
         agents queue for each other's units: warps that issue, load and multiply at the same time.\n\n\
         The events of a kernel and their dependences do not depend on time. Folded over one period of the main loop they form a graph. Each\n\
         edge has a latency and a number of periods. No execution goes around a cycle faster than the sum of its latencies over the sum of its\n\
         periods. The bound is the largest ratio of a cycle, or the work that a period needs of a resource if that is more\n\
         (`study/src/period.rs`). The engine's period is the mean of a run, including its ends. Waits for registers behind a scoreboard are in\n\
         the graph only where a warp had to wait.\n\n\
         | scenario | steps of a period | cycles a step, bound | the engine's | bound / engine | bound by |\n|---|---|---|---|---|---|\n",
    );
    for (name, f) in all {
        let p = &f.period;
        let note = BEATEN.iter().find(|(n, _)| n == name).map_or(String::new(), |(_, why)| format!("; {why}"));
        let _ = writeln!(
            s,
            "| {name} | {} | {:.1} | {:.1} | {:.1} % | {}{note} |",
            p.steps,
            p.cycles,
            f.engine,
            100.0 * f.ratio(),
            f.bound()
        );
    }
    s
}
