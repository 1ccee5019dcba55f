//! Two warps with a slot between them, whose loops write one trip count in different ways.

/// A kernel in which the first warp fills a slot and the second one empties it. `SETUP` is code of all threads. A line `PUT`
/// or `GET` in the code of a role stands for one step.
const KERNEL: &str = "\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1, .param .u32 k_param_2, .param .u32 k_param_3,
	.param .u32 k_param_4, .param .u64 k_param_5)
.reqntid 64
{
	.reg .pred %p<16>;
	.reg .b32 %r<60>;
	.reg .b64 %rd<16>;
	.shared .align 128 .b8 data[256];
	.shared .align 8 .b8 bars[16];
	.shared .align 8 .b8 table[4096];
	ld.param.u32 %r1, [k_param_0];
	ld.param.u32 %r2, [k_param_1];
	ld.param.u32 %r3, [k_param_2];
	ld.param.u32 %r4, [k_param_3];
	ld.param.u32 %r5, [k_param_4];
	ld.param.u64 %rd1, [k_param_5];
	mov.u32 %r6, %tid.x;
	mov.b32 %r7, bars;
	mov.b32 %r8, data;
	and.b32 %r9, %r6, 31;
	shl.b32 %r9, %r9, 2;
	add.s32 %r8, %r8, %r9;
	mov.b32 %r10, 0;
	mov.b32 %r11, 0;
	setp.ne.s32 %p1, %r6, 0;
	@%p1 bra $L0;
	mbarrier.init.shared.b64 [%r7], 32;
	mbarrier.init.shared.b64 [%r7+8], 32;
$L0:
	bar.sync 0;
SETUP	setp.gt.u32 %p2, %r6, 31;
	@%p2 bra $TAKES;
PUTS	bra.uni $END;
$TAKES:
GETS$END:
	ret;
}
";

const PUT: &str = "\
	xor.b32 %r12, %r10, 1;
$WLABEL:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r7+8], %r12;
	@!%p7 bra $WLABEL;
	st.shared.b32 [%r8], %r6;
	mbarrier.arrive.shared.b64 %rd7, [%r7];
	xor.b32 %r10, %r10, 1;
";

const GET: &str = "\
$WLABEL:
	mbarrier.try_wait.parity.shared.b64 %p7, [%r7], %r11;
	@!%p7 bra $WLABEL;
	ld.shared.b32 %r13, [%r8];
	mbarrier.arrive.shared.b64 %rd7, [%r7+8];
	xor.b32 %r11, %r11, 1;
";

/// The verdict on [`KERNEL`] with this code.
fn verdict(setup: &str, puts: &str, gets: &str) -> String {
    let mut labels = 0;
    let mut role = |code: &str| -> String {
        let line = |line: &str| {
            labels += 1;
            match line.trim() {
                "PUT" => PUT.replace("LABEL", &labels.to_string()),
                "GET" => GET.replace("LABEL", &labels.to_string()),
                line => format!("\t{line}\n"),
            }
        };
        code.lines().map(line).collect()
    };
    let (setup, puts, gets) = (role(setup), role(puts), role(gets));
    crate::common::verdict_on(&KERNEL.replace("SETUP", &setup).replace("PUTS", &puts).replace("GETS", &gets))
}

/// `n` steps, counted by a register; at least one where it is asked behind the step.
fn steps(n: &str, step: &str, label: &str) -> String {
    format!(
        "mov.b32 %r20, 0;\n{label}:\n{step}\nadd.s32 %r20, %r20, 1;\nsetp.lt.s32 %p8, %r20, {n};\n@%p8 bra {label};"
    )
}

