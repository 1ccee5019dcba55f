//! Conditions over the tile of an iteration, and lengths of tiles that memory says. Roles that agree on them are proved,
//! and roles that do not are not.

/// A ring of three slots between two warps. In each of `arg1` tiles, a role makes one step unless its first code sets
/// `%p8`. Then it makes as many steps as its second code says in `%r46`. `%r32` is the tile, `%r10` is `arg2`.
fn ring(producer: [&str; 2], consumer: [&str; 2]) -> String {
    crate::common::verdict_on(&ring_text(producer, consumer))
}

pub(crate) fn ring_text(producer: [&str; 2], consumer: [&str; 2]) -> String {
    let side = |tag: &str, [skip, length]: [&str; 2], wait: &str, access: &str, arrive: &str| {
        let step = |n: u32| {
            format!(
                "\tshl.b32 %r33, %r30, 3;\n\tadd.s32 %r33, %r33, %r3;\n\txor.b32 %r34, %r31, 1;\n\
                 \tshl.b32 %r36, %r30, 8;\n\tadd.s32 %r37, %r5, %r36;\n\
                 $W{tag}{n}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, {wait};\n\t@!%p2 bra $W{tag}{n};\n{access}\
                 \tmbarrier.arrive.shared.b64 %rd6, {arrive};\n\tadd.s32 %r30, %r30, 1;\n\
                 \tsetp.eq.s32 %p4, %r30, 3;\n\tselp.b32 %r30, 0, %r30, %p4;\n\tselp.b32 %r39, 1, 0, %p4;\n\
                 \txor.b32 %r31, %r31, %r39;\n"
            )
        };
        format!(
            "\tmov.b32 %r32, 0;\n$B{tag}:\n{skip}\t@%p8 bra $M{tag};\n{}$M{tag}:\n{length}\tsetp.lt.s32 %p9, %r46, 1;\n\
             \t@%p9 bra $S{tag};\n\tmov.b32 %r47, 0;\n$J{tag}:\n{}\tadd.s32 %r47, %r47, 1;\n\
             \tsetp.ne.s32 %p10, %r47, %r46;\n\t@%p10 bra $J{tag};\n$S{tag}:\n\tadd.s32 %r32, %r32, 1;\n\
             \tsetp.ne.s32 %p5, %r32, %r11;\n\t@%p5 bra $B{tag};\n",
            step(1),
            step(2)
        )
    };
    let inits: String = (0..6).map(|n| format!("\tmbarrier.init.shared.b64 [%r3+{}], 32;\n", 8 * n)).collect();
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1, .param .u64 k_param_2)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<8>;\n\t.shared .align 128 .b8 data[768];\n\
         \t.shared .align 8 .b8 bars[48];\n\tld.param.u32 %r11, [k_param_0];\n\tld.param.u32 %r10, [k_param_1];\n\
         \tld.param.u64 %rd1, [k_param_2];\n\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, data;\n\tmov.b32 %r3, bars;\n\
         \tand.b32 %r4, %r1, 31;\n\tshl.b32 %r4, %r4, 2;\n\tadd.s32 %r5, %r2, %r4;\n\tsetp.ne.s32 %p1, %r1, 0;\n\
         \t@%p1 bra $L0;\n{inits}$L0:\n\tbar.sync 0;\n\tmov.b32 %r30, 0;\n\tmov.b32 %r31, 0;\n\tmov.b32 %r50, 0;\n\
         \tsetp.lt.s32 %p3, %r11, 1;\n\t@%p3 bra $END;\n\tsetp.gt.u32 %p7, %r1, 31;\n\t@%p7 bra $CONS;\n\
         {}\tbra.uni $END;\n$CONS:\n{}$END:\n\tret;\n}}\n",
        side("p", producer, "[%r33+24], %r34", "\tst.shared.b32 [%r37], %r1;\n", "[%r33]"),
        side("c", consumer, "[%r33], %r31", "\tld.shared.b32 %r38, [%r37];\n", "[%r33+24]")
    )
}

/// No tile, or each tile whose remainder by `arg2` is, or is not, the number.
fn skip(remainder: &str, op: &str) -> String {
    format!("\trem.u32 %r45, %r32, %r10;\n\tsetp.{op}.u32 %p8, %r45, {remainder};\n")
}

