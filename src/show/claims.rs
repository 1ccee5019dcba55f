//! The page `docs/seeds.md`: the claims of all scenarios, document by document.

use warpline_api::ClaimResult;
use warpline_sim::words::number;

/// The documents: the number that their sources begin with, and the subject.
const SEEDS: [(&str, &str); 5] = [
    ("000", "Metal: triple-buffered latency hiding"),
    ("001", "TileLang on CDNA: two steps ahead"),
    ("002", "Blackwell: a pair of cores, two stages"),
    ("003", "Double buffering on paper and on Ampere"),
    ("004", "Metal: the MLA projection's barriers"),
];

/// The page of the claims of each scenario.
pub(crate) fn claims(all: &[(String, Vec<ClaimResult>)]) -> String {
    let mut text = String::from(
        "# What five documents say, held against warpline\n\n\
         Made by `warpline check --markdown`; a test keeps it in step. Each row is a claim in the scenario it speaks of: \
         the statement, whether it holds, the number computed, and what is so instead. `warpline check SCENARIO` shows the \
         expression that decides it. Times are the model's: [answers.md](answers.md) says on what they rest.\n",
    );
    let seed = |j: &ClaimResult| SEEDS.iter().position(|(n, _)| j.from.starts_with(n));
    let of = |i: Option<usize>| {
        let rows = all.iter().flat_map(|(name, claims)| claims.iter().map(move |c| (name, c)));
        rows.filter(move |(_, c)| seed(c) == i).collect::<Vec<_>>()
    };
    text += "\n| seed | claims | hold | do not | |\n|---|---|---|---|---|\n";
    for (i, (number, title)) in SEEDS.iter().enumerate() {
        text += &format!("| {number} | {} | {title} |\n", counts(&of(Some(i))));
    }
    let every: Vec<_> = (0..SEEDS.len()).flat_map(|i| of(Some(i))).collect();
    text += &format!("| all | {} | |\n", counts(&every));
    for (i, (number, title)) in SEEDS.iter().enumerate() {
        text += &format!("\n## {number}. {title}\n");
        text += &table(&of(Some(i)));
    }
    let rest = of(None);
    if !rest.is_empty() {
        text += &format!("\n## Other sources\n{}", table(&rest));
    }
    text
}

fn counts(rows: &[(&String, &ClaimResult)]) -> String {
    let n = |holds| rows.iter().filter(|(_, c)| c.holds == Some(holds)).count();
    format!("{} | {} | {}", rows.len(), n(true), n(false))
}

fn table(rows: &[(&String, &ClaimResult)]) -> String {
    let mut text = String::new();
    let mut last = "";
    for (scenario, c) in rows {
        if scenario.as_str() != last {
            text += &format!("\n`{scenario}`\n\n| claim | where | | computed | |\n|---|---|---|---|---|\n");
            last = scenario;
        }
        let word = match c.holds {
            Some(true) => "holds",
            Some(false) => "**does not hold**",
            None => "unknown",
        };
        let place = c.from.split_once(", ").map_or(c.from.as_str(), |(_, place)| place);
        let cells = [&c.text, place, word, &computed(c), c.instead.as_deref().unwrap_or("")];
        let cells: Vec<String> = cells.iter().map(|s| s.replace('|', "\\|")).collect();
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// The number that a claim is about; without one, the numbers of its expression.
fn computed(c: &ClaimResult) -> String {
    if let Some(v) = c.computed {
        let unit = c.unit.as_deref().unwrap_or("");
        return format!("{} {unit}", number(v)).trim_end().to_string();
    }
    let values: Vec<String> = c.values.iter().map(|(n, v)| format!("{n} = {}", number(*v))).collect();
    values.join(", ")
}
