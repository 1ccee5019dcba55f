//! Random kernels of a few CTAs that signal each other through global memory, compared with an oracle that tries every
//! order.
//!
//! The oracle uses nothing of [`warpline_sim`]. It keeps its own vector clocks along one order of steps. It reports two
//! conflicting accesses without an order between them, and orders in which no agent can proceed.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::engine::rules;
use warpline_sim::report::FindingKind;
use warpline_verify::{Options, Outcome, verify};

/// CTAs of a kernel.
const CTAS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Store(usize),
    Load(usize),
    /// Counter, amount, whether it releases, whether its scope is the device.
    Add(usize, i64, bool, bool),
    Set(usize, i64, bool),
    /// Counter, value, whether it compares for equality, whether it acquires.
    Wait(usize, i64, bool, bool),
    Fence,
    /// `atom.add` of one, and loads of all blocks where the old value is this one.
    Last(Last),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    counter: usize,
    value: i64,
    release: bool,
    acquire: bool,
    /// Whether a fence follows.
    fence: bool,
}

impl Op {
    fn text(self) -> String {
        let order = |yes: bool, word: &str| if yes { format!(" {word}") } else { String::new() };
        match self {
            Op::Store(x) => format!("store r -> W[{x}, 0]"),
            Op::Load(x) => format!("ldg W[{x}, 0] -> r"),
            Op::Add(c, v, release, gpu) => {
                format!("red.add f[{c}], {v}{} {}", order(release, "release"), if gpu { "gpu" } else { "cta" })
            }
            Op::Set(c, v, release) => format!("st f[{c}], {v}{}", order(release, "release")),
            Op::Wait(c, v, equal, acquire) => {
                format!("wait f[{c}] {} {v}{}", if equal { "==" } else { ">=" }, order(acquire, "acquire"))
            }
            Op::Fence => "fence gpu".into(),
            Op::Last(Last { counter, value, release, acquire, fence }) => {
                let order = match (release, acquire) {
                    (true, true) => " acq_rel",
                    (true, false) => " release",
                    (false, true) => " acquire",
                    (false, false) => "",
                };
                let fence = if fence { "; fence gpu" } else { "" };
                let loads: Vec<String> = (0..CTAS).map(|x| Op::Load(x).text()).collect();
                format!("atom.add f[{counter}], 1 -> old{order}{fence}\n      if old == {value}: {}", loads.join("; "))
            }
        }
    }
}

