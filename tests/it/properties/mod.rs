//! Properties of generated protocols (`warpline-strategies`).

mod check;
mod laws;
mod mutate;
mod named;
mod search;
mod searches;

use std::collections::BTreeMap;

pub(crate) use check::time_tiles;
use proptest::prelude::*;
use rayon::prelude::*;
use warpline_scenarios::{Inputs, Text, compile};
use warpline_sim::report::{FindingKind, Outcome};
use warpline_sim::{Report, RunOptions};
use warpline_strategies::{Bounds, Family, Protocol, protocols};
use warpline_verify::{Options, Outcome as Verdicts, Verdict};

/// Protocols whose slots hold the tiles of both operands in turn.
fn rings(
    stages: std::ops::RangeInclusive<i64>,
    tiles: std::ops::RangeInclusive<i64>,
) -> impl Strategy<Value = Protocol> {
    let families = Family::ALL.into_iter().filter(|f| f.is_ring()).collect();
    protocols(Bounds { families, stages, tiles, ..Bounds::default() })
}

/// As many cases as `PROPTEST_CASES` says, or these.
fn cases(n: u32) -> ProptestConfig {
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default() } else { ProptestConfig::with_cases(n) }
}

fn go(ring: &Protocol, text: &str) -> Result<Report, String> {
    let machine = warpline_models::embedded(ring.machine).ok_or("no machine")?;
    let program = compile("protocol.pipe", text, &Inputs { set: &BTreeMap::new(), cores: None })
        .map_err(|e| format!("{e:#?}\n{text}"))?;
    let options = RunOptions { timeline: Some(1_000_000), max_events: 5_000_000, ..RunOptions::default() };
    warpline_sim::run(&program, &machine, &options).map_err(|e| format!("{e}\n{text}"))
}

/// Everything a run says, as bytes.
fn bytes(report: &Report) -> String {
    let timeline = report.timeline.as_ref().map(|t| serde_json::to_string(t).unwrap());
    format!("{report:?}{timeline:?}")
}

fn on_threads(n: usize, ring: &Protocol, text: &str) -> Vec<String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    pool.install(|| (0..n).into_par_iter().map(|_| bytes(&go(ring, text).unwrap())).collect())
}

proptest! {
    #[test]
    fn protocols_run_to_the_end(ring in any::<Protocol>()) {
        let text = ring.text();
        let report = go(&ring, &text).map_err(TestCaseError::fail)?;
        let mut checks = vec![("clean", check::clean(&ring, &report)), ("time tiles", check::time_tiles(&report))];
        if ring.family.is_ring() {
            checks.push(("modulo stages", check::modulo_stages(&ring, &report)));
            checks.push(("each tile once", check::each_tile_once(&ring, &report)));
        }
        for (name, result) in checks {
            prop_assert!(result.is_ok(), "{name}: {}\n{ring:?}\n{text}", result.unwrap_err());
        }
    }

    #[test]
    fn rings_are_the_same_bytes_however_often_and_on_however_many_threads(ring in rings(1..=6, 0..=40)) {
        let text = ring.text();
        let one = on_threads(1, &ring, &text);
        let four = on_threads(4, &ring, &text);
        prop_assert!(one.iter().chain(&four).all(|b| *b == one[0]), "{ring:?}");
        prop_assert_eq!(bytes(&go(&ring, &text).map_err(TestCaseError::fail)?), one[0].as_str());
    }

    #[test]
    fn a_broken_ring_is_not_clean(ring in rings(2..=6, 15..=40)) {
        let text = ring.text();
        for m in mutate::mutations(&ring) {
            let broken = m.apply(&text);
            let report = go(&ring, &broken).map_err(TestCaseError::fail)?;
            prop_assert!(
                !report.clean(),
                "{}: finished without a finding\n{ring:?}\n{broken}",
                m.name
            );
            prop_assert!(report.outcome != Outcome::Limit, "{}: no end\n{broken}", m.name);
            if let Outcome::Hung(waiting) = &report.outcome {
                prop_assert!(
                    !waiting.is_empty() && waiting.iter().all(|w| !w.waits_for.is_empty() && !w.needs.is_empty()),
                    "{}: {waiting:#?}",
                    m.name
                );
            }
        }
    }
}

/// The verdict on a ring after a change, for every trip count.
fn verdict(ring: &Protocol, change: &(dyn Fn(&str) -> String + Sync)) -> Verdict {
    let machine = warpline_models::embedded(ring.machine).unwrap();
    let text = Text::read("protocol.pipe", &change(&ring.text()));
    let given = text.compile_symbolic(&Inputs { set: &BTreeMap::new(), cores: None }).unwrap();
    warpline_verify::verify(&given, warpline_sim::engine::rules(&machine), Options::default())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn protocols_are_proved(ring in any::<Protocol>()) {
        let v = verdict(&ring, &|text| text.to_string());
        prop_assert!(v.outcome == Verdicts::Proved, "{:?} {:#?}\n{ring:?}\n{}", v.outcome, v.violation, ring.text());
    }

    #[test]
    fn a_broken_ring_is_never_proved(ring in rings(2..=6, 15..=40)) {
        for m in mutate::mutations(&ring) {
            let v = verdict(&ring, &|text| m.apply(text));
            prop_assert!(v.outcome == Verdicts::Violated, "{}: {:?}\n{ring:?}\n{}", m.name, v.outcome, m.apply(&ring.text()));
        }
    }
}

/// Small rings of every family, with their machines.
pub(crate) fn small_rings() -> Vec<(Protocol, &'static str)> {
    let of = |family| Protocol::small(family, 1, 2, 12).map(|r| (r.clone(), r.machine));
    Family::ALL.into_iter().filter(|f| f.is_ring()).filter_map(of).collect()
}

/// A ring's broken texts, by name.
pub(crate) fn mutants(ring: &Protocol) -> Vec<(&'static str, String)> {
    mutate::mutations(ring).iter().map(|m| (m.name, m.apply(&ring.text()))).collect()
}

/// Two producers take turns on one slot: each skips a phase, and one parity bit cannot tell that.
#[test]
fn producers_in_turn_need_as_many_stages() {
    let ring = Protocol {
        family: Family::Tma,
        machine: "h200",
        producers: 2,
        consumers: 1,
        stages: 1,
        tiles: 8,
        other: false,
        ctas: 1,
    };
    let report = go(&ring, &ring.text()).unwrap();
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::ParityAlias), "{:#?}", report.findings);
}

#[test]
fn cluster_barriers_of_several_warps_are_proved() {
    // Another agent arrives last at `cluster.sync`, and goes on at once, in each round of the one run.
    let ring = Protocol::small(Family::Neighbors, 3, 2, 4).unwrap();
    let v = verdict(&ring, &|text| text.to_string());
    assert_eq!(v.outcome, Verdicts::Proved, "{:?}", v.outcome);
}
