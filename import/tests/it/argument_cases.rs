//! Arguments that decide which values of registers an iteration keeps, and how many arrivals a barrier expects.

/// The verdict on a kernel in which a factor says whether a tile is copied. Where the argument `stride` is 0, all tiles have
/// the factor that is read ahead of the loop. Else each tile has its own.
fn verdict(consumer_waits: &str, released: &str) -> String {
    let factor = |f: &str, name: &str| {
        format!(
            "    @%p2 bra $KEEP{name};
    shr.u32 %r20, %r10, %r9;
    mul.wide.s32 %rd5, %r20, 4;
    mul.lo.s64 %rd5, %rd5, %rd2;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.f32 {f}, [%rd6];
$KEEP{name}:
    @%p2 bra $SAME{name};
    setp.eq.f32 %p6, {f}, 0f00000000;
    bra.uni $KNOWN{name};
$SAME{name}:
    setp.eq.f32 %p6, {f}, 0f00000000;
$KNOWN{name}:
"
        )
    };
    let (produced, consumed) = (factor("%f1", "P"), factor("%f1", "C"));
    let text = format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 k_param_0[128], .param .u64 k_param_1, .param .u64 k_param_2, .param .u32 k_param_3, .param .u32 k_param_4)
.reqntid 64
{{
    .reg .pred %p<16>;
    .reg .f32 %f<4>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<8>;
    .shared .align 1024 .b8 data[1024];
    .shared .align 8 .b8 bars[16];
    ld.param.u64 %rd1, [k_param_1];
    ld.param.u64 %rd2, [k_param_2];
    ld.param.u32 %r8, [k_param_3];
    ld.param.u32 %r9, [k_param_4];
    mov.u32 %r1, %tid.x;
    mov.b32 %r2, data;
    mov.b32 %r3, bars;
    mov.b32 %r4, 0;
    mov.b32 %r10, 0;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L0;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.init.shared.b64 [%r3+8], 32;
    fence.mbarrier_init.release.cluster;
$L0:
    bar.sync 0;
    mov.f32 %f1, 0f00000000;
    setp.eq.s64 %p2, %rd2, 0;
    @!%p2 bra $L1;
    ld.global.f32 %f1, [%rd1];
$L1:
    setp.lt.s32 %p3, %r8, 1;
    @%p3 bra $END;
    setp.gt.u32 %p4, %r1, 31;
    @%p4 bra $CONSUMER;
    elect.sync %r5|%p5, -1;
$PRODUCER:
{produced}    not.pred %p7, %p6;
    and.pred %p8, %p5, %p7;
    and.b32 %r11, %r10, 1;
    xor.b32 %r12, %r11, 1;
    @!%p8 bra $NEXT;
$EMPTY:
    mbarrier.try_wait.parity.shared.b64 %p9, [%r3+8], %r12;
    @!%p9 bra $EMPTY;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [k_param_0, {{%r4, %r10}}], [%r3];
$NEXT:
    add.s32 %r10, %r10, 1;
    setp.lt.s32 %p10, %r10, %r8;
    @%p10 bra $PRODUCER;
    bra.uni $END;
$CONSUMER:
    and.b32 %r30, %r1, 31;
    shl.b32 %r30, %r30, 2;
    add.s32 %r30, %r30, %r2;
$TILE:
{consumed}    and.b32 %r11, %r10, 1;
    @%p6 bra $DONE;
{consumer_waits}    ld.shared.b32 %r31, [%r30];
{released}$DONE:
    add.s32 %r10, %r10, 1;
    setp.lt.s32 %p10, %r10, %r8;
    @%p10 bra $TILE;
$END:
    ret;
}}
"
    );
    crate::common::verdict_on(&text)
}

const WAIT: &str = "$FULL:\n    mbarrier.try_wait.parity.shared.b64 %p11, [%r3], %r11;\n    @!%p11 bra $FULL;\n";
const RELEASE: &str = "    mbarrier.arrive.shared.b64 _, [%r3+8];\n";

