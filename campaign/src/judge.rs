//! Holds a verdict against brute force.

use std::time::Instant;

use crate::oracle::{Fault, Subject};
use crate::verdict::{Verdict, Word};

/// What is wrong about a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Proved, and there is a fault that the verdict speaks of.
    Proved,
    /// Violated, and there is no fault anywhere.
    Violated,
    /// Violated, and there is a fault, but none at the point that the verdict names.
    Point,
    /// Bounded, and there is a fault at the values given.
    BoundedGiven,
    /// Bounded, and there is a fault at other values of its range.
    BoundedRange,
    /// The kernel lowered once does not do at some values what the kernel lowered with them does.
    Binding,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Wrong; 6] =
        [Wrong::Proved, Wrong::Violated, Wrong::Point, Wrong::BoundedGiven, Wrong::BoundedRange, Wrong::Binding];
}

/// A verdict and what brute force says about it.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// The verdict.
    pub verdict: Verdict,
    /// What is wrong about it.
    pub wrong: Option<Wrong>,
    /// A fault of the kernel, within the verdict's claim where there is one there.
    pub fault: Option<Fault>,
    /// Brute force did not look at every point.
    pub partial: bool,
    /// Seconds that brute force took.
    pub seconds: f64,
    /// Why the kernel could not be judged.
    pub error: Option<String>,
}

/// Judges the verdict on a text.
pub fn judge(text: &str, verdict: Verdict) -> Judgment {
    let start = Instant::now();
    let judged = held_against(text, verdict);
    Judgment { seconds: start.elapsed().as_secs_f64(), ..judged }
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
    if verdict.word == Word::Violated {
        let (values, cluster) = verdict.named(&subject);
        if let Some(fault) = subject.replay(&values, cluster) {
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