#[test]
fn a_size_that_is_chosen_ahead_of_the_branch_is_that_of_the_branch() {
    // The second role chooses the size where it asks the condition only later.
    let puts = format!(
        "setp.ge.s32 %p3, %r1, %r2;\n@%p3 bra $END;\nsetp.lt.s32 %p4, %r3, 1;\n@%p4 bra $END;\n{}",
        steps("%r3", "PUT", "$P")
    );
    let gets = |less: &str| {
        format!(
            "setp.lt.s32 %p3, %r1, %r2;\nselp.b32 %r21, %r3, 0, %p3;\n{less}\nsetp.ge.s32 %p4, %r1, %r2;\n\
             @%p4 bra $END;\nsetp.lt.s32 %p4, %r21, 1;\n@%p4 bra $END;\n{}",
            steps("%r21", "GET", "$G")
        )
    };
    assert_eq!(verdict("", &puts, &gets("")), "proved\t");
    let wrong = verdict("", &puts, &gets("add.s32 %r21, %r21, 1;"));
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

/// `%r30`: the number of this CTA. `%r31`: how many CTAs have rows. `%r32`: tiles of 128 rows of this CTA. The divisor of the
/// host comes with a factor and a shift.
const ROWS: &str = "mov.u32 %r30, %ctaid.x;
add.s32 %r33, %r1, %r2;
add.s32 %r33, %r33, -1;
setp.eq.b32 %p3, %r3, 1;
mul.hi.u32 %r34, %r33, %r4;
shr.u32 %r34, %r34, %r5;
selp.b32 %r31, %r33, %r34, %p3;
mul.lo.s32 %r35, %r30, %r2;
sub.s32 %r35, %r1, %r35;
min.s32 %r35, %r35, %r2;
add.s32 %r36, %r35, 127;
shr.s32 %r37, %r36, 31;
shr.u32 %r37, %r37, 25;
add.s32 %r37, %r36, %r37;
shr.s32 %r32, %r37, 7;
setp.ge.s32 %p4, %r30, %r31;
@%p4 bra $END;";

#[test]
fn a_part_of_a_size_that_is_rounded_up_has_a_row() {
    // The second step waits for the other role.
    let puts = steps("%r32", "PUT\nPUT", "$P");
    let gets = format!("setp.lt.s32 %p5, %r35, 1;\n@%p5 bra $END;\n{}", steps("%r32", "GET\nGET", "$G"));
    assert_eq!(verdict(ROWS, &puts, &gets), "proved\t");
    // A CTA behind the last one has no row, and the first role makes a step.
    let wrong = verdict(&ROWS.replace("setp.ge.s32 %p4", "setp.gt.s32 %p4"), &puts, &gets);
    assert!(!wrong.starts_with("proved"), "{wrong}");
    // A size that is rounded down leaves rows to nobody, and says nothing of a part.
    let wrong = verdict(&ROWS.replace("add.s32 %r33, %r1, %r2", "add.s32 %r33, %r1, 7"), &puts, &gets);
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

#[test]
fn a_mask_that_leaves_out_the_high_bits_of_a_shifted_number_leaves_out_none() {
    // Two steps an iteration, of twice as many steps.
    let setup = format!("{ROWS}\nsetp.lt.s32 %p5, %r35, 1;\n@%p5 bra $END;\nshl.b32 %r38, %r32, 1;");
    let puts = |mask: &str| {
        format!(
            "max.s32 %r39, %r38, 1;\nand.b32 %r39, %r39, {mask};\nneg.s32 %r40, %r39;\n$P:\nPUT\nPUT\n\
             add.s32 %r40, %r40, 2;\nsetp.ne.s32 %p8, %r40, 0;\n@%p8 bra $P;"
        )
    };
    let gets = steps("%r38", "GET", "$G");
    assert_eq!(verdict(&setup, &puts("33554430"), &gets), "proved\t");
    let wrong = verdict(&setup, &puts("16777214"), &gets);
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

#[test]
fn the_steps_up_to_a_comparison_are_a_quotient() {
    // Steps of 32 of a size, of which all but the last two have a second wait.
    let setup = "add.s32 %r30, %r1, 31;\nshr.u32 %r31, %r30, 5;\nsetp.lt.u32 %p3, %r1, 65;\n@%p3 bra $END;";
    let puts = "mov.b32 %r20, 0;\nmov.b32 %r21, 65;\n$P:\nPUT\nsetp.lt.s32 %p4, %r1, %r21;\n@%p4 bra $S;\nPUT\n$S:\n\
                add.s32 %r21, %r21, 32;\nadd.s32 %r20, %r20, 1;\nsetp.lt.s32 %p8, %r20, %r31;\n@%p8 bra $P;";
    let gets =
        |last: &str| format!("shl.b32 %r32, %r31, 1;\nadd.s32 %r32, %r32, {last};\n{}", steps("%r32", "GET", "$G"));
    assert_eq!(verdict(setup, puts, &gets("-2")), "proved\t");
    let wrong = verdict(setup, puts, &gets("-1"));
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

/// A persistent loop in which a word of each tile decides about code of the second role.
fn tiles(decided: &str) -> String {
    let head = "mov.u32 %r40, %ctaid.x;\nmov.u32 %r41, %nctaid.x;\nsetp.ge.s32 %p3, %r40, %r1;\n@%p3 bra $END;";
    let puts = format!("{head}\n$P:\nPUT\nadd.s32 %r40, %r40, %r41;\nsetp.lt.s32 %p8, %r40, %r1;\n@%p8 bra $P;");
    let gets = format!(
        "{head}\n$G:\nGET\nmul.wide.u32 %rd2, %r40, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.nc.b32 %r42, [%rd3];\n\
         setp.eq.s32 %p4, %r42, 0;\n@%p4 bra $T;\n{decided}\n$T:\nadd.s32 %r40, %r40, %r41;\n\
         setp.lt.s32 %p8, %r40, %r1;\n@%p8 bra $G;"
    );
    verdict("", &puts, &gets)
}

#[test]
fn a_fence_that_data_decide_takes_schedules_away() {
    assert_eq!(tiles("membar.sys;\nst.global.b32 [%rd3], %r42;"), "proved\t");
    let wrong = tiles("membar.sys;\nst.shared.b32 [%r8], %r42;");
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

#[test]
fn accesses_that_data_decide_happen_always() {
    // Words of the warp itself, and those of the other one.
    assert_eq!(tiles("st.shared.b32 [%r8+128], %r42;\nld.shared.b32 %r43, [%r8+128];"), "proved\t");
    let wrong = tiles("st.shared.b32 [%r8], %r42;\nld.shared.b32 %r43, [%r8];");
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

#[test]
fn an_index_that_data_choose_is_not_negative() {
    let table = |base: &str| {
        format!(
            "and.b32 %r43, %r42, 3;\nmul.lo.s32 %r43, %r43, %r42;\nshl.b32 %r43, %r43, 2;\nadd.s32 %r44, %r7, {base};\n\
                 add.s32 %r44, %r44, %r43;\nst.shared.b32 [%r44], %r42;"
        )
    };
    // A table behind the slot and the barriers, and one in the place of the slot.
    assert_eq!(tiles(&table("1024")), "proved\t");
    let wrong = tiles(&table("-256"));
    assert!(!wrong.starts_with("proved"), "{wrong}");
}

#[test]
fn a_symbol_that_the_program_does_not_read_is_related_to_none() {
    // Every eleventh row, from the first and from the second one on.
    let setup = "sub.s32 %r30, %r1, %r2;\nsetp.lt.s32 %p3, %r30, 2;\n@%p3 bra $END;";
    let rows = |more: u32, step: &str, label: &str| {
        let count = format!("add.s32 %r31, %r30, {more};\nmul.hi.u32 %r32, %r31, -1171354717;\nshr.u32 %r32, %r32, 3;");
        format!("{count}\n{}", steps("%r32", step, label))
    };
    let (puts, gets) = (rows(10, "PUT", "$P"), rows(10, "GET", "$G"));
    assert_eq!(verdict(setup, &puts, &gets), "proved\t");
    let wrong = verdict(setup, &puts, &rows(9, "GET\nGET", "$G"));
    assert!(wrong.starts_with("violated"), "{wrong}");
}
