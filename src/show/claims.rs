//! The page `docs/seeds.md`: the claims of all scenarios, document by document.

use warpline_api::ClaimResult;
use warpline_sim::words::number;

/// A document whose claims scenarios state.
struct Seed {
    /// What the sources of its claims begin with.
    number: &'static str,
    subject: &'static str,
    /// Title of the document.
    title: &'static str,
}

const SEEDS: [Seed; 5] = [
    Seed {
        number: "000",
        subject: "Metal: triple-buffered latency hiding",
        title: "Pipeline Stages: Triple-Buffered Latency Hiding",
    },
    Seed { number: "001", subject: "TileLang on CDNA: two steps ahead", title: "InjectSoftwarePipeline 详解" },
    Seed {
        number: "002",
        subject: "Blackwell: a pair of cores, two stages",
        title: "Level 2: cta_group::2 TMA + 2-Stage Pipeline",
    },
    Seed {
        number: "003",
        subject: "Double buffering on paper and on Ampere",
        title: "Micro-architectural Analysis: Latency Hiding and Double Buffering Strategies",
    },
    Seed {
        number: "004",
        subject: "Metal: the MLA projection's barriers",
        title: "MLA Projection Kernel Refactor Analysis",
    },
];

/// The page of the claims of each scenario.
pub(crate) fn claims(all: &[(String, Vec<ClaimResult>)]) -> String {
    let mut text = String::from(
        "# Five documents, claim by claim\n\n\
         Written by `warpline check --markdown`, and compared by a test. Each row is a claim of a document: the statement, \
         its place in the document, whether it holds, the number computed, and what is true instead. `warpline check SCENARIO` \
         shows the expression that decides it. Times are the model's; [answers.md](answers.md) says how far to trust them.\n",
    );
    let seed = |j: &ClaimResult| SEEDS.iter().position(|s| j.from.starts_with(s.number));
    let of = |i: Option<usize>| {
        let rows = all.iter().flat_map(|(name, claims)| claims.iter().map(move |c| (name, c)));
        rows.filter(move |(_, c)| seed(c) == i).collect::<Vec<_>>()
    };
    text += "\n| seed | claims | hold | do not | subject | title of the document |\n|---|---|---|---|---|---|\n";
    for (i, Seed { number, subject, title }) in SEEDS.iter().enumerate() {
        text += &format!("| {number} | {} | {subject} | *{title}* |\n", counts(&of(Some(i))));
    }
    let every: Vec<_> = (0..SEEDS.len()).flat_map(|i| of(Some(i))).collect();
    text += &format!("| all | {} | | |\n", counts(&every));
    for (i, Seed { number, subject, .. }) in SEEDS.iter().enumerate() {
        text += &format!("\n## {number}. {subject}\n");
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
