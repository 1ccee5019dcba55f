//! Claims: statements of documents about a scenario, decided by what `run`, `verify` and `barriers` compute.

mod facts;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;
use warpline_scenarios::{Claim, Verdict};
use warpline_sim::Report;
use warpline_sim::words::number;

use crate::error::Error;
use crate::load::{self, Subject};
use crate::request::Request;

use facts::Facts;

/// A claim and its result.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimResult {
    /// The claim in words.
    pub text: String,
    /// The document and the place in it.
    pub from: String,
    /// The expression that decides it.
    pub check: String,
    /// The result that the scenario states: `held` or `refuted`.
    pub verdict: &'static str,
    /// Whether the claim holds; `None` where the expression cannot be computed.
    pub holds: Option<bool>,
    /// The reason why the expression cannot be computed.
    pub error: Option<String>,
    /// The number that the claim is about.
    pub computed: Option<f64>,
    /// The unit of that number.
    pub unit: Option<String>,
    /// The scenario's words on what is true instead, or why.
    pub instead: Option<String>,
    /// The names in the expressions, with their values.
    pub values: BTreeMap<String, f64>,
}

impl ClaimResult {
    /// Whether the result is the one that the scenario states.
    pub fn as_stated(&self) -> bool {
        self.holds.is_some_and(|h| h == (self.verdict == Verdict::Held.name())) && self.error.is_none()
    }

    /// The claim, its result and the numbers behind it, in one sentence.
    pub fn sentence(&self) -> String {
        let result = match self.holds {
            Some(true) => "held",
            Some(false) => "refuted",
            None => "open",
        };
        let values: Vec<String> = self.values.iter().map(|(name, v)| format!("{name} is {}", number(*v))).collect();
        let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        format!("Claim {result}: {}{values}.", self.text.trim_end_matches('.'))
    }
}

/// Decides every claim of a scenario. A report that exists already is not computed again; everything else is computed when
/// the first claim names it.
///
/// # Errors
/// A scenario named by a claim that cannot be loaded.
pub fn evaluate(subject: &Subject, report: Option<&Report>, request: &Request) -> Result<Vec<ClaimResult>, Error> {
    let facts = Facts::new(subject, report);
    let mut others = BTreeMap::new();
    for beside in &subject.beside {
        if let Some(name) = &beside.alias {
            others.insert(name.clone(), load::load_beside(subject, beside, request)?);
        }
    }
    let others: BTreeMap<&str, Facts<'_>> = others.iter().map(|(n, l)| (n.as_str(), Facts::new(l, None))).collect();
    Ok(subject.claims.iter().map(|claim| judge(claim, &facts, &others)).collect())
}

fn judge(claim: &Claim, facts: &Facts<'_>, others: &BTreeMap<&str, Facts<'_>>) -> ClaimResult {
    let used = RefCell::new(BTreeMap::new());
    let failed = RefCell::new(None::<String>);
    let lookup = |name: &str| {
        let found = match name.split_once('.') {
            Some((other, name)) => others.get(other)?.get(name),
            None => facts.get(name),
        };
        match found {
            Ok(value) => {
                used.borrow_mut().extend(value.map(|v| (name.to_string(), v)));
                value
            }
            Err(why) => {
                *failed.borrow_mut() = Some(why);
                None
            }
        }
    };
    let value = |text: &str| load::evaluate(text, &lookup).map_err(|e| failed.borrow_mut().take().unwrap_or(e));
    let result = value(&claim.check).map(|v| v != 0.0);
    let computed = claim.value.as_ref().map(|(text, _)| value(text)).transpose();
    let error = result.as_ref().err().or(computed.as_ref().err()).cloned();
    ClaimResult {
        text: claim.text.clone(),
        from: claim.from.clone(),
        check: claim.check.clone(),
        verdict: claim.verdict.name(),
        holds: result.ok(),
        error,
        computed: computed.ok().flatten(),
        unit: claim.value.as_ref().map(|(_, unit)| unit.clone()).filter(|u| !u.is_empty()),
        instead: claim.instead.clone(),
        values: used.into_inner(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_study::numbers::METRICS;

    #[test]
    fn the_document_lists_every_name() {
        let doc = include_str!("../../../docs/cli.md");
        let section = doc.split("## Claims").nth(1).expect("the document has the heading");
        for name in METRICS.iter().map(|m| m.name).chain(facts::NAMES) {
            assert!(section.contains(&format!("| `{name}` |")), "`{name}` is missing");
        }
    }

    #[test]
    fn a_run_that_hangs_has_no_time() {
        let subject = load::load(&Request::named("museum/m10_consumer_count/bug")).expect("loads");
        let facts = Facts::new(&subject, None);
        assert!(facts.get("cycles").is_err_and(|e| e.contains("did not end")));
        assert_eq!(facts.get("hangs"), Ok(Some(1.0)));
        assert_eq!(facts.get("nonsense"), Ok(None));
    }
}
