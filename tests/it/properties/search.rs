//! The verifier that decides from one run, held against a search of every order that knows nothing of happens-before.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::report::FindingKind;
use warpline_strategies::{Family, Protocol};
use warpline_verify::{Options, Outcome, SearchResult, Settings, search, verify};

use super::mutate::mutations;

/// States a search may look at; a ring that needs more is counted and left out.
const STATES: usize = 3_000;

/// What both say of a kernel: `None` where the search is too large or the kernel is refused.
fn both(ring: &Protocol, text: &str) -> Option<(Outcome, Vec<FindingKind>, SearchResult)> {
    let machine = warpline_models::embedded(ring.machine).unwrap();
    let program = compile("protocol.pipe", text, &Inputs { set: &BTreeMap::new(), cores: None }).ok()?;
    let rules = warpline_sim::engine::rules(&machine);
    let searched = search(&program, rules, 0, Settings::of(STATES));
    let verdict = verify(&program, rules, Options::default());
    let kinds = verdict.violation.iter().flat_map(|v| v.findings.iter().map(|f| f.kind)).collect();
    (searched.found != SearchResult::TooMany).then_some((verdict.outcome, kinds, searched.found))
}

#[test]
fn one_run_says_what_every_order_says() {
    let (mut held, mut large) = (0, 0);
    for family in Family::ALL {
        for (consumers, stages, tiles) in [(1, 1, 2), (1, 2, 2), (1, 2, 3)] {
            let Some(ring) = Protocol::small(family, consumers, stages, tiles) else { continue };
            let text = ring.text();
            let texts: Vec<(String, String)> = std::iter::once(("as it is".to_string(), text.clone()))
                // Mutations are written for rings of two stages and more.
                .chain(mutations(&ring).iter().filter(|_| stages > 1).map(|m| (m.name.to_string(), m.apply(&text))))
                .collect();
            for (name, text) in texts {
                let Some((outcome, kinds, found)) = both(&ring, &text) else {
                    large += 1;
                    continue;
                };
                held += 1;
                let decided = !matches!(outcome, Outcome::GaveUp { .. });
                // A fence is a rule of memory, and a parity can flip back without harm in these few steps: no order shows it.
                let only = [FindingKind::Fence, FindingKind::ParityAlias, FindingKind::LifeCycle];
                let unseen = !kinds.is_empty() && kinds.iter().all(|k| only.contains(k));
                let wrong = outcome == Outcome::Violated;
                if decided && wrong != (found != SearchResult::Clean) && !(wrong && unseen) {
                    println!("{ring:?} {name}: one run says {outcome:?} {kinds:?}, the search {found:?}\n{text}");
                    panic!("they differ");
                }
            }
        }
    }
    println!("{held} kernels held against each other, {large} too large");
    assert!(held > 60, "{held} held, {large} too large");
}
