//! Compiled kernels whose text does not say how many threads a block has.

use warpline::Status;
use warpline_tests::{TempDir, warpline};

use crate::imported::KERNEL;

/// A text need not say how many threads a block has: the error names the option that does, and what usual sizes give.
#[test]
fn a_block_that_the_text_does_not_give_is_an_option() {
    let dir = TempDir::new();
    let text = KERNEL.replace(".reqntid 64\n", "");
    // A barrier that does not exist.
    let file = dir.write("k.ptx", text.replace("bar.sync 0", "bar.sync 16"));
    let said = warpline(&["verify", &file]);
    let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.status, Status::BadInput, "{}", said.out);
    assert!(words.contains("how many threads") && words.contains("name the size with `--block`"), "{words}");
    let file = dir.write("k.ptx", text);
    let verified = warpline(&["verify", &file, "--block", "96"]);
    assert_eq!(verified.status, Status::Holds, "{}{}", verified.out, verified.err);
    let wrong = warpline(&["verify", &file, "--block", "64x"]);
    assert_eq!(wrong.status, Status::BadInput, "{}", wrong.out);
}

/// The barrier is one of three warps, which is no usual size. With any other number of threads there is a fault.
#[test]
fn the_only_size_of_a_block_that_is_proved() {
    let dir = TempDir::new();
    let text = KERNEL.replace(".reqntid 64\n", "").replace("bar.sync 0", "bar.sync 0, 96");
    let said = warpline(&["verify", &dir.write("k.ptx", &text)]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.status, Status::Holds, "{}{}", said.out, said.err);
    assert!(words.contains("a block has 96 threads, as the text does not say"), "{words}");
    // A word of another warp is read before the barrier.
    let text = text.replace(".reg .b32 %r<2>", ".reg .b32 %r<9>;\n\t.shared .align 4 .b8 data[4096]").replace(
        "\tbar.sync",
        "\tmov.u32 %r2, %tid.x;\n\tmov.b32 %r3, data;\n\tshl.b32 %r4, %r2, 2;\n\tadd.s32 %r5, %r3, %r4;\n\
         \tst.shared.b32 [%r5], %r2;\n\txor.b32 %r6, %r4, 128;\n\tadd.s32 %r7, %r3, %r6;\n\tld.shared.b32 %r8, [%r7];\n\
         \tbar.sync",
    );
    let said = warpline(&["verify", &dir.write("f.ptx", &text), "--no-suggestion"]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.status, Status::Violated, "{}{}", said.out, said.err);
    assert!(words.contains("with every other multiple of 32 threads, there is a fault"), "{words}");
    assert!(words.contains("RAW race violated"), "{words}");
}

/// A kernel that is right for every usual size is proved for these. One warp alone would prove nothing.
#[test]
fn a_kernel_for_any_size_of_a_block_is_proved_for_usual_sizes() {
    let dir = TempDir::new();
    let file = dir.write("k.ptx", KERNEL.replace(".reqntid 64\n", ""));
    let said = warpline(&["verify", &file]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.status, Status::Holds, "{words}{}", said.err);
    assert!(words.contains("a block has 64, 128, 256, 512 or 1024 threads, as the text does not say"), "{words}");
}

/// The second words of the first 256 threads are the first words of the next ones. So the proof is for sizes up to 256.
#[test]
fn a_size_with_which_warps_store_the_same_bytes_is_too_large() {
    let dir = TempDir::new();
    let words_of = |barrier: &str| {
        let text = KERNEL.replace(".reqntid 64\n", "");
        let text = text.replace(".reg .b32 %r<2>", ".reg .b32 %r<9>;\n\t.shared .align 4 .b8 data[8192]").replace(
            "\tbar.sync 0;",
            &format!(
                "\tmov.u32 %r2, %tid.x;\n\tmov.b32 %r3, data;\n\tshl.b32 %r4, %r2, 2;\n\
                 \tadd.s32 %r5, %r3, %r4;\n\tst.shared.b32 [%r5], %r2;\n\
                 \tst.shared.b32 [%r5+1024], %r2;\n{barrier}\txor.b32 %r6, %r4, 128;\n\
                 \tadd.s32 %r7, %r3, %r6;\n\tld.shared.b32 %r8, [%r7];"
            ),
        );
        let said = warpline(&["verify", &dir.write("k.ptx", &text), "--no-suggestion"]);
        (said.status, format!("{}{}", said.out, said.err).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, words) = words_of("\tbar.sync 0;\n");
    assert_eq!(status, Status::Holds, "{words}");
    assert!(words.contains("a block has 64, 128 or 256 threads, as the text does not say"), "{words}");
    assert!(words.contains("with 512, several warps store the same bytes"), "{words}");
    let (status, words) = words_of("");
    assert_ne!(status, Status::Holds, "{words}");
}
