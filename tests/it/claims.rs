//! Claims: what they can speak of, and the page that is made of them.

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

#[test]
fn the_page_is_what_the_claims_say() {
    let said = warpline(&["check", "--markdown"]);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""));
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/seeds.md")).unwrap();
    assert!(
        said.out == page,
        "docs/seeds.md is not what `warpline check --markdown` prints; write it anew, and read what changed"
    );
    let all = page.lines().find(|l| l.starts_with("| all |")).unwrap();
    let claims: usize = all.split('|').nth(2).unwrap().trim().parse().unwrap();
    assert!(claims >= 80, "{all}");
    for part in ["**does not hold** | 8,192", "**does not hold** | 14,336", "**does not hold** | 1.56"] {
        assert!(page.contains(part), "{part}");
    }
}

const KERNEL: &str = "\
kernel pair(tiles = 4, sync = 1)
  needs apple7
  warps 2
  global X: f16[64, 32 * tiles]
  shared s: f16[64, 32]
  role left = warps 0..1
  role right = warps 1..2

  all:
    for i in 0..tiles:
      left: load X[0, i] -> s
      barrier
      right: lds s : X[0, i] -> v;  alu fma 64 x 32 uses v
      if sync: barrier
";

/// A scenario of that kernel with one claim.
fn claimed(claim: &str) -> (Status, String) {
    let dir = TempDir::new();
    dir.write("pair.pipe", KERNEL);
    let head = "kernel = \"pair.pipe\"\nmachine = \"m4-max\"\n\n[[beside]]\nas = \"loose\"\nshow = false\nset = { sync = 0 }\n";
    let path = dir.write("pair.toml", format!("{head}\n[[claim]]\ntext = \"t\"\nfrom = \"f\"\n{claim}\n"));
    let said = warpline(&["check", &path]);
    (said.status, said.out + &said.err)
}

#[test]
fn claims_speak_of_runs_proofs_barriers_and_other_runs() {
    for check in [
        "proved and loose.violated and (loose.fault_war_race or loose.fault_raw_race)",
        "not loose.fault_deadlock",
        "syncs == 2 and syncs_needed == 2 and syncs_spare == 0 and needed_at_12",
        "statements_barrier == 2 and loose.statements_barrier == 1 and shared_arrays == 1",
        "feasible and cores == 40 and machine_clock_mhz == 1578",
        "ratio(1, 2) * 2 == 1 and 1 / 2 == 0",
        "busy_left + wait_left > ratio(999, 1000) and stall_right_barrier <= wait_right and work_right_alu > 0",
        "tiles == 4 and loose.tiles == 4 and loose.sync == 0",
        "use_vector_unit > 0 and busiest > 0",
    ] {
        let (status, text) = claimed(&format!("check = \"{check}\"\nverdict = \"held\""));
        assert_eq!(status, Status::Holds, "{check}: {text}");
    }
}

#[test]
fn a_claim_that_changed_or_cannot_be_computed_is_status_1() {
    let (status, text) = claimed("check = \"proved\"\nverdict = \"refuted\"");
    assert_eq!(status, Status::Violated);
    assert!(text.contains("CHANGED"), "{text}");
    for (check, why) in
        [("prooved", "`prooved` is not a number"), ("tight.cycles > 0", "`tight.cycles` is not a number")]
    {
        let (status, text) = claimed(&format!("check = \"{check}\"\nverdict = \"held\""));
        assert_eq!(status, Status::Violated, "{check}: {text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(why), "{check}: {words}");
    }
}

#[test]
fn the_number_and_what_is_so_instead_are_shown() {
    let claim = "check = \"shared_bytes == 1\"\nvalue = \"ratio(shared_bytes, 1024)\"\nunit = \"KiB\"\ninstead = \"it has a tile\"\nverdict = \"refuted\"";
    let (status, text) = claimed(claim);
    assert_eq!(status, Status::Holds);
    assert!(text.contains("computed: 4 KiB") && text.contains("it has a tile"), "{text}");
    let said = warpline(&["run", "metal/triple_buffer", "--json"]);
    let run: Value = serde_json::from_str(&said.out).unwrap();
    let claims = run["claims"].as_array().unwrap();
    let proof = claims.iter().find(|c| c["check"] == "proved == 1").unwrap();
    assert_eq!(proof["holds"], true);
    // Runs that only claims speak of are not in the comparison.
    assert!(run["beside"].as_array().unwrap().iter().all(|b| !b["name"].as_str().unwrap().contains("k=32")));
}
