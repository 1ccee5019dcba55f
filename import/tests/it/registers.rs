//! Registers of a thread at launch, in kernels that hand registers over.

/// The verdict on a kernel of 512 threads in which the first warpgroup gets registers from the other three.
fn verdict(bounds: &str, last: &str) -> String {
    let text = format!(
        ".version 8.6\n\
         .target sm_90a\n\
         .address_size 64\n\
         .visible .entry k(.param .u64 k_param_0)\n\
         {bounds}\
         {{\n\
         \t.reg .pred %p<8>;\n\
         \t.reg .b32 %r<8>;\n\
         \tmov.u32 %r1, %tid.x;\n\
         \tsetp.lt.u32 %p1, %r1, 128;\n\
         \tsetp.lt.u32 %p2, %r1, 384;\n\
         \t@%p1 bra $L0;\n\
         \t@%p2 bra $L1;\n\
         \tsetmaxnreg.{last};\n\
         \tret;\n\
         $L1:\n\
         \tsetmaxnreg.dec.sync.aligned.u32 64;\n\
         \tret;\n\
         $L0:\n\
         \tsetmaxnreg.inc.sync.aligned.u32 192;\n\
         \tret;\n\
         }}\n"
    );
    crate::common::verdict_on(&text)
}

const FOR_ONE: &str = ".maxntid 512\n.minnctapersm 1\n";

#[test]
fn a_thread_has_as_many_registers_as_have_room() {
    // 65,536 registers for 512 threads: 128 each, which the last warpgroup keeps.
    assert_eq!(verdict(FOR_ONE, "dec.sync.aligned.u32 128"), "proved\t");
    assert!(verdict(FOR_ONE, "dec.sync.aligned.u32 136").starts_with("violated"));
    // Two CTAs of an SM leave 64 registers for a thread.
    assert!(verdict(".maxntid 512\n.minnctapersm 2\n", "dec.sync.aligned.u32 128").starts_with("violated"));
    // What the others give back must be enough.
    assert!(verdict(FOR_ONE, "inc.sync.aligned.u32 208").starts_with("violated\thangs"));
}

#[test]
fn maxnreg_comes_before_what_has_room() {
    assert_eq!(verdict(".reqntid 512\n.maxnreg 128\n", "dec.sync.aligned.u32 128"), "proved\t");
    assert!(verdict(".reqntid 512\n.maxnreg 96\n", "dec.sync.aligned.u32 128").starts_with("violated"));
}

#[test]
fn ptxas_ignores_changes_where_it_cannot_tell_the_registers_at_launch() {
    assert_eq!(verdict(".maxntid 512\n", "inc.sync.aligned.u32 208"), "proved\t");
}
