//! The verdict of a verifier on a kernel, read from the output of `warpline verify --json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::oracle::{Subject, Values};

/// The word of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Holds for everything that the verdict covers.
    Proved,
    /// Holds in a range.
    Bounded,
    /// There is a fault.
    Violated,
    /// Nothing is decided.
    GaveUp,
    /// The verifier refused the kernel, or its output could not be read.
    Refused,
    /// The verifier did not end in time.
    Timeout,
}

impl Word {
    /// All of them.
    pub const ALL: [Word; 6] =
        [Word::Proved, Word::Bounded, Word::Violated, Word::GaveUp, Word::Refused, Word::Timeout];
}

/// A number that a verdict varies: `k = n x 16 + 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Varied {
    name: String,
    scale: i64,
    rest: i64,
    /// Smallest and largest `n`; `None` where the verdict is for all.
    range: Option<(i64, i64)>,
    /// Whether the verdict is for every value, not only for values of this form.
    every: bool,
}

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The word.
    pub word: Word,
    /// The whole output; null without an output.
    pub json: Value,
    /// Seconds, as the verifier measured them, or of the process.
    pub seconds: f64,
    varied: Vec<Varied>,
}

/// A verifier.
pub trait Verifier: Sync {
    /// The output of `warpline verify FILE --machine NAME --json`, or the word for a failure.
    fn output(&self, file: &Path, machine: &str) -> Result<String, Word>;

    /// The output of `warpline run FILE --machine NAME --json`, or the word for a failure.
    fn run_output(&self, file: &Path, machine: &str) -> Result<String, Word>;
}

/// The command line of a `warpline` binary.
#[derive(Clone, Debug)]
pub struct Binary {
    /// Its path.
    pub path: PathBuf,
    /// The limit of processor time; of elapsed time where the system does not tell the processor time.
    pub limit: Duration,
}

impl Verifier for Binary {
    fn output(&self, file: &Path, machine: &str) -> Result<String, Word> {
        self.said(&["verify", "--json", "--no-suggestion", "--machine", machine], file)
    }

    fn run_output(&self, file: &Path, machine: &str) -> Result<String, Word> {
        self.said(&["run", "--json", "--machine", machine], file)
    }
}

impl Binary {
    /// The output of a command for a file.
    fn said(&self, command: &[&str], file: &Path) -> Result<String, Word> {
        let said = file.with_extension("json");
        let out = File::create(&said).map_err(|_| Word::Refused)?;
        let mut child = Command::new(&self.path)
            .args(command)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|_| Word::Refused)?;
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(_)) => break,
                Ok(None) if start.elapsed() > self.limit && processor_time(child.id()) > self.limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(Word::Timeout);
                }
                Ok(None) => std::thread::sleep(Duration::from_micros(400)),
                Err(_) => return Err(Word::Refused),
            }
        }
        std::fs::read_to_string(&said).map_err(|_| Word::Refused)
    }
}

/// Processor time of a running process, in steps of 10 ms; the longest time where the system does not tell.
fn processor_time(process: u32) -> Duration {
    let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok().and_then(|stat| {
        // Fields behind the name, which is in parentheses: user and system time are the 12th and 13th.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        Some(Duration::from_millis(10 * ticks))
    });
    told.unwrap_or(Duration::MAX)
}

impl Verdict {
    /// The verdict of a verifier on a text, which is written to `file`.
    pub fn ask(verifier: &dyn Verifier, text: &str, file: &Path) -> Verdict {
        let start = Instant::now();
        let machine = crate::oracle::comment(text, "machine").next().unwrap_or("h200");
        let output = match std::fs::write(file, text) {
            Ok(()) => verifier.output(file, machine),
            Err(_) => Err(Word::Refused),
        };
        let mut v = match output {
            Ok(output) => Verdict::read(&output),
            Err(word) => Verdict { word, json: Value::Null, seconds: 0.0, varied: Vec::new() },
        };
        if v.seconds == 0.0 {
            v.seconds = start.elapsed().as_secs_f64();
        }
        v
    }

    /// Reads an output.
    pub fn read(output: &str) -> Verdict {
        let json: Value = serde_json::from_str(output).unwrap_or(Value::Null);
        let word = match json["verdict"].as_str() {
            Some("proved") => Word::Proved,
            Some("bounded") => Word::Bounded,
            Some("violated") => Word::Violated,
            Some("gave_up") => Word::GaveUp,
            _ => Word::Refused,
        };
        let range = match &json["trip_counts"] {
            Value::Array(ends) => {
                let end = |k: usize| ends.get(k).and_then(Value::as_i64);
                end(0).zip(end(1))
            }
            _ => None,
        };
        // Without trip counts the verdict is for the given values.
        let any = range.is_some() || json["trip_counts"] == "all";
        let mut varied = Vec::new();
        match &json["varied"] {
            Value::String(form) if any => varied.extend(Varied::all(form, range)),
            // Names, each at every value.
            Value::Array(names) => varied.extend(names.iter().filter_map(|n| {
                let name = n.as_str().or_else(|| n["name"].as_str())?.to_string();
                Some(Varied { name, scale: 1, rest: 0, range: None, every: true })
            })),
            _ => {}
        }
        if let Some(form) = json["turns"].as_str() {
            varied.extend(Varied::read(form, None));
        }
        // Sizes, each at every value that the kernel accepts.
        varied.extend(json["sizes"].as_array().into_iter().flatten().filter_map(|name| {
            Some(Varied { name: name.as_str()?.to_string(), scale: 1, rest: 0, range: None, every: true })
        }));
        let seconds = json["wall_s"].as_f64().unwrap_or(0.0);
        Verdict { word, json, seconds, varied }
    }