/// A small generator of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A hand-over that is right, there and back, or one with a few slips.
    fn handed(&mut self) -> [Vec<Op>; CTAS] {
        let consumer = self.below(CTAS as u64) as usize;
        let (equal, fences, back, turns) = (self.one_in(4), self.one_in(3), !self.one_in(3), self.one_in(4));
        let mut kernel: [Vec<Op>; CTAS] = Default::default();
        let signal = |list: &mut Vec<Op>, c: usize| {
            if fences {
                list.push(Op::Fence);
            }
            list.push(Op::Add(c, 1, !fences, true));
        };
        let await_all = |list: &mut Vec<Op>, c: usize, n: i64, equal: bool| {
            list.push(Op::Wait(c, n, equal, !fences));
            if fences {
                list.push(Op::Fence);
            }
        };
        if self.one_in(3) {
            // The CTA that counts last reads what all stored.
            for (i, list) in kernel.iter_mut().enumerate() {
                list.push(Op::Store(i));
                if fences {
                    list.push(Op::Fence);
                }
                let last =
                    Last { counter: 0, value: CTAS as i64 - 1, release: !fences, acquire: !fences, fence: fences };
                list.push(Op::Last(last));
            }
        } else if turns {
            // Each CTA reads what the one before stored, and stores it anew.
            for (i, list) in kernel.iter_mut().enumerate() {
                let place = |list: &mut Vec<Op>| {
                    if i > 0 {
                        list.push(Op::Wait(0, i as i64, equal, true));
                        list.push(Op::Load(0));
                    }
                };
                place(list);
                list.push(Op::Store(0));
                list.push(Op::Set(0, i as i64 + 1, true));
            }
        } else {
            for (i, list) in kernel.iter_mut().enumerate().filter(|(i, _)| *i != consumer) {
                list.push(Op::Store(i));
                signal(list, 0);
            }
            await_all(&mut kernel[consumer], 0, CTAS as i64 - 1, equal);
            (0..CTAS).filter(|i| *i != consumer).for_each(|i| kernel[consumer].push(Op::Load(i)));
            if back {
                signal(&mut kernel[consumer], 1);
                for (i, list) in kernel.iter_mut().enumerate().filter(|(i, _)| *i != consumer) {
                    await_all(list, 1, 1, false);
                    list.push(Op::Store(i));
                }
            }
        }
        for _ in 0..self.below(3) {
            let list = &mut kernel[self.below(CTAS as u64) as usize];
            let at = self.below(list.len().max(1) as u64) as usize;
            if at + 1 >= list.len() {
                continue;
            }
            match self.below(4) {
                0 => drop(list.remove(at)),
                1 => list.swap(at, at + 1),
                _ => {
                    list[at] = match list[at] {
                        Op::Add(c, v, release, gpu) if self.one_in(2) => Op::Add(c, v, !release, gpu),
                        Op::Add(c, v, release, _) => Op::Add(c, v + 1, release, true),
                        Op::Set(c, v, release) => Op::Set(c, v, !release),
                        Op::Wait(c, v, equal, acquire) if self.one_in(2) => Op::Wait(c, v, equal, !acquire),
                        Op::Wait(c, v, equal, acquire) => Op::Wait(c, v - 1 + self.below(3) as i64, !equal, acquire),
                        Op::Store(x) => Op::Load(x),
                        Op::Load(x) => Op::Store(x),
                        Op::Fence => Op::Load(0),
                        Op::Last(last) => Op::Last(match self.below(4) {
                            0 => Last { release: !last.release, ..last },
                            1 => Last { acquire: !last.acquire, ..last },
                            2 => Last { fence: !last.fence, ..last },
                            _ => Last { value: last.value - 1, ..last },
                        }),
                    }
                }
            }
        }
        kernel
    }

    fn cta(&mut self) -> Vec<Op> {
        let mut list = Vec::new();
        for _ in 0..2 + self.below(4) {
            let (c, x) = (self.below(2) as usize, self.below(3) as usize);
            match self.below(12) {
                0..=2 => list.push(Op::Store(x)),
                3 | 4 => list.push(Op::Load(x)),
                5 | 6 => {
                    list.push(Op::Add(c, 1 + self.below(2) as i64, !self.one_in(5), !self.one_in(12)));
                }
                7 if self.one_in(2) => list.push(Op::Set(c, self.below(3) as i64, !self.one_in(5))),
                8 if self.one_in(2) => list.push(Op::Fence),
                9 if self.one_in(3) => {
                    let value = self.below(3) as i64;
                    let (release, acquire, fence) = (!self.one_in(3), !self.one_in(3), self.one_in(3));
                    list.push(Op::Last(Last { counter: c, value, release, acquire, fence }));
                }
                _ => {
                    let most = 1 + self.below(3) as i64;
                    list.push(Op::Wait(c, most, self.one_in(5), !self.one_in(5)));
                }
            }
        }
        list
    }
}

type Clock = [u32; CTAS];

fn join(into: &mut Clock, from: &Clock) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

/// One order of steps so far.
#[derive(Clone)]
struct State {
    at: [usize; CTAS],
    clock: [Clock; CTAS],
    fenced: [Clock; CTAS],
    pending: [Clock; CTAS],
    value: [i64; 2],
    /// What the steps since the last `st` release, of each counter.
    released: [Vec<(Clock, usize, bool)>; 2],
    /// Accesses so far: place, CTA, its clock, whether a write.
    accesses: Vec<(usize, usize, u32, bool)>,
}

/// What some order shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shown {
    race: bool,
    hang: bool,
}

/// `fence gpu`.
fn fence(t: &mut State, a: usize) {
    let pending = t.pending[a];
    join(&mut t.clock[a], &pending);
    let all = t.clock[a];
    join(&mut t.fenced[a], &all);
    t.clock[a][a] += 1;
}

