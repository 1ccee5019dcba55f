//! Slots and pieces of shared memory: strides that are places inside of a slot, and stores that count as one write. Each
//! kernel is proved, and with one barrier less a fault.

use warpline_import::{lift, ptx};

use crate::common::verdict_on;
use crate::kernels::recorded;

/// Threads of a block.
const THREADS: u32 = 256;
/// Bytes of a slot; the first 4096 of them are copied.
const SLOT: u32 = 16384;

/// A loop over a ring of four slots. A thread copies 4096 bytes to a slot, all threads wait for them, and
/// execute `body`. `%r8` is the address of the slot, `%r9` the iteration, `%r1` the thread.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n\
         .reqntid {THREADS}\n{{\n\t.reg .pred %p<8>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<4>;\n\
         \t.shared .align 128 .b8 data[{ring}];\n\t.shared .align 8 .b64 bar[4];\n\
         \tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n\
         \tmov.b32 %r2, data;\n\tmov.b32 %r3, bar;\n\tsetp.eq.s32 %p1, %r1, 0;\n\
         \t@!%p1 bra $READY;\n\
         \tmbarrier.init.shared::cta.b64 [%r3], 1;\n\tmbarrier.init.shared::cta.b64 [%r3+8], 1;\n\
         \tmbarrier.init.shared::cta.b64 [%r3+16], 1;\n\tmbarrier.init.shared::cta.b64 [%r3+24], 1;\n\
         \tfence.mbarrier_init.release.cluster;\n$READY:\n\tbar.sync 0;\n\tmov.b32 %r9, 0;\n\
         \tsetp.lt.s32 %p2, %r10, 1;\n\t@%p2 bra $END;\n\
         $LOOP:\n\tand.b32 %r4, %r9, 3;\n\tshr.u32 %r5, %r9, 2;\n\tand.b32 %r5, %r5, 1;\n\
         \tshl.b32 %r6, %r4, 3;\n\tadd.s32 %r6, %r3, %r6;\n\tmul.lo.s32 %r7, %r4, {SLOT};\n\tadd.s32 %r8, %r2, %r7;\n\
         \t@!%p1 bra $WAIT;\n\
         \tmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 4096;\n\
         \tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd1], 4096, [%r6];\n\
         $WAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], %r5;\n\t@!%p3 bra $WAIT;\n\
         {body}\
         \tadd.s32 %r9, %r9, 1;\n\tsetp.lt.s32 %p4, %r9, %r10;\n\t@%p4 bra $LOOP;\n$END:\n\tret;\n}}\n",
        ring = 4 * SLOT,
    )
}

fn verdict(body: &str) -> String {
    crate::common::verdict_on(&kernel(body))
}

/// Instructions of the program.
fn length(body: &str) -> usize {
    let text = kernel(body);
    let module = ptx::read(&text).expect("PTX");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &text, &lift::Launch::default()).expect("it lifts");
    lifted.program.code.len()
}

/// Each thread loads a word of 16 bytes, which the iteration picks.
const WORD: &str = "\tshl.b32 %r20, %r1, 4;\n\tadd.s32 %r20, %r8, %r20;\n\tand.b32 %r21, %r9, 3;\n\tshl.b32 %r21, %r21, 2;\n\
     \tadd.s32 %r20, %r20, %r21;\n\tld.shared.b32 %r22, [%r20];\n";

/// Nine words of each thread behind the copied bytes, and nine of another warp's.
fn nine_words() -> [String; 2] {
    let at = |thread: &str| format!("\tmad.lo.s32 %r30, {thread}, 36, %r8;\n");
    let each = |op: &dyn Fn(u32) -> String| (0..9).map(|i| op(4096 + 4 * i)).collect::<String>();
    let stores = each(&|at| format!("\tst.shared.b32 [%r30+{at}], %r22;\n"));
    let loads = each(&|at| format!("\tld.shared.b32 %r32, [%r30+{at}];\n"));
    [at("%r1") + &stores, "\txor.b32 %r31, %r1, 32;\n".to_string() + &at("%r31") + &loads]
}

const BARRIER: &str = "\tbar.sync 0;\n";

#[test]
fn a_word_that_the_iteration_picks_is_read_in_its_slot() {
    assert_eq!(verdict(&format!("{WORD}{BARRIER}")), "proved\t");
    let faulty = verdict(WORD);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

#[test]
fn stores_without_synchronization_between_are_one_write() {
    let [stores, loads] = nine_words();
    assert_eq!(verdict(&format!("{WORD}{stores}{BARRIER}{loads}{BARRIER}")), "proved\t");
    let faulty = verdict(&format!("{WORD}{stores}{loads}{BARRIER}"));
    assert!(faulty.starts_with("violated"), "{faulty}");
    // The next iteration's barrier comes before the slot is stored to again.
    assert_eq!(verdict(&format!("{WORD}{stores}{BARRIER}{loads}")), "proved\t");
}

/// A store writes the word that the iteration picks: each iteration has its own place.
#[test]
fn a_word_that_the_iteration_picks_is_written_in_its_slot() {
    let stored = WORD.replace("ld.shared.b32 %r22, [%r20]", "st.shared.b32 [%r20], %r1");
    assert_eq!(verdict(&format!("{stored}{BARRIER}")), "proved\t");
    let faulty = verdict(&stored);
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Loads of the same pieces with nothing but `__syncwarp` between them stand twice: the first and the last.
#[test]
fn repeated_loads_of_a_series_are_left_out() {
    let loads = |n: usize| format!("{WORD}\tbar.warp.sync -1;\n").repeat(n);
    assert_eq!(length(&format!("{}{BARRIER}", loads(3))), length(&format!("{}{BARRIER}", loads(9))));
    assert_eq!(verdict(&format!("{}{BARRIER}", loads(9))), "proved\t");
    let faulty = verdict(&loads(9));
    assert!(faulty.starts_with("violated"), "{faulty}");
}

/// Warps store the same values to the same bytes, each of eight times at one instruction, where pieces are too many. The
/// eight stores are no single write then.
#[test]
fn warps_that_hold_the_same_values_store_them_at_one_instruction() {
    let text = recorded("triton.decode_d128_32_sm100_w4_s1.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let last = text.rfind("st.shared.b16").expect("a store");
    let barrier = last + text[last..].find("bar.sync").expect("a barrier behind it");
    let faulty = format!("{}//{}", &text[..barrier], &text[barrier..]);
    let faulty = verdict_on(&faulty);
    assert!(faulty.starts_with("violated"), "{faulty}");
}
