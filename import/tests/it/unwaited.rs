//! Loads of tensor memory and stores over what they read, with and without a wait on some way from one to the other.

use warpline_import::{lift, ptx};

/// Whether no way waits, in a loop of this code. A line `LOAD`, `WAIT` or `STORE` stands for the instruction.
fn never_waited_for(code: &str) -> bool {
    let lines: String = code
        .lines()
        .map(|line| match line.trim() {
            "LOAD" => "\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];\n".to_string(),
            "WAIT" => "\ttcgen05.wait::ld.sync.aligned;\n".to_string(),
            "STORE" => "\ttcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};\n".to_string(),
            other => format!("\t{other}\n"),
        })
        .collect();
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0)\n.reqntid 32\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\tld.param.u32 %r4, [k_param_0];\n\tsetp.eq.s32 %p1, %r4, 7;\n\
         \tmov.b32 %r1, 0;\n\tmov.b32 %r3, 0;\n$LOOP:\n{lines}\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.s32 %p2, %r3, %r4;\n\
         \t@%p2 bra $LOOP;\n\tret;\n}}\n"
    );
    let module = ptx::read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let line = |what: &str| text.lines().position(|l| l.contains(what)).map_or(0, |n| n as u32 + 1);
    lift::never_waited_for(&module.entries[0], line("tcgen05.ld"), line("tcgen05.st"))
}

#[test]
fn a_wait_on_any_way_between_counts() {
    assert!(never_waited_for("LOAD\nSTORE"));
    assert!(!never_waited_for("LOAD\nWAIT\nSTORE"));
    assert!(!never_waited_for("LOAD\n@%p1 bra $NEXT;\nWAIT\n$NEXT:\nSTORE"));
    // Behind the store, and ahead of the next load.
    assert!(never_waited_for("LOAD\nSTORE\nWAIT"));
    // The store of the next iteration.
    assert!(!never_waited_for("STORE\nLOAD\nWAIT"));
    assert!(never_waited_for("WAIT\nLOAD\n@%p1 bra $NEXT;\nret;\n$NEXT:\nSTORE"));
    // The store is never reached.
    assert!(!never_waited_for("bra.uni $NEXT;\nSTORE\n$NEXT:\nLOAD\nret;"));
}
