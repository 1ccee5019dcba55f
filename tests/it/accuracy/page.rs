//! `docs/accuracy.md`, from the rows.

use std::fmt::Write as _;

use super::b200::Sweep;
use super::clock::{Clock, Times};
use super::h200::{Row, choices};
use super::others::Row as Other;
use super::table::{Errors, percent, signed};

const HEAD: &str = "# Accuracy

What the simulator predicts beside what was measured, row by row. `tests/it/accuracy.rs` recomputes this page and holds it to the
rows; nothing here is written by hand. Runs are of `device` fidelity.

Machine numbers come from documents and micro-benchmarks, cited in `models/*.toml`. No number was chosen to meet a time below, with one
exception that says so: the clock of the B200 sweep, which its source does not record. What a CTA's start and stores take on the H200, and the
most its L2 slices deliver, was read with clocks and counters inside kernels of the second table. A row's clock is an input where
it was measured, because it moves with load. Error is predicted / measured - 1 in time; means are of its size.

";

fn summary(s: &mut String, name: &str, e: &Errors) {
    let _ = writeln!(
        s,
        "| {name} | {} | {} | {} | {} | {} |",
        e.n,
        percent(e.mean),
        signed(e.bias),
        percent(e.p95),
        percent(e.worst)
    );
}

/// The whole page.
pub(super) fn page(sample: &[Row], ours: &[Row], sweep: &Sweep, others: &[Other], clock: (&Clock, &Times)) -> String {
    let mut s = HEAD.to_string();
    s += "| measurements | rows | mean error | bias | 95th percentile | worst |\n|---|---|---|---|---|---|\n";
    summary(&mut s, "[Triton's bf16 products on an H200](#h200)", &Errors::of(sample.iter().map(Row::error)));
    let plain = || ours.iter().filter(|r| !r.apart());
    summary(&mut s, "[more of them, ours](#h200-more)", &Errors::of(plain().map(Row::error)));
    let all = Errors::of(sweep.rows.iter().map(|r| r.error(sweep.mhz)));
    summary(&mut s, "[one SM of a B200 over stages](#b200)", &all);
    let waiting = sweep.rows.iter().filter(|r| !sweep.saturated(r)).map(|r| r.error(sweep.mhz));
    summary(&mut s, "its rows that more stages would help", &Errors::of(waiting));
    s += "\n<a id=\"h200\"></a>\n## Triton's bf16 products on an H200\n\n";
    s += "`calibrate/data/h200_triton_gemm_sample.csv`: 4096^3, `ptr` is `hopper/cp_async_wgmma`, `tma` is `hopper/tma_wgmma`; cycles are \
          `sm__cycles_elapsed.max`, hits `lts__t_sector_hit_rate`, caches cold. Predicted / measured.\n\n";
    rows(&mut s, sample);
    s += "\nThe stage count that would be chosen:\n\n| kernel and tile | chosen | best | costs more |\n|---|---|---|---|\n";
    for c in choices(sample) {
        let _ = writeln!(s, "| {} | {} | {} | {} |", c.name, c.chosen, c.best, percent(c.costs));
    }
    s += "\n<a id=\"h200-more\"></a>\n## More of them, ours\n\n";
    s += "`calibrate/data/h200_gemm.csv`, the same kernels by `calibrate/probes/gemm.py` in another session: more tiles, warps and sizes. \
          The last 110 were measured once the model was done, and stood at 10 % then. Rules of the compiler came from them (when both operands' \
          loads are in flight at one stage, which products ptxas serialises, rows that do not start with a line), and three overheads \
          became medians over all rows (what a CTA's start takes in the two kernels, and in `launch.cta`). Rows marked * are not in the summary, because they are \
          compiled to something else than the kernels here say: element by element, where n or k is no multiple of 16, or with \
          accumulators in memory, where a thread has 256 of them.\n\n";
    rows(&mut s, ours);
    s += "\n<a id=\"b200\"></a>\n## One SM of a B200 over stages\n\n";
    let _ = writeln!(
        s,
        "`calibrate/data/published/b200_stage_sweep.csv` (SemiAnalysisAI/microbench-blackwell), `blackwell/gemm_1sm`, one output tile and \
         K = 131072, everything in L2 that fits. The clock fitted to all rows is {} MHz. Cycles of a K-tile, predicted / measured, and the \
         knee (the first stage count within 3 % of the best).\n\n| tile | knee | by stages |\n|---|---|---|",
        sweep.mhz
    );
    let knees = sweep.knees();
    for (tile, list) in sweep.by_tile() {
        let knee =
            knees.iter().find(|k| k.tile == tile).map_or("-".into(), |k| format!("{} / {}", k.predicted, k.measured));
        let cell = |r: &&super::b200::Row| {
            format!("{}: {:.0} / {:.0} ({})", r.stages, r.cycles, r.measured(sweep.mhz), signed(r.error(sweep.mhz)))
        };
        let _ = writeln!(s, "| {tile} | {knee} | {} |", list.iter().map(cell).collect::<Vec<_>>().join(", "));
    }
    s += "\n<a id=\"others\"></a>\n## Others' results\n\nRatios of two results, so that a clock nobody recorded drops out, and two times that were measured in cycles; the kernels are the nearest there are here, and no number was chosen to meet a row.\n\n";
    s += "| what | predicted | measured | error | source | why |\n|---|---|---|---|---|---|\n";
    for r in others {
        let (p, m, e) = (r.predicted, r.measured, signed(r.error()));
        let digits = if m > 1e5 { 0 } else { 3 };
        let _ = writeln!(s, "| {} | {p:.digits$} | {m:.digits$} | {e} | {} | {} |", r.what, r.source, r.why);
    }
    of_the_clock(&mut s, clock.0, clock.1);
    s + REASONS
}

