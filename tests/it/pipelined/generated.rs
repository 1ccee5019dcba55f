//! Generated loops, as TileLang's own passes pipeline them (`oracles/tilelang/generated.py`).

use std::collections::BTreeMap;

use warpline_scenarios::Inputs;
use warpline_scenarios::pipeline::{PassOptions, Plan, Schedule, Via, expand};

use super::kernel;
use super::oracle::{Row, in_order, rows};

/// A statement of the recording as warpline has it.
fn statement(word: &str) -> String {
    let (src, dst) = word.split_once(['>', '?']).unwrap();
    // Each warp has its rows of a buffer in registers.
    let own = |p: &str| match p.as_bytes()[0] {
        b'g' => format!("G{}[i, 0].rows(self)", &p[1..]),
        b's' => format!("{p}.rows(self)"),
        _ => p.to_string(),
    };
    let line = match (src, dst) {
        ("0", _) => format!("zero {dst}"),
        (_, "g") => format!("store {src} -> O[i, 0].rows(self)"),
        _ if src.contains('*') => {
            let (a, b) = src.split_once('*').unwrap();
            format!("mma {}, {b} -> {dst}", own(a))
        }
        _ if src.contains('+') => {
            let (a, b) = src.split_once('+').unwrap();
            format!("alu fma 64 x 16 uses {a}, {b} -> {dst}")
        }
        _ => match (&src[..1], &dst[..1]) {
            ("g", "s") => format!("load G{}[i, 0] -> {dst}", &src[1..]),
            ("g", _) => format!("ldg {} -> {dst}", own(src)),
            ("s", _) => format!("lds {} -> {dst}", own(src)),
            _ => format!("sts {src} -> {}", own(dst)),
        },
    };
    if word.contains('?') { format!("if cta.m % 3 != 1: {line}") } else { line }
}

/// The loop of a row as a kernel.
fn text(row: &Row) -> String {
    let words: Vec<&str> = row.text("words").split(' ').collect();
    let table: Vec<(&str, &str)> = match row.text("table") {
        "-" => Vec::new(),
        t => t.split(' ').map(|p| p.split_once('/').unwrap()).collect(),
    };
    let mut body = String::new();
    for (n, w) in words.iter().enumerate() {
        let copies = w.starts_with('g') && w.contains("s");
        let head = table.get(n).map_or(String::new(), |(stage, order)| {
            let asynchronous = if copies && !w.contains('?') { " async" } else { "" };
            format!("stage {stage} order {order}{asynchronous}: ")
        });
        body.push_str(&format!("      {head}{}\n", statement(w)));
    }
    let named = |kind: char, ty: &str| -> String {
        let used = (0..4).map(|n| format!("{kind}{n}")).filter(|b| row.text("words").contains(b.as_str()));
        used.map(|b| format!("  {} {b}: {ty}\n", if kind == 's' { "shared" } else { "reg" })).collect()
    };
    format!(
        "kernel loop(k = 2048, stages = 3)
  let tiles = cdiv(k, 64)
  grid 8
  warps 4
  global G0: f16[k, 64]   global G1: f16[k, 64]   global G2: f16[k, 64]   global O: f16[k, 64]
{}{}  role math[4] = warps 0..4

  math:
    pipelined i in 0..tiles stages stages:
{body}",
        named('s', "f16[64, 64]"),
        named('f', "f16[16, 64]"),
    )
}

/// What the pass makes of it.
fn plan(row: &Row, text: &str) -> Result<Plan, String> {
    let annotated = row.text("table") != "-";
    let via = if row.text("target") == "gfx950" { Via::Dma } else { Via::Cp };
    let ask = PassOptions {
        arch: Some(row.text("target")),
        via: Some(via),
        schedule: Some(if annotated { Schedule::Table } else { Schedule::NumStages }),
        stages: Some(row.text("stages").parse().unwrap()),
        guarded: Some(false),
        producers: None,
    };
    let set = BTreeMap::new();
    match expand("loop.pipe", text, &Inputs { set: &set, cores: None }, &ask) {
        Ok(mut e) => Ok(e.plans.remove(0)),
        Err(e) => Err(e.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")),
    }
}

/// What is compared, one a line.
fn decided(plan: &Plan) -> BTreeMap<&'static str, String> {
    let join = |v: Vec<i64>| {
        let text = v.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        if text.is_empty() { "-".to_string() } else { text }
    };
    let several: Vec<String> =
        plan.buffers.iter().filter(|b| b.versions > 1).map(|b| format!("{}={}", b.name, b.versions)).collect();
    BTreeMap::from([
        ("stage", join(plan.statements.iter().map(|s| s.stage).collect())),
        ("order", join(plan.statements.iter().map(|s| s.order as i64).collect())),
        ("versions", if several.is_empty() { "-".to_string() } else { several.join(",") }),
        ("prologue", plan.prologue_commits.to_string()),
        ("commits", plan.commits.to_string()),
        ("waits", join(in_order(plan, &plan.waits))),
        ("less", plan.depth.to_string()),
        ("epilogue", join(plan.epilogue_waits.iter().flat_map(|w| in_order(plan, w)).collect())),
    ])
}