pub(crate) const NEVER: &str = "\tsetp.ne.u32 %p8, %r2, %r2;\n";
const THREE: &str = "\tmov.b32 %r46, 3;\n";

/// The word of the tile in memory, and `more`.
pub(crate) fn word(more: i32) -> String {
    format!(
        "\tmul.wide.u32 %rd2, %r32, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.nc.u32 %r44, [%rd3];\n\
         \tmax.s32 %r44, %r44, 0;\n\tadd.s32 %r46, %r44, {more};\n"
    )
}

pub(crate) fn not_proved(found: &str) {
    assert!(found.starts_with("gave up") || found.starts_with("violated"), "{found}");
}

#[test]
fn roles_that_ask_one_condition_of_a_tile_are_proved() {
    let one = skip("0", "eq");
    assert_eq!(ring([&one, THREE], [&one, THREE]), "proved\t");
    // The other outcome, and another condition.
    for other in [skip("0", "ne"), skip("1", "eq"), NEVER.to_string()] {
        not_proved(&ring([&one, THREE], [&other, THREE]));
    }
}

#[test]
fn lengths_of_tiles_from_memory_are_proved_for_each_sequence() {
    let length = word(0);
    assert_eq!(ring([NEVER, &length], [NEVER, &length]), "proved\t");
    not_proved(&ring([NEVER, &length], [NEVER, &word(1)]));
    not_proved(&ring([NEVER, THREE], [NEVER, &length]));
}

/// Both are parts of one number. Where roles agree on both, the search finds no period of it.
#[test]
fn a_condition_and_a_length_of_one_tile_are_not_proved_where_roles_differ() {
    let (one, length) = (skip("0", "eq"), word(0));
    let both = ring([&one, &length], [&one, &length]);
    assert!(both.starts_with("bounded"), "{both}");
    not_proved(&ring([&one, &length], [NEVER, &length]));
    not_proved(&ring([&one, &length], [&one, &word(2)]));
}

/// The length of the group of a tile. All lanes look for the group from the one before on: the first whose end is `above`
/// the tile. The registers have numbers from `r` on; `swapped` has the operands of sums in another order.
fn search(label: &str, above: &str, r: u32, swapped: bool) -> String {
    let [lane, own, end, found, place] = [0, 1, 2, 3, 4].map(|n| format!("%r{}", r + n));
    let sum = |to: &str, a: &str, b: &str| {
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        format!("\tadd.s32 {to}, {a}, {b};\n")
    };
    format!(
        "\tand.b32 {lane}, %r1, 31;\n${label}:\n{}\tmul.wide.u32 %rd2, {own}, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\
         \tld.global.nc.u32 {end}, [%rd3];\n\tsetp.{above}.u32 %p11, {end}, %r32;\n\
         \tvote.sync.ballot.b32 {found}, %p11, -1;\n\tsetp.ne.b32 %p12, {found}, 0;\n\t@%p12 bra $F{label};\n\
         {}\tbra.uni ${label};\n$F{label}:\n\tbrev.b32 {place}, {found};\n\
         \tbfind.shiftamt.u32 {place}, {place};\n{}\tmul.wide.u32 %rd2, %r50, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\
         \tld.global.nc.u32 %r44, [%rd3+4096];\n\tmax.s32 %r46, %r44, 0;\n",
        sum(&own, "%r50", &lane),
        sum("%r50", "%r50", "32"),
        sum("%r50", "%r50", &place)
    )
}

/// Each role looks for itself. A role that looks in another way may find another length.
#[test]
fn roles_that_search_for_the_group_of_a_tile_by_votes_find_one_length() {
    let producer = search("G", "gt", 51, false);
    assert_eq!(ring([NEVER, &producer], [NEVER, &search("H", "gt", 56, true)]), "proved\t");
    not_proved(&ring([NEVER, &producer], [NEVER, &search("H", "ge", 56, true)]));
    not_proved(&ring([NEVER, &producer], [NEVER, &word(0)]));
}