    /// Whether the verdict covers these values: varied ones are in its range, and all others are as given.
    pub fn claims(&self, subject: &Subject, values: &Values) -> bool {
        if *values == subject.given() {
            return true;
        }
        subject.dimensions.iter().all(|d| {
            let Some(value) = values.get(&d.name) else { return true };
            // Proofs let a run-time trip count be anything.
            let lengths = d.name == "code" && self.json["any_length"].is_u64();
            let free = (d.tape || lengths) && self.word == Word::Proved;
            *value == d.given || free || self.varied.iter().any(|v| v.name == d.name && v.contains(*value))
        })
    }

    /// The reason for a bounded or missing verdict.
    pub fn why(&self) -> &str {
        self.json["why"].as_str().unwrap_or("")
    }

    /// The lengths of the jobs of the cluster with the fault, where they are known only at run time.
    pub fn lengths(&self) -> Vec<i64> {
        self.json["violation"]["lengths"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
    }

    /// The values of numbers that are known only at run time, by name, if the fault is one of other values than stated.
    pub fn run_time(&self) -> BTreeMap<String, String> {
        let values = self.json["violation"]["run_time"].as_object().into_iter().flatten();
        values.filter_map(|(name, v)| Some((name.clone(), v.as_str()?.to_string()))).collect()
    }

    /// The values and the cluster of the verdict's fault.
    pub fn named(&self, subject: &Subject) -> (Values, Option<i64>) {
        let violation = &self.json["violation"];
        let schedule = &violation["schedule"];
        let mut values = subject.given();
        for list in ["parameters", "lets", "values"] {
            for (name, value) in schedule[list].as_object().into_iter().flatten() {
                values.extend(value.as_i64().map(|v| (name.clone(), v)));
            }
        }
        if schedule.is_null() {
            for (key, form) in [("trips", &self.json["varied"]), ("turns", &self.json["turns"])] {
                if let (Some(n), Some(v)) = (violation[key].as_i64(), form.as_str().and_then(|f| Varied::read(f, None)))
                {
                    values.insert(v.name.clone(), v.scale * n + v.rest);
                }
            }
        }
        let varied = || self.json["varied"].as_str().and_then(|form| Varied::read(form, None));
        let lengths = self.lengths().len() as i64;
        if let (1.., true, Some(v)) = (lengths, schedule.is_null(), varied()) {
            let jobs = violation["jobs"].as_i64().unwrap_or(lengths * subject.ctas_for_a_job(&values));
            values.insert(v.name.clone(), v.scale * jobs + v.rest);
        }
        (values, schedule["cluster"].as_i64())
    }

    /// These values with the given number of jobs, where the fault names the lengths of jobs and not their number.
    pub fn with_given_jobs(&self, subject: &Subject, values: &Values) -> Option<Values> {
        let violation = &self.json["violation"];
        let named = self.lengths().is_empty() || !violation["jobs"].is_null() || !violation["schedule"].is_null();
        let varied = Varied::read(self.json["varied"].as_str()?, None)?;
        let given = *subject.given().get(&varied.name)?;
        let mut values = values.clone();
        values.insert(varied.name, given);
        (!named).then_some(values)
    }
}

impl Varied {
    /// Reads `k = n x 16 + 3, and in the same steps from k = 5, k = 6`.
    fn all(form: &str, range: Option<(i64, i64)>) -> Vec<Varied> {
        let (form, others) = form.split_once(", and in the same steps from ").unwrap_or((form, ""));
        let Some(first) = Varied::read(form, range) else { return Vec::new() };
        let least = first.rest.max(0);
        let other = |text: &str| {
            let (name, value) = text.split_once(" = ")?;
            let rest = least + (value.trim().parse::<i64>().ok()? - least).rem_euclid(first.scale);
            Some(Varied { name: name.trim().to_string(), rest, ..first.clone() })
        };
        let others: Vec<Varied> = others.split(", ").filter_map(other).collect();
        std::iter::once(first).chain(others).collect()
    }

    /// Reads `k = n x 16 + 3`.
    fn read(form: &str, range: Option<(i64, i64)>) -> Option<Varied> {
        let (name, form) = form.split_once('=')?;
        let words: Vec<&str> = form.split_whitespace().collect();
        let number = |k: usize| words.get(k).and_then(|w| w.parse::<i64>().ok());
        let (scale, at) = if words.get(1) == Some(&"x") { (number(2)?, 3) } else { (1, 1) };
        let rest = match words.get(at) {
            Some(&"+") => number(at + 1)?,
            Some(&"-") => -number(at + 1)?,
            _ => 0,
        };
        Some(Varied { name: name.trim().to_string(), scale, rest, range, every: false })
    }

    fn contains(&self, value: i64) -> bool {
        let by = value - self.rest;
        let n = by.div_euclid(self.scale);
        let form = self.every || by.rem_euclid(self.scale) == 0;
        form && n >= 0 && self.range.is_none_or(|(low, high)| low <= n && n <= high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read() {
        let v = Varied::read("k = n x 16 + 3", Some((0, 4))).expect("a form");
        assert_eq!((v.name.as_str(), v.scale, v.rest), ("k", 16, 3));
        assert!(v.contains(19) && !v.contains(20) && !v.contains(83));
        let all = Varied::all("k = n x 4 + 1, and in the same steps from k = 7, k = 8", None);
        assert_eq!(all.iter().map(|v| v.rest).collect::<Vec<_>>(), [1, 3, 4]);
        let v = Varied::read("tiles = n", None).expect("a form");
        assert!(v.contains(0) && v.contains(77) && !v.contains(-1));
    }
}
