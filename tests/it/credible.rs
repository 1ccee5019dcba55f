//! No impossible numbers: every built-in scenario, with random sizes, machine numbers and limits, keeps to what any run
//! of any machine keeps to.

use rayon::prelude::*;
use warpline_api::{Request, Setting, builtin_scenarios, load};
use warpline_sim::machine::{KEYS, Machine, Vendor};
use warpline_sim::report::{Fidelity, Outcome, Report};

/// Rounding of sums of fractions.
const NEAR: f64 = 1e-9;
/// Events after which a run is cut off: some end before, most do not.
const EVENTS: u64 = 40_000;
/// Random points of each scenario.
const POINTS: u64 = 3;

/// A small generator of random numbers (splitmix64), equal on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[(self.next() % list.len() as u64) as usize]
    }
}

/// A scenario with one or two other sizes, some other machine numbers, and sometimes a limit of events.
fn point(name: &str, seed: u64) -> Option<Request> {
    let mut request = Request::named(name);
    let subject = load(&request).ok()?;
    let mut dice = Dice(seed);
    for (parameter, value) in subject.program.params.iter().filter(|_| !seed.is_multiple_of(POINTS)) {
        if dice.next().is_multiple_of(3) {
            let other = dice.of(&[1, value / 2, value - 1, value + 1, value * 2]).min(8192);
            request.settings.push(Setting::Parameter { name: parameter.clone(), value: other });
        }
    }
    for key in KEYS.iter().filter(|k| subject.machine.get(k.key).is_some()) {
        // The shape of matrix instructions and the clock's line belong together, and are left.
        if key.key.starts_with("mma.warp") || !dice.next().is_multiple_of(12) || seed % POINTS < 2 {
            continue;
        }
        let now = subject.machine.get(key.key).unwrap_or(1.0);
        let range = key.range();
        let value = (now * dice.of(&[0.25, 0.5, 2.0, 4.0])).clamp(range.low, range.high);
        let value = if now.fract() == 0.0 && !key.unit.contains('/') { value.ceil() } else { value };
        request.settings.push(Setting::MachineNumber { key: key.key.to_string(), value });
    }
    request.max_events = Some(EVENTS);
    request.fidelity = Some(dice.of(&[Fidelity::Core, Fidelity::Device]));
    Some(request)
}

/// What holds of every run; the broken rules.
fn broken(r: &Report, m: &Machine) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut hold = |yes: bool, what: String| {
        if !yes {
            wrong.push(what);
        }
    };
    let share = |f: f64| (-NEAR..=1.0 + NEAR).contains(&f);
    for u in &r.uses {
        hold(share(u.fraction), format!("{} is in use {}", u.resource, u.fraction));
    }
    for role in &r.roles {
        let sum: f64 = role.work.values().chain(role.stalls.values()).sum();
        hold((sum - 1.0).abs() < 1e-6, format!("the times of {} add up to {sum}", role.name));
        let at: f64 = role.at.iter().map(|a| a.2).sum();
        let stalls: f64 = role.stalls.values().sum();
        hold(at <= stalls + 1e-6, format!("{} waits {at} at statements and {stalls} in all", role.name));
    }
    hold(share(r.l2_hit_rate), format!("L2 hits {}", r.l2_hit_rate));
    hold(r.of_peak.is_none_or(share), format!("{:?} of the peak", r.of_peak));
    hold(r.useful_flops <= r.flops * (1.0 + NEAR), format!("{} useful of {}", r.useful_flops, r.flops));
    hold(r.useful_tflops <= r.tflops * (1.0 + NEAR), format!("{} useful of {}", r.useful_tflops, r.tflops));
    let numbers = [r.cycles, r.time_us, r.flops, r.tflops, r.dram_read_bytes, r.dram_write_bytes, r.launch_cycles];
    hold(numbers.iter().all(|x| x.is_finite() && *x >= 0.0), format!("{numbers:?}"));
    hold(r.outcome == Outcome::Finished || r.tflops == 0.0, "a rate of a run that did not end".into());
    hold(r.cycles_per_tile.is_none_or(|c| c <= r.cycles), format!("{:?} cycles a tile", r.cycles_per_tile));
    if m.vendor != Vendor::Paper && r.time_us > 0.0 {
        let rate = (r.dram_read_bytes + r.dram_write_bytes) / r.time_us / 1e3;
        let peak = m.get("memory.dram_gbps").unwrap_or(f64::INFINITY);
        hold(rate <= peak * 1.001, format!("{rate} GB/s of {peak}"));
    }
    wrong
}

#[test]
fn random_values_give_no_impossible_numbers() {
    let names = builtin_scenarios();
    let points: Vec<(&String, u64)> = names.iter().flat_map(|n| (0..POINTS).map(move |i| (n, i))).collect();
    let ran: Vec<(Outcome, Vec<String>)> = points
        .par_iter()
        .enumerate()
        .filter_map(|(i, (name, at))| {
            let request = point(name, i as u64 / POINTS * POINTS + at)?;
            let subject = load(&request).ok()?;
            let report = warpline_api::execute(&subject, None).ok()?;
            let words = |w| format!("{name} {:?} {:?}: {w}", request.settings, report.outcome);
            Some((report.outcome.clone(), broken(&report, &subject.machine).into_iter().map(words).collect()))
        })
        .collect();
    let wrong: Vec<&String> = ran.iter().flat_map(|r| &r.1).collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), ran.len());
    // The values are not so wild that nothing runs, and runs of every kind are among them.
    let count = |f: &dyn Fn(&Outcome) -> bool| ran.iter().filter(|r| f(&r.0)).count();
    let finished = count(&|o| *o == Outcome::Finished);
    let hung = count(&|o| matches!(o, Outcome::Hung(_)));
    let limit = count(&|o| *o == Outcome::Limit);
    assert!(finished > 100 && hung > 5 && limit > 20, "{finished} ended, {hung} hung, {limit} were cut off");
}

#[test]
fn the_roofline_of_a_machine_is_an_upper_bound() {
    for name in ["metal/triple_buffer", "hopper/tma_wgmma", "ampere/marlin_4stage", "cdna/ping_pong"] {
        let subject = load(&Request::named(name)).expect("a built-in scenario");
        let r = warpline_api::execute(&subject, None).expect("it runs");
        let mhz = subject.machine.get("clock.mhz").expect("a clock");
        let cores = subject.machine.get("core.count").expect("cores");
        let peak = subject.machine.get("mma.fp8_flop_per_clk").or(subject.machine.get("mma.f16_flop_per_clk"));
        let ideal = r.flops / (peak.expect("a rate") * cores * mhz);
        assert!(r.time_us >= ideal, "{name}: {} us, and at the peak rate {ideal}", r.time_us);
        assert!((r.useful_flops - r.flops).abs() <= NEAR * r.flops, "{name} has no padding");
    }
}
