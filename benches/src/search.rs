//! The search of every order, on the ring that Spin searched (`oracles/spin`).

use std::collections::BTreeMap;
use std::time::Instant;

use warpline_scenarios::{Inputs, compile};
use warpline_verify::{Searched, Settings, search, search_every};

/// One producer, `consumers` warps, `stages` slots: the kernel of `tests/it/verify/spin.rs`.
fn ring(steps: i64, stages: i64, consumers: i64) -> String {
    format!(
        "kernel tma_ws(k = {k}, stages = {stages})
  let tiles = k / 16
  grid 1   warps {warps}
  global A: f16[64, k]
  shared a[stages]: f16[64, 16]
  mbar full[stages] (1)   mbar empty[stages] ({consumers})
  role load = warp 0
  role use[{consumers}] = warps 1..{warps}
  all:
    warp 0: elect: init full, empty;  fence mbarrier_init
    barrier
  load: elect:
    for i in 0..tiles:
      wait empty[i % stages] for i / stages - 1
      arrive full[i % stages] expect bytes(a)
      tma A[0, i] -> a[i % stages] signals full[i % stages]
  use:
    for i in 0..tiles:
      wait full[i % stages] for i / stages
      lds a[i % stages] : A[0, i] -> r
      alu fma 64 x 16 uses r
      arrive empty[i % stages] per warp
",
        k = 16 * steps,
        warps = consumers + 1
    )
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
