//! The texts of invented runs: required content and width.

use warpline_api::Neighbor;

use super::{WIDTH, beside, run};
use crate::console::Paint;
use crate::sample;

const PLAIN: Paint = Paint { color: false };

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    // A line break counts as a space.
    let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words(text).contains(&words(part)), "`{part}` is missing in\n{text}");
    }
    // The frame around a source line may be wider; words may not.
    for line in text.lines().filter(|l| !l.contains('│')) {
        assert!(line.chars().count() <= WIDTH, "too wide: {line}");
    }
}

#[test]
fn a_run_says_all_it_knows() {
    let text = run(&sample::ran("metal/sample"), None, PLAIN);
    has(
        &text,
        &[
            "metal/sample",
            "mill, A made-up machine, 4 cores at 500 MHz",
            "m=64",
            "1,000 cycles, 2.000 us (launch takes 3.000 us more)",
            "1.000 TFLOPS, 50.0 % of the matrix peak",
            "400.5 cycles",
            "2 CTAs, 8 warps a core, limited by shared memory",
            "24,576 bytes used by a CTA, 8,192 free",
            "the tensor pipe, in use half of the time",
            "sample.pipe:3  wait full[0] for 1",
            "3 of 4 reads",
            "12 machine numbers used, 5 are documented, 4 measured, 3 estimated",
            "1 of a core's 2 CTAs simulated",
        ],
    );
    assert!(!text.contains('\x1b'));
}

#[test]
fn faults_come_with_both_lines_and_a_hang_with_its_waiters() {
    let text = run(&sample::faulty("sample"), None, PLAIN);
    has(
        &text,
        &[
            "HANGS. At cycle 1,000 nobody can proceed; 1 agent is left.",
            "loader w0 of CTA 0 at sample.pipe:3  wait full[0] for 1",
            "waits for phase 1 of full[0] (1 of 2 arrivals pending) since cycle 640",
            "needs: line 4: load arrives, but its warp has ended",
            "RAW race: a[0] is read while tile A 0,0 is still being written",
            "compute w2 of CTA 0, cycle 512.5, met 3 times",
            "written here",
        ],
    );
}

#[test]
fn color_adds_no_words() {
    let simulation = sample::faulty("sample");
    let colored = run(&simulation, None, Paint { color: true });
    assert!(colored.contains("\x1b[1;31mHANGS.\x1b[0m"));
    let mut plain = String::new();
    let mut rest = colored.split('\x1b');
    plain += rest.next().unwrap_or("");
    for part in rest {
        plain += part.split_once('m').map_or("", |(_, text)| text);
    }
    assert_eq!(plain, run(&simulation, None, PLAIN));
}

#[test]
fn a_comparison_is_a_computed_sentence() {
    let this = sample::ran("metal/triple");
    let mut other = sample::ran("metal/double");
    other.report.time_us = 2.5;
    other.report.shared_bytes = 16384;
    let neighbor = |name: &str, simulation| Neighbor { name: name.into(), simulation };
    let others = [
        neighbor("double", Ok(other)),
        neighbor("same", Ok(sample::ran("same"))),
        neighbor("stuck", Ok(sample::faulty("stuck"))),
        neighbor("gone", Err("there is no machine `x`".into())),
    ];
    has(
        &beside(&this, &others, PLAIN),
        &[
            "triple takes 20.0 % less time than double (2.000 against 2.500 us), with 8,192 bytes",
            "triple takes as long as same (2.000 us).",
            "stuck hangs, so the two times do not compare.",
            "gone did not run: there is no machine `x`",
        ],
    );
}
