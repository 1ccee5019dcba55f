//! A schedule in words.

use warpline_sim::protocol::{WaitTarget, World};
use warpline_sim::schedule::{Act, Move, Replay, Schedule, stuck};

use super::run::Setting;
use super::{Meeting, MoveDescription, Pair, Witness};
use crate::execution::canonical::diagnose;

/// Makes the moves once more and says what each does.
pub(super) fn tell(set: &Setting<'_>, schedule: Schedule, mut pair: Option<Pair>, shortest: bool) -> Option<Witness> {
    let mut replay = Replay::new(set.prog, set.rules, &schedule);
    let mut told = Vec::new();
    // What each move started, as numbers of its agent's.
    let mut started = Vec::new();
    loop {
        let brings = replay.landing().map(|f| replay.world.brings(f));
        let before: Vec<u32> = (0..replay.world.agents().len() as u32).map(|a| replay.started(a)).collect();
        let Some(m) = replay.go().ok()? else { break };
        started.push(before[m.agent as usize]..replay.started(m.agent));
        let world = &replay.world;
        let mut touches = match m.act {
            Act::Does => world.touches(m.agent, world.pc(m.agent) - 1),
            Act::Waits | Act::Breaks => world.touches(m.agent, world.pc(m.agent)),
            Act::Ends => Vec::new(),
            Act::Lands(_) => brings.unwrap_or_default(),
        };
        touches.extend(completed(world, replay.changed()));
        told.push(MoveDescription { agent: world.agent_name(m.agent), site: m.site, act: m.act, touches });
    }
    if let Some(p) = &mut pair
        && p.how == Meeting::Unordered
    {
        let landed = |n: u32| schedule.moves.contains(&Move { act: Act::Lands(n), ..schedule.moves[p.first] });
        if started[p.first].clone().any(|n| !landed(n)) {
            p.how = Meeting::UnderWay;
        }
    }
    let mut hang = Vec::new();
    if let Some(waiting) = stuck(&replay.world) {
        replay.world.missing_bytes();
        let mut blocked = vec![None; replay.world.agents().len()];
        for (a, pc, on) in waiting {
            blocked[a as usize] = Some((pc, on));
        }
        hang = diagnose(&replay.world, &blocked);
    }
    let findings = replay.world.findings().iter().filter(|f| !f.note).cloned().collect();
    Some(Witness { schedule, told, pair, findings, hang, shortest })
}

/// Phases that the last move completed.
fn completed(world: &World<'_>, changed: &[WaitTarget]) -> Vec<String> {
    let mut list = Vec::new();
    for on in changed {
        if let WaitTarget::Mbar(ix) = on
            && let Some(phase) = world.mbar(*ix).phase.checked_sub(1)
        {
            let (name, cta) = world.mbar_label(*ix);
            let of = if world.program().cluster > 1 { format!(" of CTA {cta}") } else { String::new() };
            list.push(format!("completes phase {phase} of {name}{of}"));
        }
    }
    list
}
