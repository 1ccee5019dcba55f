//! The search of every order, on the ring that Spin searched (`oracles/spin`).

use std::collections::BTreeMap;
use std::time::Instant;

use warpline_scenarios::{Inputs, compile};
use warpline_verify::{Searched, Settings, search, search_every};

/// One producer, `consumers` warps, `stages` slots.
fn ring(steps: i64, stages: i64, consumers: i64) -> String {
    include_str!("../../oracles/spin/tma_ws.pipe.in")
        .replace("{k}", &(16 * steps).to_string())
        .replace("{stages}", &stages.to_string())
        .replace("{consumers}", &consumers.to_string())
        .replace("{warps}", &(consumers + 1).to_string())
}

/// Prints a row a search: what is reduced, which trip counts, states, the best and the middle time.
pub(super) fn print(times: usize) {
    let machine = warpline_models::embedded("h200").unwrap();
    let rules = warpline_sim::engine::rules(&machine);
    println!(
        "# best and median of {times}; one thread; release; spin on the second ring at 64 steps: 48782070 states, 79.9 s"
    );
    println!("stages,consumers,steps,reduced,found,states,best_s,median_s,states_per_s");
    let rows = [
        (3, 2, None, true),
        (4, 4, None, true),
        (3, 2, Some(64), true),
        (4, 4, Some(64), true),
        (3, 3, Some(64), false),
        (4, 4, Some(8), false),
    ];
    for (stages, consumers, steps, reduced) in rows {
        let at = |n: i64| {
            let text = ring(n, stages, consumers);
            compile("ring.pipe", &text, &Inputs { set: &BTreeMap::new(), cores: None }).ok()
        };
        let settings = Settings { states: 10_000_000, reduced, checked: false };
        let mut all = Vec::new();
        let mut last: Option<Searched> = None;
        for _ in 0..times {
            let start = Instant::now();
            last = Some(match steps {
                Some(n) => search(&at(n).unwrap(), rules, 0, settings),
                None => search_every(&at, rules, 0, settings),
            });
            all.push(start.elapsed().as_secs_f64());
        }
        all.sort_by(f64::total_cmp);
        let Some(r) = last else { continue };
        let steps = steps.map_or("all".to_string(), |n| n.to_string());
        let rate = r.states as f64 / all[0];
        println!(
            "{stages},{consumers},{steps},{reduced},{:?},{},{:.6},{:.6},{rate:.0}",
            r.found,
            r.states,
            all[0],
            all[times / 2]
        );
    }
}
