//! `verify` of many scenarios: which they are, the exit status, and the reports that CI services read.

use std::fs;

use serde_json::Value;
use serde_sarif::sarif::{ResultLevel, Sarif};
use warpline::Status;
use warpline_tests::{Said, TempDir, warpline};

const KERNEL: &str = "kernel handover(tiles = 4, fixed = 1)
  warps 2
  global A: f16[64, 16 * tiles]
  shared a: f16[64, 16]
  role load = warp 0
  role use = warp 1
  all:
    for i in 0..tiles:
      load: load A[0, i] -> a
      barrier
      use: lds a : A[0, i] -> r;  alu fma 64 x 16 uses r
      if fixed: barrier
";

fn scenario(kernel: &str, more: &str) -> String {
    format!("kernel = \"{kernel}\"\nmachine = \"a100\"\n{more}")
}

/// A kernel repository: one kernel that holds, one that does not, one that is expected not to, and other files.
fn repository() -> TempDir {
    let dir = TempDir::new();
    for folder in ["a", "b", ".git"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    dir.write("handover.pipe", KERNEL);
    dir.write("a/holds.toml", scenario("../handover.pipe", ""));
    dir.write("b/fails.toml", scenario("../handover.pipe", "[set]\nfixed = 0\n"));
    dir.write("a/known.toml", scenario("../handover.pipe", "expect = \"RAW race\"\n[set]\nfixed = 0\n"));
    dir.write("Cargo.toml", "[package]\nname = \"x\"\n");
    dir.write(".git/x.toml", scenario("none.pipe", ""));
    dir
}

fn verify(dir: &TempDir, more: &[&str]) -> Said {
    let folder = dir.path().display().to_string();
    warpline(&[&["verify", &folder], more].concat())
}

/// The object, without what is different in each run: where the folder is, and how long it took.
fn json(dir: &TempDir) -> Value {
    let said = verify(dir, &["--json"]);
    let text = said.out.replace(&format!("{}/", dir.path().display()), "");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["wall_s"] = Value::Null;
    for s in value["scenarios"].as_array_mut().unwrap() {
        if s["result"].is_object() {
            s["result"]["wall_s"] = Value::Null;
        }
    }
    value
}

fn statuses(value: &Value) -> Vec<(&str, u64)> {
    let of = |s: &'_ Value| s["status"].as_u64().unwrap();
    value["scenarios"].as_array().unwrap().iter().map(|s| (s["name"].as_str().unwrap(), of(s))).collect()
}

#[test]
fn a_folder_is_its_scenarios_in_the_order_of_their_paths() {
    let dir = repository();
    let value = json(&dir);
    assert_eq!(statuses(&value), [("a/holds.toml", 0), ("a/known.toml", 0), ("b/fails.toml", 1)]);
    assert_eq!(value["status"], 1);
    let left_out: Vec<&str> =
        value["left_out"].as_array().unwrap().iter().map(|f| f["file"].as_str().unwrap()).collect();
    assert_eq!(left_out, ["Cargo.toml"]);
    let known = &value["scenarios"][1]["result"];
    assert_eq!((&known["verdict"], &known["expect"]), (&"violated".into(), &"RAW race".into()));
    assert_eq!(known["as_expected"], true);
    // A kernel that no scenario names is not passed over in silence.
    dir.write("a/alone.pipe", KERNEL);
    assert_eq!(json(&dir)["left_out"][1]["file"], "a/alone.pipe");
}

#[test]
fn the_exit_status_is_the_worst_of_all() {
    let dir = repository();
    let status = || verify(&dir, &["-q"]).status;
    assert_eq!(status(), Status::Violated);
    fs::remove_file(dir.path().join("b/fails.toml")).unwrap();
    assert_eq!(status(), Status::Holds);
    assert_eq!(verify(&dir, &["--max-steps", "10"]).status, Status::GaveUp);
    // A file that cannot be read outranks everything and hides nothing.
    dir.write("a/bad.toml", "kernell = \"x.pipe\"\nmachine = \"a100\"\n");
    dir.write("b/fails.toml", scenario("../handover.pipe", "[set]\nfixed = 0\n"));
    let said = verify(&dir, &[]);
    assert_eq!(said.status, Status::BadInput);
    for part in ["VIOLATED", "BAD INPUT", "fails.toml", "holds.toml", "2 violated, 1 not readable"] {
        assert!(said.out.contains(part), "`{part}` is missing in\n{}", said.out);
    }
    assert!(said.err.contains("unknown key `kernell`"), "{}", said.err);
}

#[test]
fn what_is_expected_and_does_not_come_is_a_failure() {
    let dir = repository();
    let known = dir.file("a/known.toml");
    let one = |more: &[&str]| warpline(&[&["verify", &known], more].concat());
    let said = one(&[]);
    assert_eq!(said.status, Status::Holds);
    assert!(said.out.contains("Expected       RAW race: as it is"), "{}", said.out);
    // Another value is another kernel, of which nothing is expected.
    assert_eq!(one(&["--set", "fixed=0"]).status, Status::Violated);
    assert_eq!(one(&["--set", "fixed=1"]).status, Status::Holds);
    // So are other levels.
    assert_eq!(one(&["--fence", "async-read=strict"]).status, Status::Violated);
    for (expect, fixed, status) in [
        ("violated", 0, Status::Holds),
        ("deadlock", 0, Status::Violated),
        ("violated", 1, Status::Violated),
        ("proved", 1, Status::Holds),
        ("proved", 0, Status::Violated),
    ] {
        dir.write(
            "a/known.toml",
            scenario("../handover.pipe", &format!("expect = \"{expect}\"\n[set]\nfixed = {fixed}\n")),
        );
        let said = one(&["--format", "github"]);
        assert_eq!(said.status, status, "{expect} of fixed = {fixed}");
        assert_eq!(said.out.contains("known.toml,line=3,col=10"), status == Status::Violated, "{}", said.out);
    }
    dir.write("a/known.toml", scenario("../handover.pipe", "expect = \"RAW rice\"\n"));
    let said = one(&[]);
    assert_eq!(said.status, Status::BadInput);
    assert!(said.err.contains("did you mean `RAW race`?"), "{}", said.err);
}

#[test]
fn names_mean_folders_families_and_scenarios_once_each() {
    let names = |args: &[&str]| -> Vec<String> {
        let said = warpline(&[&["verify", "--json"], args].concat());
        let value: Value = serde_json::from_str(&said.out).unwrap();
        statuses(&value).into_iter().map(|(n, _)| n.to_string()).collect()
    };
    assert_eq!(names(&["cdna/two_step_ahead", "metal/double_buffer", "cdna/two_step_ahead"]).len(), 2);
    let family = names(&["ampere/", "ampere/smem_double_buffer"]);
    assert!(family.len() > 2 && family.iter().all(|n| n.starts_with("ampere/")), "{family:?}");
    let empty = TempDir::new();
    let said = verify(&empty, &[]);
    assert_eq!(said.status, Status::BadInput);
    assert!(said.err.contains("there is no scenario in the folder"), "{}", said.err);
}

#[test]
fn the_same_bytes_on_one_thread_or_many() {
    let dir = repository();
    let on = |threads: usize, format: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| verify(&dir, &["--format", format]).out)
    };
    for format in ["junit", "sarif", "github"] {
        assert_eq!(on(1, format), on(4, format));
    }
}

