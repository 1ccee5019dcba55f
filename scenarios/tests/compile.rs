//! Whole kernels compile.

use std::collections::BTreeMap;

use warpline_scenarios::{Inputs, compile};
use warpline_sim::ir::Program;

fn read(name: &str, set: &[(&str, i64)]) -> Program {
    let file = format!("{}/tests/good/{name}.pipe", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap();
    let set: BTreeMap<String, i64> = set.iter().map(|(n, v)| (n.to_string(), *v)).collect();
    match compile(name, &text, &Inputs { set: &set, cores: Some(132) }) {
        Ok(p) => p,
        Err(all) => {
            for d in &all {
                let line = text[..d.span.start].matches('\n').count() + 1;
                eprintln!("{name}:{line}: {} | {} | {:?} | {:?}", d.message, d.label, d.help, &text[d.span.clone()]);
            }
            panic!("{name}: {} errors", all.len());
        }
    }
}

const MNK: [(&str, i64); 3] = [("m", 512), ("n", 512), ("k", 512)];

#[test]
fn every_good_kernel_compiles() {
    for name in ["triple_buffer", "tma_warp_specialized", "level2_2sm", "two_step_ahead", "proj_k16", "marlin", "clc"] {
        read(name, &MNK);
    }
    read("ring", &[]);
}
