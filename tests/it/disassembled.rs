//! Runs of compiled kernels with and without their disassembly, beside measured times.

use serde_json::Value;
use warpline_api::{Request, Setting, Sources, execute, load};

/// Kernels for which ptxas issues loads in batches. `nvdisasm -c` of CUDA 13 gave their disassembly.
const KERNELS: [&str; 2] = ["decode_8192x64x128_64_w4_s2", "split_64x2048x16384_64x64x64_w4_s3_p16"];

const FOLDER: &str = "calibrate/data/h100_kernels";

/// The relative error of a run, and its note.
fn error(row: &Value, sass: bool) -> (f64, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER);
    let name = row["name"].as_str().expect("a name");
    let (cycles, ns) = (row["cycles"].as_f64().expect("cycles"), row["ns"].as_f64().expect("ns"));
    let request = Request {
        machine: Some("h100".into()),
        texts: Sources::from([("l.json".to_string(), row["launch"].to_string())]),
        launch_file: Some("l.json".into()),
        sass: sass.then(|| root.join(format!("{name}.sass.gz"))),
        bind_launch: true,
        settings: vec![Setting::MachineNumber { key: "clock.mhz".into(), value: (cycles / ns * 1e3).round() }],
        ..Request::named(&root.join(format!("{name}.ptx.gz")).display().to_string())
    };
    let subject = load(&request).unwrap_or_else(|e| panic!("{name}: {e}"));
    let r = execute(&subject, None).unwrap_or_else(|e| panic!("{name}: {e}"));
    (r.cycles / cycles - 1.0, subject.note.unwrap_or_default())
}

#[test]
fn a_run_takes_the_order_of_loads_from_a_disassembly_and_comes_nearer_to_the_device() {
    let rows = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER).join("rows.jsonl"),
    );
    let rows: Vec<Value> =
        rows.expect("the rows").lines().map(|l| serde_json::from_str(l).expect("a row of JSON")).collect();
    for name in KERNELS {
        let row = rows.iter().find(|r| r["name"] == name).expect("a row of this name");
        let ((without, first), (with, second)) = (error(row, false), error(row, true));
        assert!(without < -0.3 && with.abs() < 0.2, "{name}: {without:.2} without, {with:.2} with");
        assert!(first.contains("The assembler's schedule and spills are not known"), "{first}");
        assert!(second.contains("registers of a thread and the order of its loads"), "{second}");
    }
}
