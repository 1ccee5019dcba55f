//! Roles of recorded kernels: which warps take which part.

use warpline_import::{lift, ptx};

use crate::kernels::recorded;

/// The roles of a recorded kernel, as `name: warps` with the warps as bits.
fn roles(file: &str) -> Vec<(String, u64)> {
    let source = recorded(&format!("{file}.ptx"));
    let module = ptx::read(&source).expect("PTX");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", &source, &lift::Launch::default()).expect("it lifts");
    lifted.program.roles.into_iter().map(|r| (r.name, r.warps)).collect()
}

#[test]
fn roles_are_named_by_what_their_warps_do() {
    let is = |file: &str, want: &[(&str, u64)]| {
        let want: Vec<(String, u64)> = want.iter().map(|(n, w)| (n.to_string(), *w)).collect();
        assert_eq!(roles(file), want, "{file}");
    };
    // A producer and two consumers. One warp of a warpgroup signals for it, and is of the same role.
    is("emit.hopper-tma_warp_specialized", &[("load", 1), ("idle", 0xe), ("math", 0xff0)]);
    is("emit.attention-fa3", &[("load", 1), ("idle", 0xe), ("math", 0xff0)]);
    is("emit.blackwell-gemm_1sm", &[("mma", 1), ("idle", 0xa), ("load", 4), ("epilogue", 0xf0)]);
    // Consumers that take turns use barriers of their own.
    is("cutlass.ex88_hopper_fmha_coop_causal", &[("idle", 0b1101), ("load", 2), ("math", 0xf0), ("math2", 0xf00)]);
}

#[test]
fn warps_that_all_compute_are_one_role() {
    // One thread issues the copies for all.
    assert_eq!(roles("emit.hopper-tma_wgmma"), [("all".to_string(), 0xf)]);
    assert_eq!(roles("emit.ampere-marlin_4stage"), [("all".to_string(), 0xff)]);
}
