//! What a run takes from a disassembly.

use warpline_import::flow::Flow;
use warpline_import::lift::load_order;
use warpline_import::ptx::{self, Entry};
use warpline_import::sass::{self, LoadOrder};

/// Two loads, the sum of both, and a third load.
const LOADS: &str = "
	ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
	ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1+16];
	ld.global.b32 %r9, [%rd1+32];
	mov.b32 %r10, %r5;
	add.s32 %r11, %r10, %r6;
	add.s32 %r12, %r11, %r1;
	add.s32 %r12, %r12, %r9;
";

/// The same as machine code: what is used first (at +16) comes second, and the last load waits for both uses.
const NVDISASM: &str = "
.text.k:
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0010*/                   LDG.E.128 R8, desc[UR4][R2.64+0x10] ;
        /*0020*/                   IADD3 R12, R8, R9, RZ ;
        /*0030*/                   IADD3 R12, R12, R4, RZ ;
        /*0040*/              @!P0 LDG.E R4, desc[UR4][R2.64+0x20] ;
        /*0050*/                   IADD3 R12, R12, R4, RZ ;
        /*0060*/                   EXIT ;
.L_x_0:
        /*0070*/                   BRA `(.L_x_0);
";

fn entry_text(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 32\n{{\n\t.reg .b32 %r<20>;\n\t\
         .reg .b64 %rd<3>;\n\t.reg .pred %p<2>;\n{body}\tret;\n}}\n"
    )
}

fn entry(body: &str) -> Entry {
    ptx::read(&entry_text(body)).expect("PTX").entries.remove(0)
}

/// The uses before each load of `LOADS`, by the position of the load.
fn uses(disassembly: &str) -> Vec<(u32, u32)> {
    let kernel = sass::read(disassembly, "k").expect("a disassembly");
    LoadOrder::of(&entry(LOADS), &kernel).expect("an order").uses.into_iter().collect()
}

#[test]
fn a_load_waits_for_the_uses_that_the_machine_code_has_before_it() {
    assert_eq!(uses(NVDISASM), [(2, 2)]);
}

#[test]
fn a_barrier_and_a_branch_target_begin_a_new_count() {
    let barrier = NVDISASM.replace("@!P0 LDG.E R4", "BAR.SYNC 0x0 ;\n /*0048*/ LDG.E R4");
    assert_eq!(uses(&barrier), []);
    let target = NVDISASM.replace("        /*0040*/", ".L_x_1:\n        /*0040*/").replace("EXIT ;", "BRA `(.L_x_1) ;");
    assert_eq!(uses(&target), []);
}

/// `n` loads of four registers, from places that a register of 64 bits and a constant name, and the sum of all first words.
fn loads(n: usize) -> Entry {
    let load = |i: usize| {
        let at = i * 4;
        let registers = format!("%r{}, %r{}, %r{}, %r{}", at, at + 1, at + 2, at + 3);
        format!("\tld.global.v4.b32 {{{registers}}}, [%rd1+{}];\n", at * 4)
    };
    let sum = |i: usize| format!("\tadd.s32 %r99, %r99, %r{};\n", i * 4);
    let place = "\tmov.u32 %r98, %tid.x;\n\tmov.u32 %r99, %tid.y;\n\tmul.wide.s32 %rd1, %r98, 4;\n";
    let store = "\tst.global.b32 [%rd1], %r99;\n";
    let body: String = (0..n).map(load).chain((0..n).map(sum)).collect();
    let text = entry_text(&format!("{place}{body}{store}")).replace("%r<20>", "%r<100>");
    ptx::read(&text).expect("PTX").entries.remove(0)
}

#[test]
fn loads_without_room_for_their_results_wait_for_the_use_of_earlier_ones() {
    let order = |n, registers| load_order(&loads(n), registers).expect("an order").uses;
    // The address takes two registers and the sum one.
    assert_eq!(order(8, 2 + 1 + 8 * 4), [].into());
    // Room for five, and for one more in the place of the address.
    let first = 3;
    let waiting: Vec<(u32, u32)> = order(8, 2 + 1 + 5 * 4).into_iter().collect();
    assert_eq!(waiting, [(first + 6, 1), (first + 7, 2)]);
    // However few there are, one load is in flight.
    assert_eq!(order(2, 1).len(), 1);
}

