//! The JSON objects of `verify --json` and `barriers --json`; `docs/json.md` describes every field.

use std::collections::BTreeMap;

use serde::Serialize;
use warpline_sim::code::Code;
use warpline_sim::ir::Site;
use warpline_verify::{Need, Outcome, Verdict, Violation, properties};

use crate::json::{FindingObject, PlaceObject, WaitingObject, finding_objects, place, text, waiting_objects};
use warpline_api::Error;
use warpline_api::{Barriers, ScheduleFile, Verification, engine_words, outcome_word, schedule_of};

/// The schema of `warpline verify --json`.
pub const VERIFY: &str = "warpline.verify/1";
/// The schema of `warpline barriers --json`.
pub const BARRIERS: &str = "warpline.barriers/1";

#[derive(Serialize)]
pub(crate) struct VerifyObject<'a> {
    schema: &'static str,
    scenario: &'a str,
    kernel: &'a str,
    kernel_file: &'a str,
    machine: &'a str,
    parameters: BTreeMap<&'a str, i64>,
    verdict: &'static str,
    expect: Option<&'static str>,
    as_expected: Option<bool>,
    why: Option<&'a str>,
    without_init: Option<&'static str>,
    trip_counts: Range,
    varied: Option<&'a str>,
    turns: Option<&'a str>,
    sizes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    any_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    any_jobs: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    any_blocks: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    chosen_blocks: &'a [String],
    states: u64,
    wall_s: f64,
    engine: &'static str,
    period: Option<i64>,
    bound: BTreeMap<&'a str, i64>,
    fences: BTreeMap<&'static str, &'static str>,
    classes: &'a [String],
    assumptions: Vec<String>,
    properties: BTreeMap<&'static str, &'static str>,
    violation: Option<FaultObject<'a>>,
    violations: Vec<FindingObject<'a>>,
    hang: Vec<WaitingObject<'a>>,
    notes: Vec<FindingObject<'a>>,
    reads: ReadsObject,
}

/// Trip counts: all, a range, or none varied.
#[derive(Serialize)]
#[serde(untagged)]
enum Range {
    All(&'static str),
    Some([i64; 2]),
    None,
}

#[derive(Serialize)]
struct ReadsObject {
    checked: u64,
    all: u64,
}

#[derive(Serialize)]
struct ViolationObject<'a> {
    code: &'static str,
    kind: &'static str,
    message: &'a str,
    file: &'a str,
    line: u32,
    trips: Option<i64>,
    turns: Option<i64>,
    jobs: Option<i64>,
    #[serde(skip_serializing_if = "<[i64]>::is_empty")]
    lengths: &'a [i64],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    run_time: &'a BTreeMap<String, String>,
    class: &'a str,
    steps: Vec<StepObject<'a>>,
}

#[derive(Serialize)]
struct FaultObject<'a> {
    #[serde(flatten)]
    violation: ViolationObject<'a>,
    schedule: Option<ScheduleFile>,
    suggestion: Option<SuggestionObject<'a>>,
    suggestions_tried: usize,
    suggestions_limited: bool,
}

#[derive(Serialize)]
struct SuggestionObject<'a> {
    change: &'a str,
    verdict: &'static str,
    diff: Option<&'a str>,
}

#[derive(Serialize)]
struct StepObject<'a> {
    agent: &'a str,
    op: &'a str,
    file: &'a str,
    line: u32,
}

/// The trip counts that a verdict is about; none where no value that sets a trip count was varied.
fn range(v: &Verdict, varied: bool) -> Range {
    match (&v.outcome, v.violation.as_ref().and_then(|x| x.trips)) {
        (Outcome::Proved | Outcome::Bounded { .. }, _) if !varied => Range::None,
        (Outcome::Proved | Outcome::Bounded { trips: Some((_, None)), .. }, _) => Range::All("all"),
        (Outcome::Bounded { trips: Some((a, Some(b))), .. }, _) => Range::Some([*a, *b]),
        (Outcome::Violated, Some(n)) => Range::Some([n, n]),
        _ => Range::None,
    }
}

