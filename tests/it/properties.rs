//! Properties of generated ring pipelines.

mod bodies;
mod check;
mod mutate;
mod ring;
mod search;

use std::collections::BTreeMap;

pub(crate) use check::time_tiles;

use proptest::prelude::*;
use rayon::prelude::*;
use ring::{Family, Ring, rings};
use warpline_scenarios::{Inputs, compile};
use warpline_sim::report::{FindingKind, Outcome};
use warpline_sim::{Report, RunOptions};
use warpline_verify::{Options, Outcome as Verdicts, Verdict};

fn go(ring: &Ring, text: &str) -> Result<Report, String> {
    let machine = warpline_models::embedded(ring.machine).ok_or("no machine")?;
    let program = compile("ring.pipe", text, &Inputs { set: &BTreeMap::new(), cores: None })
        .map_err(|e| format!("{e:#?}\n{text}"))?;
    let options = RunOptions { timeline: Some(1_000_000), max_events: 5_000_000, ..RunOptions::default() };
    warpline_sim::run(&program, &machine, &options).map_err(|e| format!("{e}\n{text}"))
}

/// Everything a run says, as bytes.
fn bytes(report: &Report) -> String {
    let timeline = report.timeline.as_ref().map(|t| serde_json::to_string(t).unwrap());
    format!("{report:?}{timeline:?}")
}

fn on_threads(n: usize, ring: &Ring, text: &str) -> Vec<String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    pool.install(|| (0..n).into_par_iter().map(|_| bytes(&go(ring, text).unwrap())).collect())
}

proptest! {
    #[test]
    fn rings_run_to_the_end(ring in rings(1..=6i64, 0..=40i64)) {
        let text = ring.text();
        let report = go(&ring, &text).map_err(TestCaseError::fail)?;
        let checks = [
            ("clean", check::clean(&ring, &report)),
            ("time tiles", check::time_tiles(&report)),
            ("modulo stages", check::modulo_stages(&ring, &report)),
            ("each tile once", check::each_tile_once(&ring, &report)),
        ];
        for (name, result) in checks {
            prop_assert!(result.is_ok(), "{name}: {}\n{ring:?}\n{text}", result.unwrap_err());
        }
    }

    #[test]
    fn rings_are_the_same_bytes_however_often_and_on_however_many_threads(ring in rings(1..=6i64, 0..=40i64)) {
        let text = ring.text();
        let one = on_threads(1, &ring, &text);
        let four = on_threads(4, &ring, &text);
        prop_assert!(one.iter().chain(&four).all(|b| *b == one[0]), "{ring:?}");
        prop_assert_eq!(bytes(&go(&ring, &text).map_err(TestCaseError::fail)?), one[0].as_str());
    }

    #[test]
    fn a_broken_ring_is_not_clean(ring in rings(2..=6i64, 15..=40i64)) {
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
fn verdict(ring: &Ring, change: &(dyn Fn(&str) -> String + Sync)) -> Verdict {
    let machine = warpline_models::embedded(ring.machine).unwrap();
    let at = |tiles: i64| {
        let text = change(&Ring { tiles, ..ring.clone() }.text());
        compile("ring.pipe", &text, &Inputs { set: &BTreeMap::new(), cores: None }).ok()
    };
    let given = at(ring.tiles).unwrap();
    warpline_verify::verify(&given, Some(&at), warpline_sim::engine::rules(&machine), Options::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rings_are_proved(ring in rings(1..=6i64, 0..=40i64)) {
        let v = verdict(&ring, &|text| text.to_string());
        prop_assert!(v.outcome == Verdicts::Proved, "{:?} {:#?}\n{ring:?}\n{}", v.outcome, v.violation, ring.text());
    }

    #[test]
    fn a_broken_ring_is_never_proved(ring in rings(2..=6i64, 15..=40i64)) {
        for m in mutate::mutations(&ring) {
            let v = verdict(&ring, &|text| m.apply(text));
            prop_assert!(v.outcome == Verdicts::Violated, "{}: {:?}\n{ring:?}\n{}", m.name, v.outcome, m.apply(&ring.text()));
        }
    }
}

/// Small rings of every family, with their machines.
pub(crate) fn small_rings() -> Vec<(Ring, &'static str)> {
    let of = |family| Ring::small(family, 1, 2, 12).map(|r| (r.clone(), r.machine));
    ring::FAMILIES.into_iter().filter_map(of).collect()
}

/// A ring's broken texts, by name.
pub(crate) fn mutants(ring: &Ring) -> Vec<(&'static str, String)> {
    mutate::mutations(ring).iter().map(|m| (m.name, m.apply(&ring.text()))).collect()
}

/// Two producers take turns on one slot: each skips a phase, and one parity bit cannot tell that.
#[test]
fn producers_in_turn_need_as_many_stages() {
    let ring =
        Ring { family: Family::Tma, machine: "h200", producers: 2, consumers: 1, stages: 1, tiles: 8, other: false };
    let report = go(&ring, &ring.text()).unwrap();
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::ParityAlias), "{:#?}", report.findings);
}
