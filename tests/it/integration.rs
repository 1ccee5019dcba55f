//! The files with which other repositories use this one: the GitHub Action and the pre-commit hooks.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use warpline_tests::TempDir;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder with a kernel, its scenario, and the program as `bin/warpline`.
fn project() -> TempDir {
    let dir = TempDir::new();
    let bin = dir.path().join("warpline/bin");
    std::fs::create_dir_all(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_warpline-under-test"), bin.join("warpline")).unwrap();
    let made = Command::new(bin.join("warpline")).args(["new", "mine"]).current_dir(dir.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    dir
}

/// Breaks the kernel of a project.
fn break_it(dir: &TempDir) {
    let kernel = std::fs::read_to_string(dir.path().join("mine.pipe")).unwrap();
    dir.write("mine.pipe", kernel.replace("wait cp <= stages - 2", "wait cp <= stages - 1"));
}

/// Runs a line of a script as the services do.
fn bash(dir: &TempDir, script: &str, variables: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", dir.path().join("warpline/bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-e", "-c", script]).current_dir(dir.path()).env("PATH", path).env("RUNNER_TEMP", dir.path());
    command.envs(variables.iter().copied()).output().unwrap()
}

/// The values of a key in a YAML file, in its order; all of them are on one line.
fn values(file: &str, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let key = format!("{key}: ");
    let values = text.lines().filter_map(|l| l.trim().trim_start_matches("- ").strip_prefix(&key));
    values.map(|v| v.trim_matches('\'').to_string()).collect()
}

#[test]
fn the_action_fails_at_a_fault_and_names_its_line() {
    let scripts = values("action.yml", "run");
    let verify = scripts.last().unwrap();
    let inputs = [("SCENARIOS", "."), ("FORMAT", "github"), ("ARGUMENTS", "--max-trips 8")];
    let dir = project();
    let right = bash(&dir, verify, &inputs);
    assert!(right.status.success(), "{right:?}");
    break_it(&dir);
    let wrong = bash(&dir, verify, &inputs);
    let out = String::from_utf8(wrong.stdout).unwrap();
    assert_eq!(wrong.status.code(), Some(1), "{out}");
    assert!(out.contains("::error file=") && out.contains("mine.pipe,line="), "{out}");
}

#[test]
fn the_action_installs_the_program_where_it_runs_it() {
    let scripts = values("action.yml", "run");
    assert_eq!(scripts.len(), 3, "{scripts:?}");
    assert!(scripts[1].contains(r#"--root "$RUNNER_TEMP/warpline""#), "{scripts:?}");
    assert!(scripts[2].starts_with(r#""$RUNNER_TEMP/warpline/bin/warpline" verify"#), "{scripts:?}");
}

#[test]
fn the_action_builds_anew_after_a_change_of_its_files() {
    let script = &values("action.yml", "run")[0];
    let dir = project();
    let hash = |dir: &TempDir| {
        let action = dir.path().join("action");
        std::fs::create_dir_all(action.join("target")).unwrap();
        let output = dir.path().join("output");
        let (action, out) = (action.to_str().unwrap(), output.to_str().unwrap());
        let ran = bash(dir, script, &[("GITHUB_ACTION_PATH", action), ("GITHUB_OUTPUT", out)]);
        assert!(ran.status.success(), "{ran:?}");
        let text = std::fs::read_to_string(&output).unwrap();
        std::fs::remove_file(&output).unwrap();
        text
    };
    std::fs::create_dir_all(dir.path().join("action/src")).unwrap();
    dir.write("action/src/main.rs", "fn main() {}");
    let first = hash(&dir);
    assert!(first.starts_with("hash=") && first.trim_end().len() == "hash=".len() + 40, "{first}");
    dir.write("action/target/built", "not a source");
    assert_eq!(hash(&dir), first);
    dir.write("action/src/main.rs", "fn main() { }");
    assert_ne!(hash(&dir), first);
}

#[test]
fn the_hooks_format_and_verify() {
    let entries = values(".pre-commit-hooks.yaml", "entry");
    assert_eq!(entries, ["warpline fmt", "warpline verify"]);
    let dir = project();
    break_it(&dir);
    let formatted = bash(&dir, &format!("{} mine.pipe", entries[0]), &[]);
    assert!(formatted.status.success(), "{formatted:?}");
    let verified = bash(&dir, &format!("{} .", entries[1]), &[]);
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
}
