//! What the slices of L2 take of a compiled kernel: lines from memory, stored bytes, and what has to leave for them.

use crate::charged::report_with;

/// Threads of a CTA.
const THREADS: u32 = 256;

/// The microseconds of a kernel on an H100 whose threads have 16 bytes of an array each, and read or store them.
fn time_of(mib: u32, reads: bool, stores: bool) -> f64 {
    let place = "\
	mov.u32 %r3, %ctaid.x;
	mad.lo.u32 %r4, %r3, 256, %r1;
	mul.wide.u32 %rd6, %r4, 16;
	add.s64 %rd7, %rd1, %rd6;
	add.s64 %rd8, %rd2, %rd6;
	mov.f32 %f1, 0f00000000;
";
    let read = "	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd7];\n";
    let store = "	st.global.v4.f32 [%rd8], {%f1, %f1, %f1, %f1};\n";
    // Without a store, a condition that is never true keeps the load.
    let use_it = "	setp.eq.f32 %p1, %f1, 0f3F800001;\n	@%p1 st.global.f32 [%rd2], %f1;\n";
    let code = [place, if reads { read } else { "" }, if stores { store } else { use_it }].concat();
    let grid = (mib << 20) / 16 / THREADS;
    let report = report_with(&code, (grid, [mib << 18; 2], THREADS), &["--machine", "h100"]);
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