fn of_the_clock(s: &mut String, c: &Clock, times: &Times) {
    let (idle, full) = (c.line.mhz(0.0), c.line.mhz(1.0));
    let _ = write!(
        s,
        "\n<a id=\"clock\"></a>\n## The clock under tensor load\n\nA row's clock above is an input. Where nobody measured it, it is the machine file's one number, or with \
         `--clock sustained` a line: {idle:.0} MHz less {:.0} MHz x the share of the tensor cores' rate that a kernel reaches \
         (`clock.sustained_idle_mhz`, `clock.sustained_full_mhz` of `models/h200.toml`; the first set below, products of 100 us and more, shares of \
         {:.0} to {:.0} %). The share is FLOP over what all tensor cores do in the cycles of the launch, bf16. \
         Errors of the clock at the measured share, mean of their size, bias, worst.\n\n| rows | of them | the line | one number |\n|---|---|---|---|\n",
        idle - full,
        c.shares.0 * 100.0,
        c.shares.1 * 100.0,
    );
    let cell = |e: &Errors| format!("{}, {}, {}", percent(e.mean), signed(e.bias), percent(e.worst));
    for (name, line, fixed) in &c.sets {
        let _ = writeln!(s, "| {name} | {} | {} | {} |", line.n, cell(line), cell(fixed));
    }
    *s += "\nAnd of the time in microseconds, with nothing measured as an input but in the first column: the simulator finds the share, and with \
          `--clock sustained` the clock at which the line gives that clock back.\n\n\
          | rows | of them | at the row's clock | `--clock sustained` | one number |\n|---|---|---|---|---|\n";
    for (name, [own, found, fixed]) in times {
        let _ = writeln!(s, "| {name} | {} | {} | {} | {} |", own.n, cell(own), cell(found), cell(fixed));
    }
    *s += "\nThe line knows Triton's products to 2 %, in three series of runs, and takes 5 % off other kernels that kept their clock at the \
          same utilisation, where one number is nearer. (That their times come out nearer with it than at the clock they had is no merit of the \
          line: the simulator is too fast there, and the two errors have opposite signs.) What else moves it (operands, heat, how launches follow one another) is not \
          recorded with the rows; others measured 13.5 % between constant and random operands on one B200 at the same cycles \
          (rhrnald/benchmark). So it is off unless asked for: without the flag, or with `--clock given`, the clock is the number of the machine file \
          or of `--set machine.clock.mhz=...` (DEVIATIONS.md 2). Other machines have no such line, since nobody measured one.\n";
}

