//! Proofs of every scenario, by the program as a user starts it; by several versions of it side by side.

use std::process::{Command, Stdio};

use warpline_scenarios::embedded_names;

use super::seconds;

/// Prints a row for each scenario, the slowest by the last program first. A column for each program; empty where a program
/// gives no verdict.
pub(crate) fn print(times: usize, programs: &[String]) {
    println!("# best of {times}, the programs in turn; `verify NAME --no-suggestion --json`, from start to exit");
    let columns: Vec<String> = (1..=programs.len()).map(|i| format!("verdict_{i},states_{i},best_s_{i}")).collect();
    println!("scenario,{}", columns.join(","));
    let mut rows: Vec<(f64, String)> = Vec::new();
    for name in embedded_names() {
        let (mut row, mut last) = (name.to_string(), 0.0);
        for program in programs {
            let verify = || {
                let args = ["verify", name, "--no-suggestion", "--json"];
                let out = Command::new(program).args(args).stderr(Stdio::null()).output();
                String::from_utf8_lossy(&out.expect("a program").stdout).to_string()
            };
            let json = verify();
            let field = |key: &str| {
                let line = json.lines().find_map(|l| l.strip_prefix(&format!("  \"{key}\": ")));
                line.unwrap_or_default().trim_matches(['"', ',']).to_string()
            };
            let (verdict, states) = (field("verdict"), field("states"));
            last = if verdict.is_empty() { 0.0 } else { seconds(times, verify).0 };
            row += &if verdict.is_empty() { ",,,".into() } else { format!(",{verdict},{states},{last:.4}") };
        }
        rows.push((last, row));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    rows.iter().for_each(|(_, row)| println!("{row}"));
}
