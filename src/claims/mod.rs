//! What documents say about a scenario, held against what `run`, `verify` and `barriers` find out.

mod facts;
mod page;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;
use warpline_scenarios::{Claim, Verdict};
use warpline_sim::Report;

use crate::cli::Subject;
use crate::failure::Failure;
use crate::load::{self, Loaded};

pub(crate) use facts::Facts;
pub(crate) use page::{number, page};

/// A claim and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    /// The claim in words.
    pub(crate) text: String,
    /// Where it stands.
    pub(crate) from: String,
    /// The expression that decides it.
    pub(crate) check: String,
    /// What the scenario says becomes of it: `held` or `refuted`.
    pub(crate) verdict: &'static str,
    /// What became of it; `None` where it cannot be computed.
    pub(crate) holds: Option<bool>,
    /// Why it cannot be computed.
    pub(crate) error: Option<String>,
    /// The number it is about.
    pub(crate) computed: Option<f64>,
    /// That number's unit.
    pub(crate) unit: Option<String>,
    /// What is so instead, or why, in the scenario's words.
    pub(crate) instead: Option<String>,
    /// The names in the expressions with their values.
    pub(crate) values: BTreeMap<String, f64>,
}

impl Judged {
    /// Whether the verdict the scenario states is (still) true.
    pub(crate) fn as_stated(&self) -> bool {
        self.holds.is_some_and(|h| h == (self.verdict == Verdict::Held.name())) && self.error.is_none()
    }

    /// The claim, what became of it and the numbers that say so, in a line.
    pub(crate) fn sentence(&self) -> String {
        let fate = match self.holds {
            Some(true) => "held",
            Some(false) => "refuted",
            None => "open",
        };
        let values: Vec<String> = self.values.iter().map(|(name, v)| format!("{name} is {}", number(*v))).collect();
        let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        format!("Claim {fate}: {}{values}.", self.text.trim_end_matches('.'))
    }
}

/// Every claim of a scenario, of which there may be a run already. What a claim speaks of is found out once it is asked.
pub(crate) fn evaluate(subject: &Loaded, ran: Option<&Report>, asked: &Subject) -> Result<Vec<Judged>, Failure> {
    let facts = Facts::new(subject, ran);
    let mut others = BTreeMap::new();
    for beside in &subject.beside {
        if let Some(name) = &beside.alias {
            others.insert(name.clone(), load::load_beside(subject, beside, asked)?);
        }
    }
    let others: BTreeMap<&str, Facts<'_>> = others.iter().map(|(n, l)| (n.as_str(), Facts::new(l, None))).collect();
    Ok(subject.claims.iter().map(|claim| judge(claim, &facts, &others)).collect())
}

fn judge(claim: &Claim, facts: &Facts<'_>, others: &BTreeMap<&str, Facts<'_>>) -> Judged {
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
    Judged {
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
    use crate::sample;
    use warpline_study::numbers::METRICS;

    #[test]
    fn the_document_lists_every_name() {
        let doc = include_str!("../../docs/cli.md");
        let section = doc.split("## Claims").nth(1).expect("the document has the heading");
        for name in METRICS.iter().map(|m| m.name).chain(facts::NAMES) {
            assert!(section.contains(&format!("| `{name}` |")), "`{name}` is missing");
        }
    }

    #[test]
    fn a_run_that_hangs_has_no_time() {
        let ran = sample::faulty("x");
        let facts = Facts::new(&ran.subject, Some(&ran.report));
        assert!(facts.get("cycles").is_err_and(|e| e.contains("did not end")));
        assert_eq!((facts.get("hangs"), facts.get("findings")), (Ok(Some(1.0)), Ok(Some(1.0))));
        assert_eq!(facts.get("nonsense"), Ok(None));
    }
}
