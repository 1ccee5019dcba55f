//! An operation that a machine lacks is an error that names the operation, what it needs and the machine.

use warpline_sim::report::RunError;

use super::try_run;

/// The message and the line of an operation that a machine lacks.
fn lacks(machine: &str, body: &str) -> (String, u32) {
    match try_run(machine, body) {
        Err(RunError::Unsupported { message, site: Some(site) }) => {
            (message, super::program(body).sites[site as usize].line)
        }
        other => panic!("the kernel is not refused: {other:?}"),
    }
}

#[test]
fn copies() {
    let body =
        "\n  grid 1  warps 1\n  global A: f16[64, 64]\n  shared a: f16[64, 64]\n  all: cp A[0, 0] -> a;  commit cp\n";
    assert_eq!(lacks("v100", body), ("`cp` needs sm_80 or later; v100 (sm_70) has none".into(), 5));
    assert_eq!(lacks("mi300x", body), ("`cp` needs sm_80 or later; mi300x (gfx942) has none".into(), 5));
}

#[test]
fn direct_loads_to_lds() {
    let body = "\n  grid 1  warps 1\n  global A: f16[64, 64]\n  shared a: f16[64, 64]\n  all: dma A[0, 0] -> a\n";
    assert_eq!(lacks("h200", body), ("`dma` needs gfx90a or later; h200 (sm_90a) has none".into(), 5));
}

#[test]
fn bulk_copies() {
    let body =
        "\n  grid 1  warps 1\n  global C: f16[64, 64]\n  shared c: f16[64, 64]\n  all: elect: tma.store c -> C[0, 0]\n";
    assert_eq!(lacks("a100", body), ("`tma.store` needs sm_90 or later; a100 (sm_80) has none".into(), 5));
}

#[test]
fn mbarriers() {
    let body = "\n  grid 1  warps 1\n  mbar b (1)\n  all: elect: init b;  arrive b\n";
    assert_eq!(lacks("m4-max", body), ("`an mbarrier` needs sm_80 or later; m4-max (apple9) has none".into(), 4));
}

#[test]
fn matrix_instructions_of_one_generation() {
    let body = "
      grid 1  warps 4
      global A: f16[64, 64]   global B: f16[64, 64]
      shared a: f16[64, 64]   shared b: f16[64, 64]
      all:
        zero acc: f32[64, 64]
        wgmma a, b -> acc
    ";
    assert_eq!(lacks("b200", body), ("`wgmma` needs sm_90a; b200 (sm_100a) has none".into(), 7));
    assert_eq!(lacks("a100", body).0, "`wgmma` needs sm_90a; a100 (sm_80) has none");
}

#[test]
fn tensor_memory() {
    let body = "\n  grid 1  warps 1\n  tmem acc: f32[128, 128]\n  all: tmem.alloc acc\n";
    assert_eq!(lacks("h200", body), ("`tensor memory` needs sm_100a to sm_110a; h200 (sm_90a) has none".into(), 4));
    let message = "`tensor memory` needs sm_100a to sm_110a; rtx-pro-6000 (sm_120) has none";
    assert_eq!(lacks("rtx-pro-6000", body).0, message);
}

#[test]
fn needs_of_another_generation() {
    let body = "\n  needs sm_90a\n  grid 1  warps 1\n  all: barrier\n";
    let message = "the kernel needs sm_90a; b200 is sm_100a (features with an `a` are of that one generation)";
    assert_eq!(lacks("b200", body), (message.into(), 2));
}

#[test]
fn a_count_that_does_not_fit_its_field() {
    let body = "\n  grid 1  warps 1  waits manual\n  all: wait vm <= 64\n";
    assert_eq!(lacks("mi355x", body), ("waits for at most 64 outstanding, and mi355x counts to 63".into(), 3));
}