#[test]
fn an_argument_decides_whether_a_register_keeps_its_value() {
    // The other launches are named, and nothing is claimed of them.
    let proved = verdict(WAIT, RELEASE);
    assert!(proved.starts_with("bounded\tlaunches in which `arg2` is not 0 are not followed"), "{proved}");
    // Each tile waits for the phase of the first one.
    let first = WAIT.replace("%r11", "0");
    for (waits, released) in [("", RELEASE), (WAIT, ""), (first.as_str(), RELEASE)] {
        let mutant = verdict(waits, released);
        assert!(mutant.starts_with("violated"), "{mutant}");
    }
}

/// The verdict on a kernel in which an argument decides whether one thread arrives at a barrier or two.
fn counted(count: &str, second: &str) -> String {
    let text = format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 k_param_0)
.reqntid 96
{{
    .reg .pred %p<16>;
    .reg .b32 %r<16>;
    .shared .align 8 .b8 bars[8];
    ld.param.u32 %r8, [k_param_0];
    mov.u32 %r1, %tid.x;
    mov.b32 %r3, bars;
    setp.eq.s32 %p2, %r8, 7;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L0;
    {count}
    mbarrier.init.shared.b64 [%r3], %r9;
    fence.mbarrier_init.release.cluster;
$L0:
    bar.sync 0;
    setp.ne.s32 %p3, %r1, 0;
    @%p3 bra $L1;
    mbarrier.arrive.shared.b64 _, [%r3];
$L1:
    setp.ne.s32 %p4, %r1, 32;
    {second}
    @%p4 bra $L2;
    mbarrier.arrive.shared.b64 _, [%r3];
$L2:
    setp.lt.u32 %p5, %r1, 64;
    @%p5 bra $END;
$WAIT:
    mbarrier.try_wait.parity.shared.b64 %p6, [%r3], 0;
    @!%p6 bra $WAIT;
$END:
    ret;
}}
"
    );
    crate::common::verdict_on(&text)
}

#[test]
fn a_condition_over_the_launch_decides_how_many_arrivals_a_barrier_expects() {
    let second = "not.pred %p7, %p2;\n    or.pred %p4, %p4, %p7;";
    assert_eq!(counted("selp.b32 %r9, 2, 1, %p2;", second), "proved\t");
    // The other way round, and with one count for all launches.
    for count in ["selp.b32 %r9, 1, 2, %p2;", "mov.b32 %r9, 2;", "mov.b32 %r9, 1;"] {
        let other = counted(count, second);
        assert!(other.starts_with("violated"), "{count}: {other}");
    }
}

/// The verdict on two copies by one tensor map, of which the second brings this many bytes to a barrier of its own.
fn copied(bytes: u32) -> String {
    let copy = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes";
    let text = format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 k_param_0[128])
.reqntid 32
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .shared .align 1024 .b8 data[2048];
    .shared .align 8 .b8 bars[16];
    mov.u32 %r1, %tid.x;
    mov.b32 %r2, data;
    mov.b32 %r3, bars;
    mov.b32 %r4, 0;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $END;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.init.shared.b64 [%r3+8], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;
    {copy} [%r2], [k_param_0, {{%r4, %r4}}], [%r3];
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3+8], {bytes};
    {copy} [%r2+1024], [k_param_0, {{%r4, %r4}}], [%r3+8];
$FIRST:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
    @!%p2 bra $FIRST;
$SECOND:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r3+8], 0;
    @!%p2 bra $SECOND;
$END:
    ret;
}}
"
    );
    crate::common::verdict_on(&text)
}

#[test]
fn copies_by_one_tensor_map_bring_one_box() {
    assert_eq!(copied(1024), "proved\t");
    let other = copied(512);
    assert!(other.contains("copies by one tensor map bring 1024 and 512 bytes"), "{other}");
}
