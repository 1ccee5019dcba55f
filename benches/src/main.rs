//! Measures and prints one table as CSV: `cargo run --profile dist -p warpline-benches -- PATH-OF-WARPLINE >
//! results/....csv`. Instead of the path: `device` for whole launches, `search` for the explicit search. With the
//! path: `proofs` for proofs of every scenario, `shown` for the viewer, charts and traces.
#![allow(clippy::unwrap_used)] // a measurement that fails ends here

mod device;
mod proofs;
mod search;
mod shown;

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

use warpline_benches::{SCENARIOS, Work, on_binary_heap, on_nexosim, on_own_queue};

/// Repetitions. The table has the best and the median.
const TIMES: usize = 7;

fn seconds<T>(times: usize, mut f: impl FnMut() -> T) -> (f64, f64) {
    let mut all: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            black_box(f());
            start.elapsed().as_secs_f64()
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[0], all[times / 2])
}

/// A fact about this machine; empty if unknown.
fn output(command: &str, args: &[&str]) -> String {
    let out = Command::new(command).args(args).output().map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&out).trim().to_string()
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        info.lines().find_map(|l| l.strip_prefix(key)).map(|l| l.trim_matches([' ', '\t', ':']).to_string())
    };
    let model = of("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    match (of("cpu family"), of("model\t\t"), of("stepping")) {
        (Some(f), Some(m), Some(s)) => format!("{model} (family {f}, model {m}, stepping {s})"),
        _ => model,
    }
}

/// Running or waiting processes over the last minute; empty if unknown.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or_default().to_string()
}

fn main() {
    let machine = std::env::var("MACHINE").unwrap_or_else(|_| {
        format!("{}, {} threads", cpu(), std::thread::available_parallelism().map_or(0, |n| n.get()))
    });
    println!("# machine: {machine}");
    println!("# load before: {}", load());
    println!("# date: {}", output("date", &["-u", "+%Y-%m-%d"]));
    println!("# commit: {}", output("git", &["rev-parse", "--short=12", "HEAD"]));
    println!("# rustc: {}", output("rustc", &["--version"]));
    if std::env::args().nth(1).is_some_and(|a| a == "device") {
        return device::print(TIMES);
    }
    if std::env::args().nth(1).is_some_and(|a| a == "search") {
        return search::print(TIMES);
    }
    if std::env::args().nth(1).as_deref() == Some("proofs") {
        return proofs::print(3, &std::env::args().skip(2).collect::<Vec<_>>());
    }
    if std::env::args().nth(1).is_some_and(|a| a == "shown") {
        return shown::print(TIMES, std::env::args().nth(2).as_deref());
    }
    println!("# best and median of {TIMES}; one thread; release");
    println!("what,scenario,events,best_s,median_s,events_per_s,ns_per_event");
    let row = |what: &str, name: &str, events: u64, (best, median): (f64, f64)| {
        let n = events as f64;
        println!("{what},{name},{events},{best:.6},{median:.6},{:.0},{:.1}", n / best, best * 1e9 / n);
    };
    for (name, set) in SCENARIOS {
        let work = Work::new(name, set);
        let events = work.run().events;
        row("engine", name, events, seconds(TIMES, || work.run()));
        let mix = work.mix();
        let pops = mix.iter().filter(|m| m.is_none()).count() as u64;
        row("engine's queue alone", name, pops, seconds(TIMES, || on_own_queue(&mix)));
        row("BinaryHeap<(time; seq; payload)>", name, pops, seconds(TIMES, || on_binary_heap(&mix)));
        row("nexosim 1.0 events", name, pops, seconds(3, || on_nexosim(&mix)));
    }
    if let Some(program) = std::env::args().nth(1) {
        let run = || {
            let status = Command::new(&program).args(["run", "metal/triple_buffer"]).stdout(Stdio::null()).status();
            assert!(status.is_ok_and(|s| s.success()));
        };
        let (best, median) = seconds(21, run);
        println!(
            "process: run metal/triple_buffer (and its four neighbors),metal/triple_buffer,,{best:.6},{median:.6},,"
        );
        let run = || {
            let args = ["run", "metal/triple_buffer", "--json"];
            let status = Command::new(&program).args(args).stdout(Stdio::null()).status();
            assert!(status.is_ok_and(|s| s.success()));
        };
        let (best, median) = seconds(21, run);
        println!("process: run metal/triple_buffer --json,metal/triple_buffer,,{best:.6},{median:.6},,");
        let run = || Command::new(&program).arg("--version").stdout(Stdio::null()).status();
        let (best, median) = seconds(21, run);
        println!("process: --version,,,{best:.6},{median:.6},,");
    }
}
