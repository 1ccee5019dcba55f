//! The rows of the page by static alternatives: a roofline, and the closed form of a pipelined loop.

use std::fmt::Write as _;

use warpline_sim::machine::Machine;

use super::b200::{self, Sweep};
use super::compiled::Row as Compiled;
use super::h200::Row;
use super::table::{Errors, percent};

/// A loop over K-tiles of a matrix product.
pub(super) struct Loop {
    /// Rows, columns and depth of a tile.
    pub(super) tile: [f64; 3],
    pub(super) stages: f64,
    /// Bytes of an element of the operands.
    pub(super) bytes: f64,
    /// Whether TMA brings the tiles.
    pub(super) tma: bool,
}

/// A product of which the table has a row.
struct Product {
    sizes: [f64; 3],
    steps: Loop,
    /// CTAs that fit on a core.
    resident: f64,
    mhz: f64,
}

fn number(m: &Machine, key: &str) -> f64 {
    m.get(key).unwrap_or_else(|| panic!("{} has no {key}", m.name))
}

/// Cycles of the roofline: the work of the matrix units and the bytes of DRAM, whichever takes longer.
fn roofline(m: &Machine, matrix: f64, bytes: f64, mhz: f64) -> f64 {
    matrix.max(bytes / (number(m, "memory.dram_gbps") * 1e3 / mhz))
}

impl Loop {
    /// Floating-point operations of a core in a cycle.
    fn rate(&self, m: &Machine) -> f64 {
        number(m, if self.bytes > 1.0 { "mma.f16_flop_per_clk" } else { "mma.fp8_flop_per_clk" })
    }

    /// Bytes that a step brings.
    fn brought(&self) -> f64 {
        let [rows, cols, depth] = self.tile;
        (rows + cols) * depth * self.bytes
    }

    /// Cycles of a step on one core with so many resident CTAs: `max(RT / stages, II)`. RT is the time from the issue of
    /// a step's copies to the end of its products. II is the time of its most used resource.
    fn step(&self, m: &Machine, resident: f64) -> f64 {
        let [rows, cols, depth] = self.tile;
        let umma = m.get("umma.latency").is_some();
        // A `wgmma` has 64 rows and reads B for them; a `tcgen05.mma` has 128, or takes the time of 128.
        let (taken, again) = if umma { (rows.max(128.0), 1.0) } else { (rows, rows / 64.0) };
        let tensor = 2.0 * taken * cols * depth / self.rate(m);
        let shared = (rows + again * cols) * depth * self.bytes / number(m, "memory.shared_bytes_per_clk");
        let port = self.brought() / number(m, "memory.l2_bytes_per_clk");
        let product = number(m, if umma { "umma.latency" } else { "wgmma.latency" });
        let copy = match self.tma {
            true => number(m, "tma.latency"),
            false => number(m, "memory.l2_latency") + number(m, "memory.cp_async_extra"),
        };
        let round = copy + port + tensor.max(shared) + product;
        (round / self.stages).max(resident * tensor.max(shared).max(port))
    }
}

impl Product {
    /// Cycles by the roofline and by the closed form.
    fn predicted(&self, m: &Machine) -> (f64, f64) {
        let ([rows, cols, depth], cores) = (self.sizes, number(m, "core.count"));
        let matrix = 2.0 * rows * cols * depth / self.steps.rate(m) / cores;
        let bytes = (rows * depth + depth * cols + rows * cols) * self.steps.bytes;
        let roof = roofline(m, matrix, bytes, self.mhz);
        let [tile_rows, tile_cols, tile_depth] = self.steps.tile;
        let ctas = (rows / tile_rows).ceil() * (cols / tile_cols).ceil();
        let resident = self.resident.min((ctas / cores).ceil());
        let waves = (ctas / (cores * resident)).ceil();
        let loops = waves * (depth / tile_depth).ceil() * self.steps.step(m, resident);
        (roof, loops.max(roof))
    }
}

fn triton(r: &Row) -> Product {
    Product {
        sizes: r.sizes.map(|x| x as f64),
        steps: Loop { tile: r.tile.map(|x| x as f64), stages: r.stages as f64, bytes: 2.0, tma: r.variant == "tma" },
        resident: r.resident,
        mhz: r.mhz,
    }
}

/// The plain products of compiled kernels, whose name says all: `gemm_4096x4096x2048_128x128x64_w4_s3`.
fn compiled(r: &Compiled) -> Option<Product> {
    let mut words = r.name.split('_');
    let tma = match words.next()? {
        "gemm" => false,
        "tma" | "tmaloop" => true,
        _ => return None,
    };
    let mut three = || -> Option<[f64; 3]> {
        let list: Vec<f64> = words.next()?.split('x').map(|x| x.parse().ok()).collect::<Option<_>>()?;
        list.try_into().ok()
    };
    let (sizes, tile) = (three()?, three()?);
    let stages = words.find_map(|w| w.strip_prefix('s'))?.parse().ok()?;
    Some(Product { sizes, steps: Loop { tile, stages, bytes: 2.0, tma }, resident: r.resident, mhz: r.mhz })
}

/// Errors of the predictors on one set of rows; the last two may not apply.
struct Line {
    name: &'static str,
    simulator: Errors,
    roofline: Errors,
    closed: Option<Errors>,
}