fn rows(s: &mut String, rows: &[Row]) {
    *s += "| kernel | m, n, k | tile | warps | stages | MHz | cycles | error | L2 hits, % | DRAM read, MB | written, MB |\n";
    *s += "|---|---|---|---|---|---|---|---|---|---|---|\n";
    let mb = |(p, m): (f64, f64)| format!("{:.0} / {:.0}", p / 1e6, m / 1e6);
    for r in rows {
        let _ = writeln!(
            s,
            "| {}{} | {} | {} | {} | {} | {:.0} | {:.0} / {:.0} | {} | {:.1} / {:.1} | {} | {} |",
            r.variant,
            if r.apart() { "*" } else { "" },
            r.sizes.map(|x| x.to_string()).join(", "),
            r.tile.map(|x| x.to_string()).join("x"),
            r.warps,
            r.stages,
            r.mhz,
            r.cycles.0,
            r.cycles.1,
            signed(r.error()),
            r.hits.0 * 100.0,
            r.hits.1 * 100.0,
            mb(r.read),
            mb(r.written),
        );
    }
}

const REASONS: &str = "
## Where it is off, and why

* **One stage.** Nothing overlaps, so every cycle of the path counts once a step; what is missing are the re-initialisations of the
  mbarrier between the loads (TMA) and the spread of latencies of single lines (`ptr`), 7 to 15 %.
* **Four CTAs of 64x128 on a core, two stages.** As many loads in flight as the slices can just serve: a server without spread is
  used to the last cycle there, hardware to nine tenths. The same shows, smaller, in every row between waiting and full. So two, three
  and four stages of 64x128 come out within 4 % of each other (`ptr`), and which is called the best hangs on a few cycles; hardware is
  17 % slower with two.
* **`tma` with 64x128 and 128x128.** CTAs that read the same lines are merged on their way to L2 only while they ask within some 100 cycles of
  each other. Triton's make descriptors before they load, for 2,900 to 6,000 cycles, and are not in step; the same kernels emitted with
  equal prologues take 14 and 5 % fewer cycles, and as many as Triton's where their CTAs begin 1,000 to 2,000 apart
  ([validation.md](validation.md#l2)).
* **Two L2 halves just overfull** (BF16, tiles of 256 rows and columns together on the B200; 8192x8192x1024 on the H200): the cache
  here drops the least recently used tile and so loses everything at once; hardware loses some of it.
* **Hits of tiles with 256 columns.** Requests for one line are merged on their way to L2 if they are of one GPC, four at most; here only
  in a launch's first wave, and later those of the two SMs of a TPC, but all of them. The lookups are too many, so the hit rate is too high.
* **512^3**: a launch of a few microseconds; the first pass through the instruction cache is not in the model.
* **Clocks.** The measured rows of one kernel differ by up to 8 % between sessions with no change but the clock.

Not here: what gau-nernst's ladder tried behind v6 (v7a to v7c, 2 to 4 % more in a later run), HipKittens' choices of waves and of an
order of tiles for the XCDs (their kernels are not written here), and **translation of addresses**:
no row here shows a TLB on its own. Latencies of DRAM with misses in it are cited as the far end of `memory.dram_latency` in `models/`
(B200 838 to 1163 cycles beyond 2 GiB, MI210 588 to 665), but no published or own row walks memory so that pages, not bytes, decide; the largest
matrices above are 256 MiB.
";
