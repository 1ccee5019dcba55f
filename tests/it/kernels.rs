//! The kernels of `examples/kernels`, written as a user writes them: each runs without a fault and has its verdict.

use std::path::PathBuf;

use warpline::Status;
use warpline_tests::warpline;

/// Name, the settings of the proof, and the first word of the verdict.
const KERNELS: [(&str, &[&str], &str); 8] = [
    ("fused_mlp", &[], "PROVED."),
    ("grouped_gemm", &[], "PROVED."),
    ("layer_norm", &[], "PROVED."),
    ("metal_mlp", &[], "PROVED."),
    ("mfma_gemm", &[], "PROVED."),
    ("paged_attention", &["--set", "heads=8"], "PROVED."),
    // Short sums: the development build proves them as given in a minute.
    ("split_k", &["--set", "m=128", "--set", "n=128", "--set", "k=4096"], "PROVED."),
    ("stream_k", &["--set", "k=256"], "PROVED."),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/kernels")
}

#[test]
fn every_kernel_has_its_verdict() {
    for (name, settings, verdict) in KERNELS {
        let scenario = folder().join(format!("{name}.toml")).display().to_string();
        let said = warpline(&[&["verify", &*scenario, "--no-suggestion"], settings].concat());
        assert_eq!(said.status, Status::Holds, "{name}: {}{}", said.out, said.err);
        assert!(said.out.lines().any(|l| l.starts_with(verdict)), "{name}: {}", said.out);
    }
}

#[test]
fn every_kernel_runs_to_its_end() {
    for (name, _, _) in KERNELS {
        let scenario = folder().join(format!("{name}.toml")).display().to_string();
        let said = warpline(&["run", &scenario]);
        assert_eq!(said.status, Status::Holds, "{name}: {}{}", said.out, said.err);
        assert!(said.out.contains("\nTime  ") && !said.out.contains("FAULTY"), "{name}: {}", said.out);
    }
}

#[test]
fn every_kernel_of_the_folder_is_listed_and_in_the_standard_layout() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|f| f.unwrap().file_name().to_str()?.strip_suffix(".pipe").map(str::to_string))
        .collect();
    found.sort();
    assert_eq!(found, KERNELS.map(|k| k.0));
    let said = warpline(&["fmt", "--check", &folder().display().to_string()]);
    assert_eq!(said.status, Status::Holds, "{}", said.out);
}
