//! Suggestions: what `verify` proposes was verified, and most bugs of the museum get one.

use warpline_scenarios::embedded_names;

use crate::verify::{edited, mutated, verify};

/// Bugs for which no small change mends the kernel: they ask for a condition to be another one, a loop, or a buffer or
/// barriers to be laid out otherwise.
const NONE: &[&str] = &[
    "m03_single_rendezvous",
    "m04_one_cluster_mbarrier",
    "m05_ring_parity_on_one_slot",
    "m06_phase_restarts",
    "m11_multicast_disagreement",
    "m12_roles_disagree",
    "m13_barrier_counts",
    "m18_mask_outside_the_cluster",
    "m22_packed_columns",
    "m45_one_staging_block",
    "m46_shares_past_the_tile",
    "m49_half_of_c",
];

fn suggestion(name: &str) -> Option<(String, String)> {
    let json = verify(&[name]).json;
    let s = &json["violation"]["suggestion"];
    s.is_object().then(|| (s["change"].as_str().unwrap().to_string(), s["verdict"].as_str().unwrap().to_string()))
}

#[test]
fn most_bugs_of_the_museum_get_a_suggestion() {
    let (mut with, mut without) = (0, Vec::new());
    for name in embedded_names().into_iter().filter(|n| n.starts_with("museum/") && n.ends_with("/bug")) {
        if verify(&[name, "--no-suggestion"]).word() != "violated" {
            continue;
        }
        match suggestion(name) {
            Some((change, verdict)) => {
                assert!(["proved", "bounded"].contains(&verdict.as_str()), "{name}: {change}: {verdict}");
                with += 1;
            }
            None => without.push(name),
        }
    }
    println!("{with} with a suggestion, without: {without:#?}");
    let names: Vec<&str> = without.iter().filter_map(|n| n.strip_prefix("museum/")?.strip_suffix("/bug")).collect();
    assert_eq!(names, NONE, "{with} with");
}

#[test]
fn what_is_suggested_can_be_written_and_is_proved() {
    // The text changed by hand as the suggestion says.
    let cases = [
        (
            "museum/m26_pipelined_reuse/bug",
            "barrier",
            "lds a : A[0, i] -> r\n",
            "lds a : A[0, i] -> r\n      barrier\n",
        ),
        ("museum/m40_missing_vmcnt/bug", "wait vm <= 0", "", ""),
        ("museum/m21_tmem_ld_without_wait/bug", "wait tmem.ld <= 0", "", ""),
    ];
    for (name, says, from, to) in cases {
        let (change, verdict) = suggestion(name).unwrap();
        assert!(change.contains(&format!("`{says}`")), "{name}: {change}");
        assert_eq!(verdict, "proved", "{name}");
        if !from.is_empty() {
            edited(name, &[(from, to)], |file| verify(&[file]).proved().word().to_string());
        }
    }
}

#[test]
fn a_wgmma_fence_is_suggested_where_its_rule_is_broken() {
    let json = mutated("hopper/tma_warp_specialized", &[("      wgmma.fence\n", "")], &[]).json;
    let found = &json["violation"]["suggestion"];
    assert!(found["change"].as_str().unwrap().ends_with("`wgmma.fence`"), "{found}");
    assert_eq!(found["verdict"], "proved", "{found}");
}

#[test]
fn nothing_is_suggested_where_nothing_was_asked_for_or_nothing_is_wrong() {
    let json = verify(&["museum/m26_pipelined_reuse/bug", "--no-suggestion"]).json;
    assert!(json["violation"]["suggestion"].is_null() && json["violation"]["suggestions_tried"] == 0);
    assert!(verify(&["museum/m26_pipelined_reuse/fix"]).json["violation"].is_null());
}
