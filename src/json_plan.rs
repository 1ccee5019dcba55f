//! The JSON object of `plan --json`; `docs/json.md` describes every field.

use serde::Serialize;
use warpline_plan::{Answer, Candidate, CandidateResult};
use warpline_scenarios::pipeline::Via;

use crate::json::text;
use warpline_api::Error;
use warpline_api::Subject;

#[derive(Serialize)]
struct Object<'a> {
    schema: &'static str,
    scenario: &'a str,
    machine: &'a str,
    candidates: usize,
    beyond: usize,
    /// The parameter that `members` is a value of.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<&'a str>,
    ranked: Vec<Ranked<'a>>,
    others: Vec<Other>,
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct Named {
    via: &'static str,
    schedule: &'static str,
    stages: i64,
    form: &'static str,
    producers: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<i64>,
}

#[derive(Serialize)]
struct Ranked<'a> {
    #[serde(flatten)]
    candidate: Named,
    cycles: f64,
    cycles_per_tile: Option<f64>,
    time_us: f64,
    shared_bytes: i64,
    bottleneck: &'a str,
}

#[derive(Serialize)]
struct Other {
    #[serde(flatten)]
    candidate: Named,
    fate: &'static str,
    why: String,
}

fn named(c: &Candidate) -> Named {
    Named {
        via: c.via.name(),
        schedule: c.schedule.name(),
        stages: c.stages,
        form: if c.guarded { "guarded" } else { "unrolled" },
        producers: if c.via == Via::Tma { c.producers } else { 0 },
        members: c.members,
    }
}

pub(crate) fn plan(subject: &Subject, answer: &Answer) -> Result<String, Error> {
    let ranked = answer.ranked();
    let others = answer.all.iter().filter_map(|(c, f)| {
        let (fate, why) = match f {
            CandidateResult::Refused(w) => ("refused", w.clone()),
            CandidateResult::DoesNotFit(w) => ("does_not_fit", w.clone()),
            CandidateResult::NotProved(w) => ("not_proved", w.clone()),
            CandidateResult::GaveUp(w) => ("gave_up", w.clone()),
            CandidateResult::Same(other) => ("same", other.words(answer.groups.as_deref())),
            CandidateResult::Timed(_) => return None,
        };
        Some(Other { candidate: named(c), fate, why })
    });
    text(&Object {
        schema: "warpline.plan/1",
        scenario: &subject.name,
        machine: &subject.machine.name,
        candidates: answer.all.len(),
        beyond: answer.beyond,
        groups: answer.groups.as_deref(),
        others: others.collect(),
        text: ranked.first().map(|(_, t)| t.expanded.text.as_str()),
        ranked: ranked
            .iter()
            .map(|(c, t)| Ranked {
                candidate: named(c),
                cycles: t.report.cycles,
                cycles_per_tile: t.report.cycles_per_tile,
                time_us: t.report.time_us,
                shared_bytes: t.report.shared_bytes,
                bottleneck: &t.report.bottleneck,
            })
            .collect(),
    })
}