#[test]
fn sarif_is_read_by_a_sarif_library() {
    let dir = repository();
    dir.write("a/bad.toml", "machine = \"a100\"\nkernel = \"none.pipe\"\n");
    let text = verify(&dir, &["--format", "sarif"]).out;
    let sarif: Sarif = serde_json::from_str(&text).unwrap();
    assert_eq!((sarif.version, sarif.runs.len()), (serde_json::json!("2.1.0"), 1));
    let run = &sarif.runs[0];
    let rules: Vec<&str> = run.tool.driver.rules.as_ref().unwrap().iter().map(|r| r.id.as_str()).collect();
    let results = run.results.as_ref().unwrap();
    for r in results {
        let (id, index) = (r.rule_id.as_deref().unwrap(), r.rule_index.unwrap() as usize);
        assert_eq!(rules[index], id);
        assert!(!r.message.text.as_ref().unwrap().is_empty());
    }
    let places = |r: &serde_sarif::sarif::Result| {
        let of = |l: &serde_sarif::sarif::Location| {
            let p = l.physical_location.as_ref().unwrap();
            let region = p.region.as_ref().unwrap();
            let uri = p.artifact_location.as_ref().unwrap().uri.clone().unwrap();
            (uri, region.start_line.unwrap(), region.start_column.unwrap())
        };
        let first: Vec<_> = r.locations.iter().flatten().map(of).collect();
        let other: Vec<_> = r.related_locations.iter().flatten().map(of).collect();
        (first, other)
    };
    // The races of the two scenarios, the second of which says that it fails as it is to; and the file that is bad.
    let races: Vec<_> = results.iter().filter(|r| r.rule_id.as_deref() == Some("WL0101")).collect();
    assert!(races.len() >= 2, "{text}");
    let kernel = format!("file://{}/handover.pipe", dir.path().display());
    for r in &races {
        let (first, other) = places(r);
        assert_eq!(first, [(kernel.clone(), 11, 12)]);
        assert_eq!(other, [(kernel.clone(), 9, 13)]);
        assert!(matches!(r.level, Some(ResultLevel::Error)));
    }
    let suppressed = races.iter().filter(|r| r.suppressions.as_ref().is_some_and(|s| !s.is_empty())).count();
    assert_eq!(suppressed, races.len() / 2);
    assert!(rules.contains(&"bad-input"));
    assert!(!run.invocations.as_ref().unwrap()[0].execution_successful);
}

