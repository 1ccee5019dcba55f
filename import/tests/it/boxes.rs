//! Bytes that barriers expect and that are not those of the boxes of their copies.

use crate::common::verdict_on;
use crate::kernels::recorded;

/// The text with another number in the `n`th line that contains `what`.
fn with(text: &str, what: &str, n: usize, (old, new): (&str, &str)) -> String {
    let mut seen = 0;
    let line = |l: &str| {
        seen += usize::from(l.contains(what));
        let is = l.contains(what) && seen == n + 1;
        if is { l.replace(old, new) } else { l.to_string() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn is_other_number(said: &str) -> bool {
    said.starts_with("violated")
        && (said.contains("bytes more than expected") || said.contains("bytes more than the copies deliver"))
}

/// Rows of an operand with a swizzle are whole, so the copies bring the bytes of the next row, too.
#[test]
fn a_barrier_expects_a_part_of_a_row() {
    let text = recorded("emit.hopper-tma_wgmma.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    for bytes in ["32752", "32736", "32784"] {
        let faulty = verdict_on(&with(&text, ", 32768;", 0, ("32768", bytes)));
        assert!(is_other_number(&faulty), "{faulty}");
    }
    let text = recorded("triton.tma_128x128x64_w4_s3.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&with(&text, "expect_tx", 0, ("32768", "32752")));
    assert!(is_other_number(&faulty), "{faulty}");
}

/// Threads read what the copies of a kernel bring, so no row is known. Copies to one place have one box.
#[test]
fn copies_to_one_place_of_different_sizes_are_not_proved() {
    let text = recorded("triton.persistws_32x32x32_sm90_w4_s1.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&with(&text, "expect_tx", 0, ("2048", "2032")));
    assert!(faulty.starts_with("gave up") && faulty.contains("barriers expect 2032 bytes"), "{faulty}");
}

/// DEVIATIONS.md, 67: which rows a copy by tensor map brings follows from the bytes that its barrier expects. Rows that
/// products read and no copy brings are an assumption: a tile may have fewer rows than the product.
#[test]
fn fixme_a_barrier_that_expects_whole_rows_too_few_is_not_found() {
    let text = recorded("emit.hopper-tma_wgmma.ptx");
    assert_eq!(verdict_on(&text.replace(", 32768;", ", 28672;")), "proved\t");
    // A product of 64 rows finds none of them.
    let faulty = verdict_on(&text.replace(", 32768;", ", 16384;"));
    assert!(faulty.starts_with("violated") && faulty.contains("nothing has written"), "{faulty}");
}

/// FlashInfer copies 125 rows of tiles of 128 rows, which products read as a whole.
#[test]
fn two_copies_by_one_tensor_map_have_one_box() {
    let text = recorded("emit.hopper-tma_wgmma.ptx");
    // Both copies of a step by one map: each brings half of the bytes.
    let one = text.replace("[%rd18, {", "[%rd17, {");
    assert_eq!(verdict_on(&one), "proved\t");
}

/// A convolution copies pixels of an image as the rows of a matrix. Offsets of pixels say which.
#[test]
fn copies_of_pixels_bring_what_their_barrier_expects() {
    let text = recorded("emit.hopper-tma_wgmma.ptx");
    let copy = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
    assert!(text.contains(copy), "{text}");
    let pixels = |l: &str| match l.contains(copy) {
        true => l
            .replace(".2d.shared::cluster.global.", ".4d.shared::cluster.global.im2col.")
            .replace("];", "], {%rs1, %rs2};"),
        false => l.to_string(),
    };
    let text: String = text.lines().map(|l| pixels(l) + "\n").collect();
    let text = text.replacen("\t.reg .pred", "\t.reg .b16 %rs<3>;\n\t.reg .pred", 1);
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&text.replace(", 32768;", ", 32784;"));
    assert!(is_other_number(&faulty), "{faulty}");
}

#[test]
fn a_copy_over_the_barrier_that_it_signals_is_refused() {
    let text = recorded("emit.museum-m09_expect_without_arrive-fix.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&with(&text, "mov.u32 \t%r45, 8192", 0, ("8192", "8208")));
    assert!(faulty.starts_with("rejected") && faulty.contains("8208 bytes that their barrier expects"), "{faulty}");
}

/// The kernel makes its tensor maps, and each copy follows a fence of its map.
#[test]
fn a_changed_tensor_map_without_a_fence_is_not_proved() {
    let text = recorded("triton.tma_128x128x64_w4_s3.ptx");
    let fences = text.lines().filter(|l| l.contains("fence.proxy.tensormap::generic.acquire")).count();
    assert_eq!(fences, 2);
    for n in 0..fences {
        let faulty = verdict_on(&with(&text, "fence.proxy.tensormap::generic.acquire", n, ("acquire", "release")));
        assert!(faulty.starts_with("gave up") && faulty.contains("no `fence.proxy.tensormap"), "{faulty}");
    }
}
