//! Which target takes what: every scenario is written for its machine's, or refused with its place.

use std::fmt::Write;

use warpline::Status;
use warpline_emit::{cuda, hip};
use warpline_scenarios::embedded_names;
use warpline_tests::{TempDir, warpline};

use super::{body, machine_of, program, written};

/// The words of a refusal and its place, in one line.
fn refusal(err: &str) -> String {
    let words: Vec<&str> =
        err.lines().take_while(|l| !l.contains("╭─[")).map(|l| l.trim_matches([' ', '×', '│'])).collect();
    let place = err.lines().find_map(|l| l.split_once("╭─[")).map_or("", |(_, p)| p.trim_end_matches(']'));
    format!("{place}: {}", words.join(" "))
}

/// Each was written, and wrong or refused on an H200, until a sweep over tiles ran there.
#[test]
fn tiles_that_the_device_cannot_take_are_refused() {
    for (args, message) in [
        ("hopper/tma_wgmma --set tile_k=96", "rows of 192 bytes are no whole swizzle atoms of 128"),
        (
            "hopper/cp_async_wgmma --set tile_m=64 --set tile_n=64 --set warps=8",
            "a part of 32 columns, no whole swizzle atoms of 128 bytes",
        ),
        (
            "hopper/persistent --set tile_k=128",
            "a CTA needs 393280 bytes of shared memory; h200 gives one at most 232448",
        ),
    ] {
        let args: Vec<&str> = ["emit"].into_iter().chain(args.split(' ')).chain(["--target", "cuda"]).collect();
        let said = warpline(&args);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}");
        assert!(said.err.contains(message), "{}", said.err);
    }
    // Half a panel of 128 bytes is a panel of its own where the atom has 64.
    let narrow = warpline(&["emit", "hopper/tma_wgmma", "--set", "tile_k=32", "--target", "cuda"]);
    assert_eq!(narrow.status, Status::Holds, "{}", narrow.err);
    assert!(narrow.out.contains("32, 16, 64> B_a;"), "a slot of 32 columns with atoms of 64 bytes");
}

#[test]
fn every_scenario_is_written_for_its_machine_or_refused_with_a_place() {
    let (mut refused, mut count) = (String::new(), [0, 0]);
    for name in embedded_names() {
        let Some(said) = written(name) else { continue };
        match said.status {
            Status::Holds => {
                assert_eq!(Some(&said), written(name).as_ref(), "{name}: other bytes the second time");
                count[0] += 1;
            }
            _ => {
                assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{name}");
                // File, line, column, and a caret below the statement.
                assert!(said.err.contains(".pipe") && said.err.contains('┬'), "{name}: {}", said.err);
                let _ = writeln!(refused, "{name}: {}", refusal(&said.err));
                count[1] += 1;
            }
        }
    }
    let _ = writeln!(refused, "{} written, {} refused", count[0], count[1]);
    insta::assert_snapshot!("refused", refused);
}

#[test]
fn what_a_target_lacks_is_refused_with_the_statement_and_who_has_it() {
    let (p, mi300x) = (program("hopper/tma_wgmma"), machine_of("cdna/two_step_ahead_mi300x"));
    let e = hip(&p, &p, &mi300x).unwrap_err();
    assert!(e.line > 0 && e.why.contains("--target cuda"), "{e}");
    let p = program("cdna/num_stages_2");
    let e = cuda(&p, &p).unwrap_err();
    assert!(e.line > 0 && e.why.contains("--target hip"), "{e}");
}

#[test]
fn the_machine_decides_the_target() {
    for (name, target, right) in [
        ("cdna/num_stages_2", "cuda", "--target hip"),
        ("hopper/tma_wgmma", "hip", "--target cuda"),
        ("metal/triple_buffer", "cuda", "--target metal"),
        ("timeline/naive", "cuda", "--machine"),
    ] {
        let said = warpline(&["emit", name, "--target", target]);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{name}");
        assert!(said.err.contains(right), "{name}: {}", said.err);
    }
}

#[test]
fn a_hip_kernel_has_its_own_waits_and_the_counts_of_the_text() {
    let said = warpline(&[
        "emit",
        "cdna/num_stages_2",
        "--target",
        "hip",
        "--set",
        "m=512",
        "--set",
        "n=512",
        "--set",
        "k=448",
    ]);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    insta::assert_snapshot!("num_stages_2_hip", body(&said.out));
    assert!(said.out.contains("#define WL_MANUAL 1\n#define DMA_BYTES 16\n"));
    // No device of AMD's was ever at hand, and the file says so.
    assert!(said.out.contains("// Untested: its authors have no AMD device."));
}

#[test]
fn a_metal_kernel_comes_with_the_program_that_runs_it() {
    let dir = TempDir::new();
    let file = dir.file("x.metal");
    let set = ["--set", "m=128", "--set", "n=128", "--set", "k=128"];
    let said = warpline(&[&["emit", "metal/triple_buffer", "--target", "metal", "-o", &file], &set[..]].concat());
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    let text = std::fs::read_to_string(&file).unwrap();
    let swift = std::fs::read_to_string(dir.file("x.swift")).unwrap();
    let from = text.find("kernel void pipe(").unwrap();
    insta::assert_snapshot!("triple_buffer_metal", &text[from..from + text[from..].find("\n}\n").unwrap()]);
    // Nobody here has an Apple machine, and both files say so.
    assert!(text.contains("// Untested: its authors have no Apple GPU") && swift.contains("Never compiled or run."));
    assert!(swift.contains("let simdgroups = 4, threadgroups = 4, poolBytes = 24576"));
    // To the standard output goes the kernel, and a note.
    let said = warpline(&[&["emit", "metal/triple_buffer", "--target", "metal"], &set[..]].concat());
    assert!(said.out == text && said.err.contains("x.swift"), "{}", said.err);
}

#[test]
fn sm_100a_is_written_and_marked_untested() {
    let said = warpline(&["emit", "blackwell/level3_two_loops", "--target", "cuda", "--set", "k=512"]);
    assert_eq!(said.status, Status::Holds, "{}", said.err);
    assert!(said.out.lines().take(6).any(|l| l.starts_with("// Untested")));
    assert!(said.out.contains("code=sm_100a"));
    insta::assert_snapshot!("level3_two_loops", body(&said.out));
    // What was run on a device is not marked so.
    let said = warpline(&["emit", "hopper/tma_wgmma", "--target", "cuda"]);
    assert!(!said.out.contains("Untested") && !said.out.contains("tcgen05"));
}