fn violation(x: &Violation) -> ViolationObject<'_> {
    let site = |i: u32| x.sites.get(i as usize);
    let line = |s: Option<&Site>| s.map_or(0, |s| s.line);
    let (code, message, at) = match (x.findings.first(), x.hang.first()) {
        (Some(f), _) => (f.code, f.message.as_str(), site(f.site)),
        (None, Some(w)) => (w.code, w.waits_for.as_str(), site(w.site)),
        _ => (Code::Hang, "", None),
    };
    ViolationObject {
        code: code.id(),
        kind: code.kind().name(),
        message,
        file: at.map_or("", |s| &s.file),
        line: line(at),
        trips: x.trips,
        turns: x.turns,
        jobs: x.jobs,
        lengths: &x.lengths,
        run_time: &x.run_time,
        class: &x.class,
        steps: x
            .steps
            .iter()
            .filter_map(|(agent, i)| site(*i).map(|s| StepObject { agent, op: &s.text, file: &s.file, line: s.line }))
            .collect(),
    }
}

/// The object of one verdict, as text.
pub(crate) fn verify(v: &Verification) -> Result<String, Error> {
    text(&object(v))
}

/// The object of one verdict.
pub(crate) fn object(v: &Verification) -> VerifyObject<'_> {
    let (s, p, r) = (&v.subject, &v.subject.program, &v.verdict);
    let x = r.violation.as_ref();
    VerifyObject {
        schema: VERIFY,
        scenario: &s.name,
        kernel: &p.name,
        kernel_file: &p.file,
        machine: &s.machine.name,
        parameters: p.params.iter().map(|(n, v)| (n.as_str(), *v)).collect(),
        verdict: outcome_word(&r.outcome),
        expect: s.expect.as_ref().map(|e| e.what.name()),
        as_expected: v.as_expected(),
        why: r.why(),
        without_init: v.without_init.as_ref().map(|o| outcome_word(&o.outcome)),
        trip_counts: range(r, v.varied.is_some()),
        varied: v.varied.as_ref().map(|p| p.meaning.as_str()),
        turns: v.outer().map(|o| o.meaning.as_str()),
        sizes: &r.sizes,
        any_length: r.any_length,
        any_jobs: r.any_jobs,
        any_blocks: &r.any_blocks,
        chosen_blocks: &r.chosen_blocks,
        states: r.searched.map_or(r.steps, |n| n as u64),
        wall_s: v.wall_s,
        engine: engine_words(r),
        period: r.period,
        bound: v.bound(),
        fences: s.fences.list().into(),
        classes: &r.classes,
        assumptions: v.assumptions(),
        properties: properties(r).into_iter().map(|p| (p.name, p.verdict)).collect(),
        violation: x.map(|x| FaultObject {
            violation: violation(x),
            schedule: schedule_of(v),
            suggestion: v.suggested.as_ref().and_then(|s| s.found.as_ref()).map(|s| SuggestionObject {
                change: &s.words,
                verdict: outcome_word(&s.outcome),
                diff: v.repair.as_ref().map(|r| r.diff.as_str()),
            }),
            suggestions_tried: v.suggested.as_ref().map_or(0, |s| s.tried),
            suggestions_limited: v.suggested.as_ref().is_some_and(|s| s.limited),
        }),
        violations: x.map_or(vec![], |x| finding_objects(&x.findings, &x.sites)),
        hang: x.map_or(vec![], |x| waiting_objects(&x.hang, &x.sites)),
        notes: finding_objects(&r.notes, &p.sites),
        reads: ReadsObject { checked: r.reads.0, all: r.reads.1 },
    }
}

#[derive(Serialize)]
struct BarriersObject<'a> {
    schema: &'static str,
    scenario: &'a str,
    kernel: &'a str,
    kernel_file: &'a str,
    machine: &'a str,
    parameters: BTreeMap<&'a str, i64>,
    fences: BTreeMap<&'static str, &'static str>,
    verdict: &'static str,
    trip_counts: Range,
    varied: Option<&'a str>,
    statements: Vec<StatementObject<'a>>,
    spare: Vec<PlaceObject<'a>>,
    minimal: &'static str,
    minimal_trip_counts: Range,
    wall_s: f64,
}

#[derive(Serialize)]
struct StatementObject<'a> {
    place: PlaceObject<'a>,
    need: &'static str,
    without: Option<&'static str>,
    trip_counts: Range,
    why: Option<&'a str>,
    prevents: Option<ViolationObject<'a>>,
    findings: Vec<FindingObject<'a>>,
}

fn at(s: &Site) -> PlaceObject<'_> {
    place(std::slice::from_ref(s), 0)
}

