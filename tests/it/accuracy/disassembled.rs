//! Runs of compiled kernels with and without their disassembly, beside measured times.

use serde_json::Value;
use warpline_api::{Request, execute, load};

use super::compiled::{FOLDER, number, recorded, request};
use super::file;

/// Kernels for which ptxas issues loads in batches. `nvdisasm -c` of CUDA 13 gave their disassembly.
const KERNELS: [&str; 2] = ["decode_8192x64x128_64_w4_s2", "split_64x2048x16384_64x64x64_w4_s3_p16"];

/// The relative error of a run, and its note.
fn error(row: &Value, sass: bool) -> (f64, String) {
    let name = row["name"].as_str().expect("a name");
    let sass = sass.then(|| file(&format!("{FOLDER}/{name}.sass.gz")));
    let subject = load(&Request { sass, ..request(row) }).unwrap_or_else(|e| panic!("{name}: {e}"));
    let r = execute(&subject, None).unwrap_or_else(|e| panic!("{name}: {e}"));
    (r.cycles / number(row, "cycles") - 1.0, subject.note.unwrap_or_default())
}

#[test]
fn a_run_that_knows_or_estimates_the_order_of_loads_comes_nearer_to_the_device() {
    let rows = recorded(FOLDER);
    for name in KERNELS {
        let row = rows.iter().find(|r| r["name"] == name).expect("a row of this name");
        let mut without_registers = row.clone();
        without_registers["launch"].as_object_mut().expect("a launch").remove("regs");
        let (unlimited, first) = error(&without_registers, false);
        let (estimated, second) = error(row, false);
        let (known, third) = error(row, true);
        assert!(unlimited < -0.3, "{name}: {unlimited:.2} with all loads in flight");
        assert!(estimated.abs() < 0.25, "{name}: {estimated:.2} with the loads that registers have room for");
        assert!(known.abs() < 0.2, "{name}: {known:.2} with its disassembly");
        assert!(first.contains("The assembler's schedule and spills are not known. Races"), "{first}");
        assert!(second.contains("of its loads wait until others are used (estimated)"), "{second}");
        assert!(third.contains("registers of a thread and the order of its loads"), "{third}");
    }
}
