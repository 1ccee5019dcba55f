//! `docs/hardware.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value;

use super::read;
use super::record::{
    Bug, Mutant, Observed, Run, emulated, emulated_museum, emulated_mutants, museum, mutants, scenarios,
};

const HEAD: &str = "\
# Verdicts on hardware

What one NVIDIA H200 did with kernels that the verifier proves or refutes, and how fast emitted kernels are. `tests/it/hardware` makes
this page from what `calibrate/hardware` recorded in `calibrate/data`. No test asks for a device.

| what | recorded |
|---|---|
| scenarios, mutants of `cp_async_wgmma` and `pingpong`, times | of the kernels as they are emitted now |
| the other mutants | an hour before, when a wait ended after 0.8 ms ([validation.md](validation.md#waits)); the outcomes do not show it |
| runs of `longer.txt` and under compute-sanitizer | on the day before |

## Method

`warpline emit S --target cuda -o x.cu` writes one CUDA C++ file: a header with one function for each PTX instruction, the kernel with
the roles, loops, barriers and counts of the text, a *reference* kernel without synchronization, and a harness.

```sh
nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o x x.cu                # add -DWL_DELAY -DWL_WATCH for what follows
./x --runs 60                                                                      # against the reference, one line of JSON
./x --time 15 --real                                                               # times
```

* Inputs are small whole numbers, so that results are equal to the last bit. `--real` takes other inputs, for times.
* Every wait on an mbarrier has a deadline (200 ms). After it, the thread reports its line, barrier and parity, and ends the run. With
  `-DWL_WATCH` each warp notes its place, and a second kernel ends a run that hangs at a barrier of the CTA.
* With `-DWL_DELAY` every run but the first delays warps at random before operations, by seed, in one of four ways: now and then a
  little, one warp always, one statement always, rarely long.
* With `-DWL_STAMP` every operation is recorded with its begin and end, for each warp.
* An `alu` with a stated cost (`takes 900`, `takes 600..1200`) is a loop that reads the clock for as long, or for what its CTA draws.

All operations of sm_80 to sm_90a are written, with these exceptions, which are refused with the statement: `mma` of types other than
f16 and bf16; `wgmma` on buffers without swizzle or on columns that are not whole swizzle atoms; parts of accumulators; rows that are not
whole chunks of 16 bytes; matrices of one dimension. Scales of packed matrices (`group`) are not applied. Where a kernel multiplies
registers that it computed itself (`attention/fa3`) there is no reference, and runs are compared with each other only. ptxas adds a
`wgmma.wait_group` to `hopper/tma_wgmma` (C7517), so that kernel runs with one wait more than its text has. [emit.md](emit.md) has other
machines.
";

pub(super) fn page() -> String {
    let mut p = HEAD.to_string();
    let (all, runs, bugs) = (mutants(), scenarios(), museum());
    let proved = all.iter().filter(|m| m.holds).count() + runs.iter().filter(|r| r.holds).count() + bugs.len();
    let odd: Vec<&Mutant> = all.iter().filter(|m| m.holds && !m.observed.fine()).collect();
    let faulty: Vec<&Mutant> = all.iter().filter(|m| !m.holds).collect();
    let seen = faulty.iter().filter(|m| !m.observed.fine()).count();
    let bugs_seen = bugs.iter().filter(|b| !b.bug.fine()).count();
    let _ = write!(
        p,
        "\n## Summary\n\n\
         * {proved} kernels that the verifier proves (scenarios at several sizes, repairs of the museum, mutants it calls harmless): \
         {} were right in every run.\n\
         * {} mutants that it refutes: {seen} were seen to fail, {} were right in all 60 runs.\n\
         * {} published bugs: {bugs_seen} were seen to fail, {} were not in up to 3000 runs.\n",
        proved - odd.len(),
        faulty.len(),
        faulty.len() - seen,
        bugs.len(),
        bugs.len() - bugs_seen
    );
    p.push_str(
        "\nA fault that was not observed may still exist. Most of these are orders that this chip did not take, missing fences between \
         proxies, and life cycles (an `init` that nothing orders) whose CTA starts with clean memory.\n",
    );
    p.push_str("\n## Scenarios\n\n");
    sizes(&mut p, &runs);
    by_kind(&mut p, &faulty);
    by_scenario(&mut p, &all);
    p.push_str("\n## The museum\n\nPublished bugs and their repairs. All repairs gave right results in all runs.\n\n");
    table(&mut p, &bugs);
    p.push_str(
        "\n`racecheck` is compute-sanitizer's, run on ten of them. It does not see copies by TMA and reads by `wgmma`, and was clean on \
         all ten repairs. `synccheck` found nothing.\n",
    );
    emulation(&mut p);
    speed(&mut p);
    p
}

/// What became of published bugs, a row each.
fn table(p: &mut String, bugs: &[Bug]) {
    p.push_str("| bug | the verifier | the device | runs |\n|---|---|---|---|\n");
    for b in bugs {
        let _ = writeln!(p, "| {} | {} | {} | {} |", b.name, b.expected, b.bug.words(), b.runs);
    }
}

/// Kernels for sm_100a on this chip.
fn emulation(p: &mut String) {
    let (runs, bugs, (harmless, run)) = (emulated(), emulated_museum(), emulated_mutants());
    let proved: Vec<&Run> = runs.iter().filter(|r| r.holds).collect();
    let right = proved.iter().filter(|r| r.observed.fine()).count();
    let seen = bugs.iter().filter(|b| !b.bug.fine()).count();
    p.push_str(
        "\n## Kernels for sm_100a, emulated\n\n\
         We have no sm_100a device, and **nothing below ran on one**. The same emitted files, compiled for sm_90a with `-DWL_EMULATE`, ran \
         on this chip.\n\n\
         | | |\n|---|---|\n\
         | emulated | tensor memory and `tcgen05` (products at once, by the issuing thread, at the addresses of the descriptors), copies \
         that signal the other CTA of the pair, `clc` |\n\
         | real | roles, loops, mbarriers, TMA, clusters, counts, coordinates and epilogues of the file |\n\
         | not shown | how hardware reads descriptors, the order of its asynchronous products and loads, fences and waits for them, times |\n\n\
         The head of `emit/src/cuda/emulate.cuh` describes the emulation. The files were emitted half an hour before waits lost their time \
         to sleep ([validation.md](validation.md#waits)), and are otherwise as now.\n\n",
    );
    let _ = write!(
        p,
        "* {} sizes of kernels that the verifier proves: {right} were right in every run, all results compared with the reference \
         ([emit.md](emit.md#sm_100a)).\n* Of the {harmless} mutants of `correct/deepgemm_sm100` that it calls harmless {} were run: {} were \
         right in every run.\n* {} published bugs: {seen} were seen to fail. All repairs were right or ran through in all runs.\n\n",
        proved.len(),
        run.len(),
        run.iter().filter(|o| o.fine()).count(),
        bugs.len()
    );
    sizes(p, &runs);
    p.push_str("\nBugs of the museum that need sm_100a and can be written:\n\n");
    table(p, &bugs);
}

/// The scenarios themselves, a row each, with the sizes.
fn sizes(p: &mut String, runs: &[Run]) {
    p.push_str("| scenario | verdict | sizes and values | results compared | the device |\n|---|---|---|---|---|\n");
    let names: BTreeSet<&str> = runs.iter().map(|r| r.scenario.as_str()).collect();
    for name in names {
        let of: Vec<&Run> = runs.iter().filter(|r| r.scenario == name).collect();
        let sizes: Vec<&str> = of.iter().map(|r| r.arguments.as_str()).filter(|a| !a.is_empty()).collect();
        let fine = of.iter().all(|r| r.observed.fine());
        let compared = if of.iter().all(|r| r.checked > 0) { "all, with the reference" } else { "with each other" };
        let verdict = if of[0].holds { "holds" } else { "violated" };
        let times: u64 = of.iter().map(|r| r.runs).sum();
        let device =
            if fine { format!("right in {times} runs") } else { of.iter().map(|r| r.observed.words()).collect() };
        let _ = writeln!(p, "| {name} | {verdict} | {} | {compared} | {device} |", sizes.join("; "));
    }
}

/// Kinds of fault beside kinds of failure.
fn by_kind(p: &mut String, faulty: &[&Mutant]) {
    p.push_str(
        "\n## Refuted mutants, by finding\n\n\
         60 runs each, 59 with delays, five kernels in turns on the device. The mutants are those of [mutation.md](mutation.md).\n\n\
         | fault | mutants | hang | device fault | wrong or varying result | not observed |\n|---|---|---|---|---|---|\n",
    );
    let mut kinds: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for m in faulty {
        let row = kinds.entry(words(m.letter)).or_default();
        row[0] += 1;
        row[match m.observed {
            Observed::Hang(_) => 1,
            Observed::Fault => 2,
            Observed::Fine => 4,
            _ => 3,
        }] += 1;
    }
    for (kind, [n, hang, fault, wrong, none]) in kinds {
        let _ = writeln!(p, "| {kind} | {n} | {hang} | {fault} | {wrong} | {none} |");
    }
}

fn by_scenario(p: &mut String, all: &[Mutant]) {
    p.push_str(
        "\n## Mutants by scenario\n\n| scenario | proved harmless, right | proved, not right | refuted, seen | refuted, not observed |\n\
         |---|---|---|---|---|\n",
    );
    let names: BTreeSet<&str> = all.iter().map(|m| m.scenario.as_str()).collect();
    for name in names {
        let count = |holds: bool, fine: bool| {
            all.iter().filter(|m| m.scenario == name && m.holds == holds && m.observed.fine() == fine).count()
        };
        let _ = writeln!(
            p,
            "| {name} | {} | {} | {} | {} |",
            count(true, true),
            count(true, false),
            count(false, false),
            count(false, true)
        );
    }
}

/// The words of `tests/it/mutation/fate.rs`.
fn words(letter: char) -> &'static str {
    match letter {
        'd' | 'D' => "deadlock",
        'R' => "RAW race",
        'W' => "WAR race",
        'O' => "WAW race",
        'T' => "stale tile",
        'P' => "parity alias",
        'B' => "transaction bytes",
        'A' => "arrival count",
        'F' => "missing fence",
        'L' => "life cycle",
        'V' => "divergent barrier",
        'S' => "scope",
        'C' => "coverage",
        'G' => "range",
        's' => "a schedule drawn at random is at fault",
        _ => panic!("no refuted mutant has the letter {letter}"),
    }
}

fn speed(p: &mut String) {
    let rows = |path: &str| -> Vec<Value> { read(path).lines().map(|l| serde_json::from_str(l).unwrap()).collect() };
    let cublas = rows("calibrate/data/h200_cublas.jsonl");
    let best = cublas.iter().find(|c| c["m"] == 4096 && c["k"] == 4096).unwrap()["us"].as_f64().unwrap();
    let _ = write!(
        p,
        "\n## Speed at 4096 x 4096 x 4096, bf16\n\nMedian of 15 launches, random inputs; cuBLAS 13.1 through PyTorch on the same device: \
         {best:.1} us. The clock is that of the chip during the launch.\n\n| kernel | us | lowest to highest | before | TFLOP/s | of cuBLAS's \
         time | MHz |\n|---|---|---|---|---|---|---|\n"
    );
    let mut timed = rows("calibrate/data/h200_timed.jsonl");
    timed.retain(|t| t["case"].as_str().unwrap().starts_with("train."));
    timed.sort_by(|a, b| a["us"].as_f64().unwrap().total_cmp(&b["us"].as_f64().unwrap()));
    for t in timed {
        let us = t["us"].as_f64().unwrap();
        let _ = writeln!(
            p,
            "| {} | {us:.1} | {:.1} to {:.1} | {:.1} | {:.0} | {:.2} | {} |",
            t["case"].as_str().unwrap().trim_start_matches("train."),
            t["us_low"].as_f64().unwrap(),
            t["us_high"].as_f64().unwrap(),
            t["again_us"].as_f64().unwrap(),
            2.0 * 4096f64.powi(3) / us / 1e6,
            us / best,
            t["mhz"]
        );
    }
    p.push_str(
        "\n`s2` is two stages. \"Before\" is the median of an hour before, with the kernels as they were emitted then \
         ([validation.md](validation.md#waits)), on a newly requested machine.\n",
    );
}
