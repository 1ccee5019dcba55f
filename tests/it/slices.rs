//! What the slices of L2 take of a compiled kernel: lines from memory, stored bytes, and what has to leave for them.

use warpline_tests::{TempDir, warpline};

/// Threads of a CTA.
const THREADS: u32 = 256;

/// The microseconds of a kernel on an H100 whose threads have 16 bytes of an array each, and read or store them.
fn time_of(mib: u32, reads: bool, stores: bool) -> f64 {
    let dir = TempDir::new();
    let read = "	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];\n";
    // Without a store, a condition that is never true keeps the load.
    let store = "	st.global.v4.f32 [%rd5], {%f1, %f2, %f3, %f4};\n";
    let guarded = "	setp.eq.f32 %p1, %f1, 0f3F800001;\n	@%p1 st.global.f32 [%rd2], %f2;\n";
    let code =
        [if reads { read } else { "" }, if stores { store } else { "" }, if stores { "" } else { guarded }].concat();
    let text = format!(
        "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
.reqntid {THREADS}
{{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mad.lo.u32 %r3, %r2, {THREADS}, %r1;
	mul.wide.u32 %rd3, %r3, 16;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.f32 %f1, 0f00000000;
	mov.f32 %f2, 0f00000000;
	mov.f32 %f3, 0f00000000;
	mov.f32 %f4, 0f00000000;
{code}	ret;
}}
"
    );
    let array = format!(r#"{{"ptr": [{}], "dtype": "float32"}}"#, mib << 18);
    let grid = (mib << 20) / 16 / THREADS;
    let launch = format!(r#"{{"grid": [{grid}], "args": [{array}, {array}], "shared": 0, "regs": 32}}"#);
    let (file, launch) = (dir.write("k.ptx", text), dir.write("l.json", launch));
    let said = warpline(&["run", &file, "--launch", &launch, "--machine", "h100", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.err));
    report["time_us"].as_f64().unwrap_or_else(|| panic!("{report}"))
}

/// Lines that come from DRAM are written to the slices, as stored bytes are (`memory.l2_filled_bytes_per_clk`).
#[test]
fn lines_from_memory_and_stored_bytes_take_turns_at_the_slices() {
    let machine = warpline_models::embedded("h100").expect("it comes along");
    let is = |key: &str| machine.params[key].value;
    // What 8 MiB more take, while all that is stored stays in L2.
    let more = |reads, stores| time_of(16, reads, stores) - time_of(8, reads, stores);
    let taken = |key| f64::from(8 << 20) / (is(key) * is("clock.l2_mhz"));
    let (filled, stored) = (taken("memory.l2_filled_bytes_per_clk"), taken("memory.l2_stored_bytes_per_clk"));
    let (alone, both) = (more(false, true), more(true, true));
    assert!((alone / stored - 1.0).abs() < 0.1, "{alone} instead of {stored}");
    assert!((both / (filled + stored) - 1.0).abs() < 0.1, "{both} instead of {filled} and {stored}");
}

/// A store waits until DRAM has the lines that leave for it.
#[test]
fn more_than_l2_keeps_is_stored_at_the_rate_of_dram() {
    let machine = warpline_models::embedded("h100").expect("it comes along");
    let rate = machine.params["memory.dram_gbps"].value * machine.params["memory.dram_efficiency"].value * 1e3;
    let (more, at_best) = (time_of(256, false, true) - time_of(128, false, true), f64::from(128 << 20) / rate);
    assert!((0.95..1.2).contains(&(more / at_best)), "{more} instead of {at_best}");
}
