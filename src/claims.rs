//! What documents say about a scenario, held against what a run computes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;
use warpline_scenarios::{Claim, Verdict};
use warpline_sim::report::Outcome;

use crate::simulate::Ran;
use crate::{load, show};

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
    /// The names in the expression with their values.
    pub(crate) values: BTreeMap<String, f64>,
}

impl Judged {
    /// Whether the verdict the scenario states is (still) true.
    pub(crate) fn as_stated(&self) -> bool {
        self.holds.is_some_and(|h| h == (self.verdict == Verdict::Held.name()))
    }

    /// The claim, what became of it and the numbers that say so, in a line.
    pub(crate) fn sentence(&self) -> String {
        let fate = match self.holds {
            Some(true) => "held",
            Some(false) => "refuted",
            None => "open",
        };
        let values: Vec<String> =
            self.values.iter().map(|(name, v)| format!("{name} is {}", show::plain(*v))).collect();
        let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        format!("Claim {fate}: {}{values}.", self.text.trim_end_matches('.'))
    }
}

/// Every claim of the scenario.
pub(crate) fn evaluate(ran: &Ran) -> Vec<Judged> {
    let known = values(ran);
    ran.subject.claims.iter().map(|claim| judge(claim, &known, &ran.report.outcome)).collect()
}

fn judge(claim: &Claim, known: &BTreeMap<String, f64>, outcome: &Outcome) -> Judged {
    let used = RefCell::new(BTreeMap::new());
    let lookup = |name: &str| {
        let value = known.get(name).copied();
        if let Some(v) = value {
            used.borrow_mut().insert(name.to_string(), v);
        }
        value
    };
    let result = load::evaluate(&claim.check, &lookup).map(|v| v != 0.0);
    let error = result.as_ref().err().map(|e| match outcome {
        Outcome::Finished => e.clone(),
        _ => format!("{e}; the run did not end, so it has no times"),
    });
    Judged {
        text: claim.text.clone(),
        from: claim.from.clone(),
        check: claim.check.clone(),
        verdict: claim.verdict.name(),
        holds: result.ok(),
        error,
        values: used.into_inner(),
    }
}

/// The names an expression can use; `docs/cli.md` lists them.
///
/// Parameters and header `let`s of the kernel come first, so that a result's name always means the result.
fn values(ran: &Ran) -> BTreeMap<String, f64> {
    let (p, r) = (&ran.subject.program, &ran.report);
    let kernel = p.params.iter().chain(&p.lets).map(|(n, v)| (n.clone(), *v as f64));
    let mut values: BTreeMap<String, f64> = kernel.collect();
    let results = [
        ("flops", Some(r.flops)),
        ("ctas", Some(r.ctas as f64)),
        ("waves", Some(r.waves as f64)),
        ("shared_bytes", Some(r.shared_bytes as f64)),
        ("shared_free_bytes", Some(r.shared_free_bytes as f64)),
        ("ctas_per_core", Some(r.occupancy.ctas_per_core.into())),
        ("warps_per_core", Some(r.occupancy.warps_per_core.into())),
        ("findings", Some(r.faults().count() as f64)),
        ("hangs", Some(matches!(r.outcome, Outcome::Hung(_)).into())),
    ];
    let times = [
        ("cycles", Some(r.cycles)),
        ("time_us", Some(r.time_us)),
        ("tflops", Some(r.tflops)),
        ("of_peak", r.of_peak),
        ("cycles_per_tile", r.cycles_per_tile),
        ("l2_hit_rate", Some(r.l2_hit_rate)),
        ("dram_read_bytes", Some(r.dram_read_bytes)),
        ("dram_write_bytes", Some(r.dram_write_bytes)),
    ];
    // A run that stopped half way has no time, and a claim about it cannot be held against one.
    let ended = r.outcome == Outcome::Finished;
    let all = results.into_iter().chain(times.into_iter().filter(|_| ended));
    values.extend(all.filter_map(|(name, value)| Some((name.to_string(), value?))));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_document_lists_every_name() {
        let doc = include_str!("../docs/cli.md");
        let section = doc.split("## Claims").nth(1).expect("the document has the heading");
        for name in values(&sample::ran("x")).keys().filter(|n| !["m", "tiles"].contains(&n.as_str())) {
            assert!(section.contains(&format!("| `{name}` |")), "`{name}` is missing");
        }
    }

    #[test]
    fn a_run_that_hangs_has_no_time() {
        let known = values(&sample::faulty("x"));
        assert!(!known.contains_key("cycles"));
        assert_eq!((known["hangs"], known["findings"]), (1.0, 1.0));
    }
}
