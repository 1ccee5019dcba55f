//! Warps whose rows of the last tile may lie beyond the end: one leaves its loop there, and another one skips these rows.

/// How a kernel tests whether rows are beyond the end.
struct Tests<'t> {
    /// The first row of a producer's part of a tile, from its own first row on.
    leaves: &'t str,
    /// The same for the consumer.
    skips: &'t str,
    /// The rows of a tile.
    tile: u32,
}

/// A kernel of three warps. The first two write 64 rows of a tile each, and leave their loop where these are beyond the end
/// (`%r10`). The third one reads both, and skips what is beyond the end. Tiles are shared by the CTAs of a grid.
fn verdict(t: &Tests<'_>) -> String {
    let Tests { leaves, skips, tile } = t;
    let wait = |label: &str, bar: &str, parity: &str| {
        format!(
            "${label}:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p5, [{bar}], {parity};\n\t@!%p5 bra ${label};\n"
        )
    };
    let read = |w: u32| {
        format!(
            "\tadd.s32 %r25, %r20, {};\n{skips}\tsetp.ge.u32 %p6, %r25, %r10;\n\t@%p6 bra $S{w};\n\
             \tadd.s32 %r26, %r2, {};\n\tadd.s32 %r27, %r2, {};\n{}\tld.shared.b32 %r28, [%r5+{}];\n\
             \tmbarrier.arrive.shared::cta.b64 _, [%r27];\n$S{w}:\n",
            64 * w,
            8 * w,
            16 + 8 * w,
            wait(&format!("F{w}"), "%r26", "%r23"),
            128 * w
        )
    };
    let next = "\tadd.s32 %r21, %r21, %r12;\n\txor.b32 %r23, %r23, 1;\n\tsetp.lt.u32 %p3, %r21, %r13;\n";
    crate::common::verdict_on(&format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n.reqntid 96\n{{\n\
         \t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<16>;\n\t.shared .align 8 .b8 bar[32];\n\
         \t.shared .align 16 .b8 data[384];\n\tld.param.u64 %rd1, [k_param_0];\n\tld.global.nc.u32 %r10, [%rd1];\n\
         \tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, bar;\n\tmov.b32 %r3, data;\n\tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\
         \tadd.s32 %r5, %r3, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra $I;\n\tmbarrier.init.shared.b64 [%r2], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+8], 32;\n\tmbarrier.init.shared.b64 [%r2+16], 32;\n\
         \tmbarrier.init.shared.b64 [%r2+24], 32;\n$I:\n\tbar.sync 0;\n\tmov.u32 %r11, %ctaid.x;\n\tmov.u32 %r12, %nctaid.x;\n\
         \tadd.s32 %r13, %r10, {};\n\tshr.u32 %r13, %r13, {};\n\tsetp.ge.u32 %p2, %r11, %r13;\n\t@%p2 bra $E;\n\
         \tmov.u32 %r21, %r11;\n\tshr.u32 %r14, %r1, 5;\n\tsetp.eq.s32 %p4, %r14, 2;\n\t@%p4 bra $C;\n\
         \tshl.b32 %r15, %r14, 6;\n\tshl.b32 %r16, %r14, 3;\n\tadd.s32 %r16, %r2, %r16;\n\tadd.s32 %r17, %r16, 16;\n\
         \tshl.b32 %r18, %r14, 7;\n\tadd.s32 %r18, %r5, %r18;\n\tmov.b32 %r23, 1;\n\
         $P:\n\tmul.lo.s32 %r20, %r21, {tile};\n\tadd.s32 %r25, %r20, %r15;\n{leaves}\tsetp.le.u32 %p6, %r10, %r25;\n\
         \t@%p6 bra $E;\n{}\tst.shared.b32 [%r18], %r1;\n\tmbarrier.arrive.shared::cta.b64 _, [%r16];\n{next}\t@%p3 bra $P;\n\
         \tbra.uni $E;\n$C:\n\tmov.b32 %r23, 0;\n\
         $D:\n\tmul.lo.s32 %r20, %r21, {tile};\n{}{}{next}\t@%p3 bra $D;\n$E:\n\tret;\n}}\n",
        tile - 1,
        tile.trailing_zeros(),
        wait("W", "%r17", "%r23"),
        read(0),
        read(1),
    ))
}

#[test]
fn rows_of_the_last_tile_that_are_beyond_the_end_are_left_out_by_all() {
    assert_eq!(verdict(&Tests { leaves: "", skips: "", tile: 128 }), "proved\t");
    assert_eq!(verdict(&Tests { leaves: "", skips: "", tile: 256 }), "proved\t");
    let later = "\tadd.s32 %r25, %r25, 32;\n";
    assert_eq!(verdict(&Tests { leaves: later, skips: later, tile: 128 }), "proved\t");
}

/// The consumer waits for rows that no one writes, or leaves rows that are written.
#[test]
fn rows_that_one_leaves_out_and_another_does_not_are_not_proved() {
    let later = "\tadd.s32 %r25, %r25, 32;\n";
    for (leaves, skips) in [(later, ""), ("", later)] {
        let faulty = verdict(&Tests { leaves, skips, tile: 128 });
        assert!(!faulty.starts_with("proved"), "{faulty}");
    }
    // With tiles of 64 rows, the second part of a tile is the next one, and any iteration may leave it out.
    let faulty = verdict(&Tests { leaves: "", skips: "\tadd.s32 %r25, %r25, 1;\n", tile: 64 });
    assert!(!faulty.starts_with("proved"), "{faulty}");
}