/// A set of products with measured and simulated cycles.
fn products(name: &'static str, machine: &str, rows: &[(Product, (f64, f64))]) -> Line {
    let machine = warpline_models::embedded(machine).expect("a built-in machine");
    let of = |by: &dyn Fn(&Product) -> f64| Errors::of(rows.iter().map(|(p, cycles)| by(p) / cycles.1 - 1.0));
    Line {
        name,
        simulator: Errors::of(rows.iter().map(|(_, (simulated, measured))| simulated / measured - 1.0)),
        roofline: of(&|p| p.predicted(&machine).0),
        closed: Some(of(&|p| p.predicted(&machine).1)),
    }
}

/// One core of a B200: the data stays in L2, so the roofline has the core's port in place of DRAM. Each predictor has
/// the clock that suits it best, as the simulator has.
fn core(sweep: &Sweep) -> Line {
    let machine = warpline_models::embedded("b200").expect("a built-in machine");
    let steps = |r: &b200::Row| Loop {
        tile: r.tile.1.map(|x| x as f64),
        stages: r.stages as f64,
        bytes: if r.tile.0 == "BF16" { 2.0 } else { 1.0 },
        tma: true,
    };
    let of = |by: &dyn Fn(&Loop) -> f64| {
        let predicted: Vec<f64> = sweep.rows.iter().map(|r| by(&steps(r))).collect();
        let at = |mhz: f64| {
            let error = |(r, cycles): (&b200::Row, &f64)| cycles / r.measured(mhz) - 1.0;
            Errors::of(sweep.rows.iter().zip(&predicted).map(error))
        };
        b200::clocks().map(at).min_by(|a, b| a.mean.total_cmp(&b.mean)).expect("a clock")
    };
    let peak = |l: &Loop| {
        let matrix = 2.0 * l.tile.iter().product::<f64>() / l.rate(&machine);
        matrix.max(l.brought() / number(&machine, "memory.l2_bytes_per_clk"))
    };
    Line {
        name: "[one SM of a B200 over stages](#b200)",
        simulator: Errors::of(sweep.rows.iter().map(|r| r.error(sweep.mhz))),
        roofline: of(&peak),
        closed: Some(of(&|l| l.step(&machine, 1.0))),
    }
}

/// The section of the page.
pub(super) fn section(s: &mut String, sample: &[Row], ours: &[Row], sweep: &Sweep, ptx: &[Compiled]) {
    let plain =
        |rows: &[Row]| -> Vec<_> { rows.iter().filter(|r| !r.apart()).map(|r| (triton(r), r.cycles)).collect() };
    let gemm: Vec<_> = ptx.iter().filter_map(|r| Some((compiled(r)?, r.cycles))).collect();
    let h100 = warpline_models::embedded("h100").expect("a built-in machine");
    let lines = [
        products("[Triton's bf16 products on an H200](#h200)", "h200", &plain(sample)),
        products("[more of them, our own runs](#h200-more)", "h200", &plain(ours)),
        core(sweep),
        Line {
            name: "[compiled kernels on an H100](#compiled), both lists",
            simulator: Errors::of(ptx.iter().map(Compiled::error)),
            roofline: Errors::of(ptx.iter().map(|r| roofline(&h100, r.matrix, r.bytes, r.mhz) / r.cycles.1 - 1.0)),
            closed: None,
        },
        products("their plain products", "h100", &gemm),
    ];
    *s += "\n<a id=\"alternatives\"></a>\n## The same rows by static alternatives\n\n\
          Computed from the same machine files, occupancies and clocks, without a run: mean error, bias, worst. The FLOP of compiled kernels are those that the simulator counts.\n\n\
          - **Roofline.** The FLOP at the peak matrix rate of all cores, or each matrix once at the peak bandwidth of DRAM, whichever takes longer. On one SM, the port to L2 takes the place of DRAM.\n\
          - **Closed form.** A step of the loop takes `max(RT / stages, II)`. RT is a copy's latency and bytes, the products of a tile and their latency; II the most used of tensor cores, shared memory and port, for all resident CTAs. A launch takes its waves times its steps, and never less than the roofline. It is for loops of one product.\n\
          - **llvm-mca** applies to no row: it needs machine code of a target with a scheduling model, and LLVM has none for PTX.\n\n\
          | rows | of them | simulator | roofline | closed form |\n|---|---|---|---|---|\n";
    let cell = |e: &Errors| format!("{}, {}, {}", percent(e.mean), super::table::signed(e.bias), percent(e.worst));
    for l in &lines {
        let closed = l.closed.as_ref().map_or("-".to_string(), cell);
        let _ = writeln!(
            s,
            "| {} | {} | {} | {} | {closed} |",
            l.name,
            l.simulator.n,
            cell(&l.simulator),
            cell(&l.roofline)
        );
    }
    let times = lines.iter().map(|l| {
        let closed = l.closed.as_ref().map_or(f64::INFINITY, |e| e.mean);
        l.roofline.mean.min(closed) / l.simulator.mean
    });
    let (least, most) = times.fold((f64::INFINITY, 0.0f64), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let _ = writeln!(
        s,
        "\n**Conclusion.** The mean error of the better alternative is {least:.1} to {most:.1} times that of the simulator."
    );
}
