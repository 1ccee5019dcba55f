//! Comparison of a verdict with brute force.

use std::path::Path;
use std::time::Instant;

use crate::oracle::{Fault, Subject, Values, comment};
use crate::run_report::fault_of_run;
use crate::verdict::{Verdict, Verifier, Word};

/// The error of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Proved, with a fault that the verdict covers.
    Proved,
    /// Violated, without a fault anywhere.
    Violated,
    /// Violated, with a fault, but not at the point that the verdict names.
    Point,
    /// Bounded, with a fault at the given values.
    BoundedGiven,
    /// Bounded, with a fault at other values of its range.
    BoundedRange,
    /// The kernel lowered once behaves differently, at some values, from the kernel lowered with these values.
    Binding,
    /// Proved, but `warpline run` with the values given reports a fault.
    Run,
}

impl Wrong {
    /// All errors.
    pub const ALL: [Wrong; 7] = [
        Wrong::Proved,
        Wrong::Violated,
        Wrong::Point,
        Wrong::BoundedGiven,
        Wrong::BoundedRange,
        Wrong::Binding,
        Wrong::Run,
    ];
}

/// A verdict with its comparison to brute force.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// The verdict.
    pub verdict: Verdict,
    /// The error of the verdict.
    pub wrong: Option<Wrong>,
    /// A fault of the kernel; one that the verdict covers, if there is one.
    pub fault: Option<Fault>,
    /// Whether brute force did not check every point.
    pub partial: bool,
    /// Seconds that brute force took.
    pub seconds: f64,
    /// The reason why the kernel could not be judged.
    pub error: Option<String>,
}

/// Judges the verdict on a text.
pub fn judge(text: &str, verdict: Verdict) -> Judgment {
    let start = Instant::now();
    let judged = held_against(text, verdict);
    Judgment { seconds: start.elapsed().as_secs_f64(), ..judged }
}

/// As [`judge`]; a kernel that is proved, and whose verdict is right so far, also runs once with the values given.
///
/// `file` holds the text.
pub fn judge_with_run(text: &str, verdict: Verdict, verifier: &dyn Verifier, file: &Path) -> Judgment {
    let judged = judge(text, verdict);
    if judged.verdict.word != Word::Proved || judged.wrong.is_some() {
        return judged;
    }
    let machine = comment(text, "machine").next().unwrap_or("h200");
    let output = verifier.run_output(file, machine);
    match output.map(|output| fault_of_run(&serde_json::from_str(&output).unwrap_or_default())) {
        Ok(Ok(None)) => judged,
        Ok(Ok(Some(what))) => {
            let values = Subject::read(text).map_or_else(|_| Values::new(), |subject| subject.given());
            let fault = Fault { values, cluster: 0, what: format!("in a run: {what}") };
            Judgment { wrong: Some(Wrong::Run), fault: Some(fault), ..judged }
        }
        Ok(Err(e)) => Judgment { error: Some(format!("it was proved, but not run: {e}")), ..judged },
        Err(word) => Judgment { error: Some(format!("it was proved, but a run ended with {word:?}")), ..judged },
    }
}

/// Whether a fault is one that brute force does not look for: sums over several clusters.
fn unseen(verdict: &Verdict) -> bool {
    let violation = &verdict.json["violation"];
    let sum = violation["message"].as_str().is_some_and(|message| message.starts_with("the partial sums"));
    sum && violation["kind"] == "coverage"
}

fn held_against(text: &str, verdict: Verdict) -> Judgment {
    let blank = |verdict, error| Judgment { verdict, wrong: None, fault: None, partial: false, seconds: 0.0, error };
    let subject = match Subject::read(text) {
        Ok(subject) => subject,
        Err(e) => return blank(verdict, Some(e)),
    };
    if verdict.word == Word::Refused {
        let e = verdict.json.to_string();
        return blank(verdict, Some(format!("the verifier refused it: {e}")));
    }
    if let Some(values) = subject.bound_otherwise() {
        let fault = Fault { values, cluster: 0, what: "bound otherwise than compiled".to_string() };
        return Judgment { wrong: Some(Wrong::Binding), fault: Some(fault), ..blank(verdict, None) };
    }
    if verdict.word == Word::Violated && !unseen(&verdict) {
        let (mut values, cluster) = verdict.named(&subject);
        // The compiler reports a number outside its range as an error of the text.
        if verdict.json["violation"]["kind"] == "range" && subject.compile(&values).is_none() {
            let fault = Fault { values, cluster: 0, what: "the compiler refuses a number".to_string() };
            return Judgment { fault: Some(fault), ..blank(verdict, None) };
        }
        let run_time = verdict.run_time();
        let other = subject.with_run_time(&run_time);
        // Values that the fault names replace the given ones.
        values.retain(|name, _| !run_time.contains_key(name));
        let replay = |values: &Values| other.as_ref().unwrap_or(&subject).replay(values, cluster, &verdict.lengths());
        let at_given_jobs = || replay(&verdict.with_given_jobs(&subject, &values)?);
        if let Some(fault) = replay(&values).or_else(at_given_jobs) {
            return Judgment { fault: Some(fault), ..blank(verdict, None) };
        }
        let truth = subject.truth(&|_| true);
        let wrong = if truth.inside.is_some() { Wrong::Point } else { Wrong::Violated };
        return Judgment { wrong: Some(wrong), fault: truth.inside, partial: truth.partial, ..blank(verdict, None) };
    }
    let truth = match verdict.word {
        Word::Proved | Word::Bounded => subject.truth(&|values| verdict.claims(&subject, values)),
        _ => subject.truth(&|_| true),
    };
    let wrong = truth.inside.as_ref().and_then(|fault| match verdict.word {
        Word::Proved => Some(Wrong::Proved),
        Word::Bounded if fault.values == subject.given() => Some(Wrong::BoundedGiven),
        Word::Bounded => Some(Wrong::BoundedRange),
        _ => None,
    });
    let fault = truth.inside.or(truth.outside);
    Judgment { wrong, fault, partial: truth.partial, ..blank(verdict, None) }
}
