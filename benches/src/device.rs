//! Whole launches: the time of a prediction, and how it grows with the problem.

use std::time::Instant;

use warpline_benches::Work;

/// Peak memory of this process in kB; `None` if the system does not report it.
pub(super) fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.trim().trim_end_matches(" kB").parse().ok()
}

/// Prints a row for each launch, in order of size, so that the peak of memory belongs to the row.
pub(super) fn print(times: usize) {
    println!("# best and median of {times} of a launch at device fidelity, repetitions skipped; one thread; release");
    println!("scenario,tile,size,ctas,events,best_s,median_s,peak_kb");
    for size in [512, 1024, 2048, 4096, 8192, 16384] {
        for (name, tile) in [
            ("hopper/cp_async_wgmma", [128, 128, 64]),
            ("hopper/tma_wgmma", [128, 128, 64]),
            ("hopper/cp_async_wgmma", [64, 64, 32]),
        ] {
            let regs = if tile[0] == 64 { 72 } else { 232 };
            let set = [("m", size), ("n", size), ("k", size), ("tile_m", tile[0]), ("tile_n", tile[1])];
            let set: Vec<_> = set.into_iter().chain([("tile_k", tile[2]), ("regs", regs)]).collect();
            let work = Work::launch(name, &set);
            let mut found = Vec::new();
            let mut last = None;
            for _ in 0..times {
                let start = Instant::now();
                last = Some(work.run());
                found.push(start.elapsed().as_secs_f64());
            }
            found.sort_by(f64::total_cmp);
            let Some(r) = last else { continue };
            let tile = tile.map(|x| x.to_string()).join("x");
            let peak = peak_kb().map_or(String::new(), |k| k.to_string());
            println!("{name},{tile},{size},{},{},{:.6},{:.6},{peak}", r.ctas, r.events, found[0], found[times / 2]);
        }
    }
}
