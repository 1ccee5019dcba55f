//! Protocols of production kernels, each as a text with holes (`warpline_campaign::cases`). The right form is proved for
//! every trip count, and its run with the given values has no fault. The faulty forms fail in few iterations, jobs or CTAs.

use std::path::Path;

use rayon::prelude::*;
use warpline_campaign::{cases_in, comment, fault_of_run};
use warpline_tests::TempDir;

use super::{ask, verify};

#[test]
fn right_protocols_are_proved_and_faulty_ones_are_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/verify/protocols");
    let list = cases_in(&folder).unwrap();
    assert!(list.len() > 100, "{}", list.len());
    let dir = TempDir::new();
    let verdicts = list.par_iter().map(|case| {
        let machine = comment(&case.text, "machine").next().unwrap();
        let file = dir.write(&format!("{}.pipe", case.name.replace('/', "_")), &case.text);
        let json = verify(&[&file, "--machine", machine, "--no-suggestion"]).json;
        let got = json["verdict"].as_str().unwrap().to_string();
        if !case.expect.contains(&got) {
            return Some(format!("{}: {got}, not {:?}; {}", case.name, case.expect, json["why"]));
        }
        let fault = (got == "proved").then(|| fault_of_run(&ask("run", &[&file, "--machine", machine]).1));
        match fault {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(fault))) => Some(format!("{}: proved, but a run has {fault}", case.name)),
            Some(Err(e)) => Some(format!("{}: proved, but not run: {e}", case.name)),
        }
    });
    let wrong: Vec<String> = verdicts.flatten().collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), list.len(), wrong.join("\n"));
}