/// Eight loads of one register, each from an address that is a sum of its own, and the sum of what they load.
fn loads_from_sums() -> Entry {
    let places = "\tmov.u32 %r98, %tid.x;\n\tmov.u32 %r99, %tid.y;\n\tmul.wide.s32 %rd1, %r98, 4;\n\tmul.wide.s32 %rd2, %r99, 4;\n";
    let address = |i: usize| format!("\tadd.s64 %rd{}, %rd1, %rd2;\n", 10 + i);
    let load = |i: usize| format!("\tld.global.b32 %r{i}, [%rd{}];\n", 10 + i);
    let sum = |i: usize| format!("\tadd.s32 %r99, %r99, %r{i};\n");
    let stores = "\tst.global.b32 [%rd1], %r99;\n\tst.global.b32 [%rd2], %r99;\n";
    let body: String = (0..8).map(address).chain((0..8).map(load)).chain((0..8).map(sum)).collect();
    let text = entry_text(&format!("{places}{body}{stores}"));
    let text = text.replace("%r<20>", "%r<100>").replace("%rd<3>", "%rd<20>");
    ptx::read(&text).expect("PTX").entries.remove(0)
}

#[test]
fn a_load_from_an_address_of_its_own_takes_a_pair_of_registers() {
    let waiting = |registers| -> Vec<(u32, u32)> {
        load_order(&loads_from_sums(), registers).expect("an order").uses.into_iter().collect()
    };
    // Both summands take two registers, and the sum of the values one.
    let first = 12;
    assert_eq!(waiting(5 + 3 * 2), [(first + 3, 1), (first + 4, 2), (first + 5, 3), (first + 6, 4), (first + 7, 5)]);
    assert_eq!(waiting(5 + 8), []);
}

#[test]
fn a_sum_that_is_its_own_offset_is_no_endless_chain() {
    let own = entry("\tadd.s32 %r1, %r1, 4;\n\tld.global.b32 %r2, [%rd1];\n\tadd.s32 %r3, %r2, %r1;\n");
    assert!(load_order(&own, 255).expect("an order").uses.is_empty());
}

#[test]
fn three_programs_write_the_same_code() {
    let cuobjdump =
        NVDISASM.replace(".text.k:", "\t\tFunction : k").replace("`(.L_x_0)", "0x70").replace(".L_x_0:\n", "");
    let triton: String = cuobjdump
        .replace("Function : k", "Function:k")
        .lines()
        .map(|l| match l.split_once("*/") {
            Some((_, inst)) => format!("01:-:2:Y:1\t{}\n", inst.trim()),
            None => format!("{l}\n"),
        })
        .collect();
    let triton = triton.replace("01:-:2:Y:1\tBRA 0x70", "LBB0:\n01:-:2:Y:1\tBRA LBB0");
    let kernel = sass::read(NVDISASM, "k").expect("nvdisasm");
    assert_eq!(kernel.registers(), Some(13));
    for text in [cuobjdump, triton] {
        let other = sass::read(&text, "k").expect("a disassembly");
        assert_eq!(other.targets, kernel.targets);
        // The last instruction is a branch, whose target has another form.
        let (code, same) = (kernel.code.len() - 1, other.code.len() - 1);
        assert_eq!(other.code[..same], kernel.code[..code]);
    }
}

#[test]
fn another_number_of_loads_and_another_kernel_are_said() {
    let unrolled = format!("{NVDISASM}        /*0080*/                   LDG.E R4, desc[UR4][R2.64+0x20] ;\n");
    let kernel = sass::read(&unrolled, "k").expect("a disassembly");
    let why = LoadOrder::of(&entry(LOADS), &kernel).expect_err("no order");
    assert_eq!(why, "the PTX has 3 loads of global memory and the SASS 4");
    assert_eq!(sass::read(NVDISASM, "f").expect_err("no kernel").message, "the disassembly has no kernel `f`");
    assert_eq!(sass::read("int main() {}", "k").expect_err("no SASS").message, "this is no disassembly");
}

#[test]
fn labels_of_debug_information_end_no_block() {
    let labelled =
        "\tadd.s32 %r1, %r2, %r3;\n$L__tmp1:\n\tadd.s32 %r1, %r1, %r3;\n$L__tmp2:\n\tadd.s32 %r1, %r1, %r3;\n";
    // The block of the instructions, and the empty one that stands for the end.
    assert_eq!(Flow::of(&entry(labelled)).expect("a flow").blocks.len(), 2);
    let looped = format!("$L__BB0_1:\n{labelled}\t@%p1 bra $L__BB0_1;\n");
    assert_eq!(Flow::of(&entry(&looped)).expect("a flow").blocks.len(), 3);
}
