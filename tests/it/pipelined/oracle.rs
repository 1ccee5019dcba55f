//! TileLang's own passes over the same loops (`oracles/tilelang/record.py`): stage, order, versions, commits, waits, trips.

use std::collections::BTreeMap;
use std::process::Command;

use warpline_scenarios::pipeline::{PassOptions, Plan, Schedule, Via};

use super::{expanded, folder, kernel};

/// A row of the recording.
#[derive(Debug)]
pub(super) struct Row(BTreeMap<String, String>);

impl Row {
    pub(super) fn text(&self, column: &str) -> &str {
        &self.0[column]
    }

    pub(super) fn ints(&self, column: &str) -> Vec<i64> {
        let text = self.text(column);
        if text == "-" { Vec::new() } else { text.split(',').map(|n| n.parse().unwrap()).collect() }
    }
}

pub(super) fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().map(|l| l.split('\t').map(String::from).collect::<Vec<_>>());
    let head = lines.next().unwrap();
    lines.map(|l| Row(head.iter().cloned().zip(l).collect())).collect()
}

/// What the pass makes of a row's loop.
fn plan(row: &Row) -> Plan {
    let text = kernel(&format!("oracles/tilelang/{}.pipe", row.text("kernel")));
    let stages: i64 = row.text("stages").parse().unwrap();
    // TileLang's IR has groups on every target; so have ours, whatever carries them.
    let via = match row.text("target") {
        "gfx942" => Via::Sync,
        "gfx950" => Via::Dma,
        _ => Via::Cp,
    };
    let ask = PassOptions {
        arch: Some(row.text("target")),
        via: Some(via),
        schedule: Some(Schedule::NumStages),
        stages: Some(if via == Via::Sync { 0 } else { stages }),
        guarded: Some(false),
        producers: None,
    };
    expanded(&text, &[], &ask).plans.remove(0)
}

/// A copy without a reader. TileLang commits the copy as a group of its own, and no wait is for that group.
const UNREAD: &str = "unread";

#[test]
fn plans_are_those_of_tilelang() {
    let all = rows(&kernel("oracles/tilelang/plans.tsv"));
    assert_eq!(all.len(), 360, "nine loops, two kinds of trip count, four targets, stages 0 to 4");
    for row in &all {
        let plan = plan(row);
        let (stage, order) = (row.ints("stage"), row.ints("order"));
        if stage.is_empty() {
            // No stages, or gfx942, where TileLang strips them: a plain loop.
            assert_eq!((plan.depth, plan.commits), (0, 0), "{row:?}");
            continue;
        }
        assert_eq!(plan.statements.iter().map(|s| s.stage).collect::<Vec<_>>(), stage, "{row:?}");
        assert_eq!(plan.statements.iter().map(|s| s.order as i64).collect::<Vec<_>>(), order, "{row:?}");
        let several: Vec<String> =
            plan.buffers.iter().filter(|b| b.versions > 1).map(|b| format!("{}={}", b.name, b.versions)).collect();
        let versions = row.text("versions");
        assert_eq!(if several.is_empty() { "-".to_string() } else { several.join(",") }, versions, "{row:?}");
        let unread = i64::from(row.text("kernel") == UNREAD);
        assert_eq!(plan.commits + unread, row.ints("commits")[0], "{row:?}");
        assert_eq!(plan.prologue_commits, row.ints("prologue")[0], "{row:?}");
        assert_eq!(in_order(&plan, &plan.waits), row.ints("waits"), "{row:?}");
        assert_eq!(plan.depth, row.ints("less")[0], "{row:?}");
        let epilogue: Vec<i64> = plan.epilogue_waits.iter().flat_map(|w| in_order(&plan, w)).collect();
        assert_eq!(epilogue, row.ints("epilogue"), "{row:?}");
    }
}

/// Counts of waits as they come in the body.
pub(super) fn in_order(plan: &Plan, waits: &[warpline_scenarios::pipeline::GroupWait]) -> Vec<i64> {
    let mut all: Vec<(usize, i64)> = waits.iter().map(|w| (plan.statements[w.statement].order, w.open)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, open)| open).collect()
}

#[test]
fn the_recording_is_what_tilelang_says_today() {
    let python = std::env::var("WARPLINE_TILELANG_PYTHON").unwrap_or("python3".to_string());
    let version = "import tilelang; print(tilelang.__version__)";
    let found = Command::new(&python).args(["-c", version]).output();
    let found = found.ok().filter(|o| o.status.success());
    let Some(found) = found else {
        println!("skipped: tilelang is not installed for `{python}` (oracles/README.md); the recording was used");
        return;
    };
    let version = String::from_utf8_lossy(&found.stdout);
    let version = version.lines().last().unwrap_or("").trim();
    if !version.starts_with("0.1.15") {
        println!("skipped: tilelang {version} is installed, and 0.1.15 was recorded");
        return;
    }
    for (script, recording) in [("record.py", "plans.tsv"), ("generated.py", "generated.tsv")] {
        let said = Command::new(&python).arg(folder(&format!("oracles/tilelang/{script}"))).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let recorded = kernel(&format!("oracles/tilelang/{recording}"));
        assert_eq!(String::from_utf8_lossy(&said.stdout), recorded, "{recording}");
    }
}
