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

/// Rows of an operand with a swizzle are whole, so the copies bring the bytes of the next row, too.
#[test]
fn a_barrier_expects_a_part_of_a_row() {
    let text = recorded("emit.hopper-tma_wgmma.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    for bytes in ["32752", "32736", "32784"] {
        let faulty = verdict_on(&with(&text, ", 32768;", 0, ("32768", bytes)));
        assert!(faulty.starts_with("violated") && faulty.contains("than expected"), "{faulty}");
    }
    let text = recorded("triton.tma_128x128x64_w4_s3.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&with(&text, "expect_tx", 0, ("32768", "32752")));
    assert!(faulty.starts_with("violated") && faulty.contains("than expected"), "{faulty}");
}

/// Threads read what the copies of a kernel bring, so no row is known. Copies to one place have one box.
#[test]
fn copies_to_one_place_of_different_sizes_are_not_proved() {
    let text = recorded("triton.persistws_32x32x32_sm90_w4_s1.ptx");
    assert_eq!(verdict_on(&text), "proved\t");
    let faulty = verdict_on(&with(&text, "expect_tx", 0, ("2048", "2032")));
    assert!(faulty.starts_with("gave up") && faulty.contains("nothing writes"), "{faulty}");
}
