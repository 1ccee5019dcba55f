//! What a run of a compiled kernel charges: dependent arithmetic, banks of shared memory, loads and their waits, atomic
//! accesses, and CTAs of different lengths.

use warpline_tests::{TempDir, warpline};

/// The cycles of a kernel of one warp with two arrays and these instructions, on an H200.
fn cycles_of(code: &str, grid: u32) -> f64 {
    number_of("cycles", code, grid)
}

/// A number of the report of such a kernel.
fn number_of(name: &str, code: &str, grid: u32) -> f64 {
    let report = report_of(code, grid, &[]);
    report[name].as_f64().unwrap_or_else(|| panic!("no {name}: {report}"))
}

/// The report of such a kernel, with more options.
fn report_of(code: &str, grid: u32, options: &[&str]) -> serde_json::Value {
    report_with(code, (grid, [65536; 2], 32), options)
}

/// The same, with arrays of so many numbers and so many threads.
pub(crate) fn report_with(
    code: &str,
    (grid, numbers, threads): (u32, [u32; 2], u32),
    options: &[&str],
) -> serde_json::Value {
    let dir = TempDir::new();
    let text = format!(
        "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
.reqntid {threads}
{{
	.reg .pred %p<4>;
	.reg .b32 %r<40>;
	.reg .f32 %f<40>;
	.reg .b64 %rd<10>;
	.shared .align 16 .b8 tile[4096];
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.u32 %r2, tile;
{code}
	ret;
}}
"
    );
    let array = |n: u32| format!(r#"{{"ptr": [{n}], "dtype": "float32"}}"#);
    let args = numbers.map(array).join(", ");
    let launch = format!(r#"{{"grid": [{grid}], "args": [{args}], "shared": 0, "regs": 32}}"#);
    let (file, launch) = (dir.write("k.ptx", text), dir.write("l.json", launch));
    let mut arguments = vec!["run", file.as_str(), "--launch", launch.as_str(), "--json"];
    arguments.extend_from_slice(options);
    let said = warpline(&arguments);
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.err))
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| format!("\t{}\n", line(i))).collect()
}

#[test]
fn dependent_instructions_wait_for_each_other() {
    let chain = cycles_of(&lines(64, |_| "fma.rn.f32 %f1, %f1, %f1, %f1;".into()), 1);
    let apart = cycles_of(&lines(64, |i| format!("fma.rn.f32 %f{0}, %f{0}, %f{0}, %f{0};", i % 8)), 1);
    // 64 latencies of four cycles against 64 issue slots.
    assert!(chain > apart + 150.0, "{chain} and {apart}");
}

#[test]
fn lanes_in_one_bank_pass_one_by_one() {
    let load = |shift: u32| {
        let address = format!("\tshl.b32 %r3, %r1, {shift};\n\tadd.s32 %r4, %r2, %r3;\n");
        address + &lines(16, |_| "ld.shared.f32 %f1, [%r4];\n\tadd.f32 %f2, %f2, %f1;".into())
    };
    // Words side by side, and words 128 bytes apart: 1 pass and 32.
    let (side_by_side, one_bank) = (cycles_of(&load(2), 1), cycles_of(&load(7), 1));
    assert!(one_bank > side_by_side + 16.0 * 25.0, "{one_bank} and {side_by_side}");
}

#[test]
fn a_load_is_issued_early_but_not_before_a_barrier() {
    let code = |between: &str| {
        format!(
            "\tld.global.f32 %f1, [%rd4];\n\tadd.f32 %f3, %f1, %f1;\n{between}\tld.global.f32 %f2, [%rd5];\n\tadd.f32 %f4, %f2, %f2;\n"
        )
    };
    let (free, behind) = (cycles_of(&code(""), 1), cycles_of(&code("\tbar.sync 0;\n"), 1));
    assert!(behind > free + 200.0, "{behind} and {free}");
}