/// The object of every synchronization statement, as text.
pub(crate) fn barriers(s: &Barriers) -> Result<String, Error> {
    let (p, r) = (&s.subject.program, &s.redundancy);
    let statements = r
        .removals
        .iter()
        .map(|x| {
            let (need, v) = match &x.need {
                Need::Needed(v) => ("needed", Some(v)),
                Need::Redundant(v) => ("redundant", Some(v)),
                Need::Advised(v) => ("advised", Some(v)),
                Need::Undecided(v) => ("undecided", Some(v)),
                Need::NotJudged(_) => ("not_judged", None),
            };
            let fault = v.and_then(|v| v.violation.as_ref());
            StatementObject {
                place: at(&x.site),
                need,
                without: v.map(|v| outcome_word(&v.outcome)),
                trip_counts: v.map_or(Range::None, |v| range(v, s.varied.is_some())),
                why: match &x.need {
                    Need::NotJudged(why) => Some(why),
                    _ => v.and_then(|v| v.why()),
                },
                prevents: fault.map(violation),
                findings: fault.map_or(vec![], |x| finding_objects(&x.findings, &x.sites)),
            }
        })
        .collect();
    text(&BarriersObject {
        schema: BARRIERS,
        scenario: &s.subject.name,
        kernel: &p.name,
        kernel_file: &p.file,
        machine: &s.subject.machine.name,
        parameters: p.params.iter().map(|(n, v)| (n.as_str(), *v)).collect(),
        fences: s.subject.fences.list().into(),
        verdict: outcome_word(&r.whole.outcome),
        trip_counts: range(&r.whole, s.varied.is_some()),
        varied: s.varied.as_ref().map(|p| p.meaning.as_str()),
        statements,
        spare: r.spare.iter().map(|i| at(&r.removals[*i].site)).collect(),
        minimal: outcome_word(&r.minimal.outcome),
        minimal_trip_counts: range(&r.minimal, s.varied.is_some()),
        wall_s: s.wall_s,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::json::tests::{documented, paths};
    use warpline_api::{ProofOptions, Request, SCHEDULE};

    fn verified(name: &str, suggest: bool) -> Verification {
        let subject = warpline_api::load(&Request::named(name)).expect("loads");
        warpline_api::verify(&subject, &ProofOptions { suggest, ..ProofOptions::default() }).expect("verifies")
    }

    fn fields(objects: &[String]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for text in objects {
            let value: Value = serde_json::from_str(text).expect("JSON");
            paths(&value, "", &mut found);
        }
        // Places have a table of their own.
        found.retain(|path| !path.starts_with("place.") && !path.starts_with("schedule."));
        found
    }

    #[test]
    fn the_document_has_every_field_and_no_other() {
        // A race between two statements, a hang, and a note between them have every field.
        let objects: Vec<String> = ["blackwell/level2_2sm", "mla/proj_k16", "blackwell/level2_2sm_fixed"]
            .iter()
            .map(|name| {
                let mut v = verified(name, true);
                if let (Some(x), true) = (&mut v.verdict.violation, *name == "mla/proj_k16") {
                    let (agent, needs) = (String::from("w0"), String::from("an arrival"));
                    let waits_for = String::from("a barrier");
                    x.hang.push(warpline_sim::report::Waiting {
                        code: Code::Hang,
                        agent,
                        site: 0,
                        since: 0.0,
                        waits_for,
                        needs,
                    });
                    x.lengths = vec![1, 2];
                    x.run_time.insert(String::from("rows"), String::from("2"));
                    (v.verdict.any_length, v.verdict.any_jobs) = (Some(1), Some(1));
                    v.verdict.any_blocks.push(String::from("expert"));
                    v.verdict.chosen_blocks.push(String::from("K"));
                    v.verdict.notes.push(x.findings[0].clone());
                }
                verify(&v).expect("serializable")
            })
            .collect();
        assert_eq!(fields(&objects), documented(VERIFY));
        let mut v = verified("blackwell/level2_2sm", false);
        v.verdict.violation.iter_mut().for_each(|x| {
            x.lengths = vec![1];
            x.run_time.insert(String::from("rows"), String::from("2"));
        });
        let file = text(&schedule_of(&v).expect("a fault")).expect("serializable");
        assert_eq!(fields(&[file]), documented(SCHEDULE));
        let subject = warpline_api::load(&Request::named("cdna/two_step_ahead")).expect("loads");
        let found = warpline_api::barriers(&subject, &ProofOptions::default()).expect("verifies");
        assert_eq!(fields(&[barriers(&found).expect("serializable")]), documented(BARRIERS));
    }
}
