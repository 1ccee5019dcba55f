//! Proofs of every scenario, by the program as a user starts it.

use std::process::{Command, Stdio};

use warpline_scenarios::embedded_names;

use super::seconds;

/// Prints a row for each scenario, the slowest first.
pub(crate) fn print(times: usize, program: &str) {
    println!("# best and median of {times}; release; `verify NAME --no-suggestion --json`, from start to exit");
    println!("scenario,verdict,states,best_s,median_s");
    let mut rows: Vec<(f64, String)> = embedded_names()
        .into_iter()
        .map(|name| {
            let verify = || {
                let args = ["verify", name, "--no-suggestion", "--json"];
                let out = Command::new(program).args(args).stderr(Stdio::null()).output();
                String::from_utf8_lossy(&out.expect("a program").stdout).to_string()
            };
            let said = verify();
            let of = |key: &str| {
                let line = said.lines().find_map(|l| l.strip_prefix(&format!("  \"{key}\": ")));
                line.unwrap_or_default().trim_matches(['"', ',']).to_string()
            };
            let (best, median) = seconds(times, verify);
            (best, format!("{name},{},{},{best:.4},{median:.4}", of("verdict"), of("states")))
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    rows.iter().for_each(|(_, row)| println!("{row}"));
}
