//! Malformed kernels, scenarios and machines through the binary: every message with its place, status 2, no panic.
//!
//! `tests/bad/NAME.expect` holds a command line after `$`, run in that folder, and what must be said of it:
//! `file:line: message`, or `-: message` where there is no place. `BLESS=1` writes what is said anew.
//! The compiler's own table, `scenarios/tests/bad`, goes through the binary too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpline_scenarios::parameters;

/// Text as it is compared: lines are wrapped and framed for people.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect()
}

/// The error stream of a command line that must be refused.
fn refused(dir: &Path, args: &[String]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_warpline-under-test"))
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() != Some(2) || text.contains("panicked") || !output.stdout.is_empty() {
        return Err(format!("{args:?}: status {:?}\n{text}", output.status.code()));
    }
    Ok(text)
}

/// The messages in an error stream, with their places: `  × message`, then `╭─[file:line:column]`; or `error: message`.
fn messages(stderr: &str) -> Vec<String> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in stderr.lines() {
        let text = line.trim();
        if let Some(m) = text.strip_prefix("× ").or_else(|| text.strip_prefix("error: ")) {
            list.push(("-".into(), m.into()));
            open = true;
        } else if let (Some((_, at)), Some(last)) = (text.split_once("╭─["), list.last_mut()) {
            last.0 = at.trim_end_matches(']').rsplit_once(':').map_or(at, |(place, _)| place).to_string();
            open = false;
        } else if text.starts_with("help:") {
            open = false;
        } else if let (true, Some(last)) = (open, list.last_mut()) {
            last.1 += &format!(" {}", text.trim_start_matches('│').trim());
        }
    }
    list.into_iter().map(|(at, m)| format!("{at}: {m}")).collect()
}

fn files(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    list.retain(|p| p.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)));
    list.sort();
    list
}

#[test]
fn every_malformed_input_gets_its_messages_and_status_2() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("bad");
    let list = files(&dir, &["expect"]);
    assert!(list.len() >= 40, "{} malformed inputs", list.len());
    let mut wrong = String::new();
    for path in list {
        let want = fs::read_to_string(&path).unwrap();
        let (command, rest) = want.split_once('\n').unwrap();
        let args: Vec<String> = command.trim_start_matches("$ ").split(' ').map(Into::into).collect();
        let said = match refused(&dir, &args) {
            Ok(text) => messages(&text).join("\n") + "\n",
            Err(e) => e,
        };
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, format!("{command}\n{said}")).unwrap();
        } else if said != rest || rest.trim().is_empty() {
            wrong += &format!("{command}\n--- expected\n{rest}--- said\n{said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_table_of_the_compiler_holds_through_the_binary() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/tests/bad");
    let (mut wrong, mut count) = (String::new(), 0);
    for path in files(&dir, &["pipe", "toml"]) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let mut args = vec!["run".to_string(), name.to_string()];
        if name.ends_with(".pipe") {
            args.extend(["--machine".into(), "h200".into()]);
            for p in parameters(name, &text).unwrap_or_default() {
                if ["m", "n", "k"].contains(&p.name.as_str()) {
                    args.extend(["--set".into(), format!("{}=512", p.name)]);
                }
            }
        }
        if name == "cores.pipe" {
            // What it lacks is the machine that is named here.
            continue;
        }
        let said = match refused(&dir, &args) {
            Ok(text) => plain(&text),
            Err(e) => {
                wrong += &e;
                continue;
            }
        };
        count += 1;
        let expect = fs::read_to_string(path.with_extension("expect")).unwrap();
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for line in expect.lines().filter(|l| !l.starts_with(' ')) {
            let (_, message) = line.split_once(": ").unwrap();
            *times.entry(plain(message)).or_default() += 1;
        }
        for (message, n) in times {
            if said.matches(&message).count() < n {
                wrong += &format!("{name}: `{message}` is said less than {n} times\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 30, "{count} files");
}