fn explore(kernel: &[Vec<Op>; CTAS], s: &State, shown: &mut Shown, budget: &mut u64) {
    if *budget == 0 || shown.race && shown.hang {
        return;
    }
    *budget -= 1;
    let (mut moved, mut over) = (false, true);
    for a in 0..CTAS {
        let Some(op) = kernel[a].get(s.at[a]).copied() else { continue };
        over = false;
        let mut t = s.clone();
        match op {
            Op::Store(x) | Op::Load(x) => {
                let write = matches!(op, Op::Store(_));
                let unordered = |&(y, b, clock, wrote): &(usize, usize, u32, bool)| {
                    y == x && b != a && (wrote || write) && t.clock[a][b] < clock
                };
                shown.race |= t.accesses.iter().any(unordered);
                t.accesses.push((x, a, t.clock[a][a], write));
            }
            Op::Add(c, _, release, _) | Op::Set(c, _, release) => {
                if let Op::Set(_, v, _) = op {
                    t.value[c] = v;
                    t.released[c].clear();
                }
                if let Op::Add(_, v, ..) = op {
                    t.value[c] += v;
                }
                let gpu = !matches!(op, Op::Add(.., false));
                let from = if release { t.clock[a] } else { t.fenced[a] };
                t.released[c].push((from, a, gpu));
                t.clock[a][a] += 1;
            }
            Op::Wait(c, v, equal, acquire) => {
                if if equal { t.value[c] != v } else { t.value[c] < v } {
                    continue;
                }
                for (from, by, gpu) in t.released[c].clone() {
                    if gpu || by == a {
                        join(if acquire { &mut t.clock[a] } else { &mut t.pending[a] }, &from);
                    }
                }
            }
            Op::Fence => fence(&mut t, a),
            Op::Last(Last { counter: c, value, release, acquire, fence: fenced }) => {
                let old = t.value[c];
                t.value[c] += 1;
                for (from, by, gpu) in t.released[c].clone() {
                    if gpu || by == a {
                        join(if acquire { &mut t.clock[a] } else { &mut t.pending[a] }, &from);
                    }
                }
                let from = if release { t.clock[a] } else { t.fenced[a] };
                t.released[c].push((from, a, true));
                t.clock[a][a] += 1;
                if fenced {
                    fence(&mut t, a);
                }
                for x in (0..CTAS).filter(|_| old == value) {
                    let clock = t.clock[a];
                    let unordered =
                        |&(y, b, at, wrote): &(usize, usize, u32, bool)| y == x && b != a && wrote && clock[b] < at;
                    shown.race |= t.accesses.iter().any(unordered);
                    t.accesses.push((x, a, clock[a], false));
                }
            }
        }
        t.at[a] += 1;
        moved = true;
        explore(kernel, &t, shown, budget);
    }
    shown.hang |= !moved && !over;
}

fn oracle(kernel: &[Vec<Op>; CTAS]) -> Option<Shown> {
    let mut clock = [[0; CTAS]; CTAS];
    (0..CTAS).for_each(|a| clock[a][a] = 1);
    let zero = [[0; CTAS]; CTAS];
    let start = State {
        at: [0; CTAS],
        clock,
        fenced: zero,
        pending: zero,
        value: [0; 2],
        released: Default::default(),
        accesses: Vec::new(),
    };
    let (mut shown, mut budget) = (Shown::default(), 400_000);
    explore(kernel, &start, &mut shown, &mut budget);
    (budget > 0).then_some(shown)
}

fn text(kernel: &[Vec<Op>; CTAS]) -> String {
    let mut text = format!(
        "kernel t()\n  needs sm_90\n  grid {CTAS}   cooperative   warps 1\n  global W: f32[64, 64]   global f: counter[2]\n  reg r: f32[16, 64]\n  all: elect:\n    var old = 0\n"
    );
    for (i, cta) in kernel.iter().enumerate() {
        text += &format!("    if cta.m == {i}:\n");
        cta.iter().for_each(|op| text += &format!("      {}\n", op.text()));
    }
    text
}

/// Checks kernels from a seed; how many were right, at fault, and not decided.
fn campaign(seed: u64, n: usize) -> [usize; 3] {
    let machine = warpline_models::embedded("h200").unwrap();
    let (rules, set) = (rules(&machine), BTreeMap::new());
    let mut dice = Dice(seed);
    let mut counts = [0; 3];
    for _ in 0..n {
        let kernel = if dice.one_in(2) { dice.handed() } else { std::array::from_fn(|_| dice.cta()) };
        let text = text(&kernel);
        let prog = compile("t.pipe", &text, &Inputs { set: &set, cores: Some(4) })
            .unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
        let v = verify(&prog, rules, Options::default());
        let Some(shown) = oracle(&kernel) else { continue };
        let fails = shown.race || shown.hang;
        match &v.outcome {
            Outcome::Proved | Outcome::Bounded { .. } => {
                assert!(!fails, "proved, and some order shows {shown:?}\n{text}");
                counts[0] += 1;
            }
            Outcome::Violated => {
                let x = v.violation.as_ref().unwrap();
                // What was stored twice is no race.
                let other = |k: FindingKind| matches!(k, FindingKind::Coverage | FindingKind::Stale);
                let real = !x.hang.is_empty() || x.findings.iter().any(|f| !other(f.kind));
                assert!(fails || !real, "violated, and no order shows it: {:#?}\n{text}", x.findings);
                counts[1] += 1;
            }
            Outcome::GaveUp { .. } => counts[2] += 1,
        }
    }
    counts
}

#[test]
fn random_flags_get_the_verdict_of_every_order() {
    let [right, wrong, open] = campaign(0x5eed_0027, 1500);
    assert!(right >= 200 && wrong >= 500, "{right} right, {wrong} at fault, {open} not decided");
}

/// A long campaign: `cargo test -p warpline-tests --test it flags -- --ignored`.
#[test]
#[ignore = "minutes"]
fn many_random_flags_get_the_verdict_of_every_order() {
    let counts: Vec<[usize; 3]> = (1..=20).map(|seed| campaign(seed * 0x9e37_79b9, 10_000)).collect();
    println!("right, at fault, not decided: {counts:?}");
}
