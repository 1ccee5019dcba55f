//! Every fault that the verifier finds has a schedule, and a run that keeps to it meets the fault: without time, and in
//! the simulator.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, Text, embedded, embedded_kernel_of, embedded_names, scenario};
use warpline_sim::engine::rules;
use warpline_sim::ir::Program;
use warpline_sim::machine::Machine;
use warpline_sim::report::{Finding, FindingKind, Outcome as Ended};
use warpline_sim::schedule::{Act, Replay};
use warpline_sim::{Report, RunOptions};
use warpline_verify::{Meeting, Options, Outcome, Trips, Violation, Witness, verify, witness};

use crate::properties::{mutants, small_rings, time_tiles};

/// A kernel at its violation, and that.
pub(crate) struct Broken {
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) machine: Machine,
    pub(crate) violation: Violation,
}

/// The violation of a kernel text.
fn violation(name: &str, machine: &str, text: &Text, set: &BTreeMap<String, i64>) -> Option<Broken> {
    let machine = warpline_models::embedded(machine).unwrap();
    let cores = machine.get("core.count").map(|c| c as i64);
    let symbolic = text.compile_symbolic(&Inputs { set, cores }).ok()?;
    let v = verify(&symbolic, rules(&machine), Options::default());
    if v.outcome != Outcome::Violated {
        return None;
    }
    let violation = v.violation.unwrap();
    let at = |n| Trips::find(&symbolic).unwrap().at(n).unwrap();
    let program = violation.trips.map_or_else(|| symbolic.bind(), |n| at(n).bind());
    Some(Broken { name: name.to_string(), program, machine, violation })
}

/// Every built-in scenario with a fault.
fn scenarios() -> Vec<Broken> {
    let broken = |name: &&str| {
        let (file, text) = embedded(name).unwrap();
        let scenario = scenario(file, text).unwrap();
        let (kernel, source) = embedded_kernel_of(name, &scenario.kernel).unwrap();
        violation(name, &scenario.machine, &Text::read(kernel, source), &scenario.set)
    };
    let names = embedded_names();
    names.iter().filter(|n| n.starts_with("museum/") || n.starts_with("mla/")).filter_map(broken).collect()
}

fn simulate(b: &Broken, w: &Witness) -> Report {
    let timeline = Some(1_000_000);
    let options = RunOptions { schedule: Some(w.schedule.clone()), timeline, ..RunOptions::default() };
    let report = warpline_sim::run(&b.program, &b.machine, &options).unwrap_or_else(|e| panic!("{}: {e}", b.name));
    // Held back by the schedule is a reason like others: every tick has one.
    time_tiles(&report).unwrap_or_else(|e| panic!("{}: {e}", b.name));
    report
}

/// The same kind at the same places; a race whichever access comes first (DEVIATIONS.md 30).
fn is(found: &Finding, fault: &Finding) -> bool {
    use FindingKind::{LifeCycle, ParityAlias, Raw, War, Waw};
    let places = |f: &Finding| {
        let mut p = [Some(f.site), f.other.as_ref().map(|o| o.0)];
        p.sort_unstable();
        p
    };
    let race = |f: &Finding| matches!(f.kind, Raw | War | Waw);
    let part = matches!(fault.kind, ParityAlias | LifeCycle) && places(fault).contains(&Some(found.site));
    (found.kind == fault.kind && (places(found) == places(fault) || part))
        || (race(found) && race(fault) && places(found) == places(fault))
}

/// Holds a fault to its schedule.
#[track_caller]
fn replays(b: &Broken) -> Witness {
    let name = &b.name;
    let w = witness(&b.program, rules(&b.machine), &b.violation, 1_000_000).unwrap_or_else(|| panic!("{name}: none"));
    let mut replay = Replay::new(&b.program, rules(&b.machine), &w.schedule);
    let waiting = replay.to_the_end().unwrap_or_else(|m| panic!("{name}: {}", m.message));
    let report = simulate(b, &w);
    match b.violation.findings.first() {
        Some(fault) => {
            for (how, findings) in [("replay", replay.world.findings()), ("simulator", &report.findings[..])] {
                assert!(findings.iter().any(|f| is(f, fault)), "{name}, {how}: no {fault:#?} in {findings:#?}");
            }
        }
        None => {
            assert!(!waiting.is_empty(), "{name}: somebody can go on");
            let Ended::Hung(list) = &report.outcome else { panic!("{name}: {:?}", report.outcome) };
            let sites = |list: &[warpline_sim::report::Waiting]| list.iter().map(|w| w.site).collect::<Vec<_>>();
            assert_eq!(sites(list), sites(&b.violation.hang), "{name}");
        }
    }
    assert!(w.shortest, "{name}: the search for a shorter one gave up");
    w
}

