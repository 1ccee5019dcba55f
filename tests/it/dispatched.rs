//! Compiled kernels whose worker warps a mailbox in shared memory dispatches.

use serde_json::Value;
use warpline_tests::{TempDir, warpline};

/// Warp 0 hands the worker, warp 1, code 0 and then the end; the worker fills `data`, which warp 0 reads.
const KERNEL: &str = "
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k()
.reqntid 64
{
  .reg .pred %p<3>;
  .reg .b16 %rs<2>;
  .reg .b32 %r<8>;
  .shared .align 16 .b8 data[128];
  .shared .align 4 .b8 mail[4];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.eq.s32 %p1, %r2, 1;
  and.b32 %r3, %r1, 31;
  shl.b32 %r4, %r3, 2;
  mov.u32 %r5, data;
  add.s32 %r5, %r5, %r4;
  @%p1 bra WORKER;
  st.shared.b32 [mail], 0;
  barrier.sync 1;
  barrier.sync 1;
  ld.shared.b32 %r6, [%r5];
  st.shared.b32 [mail], 1;
  barrier.sync 1;
  ret;
WORKER:
  barrier.sync 1;
  ld.shared.b8 %rs1, [mail];
  setp.eq.b16 %p2, %rs1, 0;
  @!%p2 bra DONE;
  st.shared.b32 [%r5], 7;
  barrier.sync 1;
  bra.uni WORKER;
DONE:
  ret;
}
";

fn verdict(text: &str) -> Value {
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", text), "--json"]);
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}{}", said.out, said.err))
}

/// One piece of the kernel's text replaced.
fn edited(from: &str, to: &str) -> String {
    assert_eq!(KERNEL.matches(from).count(), 1, "{from}");
    KERNEL.replace(from, to)
}

#[test]
fn worker_warps_run_what_they_are_told() {
    assert_eq!(verdict(KERNEL)["verdict"], "proved");
}

#[test]
fn an_order_that_comes_before_the_last_was_read_is_a_race() {
    // The second order is stored while the worker may still load the first.
    let text = edited(
        "  st.shared.b32 [mail], 0;\n  barrier.sync 1;",
        "  st.shared.b32 [mail], 0;\n  barrier.sync 1;\n  st.shared.b32 [mail], 1;",
    )
    .replace("  ld.shared.b32 %r6, [%r5];\n  st.shared.b32 [mail], 1;\n", "  ld.shared.b32 %r6, [%r5];\n");
    assert_eq!(verdict(&text)["verdict"], "violated");
}

#[test]
fn a_worker_that_is_told_to_go_has_stored_nothing_late() {
    // Warp 0 reads before the worker is done.
    let text =
        edited("  barrier.sync 1;\n  ld.shared.b32 %r6, [%r5];\n", "  ld.shared.b32 %r6, [%r5];\n  barrier.sync 1;\n");
    let v = verdict(&text);
    assert_eq!(v["verdict"], "violated");
    assert!(v.to_string().contains("race"), "{v:#}");
}

#[test]
fn an_order_that_is_no_constant_is_refused() {
    let text = edited("  st.shared.b32 [mail], 0;", "  st.shared.b32 [mail], %r3;");
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", text)]);
    assert_eq!(said.status, warpline::Status::BadInput);
    assert!(said.err.contains("tells warps what to do"), "{}", said.err);
}

#[test]
fn data_where_orders_are_is_refused() {
    let text = edited("  st.shared.b32 [%r5], 7;", "  st.shared.b32 [%r5+128], 7;");
    let dir = TempDir::new();
    let said = warpline(&["verify", &dir.write("k.ptx", text)]);
    assert_eq!(said.status, warpline::Status::BadInput);
    assert!(said.err.contains("tell warps what to do, and are used for"), "{}", said.err);
}
