//! Bulk stores of rows, one by each lane.

/// The verdict on a warp whose lanes store a row of 16 bytes each, with this end.
fn verdict(store: &str, end: &str) -> String {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n.reqntid 32\n\
         {{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 16 .b8 buf[512];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, buf;\n\tshl.b32 %r3, %r1, 4;\n\tadd.s32 %r4, %r2, %r3;\n\
         \tsetp.ne.s32 %p1, %r1, 0;\n\tld.param.u32 %r9, [n];\n\tld.param.u64 %rd1, [out];\n\tmul.wide.u32 %rd2, %r1, 64;\n\
         \tadd.s64 %rd3, %rd1, %rd2;\n\tst.shared.v4.b32 [%r4], {{%r1, %r1, %r1, %r1}};\n{store}{end}\tret;\n}}\n"
    );
    crate::common::verdict_on(&text)
}

const FENCE: &str = "\tfence.proxy.async.shared::cta;\n";
const ROW: &str = "\tcp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3], [%r4], 16;\n";
const COMMIT: &str = "\tcp.async.bulk.commit_group;\n";
const WAIT: &str = "\tcp.async.bulk.wait_group.read 0;\n";
/// Each lane writes the row of another lane.
const AGAIN: &str = "\tbar.warp.sync -1;\n\txor.b32 %r5, %r4, 16;\n\tst.shared.b32 [%r5], %r1;\n";

#[test]
fn lanes_store_rows_of_their_own() {
    let store = format!("{FENCE}{ROW}{COMMIT}");
    assert_eq!(verdict(&store, &format!("{WAIT}{AGAIN}")), "proved\t");
    let faulty = verdict(&store, AGAIN);
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict(&format!("{FENCE}{ROW}"), &format!("{WAIT}{AGAIN}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict(&format!("{ROW}{COMMIT}"), &format!("{WAIT}{AGAIN}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn lanes_that_store_rows_wait_themselves() {
    let store = format!("{FENCE}{ROW}{COMMIT}");
    let said = verdict(&store, &format!("{}{AGAIN}", WAIT.replace("\tcp", "\t@!%p1 cp")));
    assert!(said.starts_with("rejected") && said.contains("rows of their own"), "{said}");
}

#[test]
fn data_decide_which_lanes_store_a_row() {
    let row = "\tld.global.b32 %r6, [%rd3];\n\tsetp.lt.s32 %p2, %r6, %r9;\n\t@%p2 bra $L0;\n";
    let store = format!("{FENCE}{row}{ROW}$L0:\n{COMMIT}");
    assert_eq!(verdict(&store, &format!("{WAIT}{AGAIN}")), "proved\t");
    let faulty = verdict(&store, AGAIN);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn the_lanes_of_a_row_that_data_decide_wait_themselves() {
    let row = "\tld.global.b32 %r6, [%rd3];\n\tsetp.lt.s32 %p2, %r6, %r9;\n\t@%p2 bra $L0;\n";
    let one = ROW.replace("%r4", "%r2");
    let store = format!("{FENCE}{row}{one}$L0:\n\t@!%p1 cp.async.bulk.commit_group;\n");
    let said = verdict(&store, &format!("\t@!%p1 cp.async.bulk.wait_group.read 0;\n{AGAIN}"));
    assert!(said.starts_with("rejected") && said.contains("rows of their own"), "{said}");
}

/// A size decides whether lanes store their own rows or those of other lanes.
#[test]
fn a_condition_chooses_the_row_of_each_lane() {
    let chosen = "\tbar.warp.sync -1;\n\tsetp.ge.s32 %p3, %r9, 5;\n\tmov.b32 %r6, 31;\n\tsub.s32 %r6, %r6, %r1;\n\
                  \tselp.b32 %r7, %r1, %r6, %p3;\n\tshl.b32 %r7, %r7, 4;\n\tadd.s32 %r8, %r2, %r7;\n";
    let store = format!("{FENCE}{chosen}{}{COMMIT}", ROW.replace("%r4", "%r8"));
    assert_eq!(verdict(&store, &format!("{WAIT}{AGAIN}")), "proved\t");
    let faulty = verdict(&store, AGAIN);
    assert!(faulty.starts_with("violated"), "{faulty}");
    let faulty = verdict(&store.replace(FENCE, ""), &format!("{WAIT}{AGAIN}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Four lanes store a box of 128 bytes each, as the epilogue of a product does whose tile has four boxes of columns.
#[test]
fn some_lanes_store_boxes_of_their_own() {
    let few = "\tsetp.gt.s32 %p3, %r1, 3;\n\tshl.b32 %r7, %r1, 7;\n\tadd.s32 %r8, %r2, %r7;\n\tmov.b32 %r10, 0;\n";
    let boxes = "\t@%p3 bra $B;\n\tcp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r10, %r7}], [%r8];\n";
    let wait = format!("\t@%p3 bra $W;\n{WAIT}$W:\n");
    let store = |fence: &str, commit: &str| format!("{fence}\tbar.warp.sync -1;\n{few}{boxes}{commit}$B:\n");
    assert_eq!(verdict(&store(FENCE, COMMIT), &format!("{wait}{AGAIN}")), "proved\t");
    for (store, end) in [
        (store(FENCE, COMMIT), AGAIN.to_string()),
        (store(FENCE, ""), format!("{wait}{AGAIN}")),
        (store("", COMMIT), format!("{wait}{AGAIN}")),
    ] {
        let faulty = verdict(&store, &end);
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
    // Fewer lanes wait than store.
    let said = verdict(&store(FENCE, COMMIT), &format!("\t@%p1 bra $W;\n{WAIT}$W:\n{AGAIN}"));
    assert!(said.starts_with("rejected") && said.contains("rows of their own"), "{said}");
}

/// Words of all lanes decide whether one thread stores a row. Its group may be empty.
#[test]
fn data_decide_whether_a_thread_stores_a_row() {
    let row = ROW.replace("%rd3", "%rd1").replace("%r4", "%r2");
    let one = |fence: &str, wait: &str| {
        format!(
            "{fence}\tld.global.b32 %r6, [%rd3];\n\tredux.sync.add.s32 %r7, %r6, -1;\n\t@%p1 bra $L1;\n\
             \tsetp.lt.s32 %p2, %r7, %r9;\n\t@%p2 bra $L0;\n{row}$L0:\n{COMMIT}{wait}$L1:\n"
        )
    };
    assert_eq!(verdict(&one(FENCE, WAIT), AGAIN), "proved\t");
    for faulty in [one(FENCE, ""), one("", WAIT)] {
        let faulty = verdict(&faulty, AGAIN);
        assert!(faulty.starts_with("violated"), "{faulty}");
    }
}
