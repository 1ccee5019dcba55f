//! The names in a claim's expression, and their values. `docs/cli.md` lists the names.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use warpline_sim::Report;
use warpline_sim::ir::{Class, Instr, Op};
use warpline_sim::report::{FindingKind, Outcome};
use warpline_study::numbers::{identifier, metric_named, numbers};
use warpline_verify::{self as verifier, Need, Redundancy, Verdict};

use crate::barriers::default_redundancy;
use crate::load::Subject;
use crate::simulate::execute;
use crate::verify::default_verdict;

/// Names about the text and the verdict. Names about a run are `METRICS`; others end in a role, a line or a key.
#[cfg(test)]
pub(super) const NAMES: [&str; 13] = [
    "feasible",
    "cores",
    "statements_barrier",
    "shared_arrays",
    "proved",
    "bounded",
    "violated",
    "undecided",
    "syncs",
    "syncs_needed",
    "syncs_redundant",
    "syncs_spare",
    "busiest",
];

/// Everything about one subject, computed at its first use.
pub(super) struct Facts<'a> {
    subject: &'a Subject,
    given: Option<&'a Report>,
    run: OnceCell<Result<BTreeMap<String, f64>, String>>,
    report: OnceCell<Result<Report, String>>,
    verdict: OnceCell<Verdict>,
    redundancy: OnceCell<Redundancy>,
}

impl<'a> Facts<'a> {
    /// The facts of a subject, with a report that exists already.
    pub(super) fn new(subject: &'a Subject, given: Option<&'a Report>) -> Facts<'a> {
        Facts {
            subject,
            given,
            run: OnceCell::new(),
            report: OnceCell::new(),
            verdict: OnceCell::new(),
            redundancy: OnceCell::new(),
        }
    }

    /// The value of a name; `None` where there is no such name.
    ///
    /// # Errors
    /// The reason why the value of a known name cannot be computed.
    pub(super) fn get(&self, name: &str) -> Result<Option<f64>, String> {
        if let Some(value) = self.text(name).or_else(|| self.proof(name)) {
            return Ok(Some(value));
        }
        // The name of a result always means the result, even if a parameter has the same name.
        match self.numbers() {
            Ok(numbers) => match numbers.get(name) {
                Some(value) => Ok(Some(*value)),
                None if self.own(name).is_some() => Ok(self.own(name)),
                None if metric_named(name).is_some() => Err(match self.report() {
                    Ok(r) if r.outcome != Outcome::Finished => "the run did not end, so it has no times".to_string(),
                    _ => format!("the run has no `{name}`"),
                }),
                None => Ok(None),
            },
            Err(why) if self.own(name).is_none() => Err(why),
            Err(_) => Ok(self.own(name)),
        }
    }

    /// Parameters and header `let`s of the kernel.
    fn own(&self, name: &str) -> Option<f64> {
        let p = &self.subject.program;
        p.params.iter().chain(&p.lets).rev().find(|(n, _)| n == name).map(|(_, v)| *v as f64)
    }

    fn report(&self) -> Result<&Report, String> {
        if let Some(report) = self.given {
            return Ok(report);
        }
        let run = || execute(self.subject, None).map_err(|e| self.subject.refused(e).summary());
        self.report.get_or_init(run).as_ref().map_err(Clone::clone)
    }

    fn numbers(&self) -> Result<&BTreeMap<String, f64>, String> {
        let all = || Ok(numbers(&self.subject.program, self.report()?).into_iter().collect());
        self.run.get_or_init(all).as_ref().map_err(Clone::clone)
    }

    /// Names about the kernel's text and the machine.
    fn text(&self, name: &str) -> Option<f64> {
        let (p, m) = (&self.subject.program, &self.subject.machine);
        let count = |n: usize| Some(n as f64);
        match name {
            "feasible" => Some(truth(self.report().is_ok())),
            "cores" => m.get("core.count"),
            "busiest" => self.report().ok()?.uses.first().map(|u| u.fraction),
            "shared_arrays" => {
                count(p.objects.iter().filter(|o| o.class == Class::Shared && o.overlay.is_none()).count())
            }
            "statements_barrier" => {
                let barrier = |i: &Instr| matches!(i, Instr::Op { op: Op::Barrier(_), .. });
                let sites = p.code.iter().enumerate().filter(|(_, i)| barrier(i)).map(|(pc, _)| p.site(pc as u32));
                let mut places: Vec<(u32, u32)> = sites.map(|s| (s.line, s.col)).collect();
                places.sort_unstable();
                places.dedup();
                count(places.len())
            }
            _ => {
                let key = name.strip_prefix("machine_")?;
                m.params.iter().find(|(k, _)| identifier(k) == key).map(|(_, v)| v.value)
            }
        }
    }

    /// Names about the verdict.
    fn proof(&self, name: &str) -> Option<f64> {
        let verdict = || self.verdict.get_or_init(|| default_verdict(self.subject));
        let redundancy = || self.redundancy.get_or_init(|| default_redundancy(self.subject));
        let alone = |f: fn(&Need) -> bool| Some(redundancy().removals.iter().filter(|r| f(&r.need)).count() as f64);
        match name {
            "proved" => Some(truth(verdict().outcome == verifier::Outcome::Proved)),
            "bounded" => Some(truth(matches!(verdict().outcome, verifier::Outcome::Bounded { .. }))),
            "violated" => Some(truth(verdict().outcome == verifier::Outcome::Violated)),
            "undecided" => Some(truth(matches!(verdict().outcome, verifier::Outcome::GaveUp { .. }))),
            "syncs" => Some(redundancy().removals.len() as f64),
            "syncs_needed" => alone(|n| matches!(n, Need::Needed(_))),
            "syncs_redundant" => alone(|n| matches!(n, Need::Redundant(_))),
            "syncs_spare" => Some(redundancy().spare.len() as f64),
            _ => self.fault(name, &verdict).or_else(|| {
                let line: u32 = name.strip_prefix("needed_at_")?.parse().ok()?;
                let there = redundancy().removals.iter().find(|r| r.site.line == line)?;
                Some(truth(matches!(there.need, Need::Needed(_))))
            }),
        }
    }

    /// `fault_stale_tile`: 1 where the fault of the verdict has this kind or leads to it; `met_stale_tile`: the same
    /// for the run.
    fn fault<'b>(&self, name: &str, verdict: &dyn Fn() -> &'b Verdict) -> Option<f64> {
        let kind =
            |word: &str| FindingKind::ALL.into_iter().find(|k| identifier(k.name()).to_ascii_lowercase() == word);
        if let Some(kind) = name.strip_prefix("met_").and_then(kind) {
            let r = self.report().ok()?;
            let hangs = kind == FindingKind::Deadlock && matches!(r.outcome, Outcome::Hung(_));
            return Some(truth(hangs || r.findings.iter().any(|f| f.kind == kind)));
        }
        let kind = kind(name.strip_prefix("fault_")?)?;
        let Some(x) = &verdict().violation else { return Some(0.0) };
        let hangs = kind == FindingKind::Deadlock && !x.hang.is_empty();
        Some(truth(hangs || x.findings.iter().any(|f| f.kind == kind && !f.note)))
    }
}

fn truth(t: bool) -> f64 {
    f64::from(u8::from(t))
}