#[test]
fn atomic_accesses_take_the_slices_of_l2() {
    let code = |op: &str| {
        lines(32, |i| format!("{op}.global.{}f32 [%rd4+{}], %f1;", if op == "red" { "add." } else { "" }, i * 128))
    };
    let (stores, atomics) = (cycles_of(&code("st"), 1056), cycles_of(&code("red"), 1056));
    assert!(atomics > stores * 1.2, "{atomics} and {stores}");
}

/// L2 reads a line that it does not have before it adds, and the fence of the next access waits for that.
#[test]
fn fences_wait_for_additions_to_lines_in_memory() {
    let code = lines(8, |i| format!("atom.global.gpu.acq_rel.add.f32 %f2, [%rd4+{}], %f1;", i * 128));
    let report = report_of(&code, 1, &[]);
    assert_eq!(report["dram_read_bytes"], 8.0 * 128.0);
    // A memory that is as near as L2.
    let near = report_of(&code, 1, &["--set", "machine.memory.dram_latency=270"]);
    let cycles = [report, near].map(|r| r["cycles"].as_f64().expect("cycles"));
    assert!(cycles[0] > cycles[1] + 8.0 * 250.0, "{cycles:?}");
}

/// A copy whose source size is a variable reads what the size says.
#[test]
fn a_copy_of_four_bytes_reads_them_unless_its_source_size_is_zero() {
    let code = |step: usize| {
        format!(
            "\tmov.u32 %r6, 0;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r2, %r3;\n$L1:\n\tsetp.lt.s32 %p1, %r6, {step};\n\tselp.b32 %r5, 4, 0, %p1;\n\tcp.async.ca.shared.global [%r4], [%rd4], 4, %r5;\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n\tbar.sync 0;\n\tadd.s64 %rd4, %rd4, 128;\n\tadd.s32 %r6, %r6, 1;\n\tsetp.lt.s32 %p2, %r6, 8;\n\t@%p2 bra $L1;\n"
        )
    };
    let read = [8, 5].map(|step| number_of("dram_read_bytes", &code(step), 1));
    assert_eq!(read, [8.0 * 128.0, 5.0 * 128.0]);
}

/// Of 264 CTAs, those with a low index work longer. The core that has one of them gets few others.
#[test]
fn ctas_of_different_lengths_go_to_the_first_free_core() {
    let code = |bound: &str| {
        format!(
            "\tmov.u32 %r5, %ctaid.x;\n{bound}\tmov.u32 %r6, 0;\n$L1:\n{}\tadd.s32 %r6, %r6, 1;\n\tsetp.lt.s32 %p1, %r6, %r7;\n\t@%p1 bra $L1;\n",
            lines(16, |_| "fma.rn.f32 %f1, %f1, %f1, %f1;".into())
        )
    };
    // Lengths from 1 to 4224 in steps of 16, against all of the mean length.
    let uneven = cycles_of(&code("\tmad.lo.s32 %r7, %r5, 16, 1;\n"), 264);
    let even = cycles_of(&code("\tmov.u32 %r7, 2112;\n"), 264);
    let longest = cycles_of(&code("\tmov.u32 %r7, 4209;\n"), 1);
    assert!(uneven >= longest * 0.95 && uneven < even * 2.3, "{uneven}, {even}, {longest}");
}

#[test]
fn what_all_ctas_load_stays_in_the_cache_of_a_core() {
    let code = "\tmov.u32 %r3, %ctaid.x;\n\tmul.wide.u32 %rd6, %r3, 32;\n\tadd.s64 %rd7, %rd4, %rd6;\n\
                \tld.global.f32 %f1, [%rd7];\n\tld.global.f32 %f2, [%rd5];\n\tadd.f32 %f3, %f1, %f2;\n";
    let hits = |second| report_with(code, (8448, [65536, second], 32), &[])["l2_hit_rate"].as_f64().expect("a rate");
    // Weights of 128 bytes are looked up once by each core. Those of a large array are looked up by each CTA.
    let (small, large) = (hits(1024), hits(65536));
    assert!(2.0 * small < large, "{small} and {large}");
}

