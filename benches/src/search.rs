//! Proofs of the ring that Spin searched (`oracles/spin`): by happens-before for every trip count, by the explicit
//! search, and on one long run of many warps.

use std::collections::BTreeMap;
use std::time::Instant;

use warpline_scenarios::{Inputs, Text};
use warpline_sim::protocol::Rules;
use warpline_verify::{Options, Outcome, Settings, search, search_every, verify};

use super::device::peak_kb;

/// A ring with one producer, `consumers` warps and `stages` slots.
fn ring(stages: i64, consumers: i64) -> Text {
    let text = include_str!("../../oracles/spin/tma_ws.pipe.in")
        .replace("{k}", "1024")
        .replace("{stages}", &stages.to_string())
        .replace("{consumers}", &consumers.to_string())
        .replace("{warps}", &(consumers + 1).to_string());
    Text::read("ring.pipe", &text)
}

/// How a row decides its ring.
#[derive(Clone, Copy)]
enum MoveKind {
    /// By happens-before, for every trip count.
    Graph,
    /// By happens-before, on one run.
    OneRun(i64),
    /// By the explicit search, for every trip count.
    SearchEvery,
    /// By the explicit search, for one trip count; with or without reductions.
    Search(i64, bool),
}

/// Stages, consumers and method, in order of the memory needed, so that the peak belongs to the row.
const ROWS: [(i64, i64, MoveKind); 12] = [
    (3, 2, MoveKind::Graph),
    (4, 4, MoveKind::Graph),
    (8, 16, MoveKind::Graph),
    (3, 2, MoveKind::SearchEvery),
    (4, 4, MoveKind::SearchEvery),
    (3, 2, MoveKind::Search(64, true)),
    (4, 4, MoveKind::Search(64, true)),
    (4, 63, MoveKind::OneRun(2_000)),
    (4, 63, MoveKind::OneRun(4_000)),
    (4, 63, MoveKind::OneRun(8_000)),
    (3, 3, MoveKind::Search(64, false)),
    (4, 4, MoveKind::Search(8, false)),
];

/// Prints a row for each ring: result, steps or states, best and median time.
pub(super) fn print(times: usize) {
    let machine = warpline_models::embedded("h200").unwrap();
    let rules = warpline_sim::engine::rules(&machine);
    println!(
        "# best and median of {times}; release; from a text that was read; pairs of trip counts on all threads, the rest on one"
    );
    println!("# spin on the ring of 4 stages and 4 consumers at 64 steps: 48782070 states, 79.9 s");
    println!("how,stages,consumers,steps,found,counted,n,best_s,median_s,per_s,peak_kb");
    for (stages, consumers, how) in ROWS {
        let (mut all, mut last) = (Vec::new(), (String::new(), 0));
        for _ in 0..times {
            let text = ring(stages, consumers);
            let start = Instant::now();
            last = one(&text, how, rules);
            all.push(start.elapsed().as_secs_f64());
        }
        all.sort_by(f64::total_cmp);
        let (name, steps, counted) = match how {
            MoveKind::Graph => ("graph", "all".to_string(), "steps"),
            MoveKind::OneRun(n) => ("graph of one run", n.to_string(), "steps"),
            MoveKind::SearchEvery => ("search", "all".to_string(), "states"),
            MoveKind::Search(n, true) => ("search", n.to_string(), "states"),
            MoveKind::Search(n, false) => ("search without reductions", n.to_string(), "states"),
        };
        let (found, n) = &last;
        let peak = peak_kb().map_or(String::new(), |k| k.to_string());
        println!(
            "{name},{stages},{consumers},{steps},{found},{counted},{n},{:.6},{:.6},{:.0},{peak}",
            all[0],
            all[times / 2],
            *n as f64 / all[0]
        );
    }
}

/// Result, with the number of steps or states.
fn one(text: &Text, how: MoveKind, rules: Rules) -> (String, u64) {
    let at = |n: i64| {
        let set = BTreeMap::from([("k".to_string(), 16 * n)]);
        text.compile(&Inputs { set: &set, cores: None }).ok()
    };
    let settings = Settings::of(10_000_000);
    match how {
        MoveKind::Graph => {
            let set = BTreeMap::from([("k".to_string(), 1024)]);
            let symbolic = text.compile_symbolic(&Inputs { set: &set, cores: None }).unwrap();
            let v = verify(&symbolic, rules, Options::default());
            (named(&v.outcome), v.steps)
        }
        MoveKind::OneRun(n) => {
            let v = verify(&at(n).unwrap(), rules, Options::default());
            (named(&v.outcome), v.steps)
        }
        MoveKind::SearchEvery => {
            let r = search_every(&at, rules, 0, settings);
            (format!("{:?}", r.found), r.states as u64)
        }
        MoveKind::Search(n, reduced) => {
            let r = search(&at(n).unwrap(), rules, 0, Settings { reduced, ..settings });
            (format!("{:?}", r.found), r.states as u64)
        }
    }
}

/// The outcome, without its reasons.
fn named(outcome: &Outcome) -> String {
    format!("{outcome:?}").chars().take_while(char::is_ascii_alphabetic).collect()
}