/// No agent's last move can be left out.
fn none_to_spare(b: &Broken, w: &Witness) {
    let Some(fault) = b.violation.findings.first() else { return };
    for i in 0..w.schedule.moves.len() {
        let mut less = w.schedule.clone();
        let gone = less.moves.remove(i);
        let mut replay = Replay::new(&b.program, rules(&b.machine), &less);
        // One without which the others cannot be made is needed.
        if replay.to_the_end().is_err() {
            continue;
        }
        assert!(!replay.world.findings().iter().any(|f| is(f, fault)), "{}: {gone:?} is to spare", b.name);
    }
}

#[test]
fn every_fault_of_the_built_in_scenarios_has_a_schedule_that_meets_it() {
    let all = scenarios();
    let (mut reversed, mut stale, mut moves) = (0, 0, 0);
    for b in &all {
        let w = replays(b);
        none_to_spare(b, &w);
        reversed += w.pair.is_some_and(|p| p.how == Meeting::Reversed) as usize;
        stale += w.findings.iter().any(|f| f.kind == FindingKind::Stale) as usize;
        moves += w.schedule.moves.len();
    }
    println!(
        "{} faults in {moves} moves; {reversed} in the order that is not meant, {stale} with another tile read",
        all.len()
    );
    assert!(all.len() > 50 && reversed > 10 && stale > 3, "{} faults, {reversed} reversed, {stale} stale", all.len());
}

#[test]
fn every_broken_ring_has_a_schedule_that_meets_its_fault() {
    let mut held = 0;
    for (ring, machine) in small_rings() {
        for (name, text) in mutants(&ring) {
            let text = Text::read("ring.pipe", &text);
            if let Some(b) = violation(&format!("{ring:?} {name}"), machine, &text, &BTreeMap::new()) {
                none_to_spare(&b, &replays(&b));
                held += 1;
            }
        }
    }
    println!("{held} broken rings");
    assert!(held > 50, "{held}");
}

#[test]
fn a_read_that_comes_too_late_finds_another_tile() {
    // The read and the write that overtakes it, in the order that nothing forbids.
    let b = scenarios().into_iter().find(|b| b.name == "museum/m14_mailbox_overwritten/bug").unwrap();
    let w = replays(&b);
    assert_eq!(w.pair.map(|p| p.how), Some(Meeting::Reversed));
    assert!(w.findings.iter().any(|f| f.kind == FindingKind::Stale), "{:#?}", w.findings);
}

#[test]
fn a_schedule_that_does_not_fit_says_which_move() {
    let b = scenarios().into_iter().find(|b| b.name == "museum/m26_pipelined_reuse/bug").unwrap();
    let w = replays(&b);
    let doing: Vec<usize> = (0..w.schedule.moves.len()).filter(|i| w.schedule.moves[*i].act == Act::Does).collect();
    let mut wrong = w.schedule.clone();
    let (x, y) = (doing[1], doing[2]);
    wrong.moves[x].site = wrong.moves[y].site.max(wrong.moves[x].site + 1) % b.program.sites.len() as u32;
    let options = RunOptions { schedule: Some(wrong.clone()), ..RunOptions::default() };
    let timed = warpline_sim::run(&b.program, &b.machine, &options).unwrap_err().to_string();
    let untimed = Replay::new(&b.program, rules(&b.machine), &wrong).to_the_end().unwrap_err();
    assert_eq!(untimed.at, x);
    assert_eq!(timed, untimed.message);
    assert!(timed.starts_with(&format!("move {}: ", x + 1)) && timed.contains("and it performs line"), "{timed}");
}