/// Arithmetic of other warps is slow while a product works, as calibrate/probes/arith.cu measured.
#[test]
fn arithmetic_beside_products_is_slow() {
    let machine = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/h100.toml"));
    let machine = machine.expect("the file is there");
    let alone: String = machine
        .lines()
        .filter(|l| !["arithmetic =", "fma =", "special ="].iter().any(|key| l.starts_with(key)))
        .map(|l| format!("{l}\n"))
        .collect();
    let dir = TempDir::new();
    let alone = dir.write("alone.toml", alone);
    let cycles = |name: &str, options: &[&str]| {
        recorded("h100_kernels_waves", name, options)["cycles"].as_f64().expect("a number")
    };
    let name = "attention_1536x22x64_128x64_w8_s3";
    let (both, without) = (cycles(name, &["--machine", "h100"]), cycles(name, &["--machine", &alone]));
    assert!(both > without * 1.02, "{both} and {without}");
    // Sums and products lose more than integers, because the product loses, too.
    let name = "attention_1536x22x128_128x32_w8_s3";
    let as_integers = cycles(name, &["--machine", "h100", "--set", "machine.wgmma.fma=0.44"]);
    let both = cycles(name, &["--machine", "h100"]);
    assert!(both > as_integers * 1.002, "{both} and {as_integers}");
}

/// The same warps take the same time in CTAs of one, two and four: the next CTA goes on with the next scheduler.
#[test]
fn small_ctas_use_all_schedulers() {
    let code = format!(
        "\tmov.u32 %r6, 0;\n$L1:\n{}\tadd.s32 %r6, %r6, 1;\n\tsetp.lt.s32 %p1, %r6, 512;\n\t@%p1 bra $L1;\n",
        lines(16, |i| format!("fma.rn.f32 %f{0}, %f{0}, %f{0}, %f{0};", i % 16))
    );
    // Eight warps a core.
    let [one, two, four] = [(1056, 32), (528, 64), (264, 128)].map(|(grid, threads)| {
        report_with(&code, (grid, [65536; 2], threads), &[])["cycles"].as_f64().expect("a number")
    });
    assert!(one < four * 1.2 && two < four * 1.2, "{one}, {two}, {four}");
}

/// The report of a recorded kernel of one of the lists and its launch.
fn recorded(list: &str, name: &str, options: &[&str]) -> serde_json::Value {
    let dir = TempDir::new();
    let data = format!("{}/../calibrate/data/{list}", env!("CARGO_MANIFEST_DIR"));
    let rows = std::fs::read_to_string(format!("{data}/rows.jsonl")).expect("the rows are there");
    let row = rows.lines().find(|l| l.contains(name)).expect("the kernel has a row");
    let row: serde_json::Value = serde_json::from_str(row).expect("JSON");
    let (file, launch) = (format!("{data}/{name}.ptx.gz"), dir.write("l.json", row["launch"].to_string()));
    let mut arguments = vec!["run", file.as_str(), "--launch", launch.as_str(), "--json"];
    arguments.extend_from_slice(options);
    let said = warpline(&arguments);
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.err))
}

/// Of a product without pipelining, each warp stores its part of the tiles, whatever object of shared memory that is.
#[test]
fn every_warp_stores_its_part() {
    let report = recorded("h100_kernels_waves", "plain_1792x2112x1024_64x64x32_w4_s1", &["--machine", "h100"]);
    let number = |v: &serde_json::Value| v.as_f64().expect("a number");
    let uses = report["uses"].as_array().expect("a list");
    let shared = uses.iter().find(|u| u["resource"] == "shared memory").expect("shared memory is used");
    let passes = number(&shared["fraction"]) * number(&report["cycles"]);
    // Seven CTAs, 32 iterations: tiles of 4 KB are loaded (64 rows of half a line, 32 of whole lines), stored, and read.
    assert!(passes > 7.0 * 32.0 * (64.0 + 32.0 + 64.0 + 64.0), "{passes}");
}