/// The buffers that a statement reads or writes, of one kind (`s0`).
fn reads(word: &str, buffer: &str) -> bool {
    word.split(['>', '?']).next().is_some_and(|src| src.contains(buffer))
}

/// Copies to shared memory that start in every step: the statement, and whether another one behind it reads what it brings.
fn copies(words: &[&str]) -> Vec<(usize, bool)> {
    let copy = |w: &str| w.starts_with('g') && w.contains(">s");
    let read = |n: usize| words[n + 1..].iter().any(|w| reads(w, &words[n][3..]));
    (0..words.len()).filter(|n| copy(words[*n])).map(|n| (n, read(n))).collect()
}

/// Whether the counts of groups have to agree. TileLang differs in five cases:
///
/// * It counts the groups of one stage only.
/// * It never waits for a group in the step that starts the group.
/// * In an epilogue, readers of several stages wait for all groups.
/// * It commits a group for a copy without a reader.
/// * Where it sees no copy, it takes all of stage 0 as asynchronous.
fn counts_agree(words: &[&str], stage: &[i64]) -> bool {
    let all = copies(words);
    let later = |n: usize| {
        let mut readers = (n + 1..words.len()).filter(|k| reads(words[*k], &words[n][3..]));
        readers.all(|k| stage[k] > stage[n] && Some(&stage[k]) == stage.iter().max())
    };
    !all.is_empty() && all.iter().all(|(n, read)| *read && later(*n) && stage[*n] == stage[all[0].0])
}

#[test]
fn plans_of_generated_loops_are_those_of_tilelang() {
    let all = rows(&kernel("oracles/tilelang/generated.tsv"));
    assert_eq!(all.len(), 540, "120 loops with 1 to 4 stages, 60 annotated ones");
    let (mut equal, mut in_part, mut only_here, mut only_there) = (0, 0, 0, 0);
    for row in &all {
        let text = text(row);
        let annotated = row.text("table") != "-";
        let plan = match (plan(row, &text), row.text("stage")) {
            (Err(_), "refused") => continue,
            // It has one queue for all stages.
            (Ok(_), "refused") => {
                assert!(row.text("order").contains("multiple async stages"), "{row:?}\n{text}");
                only_here += 1;
                continue;
            }
            // It gives a value that a later step reads several versions, or lets a step's reader overtake its writer.
            (Err(e), _) => {
                assert!(annotated && e.contains("changes what the loop does"), "{e}\n{row:?}\n{text}");
                only_there += 1;
                continue;
            }
            (Ok(plan), _) => plan,
        };
        let words: Vec<&str> = row.text("words").split(' ').collect();
        let stage: Vec<i64> = row.ints("stage");
        let ours = decided(&plan);
        let same = |columns: &[&str]| {
            for c in columns {
                assert_eq!(ours[c], row.text(c), "{c}\n{row:?}\n{text}");
            }
        };
        same(&["stage", "order", "versions", "less"]);
        if annotated && !counts_agree(&words, &stage) {
            in_part += 1;
            continue;
        }
        same(&["prologue", "waits", "epilogue"]);
        // In a pipelined loop, a copy without a reader is a group.
        let unread = copies(&words).iter().any(|(_, read)| !read) && stage.iter().any(|s| *s != stage[0]);
        assert_eq!(plan.commits + i64::from(unread), row.ints("commits")[0], "{row:?}\n{text}");
        equal += 1;
    }
    println!("{equal} equal, {in_part} but for counts, {only_here} only here, {only_there} only in TileLang");
    assert!(equal >= 490, "{equal} equal, {in_part} in part, {only_here} only here, {only_there} only there");
}