/// All lanes look for the group of a tile, and `%p8` says whether there is none: all lanes vote `number` at last. It is
/// compared in the loop or behind it.
fn no_group(label: &str, r: u32, inside: bool, number: i32) -> String {
    let [lane, own, end, found] = [0, 1, 2, 3].map(|n| format!("%r{}", r + n));
    let none = format!("\tsetp.eq.b32 %p8, {found}, {number};\n");
    let (first, last) = if inside { (none.as_str(), "") } else { ("", none.as_str()) };
    format!(
        "\tmov.b32 %r50, 0;\n\tand.b32 {lane}, %r1, 31;\n${label}:\n\tadd.s32 {own}, %r50, {lane};\n\
         \tmul.wide.u32 %rd2, {own}, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.nc.u32 {end}, [%rd3];\n\
         \tsetp.ge.u32 %p11, %r32, {end};\n\tvote.sync.ballot.b32 {found}, %p11, -1;\n{first}\
         \tadd.s32 %r50, %r50, 32;\n\tsetp.lt.u32 %p13, %r50, %r10;\n\tsetp.eq.b32 %p12, {found}, -1;\n\
         \tand.pred %p12, %p12, %p13;\n\t@%p12 bra ${label};\n{last}"
    )
}

#[test]
fn the_last_vote_of_a_search_is_one_condition_inside_of_the_loop_and_behind_it() {
    let inside = no_group("G", 51, true, -1);
    for behind in [true, false] {
        let other = no_group("H", 56, behind, -1);
        assert_eq!(ring([&inside, THREE], [&other, THREE]), "proved\t");
    }
    not_proved(&ring([&inside, THREE], [&no_group("H", 56, false, -2), THREE]));
    not_proved(&ring([&inside, THREE], [&no_group("H", 56, true, 0), THREE]));
}

/// The first step of the consumer stands before its loop. With a tile of no step it waits for ever.
#[test]
fn a_first_step_before_the_loop_is_proved_for_tiles_with_steps() {
    let (always, less) = ("\tsetp.eq.u32 %p8, %r2, %r2;\n", "\tadd.s32 %r46, %r46, -1;\n");
    let (producer, consumer) = (search("G", "gt", 51, false), search("H", "gt", 56, true));
    let found = ring([always, &producer], [NEVER, &format!("{consumer}{less}")]);
    assert_eq!(found, "proved\twith a step each time");
    not_proved(&ring([always, &producer], [NEVER, &format!("{consumer}{less}{less}")]));
}

/// The length of a tile at a place that the length of the tile before gives, read by `read`.
fn chain(read: &str) -> String {
    format!(
        "\tmul.wide.u32 %rd2, %r50, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\t{read};\n\tmov.b32 %r50, %r44;\n\
         \tmax.s32 %r46, %r44, 0;\n"
    )
}

/// A word that may change between two reads, or that each read changes, has two values for two roles.
#[test]
fn only_words_that_do_not_change_are_one_for_all_roles() {
    let verdict = |read: &str| {
        let other = read.replace("$A", "$B");
        ring([NEVER, &chain(read)], [NEVER, &chain(&other)])
    };
    assert_eq!(verdict("ld.global.nc.u32 %r44, [%rd3]"), "proved\t");
    for read in [
        "ld.volatile.global.u32 %r44, [%rd3]",
        "ld.relaxed.gpu.global.u32 %r44, [%rd3]",
        "atom.global.add.u32 %r44, [%rd3], 1",
        "atom.global.exch.b32 %r44, [%rd3], %r50",
        "mov.u32 %r44, %clock",
        // One lane takes the next number for its warp.
        "setp.eq.u32 %p11, %r4, 0;\n\t@%p11 atom.global.add.u32 %r44, [%rd3], 1;\n\t\
         shfl.sync.idx.b32 %r44, %r44, 0, 31, -1",
        "setp.eq.u32 %p11, %r4, 0;\n\tmov.b32 %r44, 0;\n\t@!%p11 bra $A;\n\tatom.global.add.u32 %r44, [%rd3], 1;\n\
         $A:\n\tshfl.sync.idx.b32 %r44, %r44, 0, 31, -1",
    ] {
        let found = verdict(read);
        assert!(!found.starts_with("proved"), "{read}: {found}");
    }
}
