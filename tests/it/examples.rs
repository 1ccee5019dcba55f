//! The programs of `examples/` run, and print what their headers say.
//!
//! `BLESS=1` writes the headers.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../examples/custom_machine.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example is a program of its own")]
mod custom_machine;
#[path = "../../examples/property_test.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example is a program of its own")]
mod property_test;
#[path = "../../examples/stalls.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example is a program of its own")]
mod stalls;
#[path = "../../examples/sweep_heat_map.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example is a program of its own")]
mod sweep_heat_map;
#[path = "../../examples/verify_folder.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example is a program of its own")]
mod verify_folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Compares an output with the header of an example: the lines between `$ cargo run` and the end of the block.
fn matches_header(example: &str, output: Vec<u8>) {
    let path = root().join("examples").join(format!("{example}.rs"));
    let text = fs::read_to_string(&path).unwrap();
    let start = text.find("//! $ cargo run").unwrap();
    let start = start + text[start..].find('\n').unwrap() + 1;
    let end = start + text[start..].find("//! ```").unwrap();
    let lines = String::from_utf8(output).unwrap();
    let header: String = lines.lines().map(|l| format!("//! {l}").trim_end().to_string() + "\n").collect();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{}{header}{}", &text[..start], &text[end..])).unwrap();
    } else {
        assert_eq!(text[start..end], header, "{example}; BLESS=1 writes the header");
    }
}

#[test]
fn stalls_prints_its_header() {
    let mut out = Vec::new();
    stalls::example(&mut out).unwrap();
    matches_header("stalls", out);
}

#[test]
fn verify_folder_prints_its_header() {
    let mut out = Vec::new();
    verify_folder::example(root().join("scenarios/mla").to_str().unwrap(), &mut out).unwrap();
    matches_header("verify_folder", out);
}

#[test]
fn sweep_heat_map_prints_its_header_and_draws() {
    let dir = warpline_tests::TempDir::new();
    let picture = dir.path().join("sweep.svg");
    let mut out = Vec::new();
    sweep_heat_map::example(&picture, &mut out).unwrap();
    matches_header("sweep_heat_map", out);
    let svg = fs::read_to_string(picture).unwrap();
    assert!(roxmltree::Document::parse(&svg).is_ok() && svg.contains("tile_n"));
}

#[test]
fn property_test_prints_its_header() {
    let mut out = Vec::new();
    property_test::example(&mut out).unwrap();
    matches_header("property_test", out);
}

#[test]
fn custom_machine_prints_its_header() {
    let mut out = Vec::new();
    custom_machine::example(&mut out).unwrap();
    matches_header("custom_machine", out);
}
