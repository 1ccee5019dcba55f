//! Kernels as source text: what is written, what is refused, and that a compiler takes it where there is one.

use std::collections::BTreeMap;
use std::process::Command;

use warpline::Status;
use warpline_emit::cuda;
use warpline_scenarios::{Inputs, compile, embedded, embedded_kernel_of, embedded_names, scenario};
use warpline_sim::ir::Program;
use warpline_sim::machine::{Machine, Vendor};
use warpline_tests::{Said, warpline};

mod carried;
mod compiled;
mod targets;
mod tensor;

/// A built-in scenario's kernel, and its machine.
fn built_in(name: &str) -> (Program, Machine) {
    let (file, text) = embedded(name).unwrap();
    let scenario = scenario(file, text).unwrap();
    let kernel = embedded_kernel_of(name, &scenario.kernel).unwrap();
    let machine = warpline_models::embedded(&scenario.machine).unwrap();
    let cores = machine.get("core.count").map(|c| c as i64);
    (compile(kernel.0, kernel.1, &Inputs { set: &scenario.set, cores }).unwrap(), machine)
}

fn program(name: &str) -> Program {
    built_in(name).0
}

/// The machine of a built-in scenario.
fn machine_of(name: &str) -> Machine {
    let (file, text) = embedded(name).unwrap();
    warpline_models::embedded(&scenario(file, text).unwrap().machine).unwrap()
}

/// What its machine's target makes of a scenario; nothing where the machine is none.
fn written(name: &str) -> Option<Said> {
    let target = match machine_of(name).vendor {
        Vendor::Nvidia => "cuda",
        Vendor::Amd => "hip",
        Vendor::Apple => "metal",
        Vendor::Paper => return None,
    };
    Some(warpline(&["emit", name, "--target", target]))
}

fn small(name: &str, set: &[(&str, i64)]) -> Program {
    let (file, text) = warpline_scenarios::embedded_kernel(name).unwrap();
    let set: BTreeMap<String, i64> = set.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    compile(file, text, &Inputs { set: &set, cores: Some(132) }).unwrap()
}

fn is_cuda(p: &Program) -> bool {
    p.needs.iter().all(|(n, _)| ["sm_80", "sm_90", "sm_90a"].contains(&n.as_str())) && !p.needs.is_empty()
}

/// The text of the kernel alone.
fn body(text: &str) -> String {
    let from = text.find("__global__ void __").unwrap();
    let to = text[from..].find("\n}\n").unwrap();
    text[from..from + to].to_string()
}

#[test]
fn every_scenario_of_sm_80_to_sm_90a_is_written() {
    let all: Vec<(&str, Program)> =
        embedded_names().into_iter().map(|n| (n, program(n))).filter(|(_, p)| !p.cooperative).collect();
    let mut written = 0;
    for (name, p) in all.iter().filter(|(_, p)| is_cuda(p)) {
        cuda(p, p).unwrap_or_else(|e| panic!("{name}: {e}"));
        written += 1;
    }
    assert!(written >= 70, "{written}");
}

#[test]
fn roles_loops_barriers_and_counts_are_those_of_the_text() {
    let p = small("hopper/tma_warp_specialized", &[("m", 256), ("n", 512), ("k", 448)]);
    insta::assert_snapshot!("tma_warp_specialized", body(&cuda(&p, &p).unwrap()));
}

#[test]
fn a_condition_with_else_inside_a_loop_keeps_its_arms() {
    let p = small("museum/m09_expect_without_arrive/kernel", &[("tiles", 3)]);
    let text = body(&cuda(&p, &p).unwrap());
    assert_eq!(text.matches("arrive_expect").count(), 1, "{text}");
    let p = small("museum/m15_no_init_fence/kernel", &[("tiles", 3)]);
    let text = body(&cuda(&p, &p).unwrap());
    assert_eq!(text.matches("} else {").count(), 1, "{text}");
}

#[test]
fn each_cta_draws_the_cycles_that_differ_between_them() {
    let text = |name: &str| cuda(&program(name), &program(name)).unwrap();
    assert!(text("hopper/tma_wgmma").contains("wl::busy(3000 + wl::mix(cta + 1) % 1201u);"));
    assert!(text("hopper/cp_async_wgmma").contains("wl::busy(600 + wl::mix(cta + 1) % 601u);"));
    assert!(text("ampere/chart_naive").contains("wl::busy(300);"));
}

#[test]
fn a_mutant_is_held_to_the_kernel_it_was_made_from() {
    let said = warpline(&["emit", "ampere/naive", "--target", "cuda", "--mutant", "0"]);
    let plain = warpline(&["emit", "ampere/naive", "--target", "cuda"]);
    assert_eq!((said.status, plain.status), (Status::Holds, Status::Holds));
    assert!(said.err.contains("left out"), "{}", said.err);
    let reference = |t: &str| t[t.find(") reference(").unwrap()..].to_string();
    assert_eq!(reference(&said.out), reference(&plain.out));
    assert_eq!(body(&said.out).matches("wl::barrier()").count() + 1, body(&plain.out).matches("wl::barrier()").count());
    let said = warpline(&["emit", "ampere/naive", "--target", "cuda", "--mutant", "1000"]);
    assert_eq!(said.status, Status::BadInput);
}

/// Compiles what is emitted, where `nvcc` can be started; elsewhere it says that it did not.
#[test]
fn nvcc_takes_what_is_emitted() {
    if Command::new("nvcc").arg("--version").output().is_err() {
        println!("skipped: there is no nvcc here");
        return;
    }
    let dir = std::env::temp_dir().join(format!("warpline-emit-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for name in ["hopper/tma_warp_specialized", "ampere/smem_double_buffer", "correct/tma_async"] {
        let p = program(name);
        let (source, object) = (dir.join("x.cu"), dir.join("x.cubin"));
        std::fs::write(&source, cuda(&p, &p).unwrap()).unwrap();
        let done = Command::new("nvcc")
            .args([
                "-std=c++17",
                "-gencode",
                "arch=compute_90a,code=sm_90a",
                "-cubin",
                "-DWL_WATCH",
                "-DWL_DELAY",
                "-DWL_STAMP",
                "-o",
            ])
            .arg(&object)
            .arg(&source)
            .output()
            .unwrap();
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }
    std::fs::remove_dir_all(dir).unwrap();
}