/// Eight warps copy rows of 512 bytes, each warp whole lines, also where a part of the tile has two rows for eight warps.
#[test]
fn warps_that_share_a_row_copy_whole_lines() {
    let cycles = |rate: &str| {
        let rate = format!("machine.memory.copy_bytes_per_clk={rate}");
        let report = recorded(
            "h100_kernels_waves",
            "plain_1536x2816x1024_128x256x64_w8_s2",
            &["--machine", "h100", "--set", &rate],
        );
        report["cycles"].as_f64().expect("cycles")
    };
    // Sixteen steps of 48 KB pass at 123 bytes a cycle, one after the other. As halves of lines they took twice as long.
    let (measured, unlimited) = (cycles("123"), cycles("1000000"));
    assert!(measured - unlimited < 16.0 * 49152.0 / 123.0, "{measured} and {unlimited}");
}

/// ptxas unrolls a loop that only loads and computes by four, and issues the loads of a step together if they are few
/// instructions.
#[test]
fn loads_of_a_short_loop_are_in_flight_together() {
    let code = |between: &str| {
        format!(
            "\tmov.u32 %r5, 0;\n$L1:\n\tld.global.f32 %f1, [%rd4];\n{between}\tadd.f32 %f2, %f2, %f1;\n\tadd.s64 %rd4, %rd4, 4096;\n\
             \tadd.s32 %r5, %r5, 1;\n\tsetp.lt.s32 %p1, %r5, 8;\n\t@%p1 bra $L1;\n\tst.global.f32 [%rd5], %f2;\n"
        )
    };
    let (free, behind) = (cycles_of(&code(""), 1), cycles_of(&code("\tbar.sync 0;\n"), 1));
    // Two trips to memory instead of eight.
    assert!(behind > free + 3000.0, "{behind} and {free}");
    // Iterations of 17 instructions load by two, and of 29 one by one: four and eight trips.
    let [two, one] = [12, 24].map(|n| cycles_of(&code(&lines(n, |i| format!("mul.f32 %f{}, %f1, %f1;", 3 + i))), 1));
    assert!(two > free + 1000.0 && one > two + 2000.0, "{free}, {two} and {one}");
}

/// ptxas computes exponentials behind the stores of a loaded tile that need none of them, as in attention of one stage.
#[test]
fn exponentials_come_behind_the_stores_of_a_loaded_tile() {
    let code = |stored: &str| {
        format!(
            "\tld.global.f32 %f1, [%rd4];\n\tadd.f32 %f2, %f1, %f1;\n\tbar.sync 0;\n{}\
             \tld.global.f32 %f3, [%rd5];\n\tbar.sync 0;\n{stored}\tst.shared.f32 [%r2], %f3;\n\
             \tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\tst.global.f32 [%rd4], %f2;\n",
            lines(40, |_| "ex2.approx.ftz.f32 %f2, %f2;".to_string())
        )
    };
    let (loaded, computed) = (cycles_of(&code(""), 1), cycles_of(&code("\tadd.f32 %f3, %f3, %f2;\n"), 1));
    // The trip to memory passes before the 40 exponentials, which take 16 cycles each, and not beside them.
    assert!(loaded > computed + 500.0, "{loaded} and {computed}");
}

/// An address that is a sum of values that stay is computed where its load is, into the registers of the load's result.
#[test]
fn sums_for_addresses_take_no_registers_before_their_loads() {
    let report = recorded("h200_kernels", "plain_1024x1024x4096_64x256x64_w4_s1", &["--machine", "h200"]);
    let cycles = report["cycles"].as_f64().expect("cycles");
    // 64 steps of two trips to memory. With registers for 16 addresses all the while, a step took four.
    assert!(cycles < 64.0 * 3500.0, "{cycles}");
}
