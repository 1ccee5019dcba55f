//! The pages of `warpline explain`: every code has one, and its kernels show what it says.

use std::collections::{BTreeMap, BTreeSet};

use warpline::Status;
use warpline_scenarios::{Inputs, compile};
use warpline_sim::code::Code;
use warpline_sim::engine::{rules, supported};
use warpline_tests::warpline;
use warpline_verify::{Options, verify};

fn read(name: &str) -> String {
    let path = format!("{}/../docs/explain/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The kernels of a page with the machine each names, and the level of a fence rule where it needs one.
fn kernels(page: &str) -> Vec<(String, String)> {
    let blocks = page.split("```pipe").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| {
            let (machine, text) = block.split_once('\n').unwrap();
            (machine.trim().to_string(), text.to_string())
        })
        .collect()
}

/// Codes of what is found, notes too; of a hang only where nothing else explains it.
fn codes(page: &str, machine: &str, kernel: &str) -> BTreeSet<Code> {
    let head = kernels(&read("README")).remove(0).1;
    let text = head + kernel;
    let set = BTreeMap::new();
    let program = compile("example.pipe", &text, &Inputs { set: &set, cores: Some(1) })
        .unwrap_or_else(|e| panic!("{page}: {e:#?}\n{text}"));
    let (machine, level) = machine.split_once(' ').map_or((machine, None), |(m, level)| (m, Some(level)));
    let machine = warpline_models::embedded(machine).unwrap();
    supported(&program, &machine).unwrap_or_else(|e| panic!("{page}: {e}"));
    let mut rules = rules(&machine);
    if let Some((rule, level)) = level.and_then(|l| l.split_once('=')) {
        rules.fences.set(rule, level).unwrap_or_else(|e| panic!("{page}: {e}"));
    }
    let v = verify(&program, rules, Options::default());
    let seen = v.violation.iter().flat_map(|x| &x.findings).chain(&v.notes);
    let found: BTreeSet<Code> = seen.map(|f| f.code).collect();
    if found.is_empty() { v.violation.iter().flat_map(|x| &x.hang).map(|w| w.code).collect() } else { found }
}

#[test]
fn every_page_shows_its_code_and_its_repair_shows_none() {
    let mut wrong = String::new();
    for code in Code::ALL {
        let page = read(code.id());
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}: the title is not the table's");
        assert!(page.contains("\n## Source\n"), "{code} names no source");
        let [(on, bad), (same, good)] = &kernels(&page)[..] else { panic!("{code}: two kernels were expected") };
        assert_eq!(on, same, "{code}");
        assert!(bad.lines().count() <= 10, "{code}: an example is short");
        let (shown, left) = (codes(code.id(), on, bad), codes(code.id(), on, good));
        if shown != BTreeSet::from([*code]) || !left.is_empty() {
            wrong += &format!("{code}: shows {shown:?}, repaired {left:?}\n");
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn every_page_is_of_a_code() {
    let dir = format!("{}/../docs/explain", env!("CARGO_MANIFEST_DIR"));
    for file in std::fs::read_dir(dir).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let stem = name.strip_suffix(".md").unwrap();
        assert!(stem == "README" || stem.parse::<Code>().is_ok(), "{name}");
    }
}

#[test]
fn explain_prints_a_page_the_list_or_what_was_meant() {
    let page = warpline(&["explain", "wl0104"]);
    assert_eq!(page.status, Status::Holds);
    for part in ["WL0104: shared memory is overwritten", "  warp 1: sts r -> a", "The fix", "PTX ISA"] {
        assert!(page.out.contains(part), "{part} is missing in\n{}", page.out);
    }
    let list = warpline(&["explain"]);
    assert!(Code::ALL.iter().all(|c| list.out.contains(c.id())));
    for said in [&page, &list] {
        let wide: Vec<&str> = said.out.lines().filter(|l| l.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
    let unknown = warpline(&["explain", "WL0140"]);
    assert_eq!((unknown.status, unknown.out.as_str()), (Status::BadInput, ""));
    assert!(unknown.err.contains("did you mean `WL0104`"), "{}", unknown.err);
}
