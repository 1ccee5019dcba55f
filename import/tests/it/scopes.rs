//! Scopes of waits.

use warpline_import::{lift, ptx};

use crate::kernels::recorded;

fn assumes_a_scope(text: &str) -> bool {
    let module = ptx::read(text).expect("PTX");
    let lifted = lift::lift(&module, &module.entries[0], "k.ptx", text, &lift::Launch::default()).expect("it lifts");
    lifted.assumptions.iter().any(|(what, _)| what.contains("a wait of CTA scope"))
}

/// CuTe DSL waits with `.acquire.cta` where other CTAs signal.
#[test]
fn a_wait_of_cta_scope_for_another_cta_is_an_assumption() {
    assert!(assumes_a_scope(&recorded("cutedsl.h_dense_128x256_c21.ptx")));
    let pair = recorded("emit.blackwell-gemm_2sm.ptx");
    assert!(!assumes_a_scope(&pair));
    assert!(assumes_a_scope(&pair.replace("acquire.cluster", "acquire.cta")));
    // No other CTA signals.
    assert!(!assumes_a_scope(&recorded("cutedsl.b_dense_1sm_128x128.ptx")));
}
