//! Protocols of production kernels, each as a text with holes (`warpline_campaign::cases`): the right form, which is proved
//! for every trip count, and faults that few iterations, jobs or CTAs have.

use std::path::Path;

use rayon::prelude::*;
use warpline_campaign::cases;
use warpline_tests::TempDir;

use super::verify;

#[test]
fn right_protocols_are_proved_and_faulty_ones_are_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/verify/protocols");
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let machine = text.lines().find_map(|l| l.strip_prefix("// machine: ")).unwrap().to_string();
        list.extend(cases(&name, &text).into_iter().map(|case| (machine.clone(), case)));
    }
    assert!(list.len() > 100, "{}", list.len());
    let dir = TempDir::new();
    let verdicts = list.par_iter().map(|(machine, case)| {
        let file = dir.write(&format!("{}.pipe", case.name.replace('/', "_")), &case.text);
        let json = verify(&[&file, "--machine", machine, "--no-suggestion"]).json;
        let got = json["verdict"].as_str().unwrap().to_string();
        (!case.expect.contains(&got)).then(|| format!("{}: {got}, not {:?}; {}", case.name, case.expect, json["why"]))
    });
    let wrong: Vec<String> = verdicts.flatten().collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), list.len(), wrong.join("\n"));
}
