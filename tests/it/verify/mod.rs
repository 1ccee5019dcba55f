//! Verdicts: of the scenarios, of their mutations, of protocols that an independent checker decided, and of kernels made
//! to mislead.

mod agree;
mod barriers;
mod bounds;
mod branches;
mod edits;
mod ends;
mod exported;
mod flags;
mod global;
mod global_stores;
mod grids;
mod lanes;
mod language;
mod limits;
mod mislead;
mod peers;
mod pipeline_states;
mod protocols;
mod registers;
mod rings;
mod rows;
mod scenarios;
mod sizes;
mod spin;
mod time_order;
mod turns;
mod while_loops;

use serde_json::Value;
use warpline::Status;
use warpline_scenarios::{embedded, embedded_kernel_of, scenario};
use warpline_tests::{TempDir, warpline};

/// A verdict as `verify --json` prints it.
pub(crate) struct Verdict {
    pub(crate) json: Value,
}

fn ask(command: &str, args: &[&str]) -> (Status, Value) {
    let mut all = vec![command];
    all.extend(args);
    all.push("--json");
    let said = warpline(&all);
    assert_eq!(said.err, "", "{args:?}");
    (said.status, serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", said.out)))
}

/// Verifies what these arguments name, and holds the exit status to the verdict, or to what the scenario expects.
#[track_caller]
pub(crate) fn verify(args: &[&str]) -> Verdict {
    let (status, json) = ask("verify", args);
    let want = match (json["as_expected"].as_bool(), json["verdict"].as_str().unwrap()) {
        (Some(true), _) | (None, "proved" | "bounded") => Status::Holds,
        (Some(false), _) | (None, "violated") => Status::Violated,
        (None, "gave_up") => Status::GaveUp,
        (None, other) => panic!("{other}"),
    };
    assert_eq!(status, want, "{args:?}");
    Verdict { json }
}

/// What `barriers --json` prints.
pub(crate) fn barriers(args: &[&str]) -> Value {
    ask("barriers", args).1
}

/// A built-in scenario after replacing text of its kernel, each piece once; then `f` with its file.
#[track_caller]
pub(crate) fn edited<T>(name: &str, edits: &[(&str, &str)], f: impl FnOnce(&str) -> T) -> T {
    let (file, toml) = embedded(name).unwrap();
    let kernel = scenario(file, toml).unwrap().kernel;
    let (_, text) = embedded_kernel_of(name, &kernel).unwrap();
    let mut text = text.to_string();
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}` in {kernel}");
        text = text.replace(from, to);
    }
    let dir = TempDir::new();
    dir.write(kernel.rsplit('/').next().unwrap(), text);
    // What it is compared with is elsewhere, and what it expects is said of the text as it was.
    let toml = toml.split("\n[[").next().unwrap();
    let toml: Vec<&str> = toml.lines().filter(|l| !l.starts_with("expect")).collect();
    f(&dir.write("x.toml", toml.join("\n")))
}

/// Verifies a built-in scenario after such edits.
#[track_caller]
pub(crate) fn mutated(name: &str, edits: &[(&str, &str)], set: &[&str]) -> Verdict {
    edited(name, edits, |file| {
        let mut args = vec![file];
        set.iter().for_each(|s| args.extend(["--set", s]));
        verify(&args)
    })
}

/// Verifies a kernel text, without a search for repairs.
#[track_caller]
pub(crate) fn kernel(machine: &str, text: &str) -> Verdict {
    let dir = TempDir::new();
    verify(&[&dir.write("t.pipe", text), "--machine", machine, "--no-suggestion"])
}

impl Verdict {
    pub(crate) fn word(&self) -> &str {
        self.json["verdict"].as_str().unwrap()
    }

    pub(crate) fn why(&self) -> &str {
        self.json["why"].as_str().unwrap_or("")
    }

    #[track_caller]
    pub(crate) fn proved(&self) -> &Self {
        let all = if self.json["varied"].is_null() { Value::Null } else { Value::from("all") };
        assert_eq!((self.word(), &self.json["trip_counts"]), ("proved", &all), "{:#}", self.json);
        for (name, verdict) in self.json["properties"].as_object().unwrap() {
            assert_eq!(verdict, "proved", "{name}");
        }
        self
    }

    #[track_caller]
    pub(crate) fn bounded(&self, why: &str) -> &Self {
        assert_eq!(self.word(), "bounded", "{:#}", self.json);
        assert!(self.why().contains(why), "`{why}` is not in `{}`", self.why());
        self
    }

    #[track_caller]
    pub(crate) fn gave_up(&self, why: &str) -> &Self {
        assert_eq!(self.word(), "gave_up", "{:#}", self.json);
        assert!(self.why().contains(why), "`{why}` is not in `{}`", self.why());
        self
    }

    /// Violated, with a finding of this kind at a line with this text; of a hang, somebody waits there.
    #[track_caller]
    pub(crate) fn violated(&self, kind: &str, at: &str) -> &Self {
        assert_eq!(self.word(), "violated", "{:#}", self.json);
        let here = |place: &Value| place["text"].as_str().unwrap().contains(at) && place["line"].as_u64() > Some(0);
        let met = match kind {
            "deadlock" => self.json["hang"].as_array().unwrap().iter().any(|w| here(&w["place"])),
            _ => self.json["violations"]
                .as_array()
                .unwrap()
                .iter()
                .any(|f| f["kind"] == kind && (here(&f["place"]) || (f["other"].is_object() && here(&f["other"])))),
        };
        assert!(met, "no {kind} at `{at}` in {:#}", self.json);
        assert_eq!(self.json["properties"][kind], "violated");
        assert!(!self.json["violation"]["steps"].as_array().unwrap().is_empty());
        self
    }

    /// The smallest trip count that shows it.
    #[track_caller]
    pub(crate) fn first_at(&self, n: i64) -> &Self {
        assert_eq!(self.json["trip_counts"], serde_json::json!([n, n]), "{:#}", self.json["violation"]);
        self
    }
}