#[test]
fn junit_is_xml_with_a_case_a_scenario() {
    let dir = repository();
    dir.write("a/bad.toml", "machine = \"a<100>\"\nkernel = \"../handover.pipe\"\n");
    let text = verify(&dir, &["--format", "junit"]).out;
    let xml = roxmltree::Document::parse(&text).unwrap();
    let suite = xml.descendants().find(|n| n.has_tag_name("testsuite")).unwrap();
    let number = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!((number("tests"), number("failures"), number("errors")), (4, 1, 1));
    let cases: Vec<_> = suite.children().filter(|n| n.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), 4);
    let child = |case: &roxmltree::Node<'_, '_>, tag: &str| {
        case.children().find(|n| n.has_tag_name(tag)).map(|n| n.attribute("message").unwrap_or("").to_string())
    };
    assert!(child(&cases[0], "error").unwrap().contains("a<100>"), "{text}");
    assert_eq!((child(&cases[1], "failure"), child(&cases[1], "error")), (None, None));
    assert!(child(&cases[3], "failure").unwrap().contains("handover.pipe:11:12: WL0101 RAW race"), "{text}");
}

#[test]
fn github_gets_one_command_a_finding() {
    let dir = repository();
    let text = verify(&dir, &["--format", "github"]).out;
    let kernel = dir.path().join("handover.pipe").display().to_string();
    for line in text.lines() {
        assert!(line.starts_with(&format!("::error file={kernel},line=")), "{text}");
    }
    assert!(text.contains(",line=11,col=12,endColumn=31,title=WL0101 RAW race ("), "{text}");
    assert!(!text.contains("known.toml"), "what is expected is no annotation: {text}");
}

#[test]
fn a_compiled_file_stands_for_all_its_kernels() {
    let dir = TempDir::new();
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let file =
        dir.write("k.ptx", format!("{head}.visible .entry one() {{ ret; }}\n.visible .entry two() {{ ret; }}\n"));
    for name in [file.clone(), dir.path().display().to_string()] {
        let said = warpline(&["verify", &name]);
        assert!(said.status == Status::Holds && said.out.contains("2 scenarios: 2 proved"), "{}{}", said.out, said.err);
        assert!(said.out.contains("k.ptx:one\n") && said.out.contains("k.ptx:two\n"), "{}", said.out);
    }
    let one = warpline(&["verify", &file, "--entry", "two"]);
    assert!(one.status == Status::Holds && one.out.contains("PROVED."), "{}{}", one.out, one.err);
}

#[test]
fn many_findings_of_one_rule_are_counted() {
    let dir = TempDir::new();
    let slots = ["a", "b", "c", "d", "e"];
    let each = |line: &dyn Fn(&str) -> String| slots.map(line).concat();
    let kernel = format!(
        "kernel unordered()\n  warps 2\n  global A: f16[64, 16]\n{}  all:\n    warp 0:\n{}    warp 1:\n{}",
        each(&|x| format!("  shared {x}: f16[64, 16]\n")),
        each(&|x| format!("      load A[0, 0] -> {x}\n")),
        each(&|x| format!("      lds {x} -> r\n")),
    );
    dir.write("unordered.pipe", &kernel);
    dir.write("fails.toml", scenario("unordered.pipe", ""));
    let said = verify(&dir, &[]);
    let listed = said.out.matches("WL0101 RAW race: ").count();
    assert!(listed == 3 && said.out.contains("2 more of WL0101 RAW race\n"), "{}", said.out);
}
