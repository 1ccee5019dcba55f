//! Loads of tensor memory and stores over what they read, with and without a wait on some way from one to the other.

use warpline_import::{lift, ptx};

/// The kernel with this code, and its text. A line that is a word of `words` stands for its instruction.
pub(crate) fn kernel(code: &str, words: &[(&str, &str)]) -> (ptx::Entry, String) {
    let instruction = |word: &str| words.iter().find(|(w, _)| *w == word).map_or(word, |(_, i)| *i).to_string();
    let lines: String = code.lines().map(|line| format!("\t{}\n", instruction(line.trim()))).collect();
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u32 k_param_0)\n.reqntid 64\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\tld.param.u32 %r4, [k_param_0];\n\tsetp.eq.s32 %p1, %r4, 7;\n\
         \tmov.b32 %r1, 0;\n\tmov.b32 %r3, 0;\n{lines}\tret;\n}}\n"
    );
    let mut module = ptx::read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    (module.entries.remove(0), text)
}

/// The line of a text with an instruction.
pub(crate) fn line_of(text: &str, instruction: &str) -> u32 {
    text.lines().position(|l| l.contains(instruction)).map_or(0, |n| n as u32 + 1)
}

/// Whether no way waits, in a loop of this code.
fn never_waited_for(code: &str) -> bool {
    let words = [
        ("LOAD", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];"),
        ("WAIT", "tcgen05.wait::ld.sync.aligned;"),
        ("STORE", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};"),
    ];
    let again = "add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p2, %r3, %r4;\n@%p2 bra $LOOP;";
    let (entry, text) = kernel(&format!("$LOOP:\n{code}\n{again}"), &words);
    lift::never_waited_for(&entry, line_of(&text, "tcgen05.ld"), line_of(&text, "tcgen05.st"))
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
