//! The JSON object of `run --json`, and the parts that the objects of other commands share.
//!
//! `docs/json.md` describes every field, and a test compares the two. An object has every field of its schema: an unknown
//! value is `null`. A schema may get new fields; a field that changes its meaning changes the number in `schema`.

use std::collections::BTreeMap;

use serde::Serialize;
use warpline_sim::ir::Site;
use warpline_sim::report::{Finding, Outcome, Waiting};
use warpline_sim::timeline::SpanKind;
use warpline_sim::words;
use warpline_study::clock::ClockResult;
use warpline_study::critical::{Actor, Part};

use warpline_api::ClaimResult;
use warpline_api::Error;
use warpline_api::Simulation;
use warpline_api::Subject;
use warpline_api::{CriticalPath, Neighbor, uncertainty};

use crate::json_uncertainty::{UncertaintyObject, uncertainty_object};

/// The schema of `warpline run --json`.
pub const RUN: &str = "warpline.run/1";

#[derive(Serialize)]
struct RunObject<'a> {
    schema: &'static str,
    scenario: &'a str,
    title: Option<&'a str>,
    kernel: &'a str,
    kernel_file: &'a str,
    machine: &'a str,
    parameters: BTreeMap<&'a str, i64>,
    lets: BTreeMap<&'a str, i64>,
    fences: BTreeMap<&'static str, &'static str>,
    fidelity: &'static str,
    clock: ClockObject,
    outcome: &'static str,
    cycles: f64,
    launch_cycles: f64,
    time_us: f64,
    launch_us: Option<f64>,
    flops: f64,
    tflops: f64,
    useful_flops: f64,
    useful_tflops: f64,
    of_peak: Option<f64>,
    scaled: bool,
    cycles_per_tile: Option<f64>,
    ctas: i64,
    ctas_of_core: i64,
    ctas_simulated: i64,
    pace_change: Option<f64>,
    waves: i64,
    shared_bytes: i64,
    shared_free_bytes: i64,
    occupancy: OccupancyObject<'a>,
    l2_hit_rate: f64,
    l2_looked_up: Option<f64>,
    dram_read_bytes: f64,
    dram_write_bytes: f64,
    events: u64,
    wall_s: f64,
    roles: Vec<RoleObject<'a>>,
    uses: Vec<UseObject<'a>>,
    bottleneck: &'a str,
    critical_path: Option<PathObject<'a>>,
    findings: Vec<FindingObject<'a>>,
    hang: Vec<WaitingObject<'a>>,
    reads: ReadsObject,
    machine_numbers: KindsObject,
    uncertainty: UncertaintyObject,
    claims: &'a [ClaimResult],
    beside: Vec<BesideObject<'a>>,
}

#[derive(Serialize)]
pub(crate) struct ClockObject {
    mhz: Option<f64>,
    model: &'static str,
    end: Option<&'static str>,
    share: Option<f64>,
    line: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    runs: Option<u32>,
}

/// The clock of a run, and the search for a sustained clock.
pub(crate) fn clock(s: &Subject) -> ClockObject {
    let found = s.sustained;
    let line = found.filter(|f| f.end != ClockResult::Unfinished);
    ClockObject {
        mhz: s.machine.get("clock.mhz"),
        model: if found.is_some() { "sustained" } else { "given" },
        end: found.map(|f| f.end.name()),
        share: line.map(|f| f.share),
        line: line.map(|f| f.line),
        low: line.map(|f| f.range.0),
        high: line.map(|f| f.range.1),
        runs: found.map(|f| f.runs),
    }
}

#[derive(Serialize)]
struct OccupancyObject<'a> {
    ctas_per_core: u32,
    warps_per_core: u32,
    limit: &'a str,
    by: BTreeMap<&'a str, u32>,
}

#[derive(Serialize)]
struct RoleObject<'a> {
    name: &'a str,
    warps: u32,
    busy: f64,
    work: BTreeMap<&'static str, f64>,
    stalls: BTreeMap<&'static str, f64>,
    waits: Vec<WaitObject<'a>>,
}

#[derive(Serialize)]
struct WaitObject<'a> {
    place: PlaceObject<'a>,
    stall: &'static str,
    wait: String,
    fraction: f64,
}

#[derive(Serialize)]
pub(crate) struct PlaceObject<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
}

#[derive(Serialize)]
struct PathObject<'a> {
    cycles: f64,
    until: f64,
    whole: bool,
    parts: Vec<PartObject<'a>>,
}

#[derive(Serialize)]
struct PartObject<'a> {
    role: Option<&'a str>,
    engine: Option<&'static str>,
    what: &'static str,
    kind: &'static str,
    place: Option<PlaceObject<'a>>,
    fraction: f64,
    links: u32,
}

#[derive(Serialize)]
struct UseObject<'a> {
    resource: &'a str,
    fraction: f64,
}

#[derive(Serialize)]
pub(crate) struct FindingObject<'a> {
    code: &'static str,
    kind: &'static str,
    note: bool,
    message: &'a str,
    place: PlaceObject<'a>,
    other: Option<PlaceObject<'a>>,
    other_part: Option<&'a str>,
    agent: &'a str,
    cycle: f64,
    times: u64,
}

#[derive(Serialize)]
pub(crate) struct WaitingObject<'a> {
    code: &'static str,
    agent: &'a str,
    place: PlaceObject<'a>,
    since: f64,
    waits_for: &'a str,
    needs: &'a str,
}

#[derive(Serialize)]
struct ReadsObject {
    checked: u64,
    all: u64,
}

#[derive(Serialize)]
struct KindsObject {
    documented: u32,
    measured: u32,
    estimated: u32,
}

#[derive(Serialize)]
struct BesideObject<'a> {
    name: &'a str,
    error: Option<&'a str>,
    outcome: Option<&'static str>,
    machine: Option<&'a str>,
    clock_mhz: Option<f64>,
    cycles: Option<f64>,
    cycles_per_tile: Option<f64>,
    time_us: Option<f64>,
    tflops: Option<f64>,
    shared_bytes: Option<i64>,
    ctas_per_core: Option<u32>,
    bottleneck: Option<&'a str>,
}

fn outcome(simulation: &Simulation) -> &'static str {
    match simulation.report.outcome {
        Outcome::Finished => "finished",
        Outcome::Hung(_) => "hung",
        Outcome::Broken => "broken",
        Outcome::Limit => "limit",
        Outcome::Stopped => "stopped",
    }
}

pub(crate) fn place(sites: &[Site], site: u32) -> PlaceObject<'_> {
    match sites.get(site as usize) {
        Some(s) => PlaceObject { file: &s.file, line: s.line, column: s.col, text: &s.text },
        None => PlaceObject { file: "", line: 0, column: 0, text: "" },
    }
}

fn path_object<'a>(path: &'a CriticalPath, sites: &'a [Site]) -> PathObject<'a> {
    let part = |p: &'a Part| PartObject {
        role: match &p.who {
            Actor::Role(role) => Some(role),
            Actor::Engine(_) => None,
        },
        engine: match &p.who {
            Actor::Role(_) => None,
            Actor::Engine(e) => Some(words::engine(*e)),
        },
        what: words::what(p.what),
        kind: match p.what {
            SpanKind::Stall(_) if p.wake => "woken",
            SpanKind::Stall(_) => "waits",
            _ => "works",
        },
        place: p.site.map(|s| place(sites, s)),
        fraction: p.fraction,
        links: p.links,
    };
    let parts = path.critical.parts.iter().map(part).collect();
    PathObject { cycles: path.critical.cycles, until: path.until, whole: path.whole, parts }
}

/// The object of one run.
pub(crate) fn run(
    simulation: &Simulation,
    path: Option<&CriticalPath>,
    others: &[Neighbor],
    claims: &[ClaimResult],
) -> Result<String, Error> {
    let (s, p, r) = (&simulation.subject, &simulation.subject.program, &simulation.report);
    let hang = match &r.outcome {
        Outcome::Hung(waiting) => waiting.as_slice(),
        _ => &[],
    };
    text(&RunObject {
        schema: RUN,
        scenario: &s.name,
        title: s.title.as_deref(),
        kernel: &p.name,
        kernel_file: &p.file,
        machine: &s.machine.name,
        parameters: p.params.iter().map(|(n, v)| (n.as_str(), *v)).collect(),
        lets: p.lets.iter().map(|(n, v)| (n.as_str(), *v)).collect(),
        fences: simulation.subject.fences.list().into(),
        fidelity: r.fidelity.name(),
        clock: clock(s),
        outcome: outcome(simulation),
        cycles: r.cycles,
        launch_cycles: r.launch_cycles,
        time_us: r.time_us,
        launch_us: r.launch_us,
        flops: r.flops,
        tflops: r.tflops,
        useful_flops: r.useful_flops,
        useful_tflops: r.useful_tflops,
        of_peak: r.of_peak,
        scaled: r.scaled,
        cycles_per_tile: r.cycles_per_tile,
        ctas: r.ctas,
        ctas_of_core: r.ctas_of_core,
        ctas_simulated: r.ctas_simulated,
        pace_change: r.pace_change,
        waves: r.waves,
        shared_bytes: r.shared_bytes,
        shared_free_bytes: r.shared_free_bytes,
        occupancy: OccupancyObject {
            ctas_per_core: r.occupancy.ctas_per_core,
            warps_per_core: r.occupancy.warps_per_core,
            limit: &r.occupancy.limit,
            by: r.occupancy.by.iter().map(|(n, v)| (n.as_str(), *v)).collect(),
        },
        l2_hit_rate: r.l2_hit_rate,
        l2_looked_up: r.l2_looked_up,
        dram_read_bytes: r.dram_read_bytes,
        dram_write_bytes: r.dram_write_bytes,
        events: r.events,
        wall_s: simulation.wall_s,
        roles: roles(simulation),
        uses: r.uses.iter().map(|u| UseObject { resource: &u.resource, fraction: u.fraction }).collect(),
        bottleneck: &r.bottleneck,
        critical_path: path.map(|path| path_object(path, &p.sites)),
        findings: findings(simulation),
        hang: waiting_objects(hang, &p.sites),
        reads: ReadsObject { checked: r.reads_checked.0, all: r.reads_checked.1 },
        uncertainty: uncertainty_object(uncertainty(&simulation.subject, r), simulation.spread.as_ref()),
        machine_numbers: KindsObject {
            documented: r.params_used[0],
            measured: r.params_used[1],
            estimated: r.params_used[2],
        },
        claims,
        beside: others.iter().map(beside).collect(),
    })
}

pub(crate) fn waiting_objects<'a>(hang: &'a [Waiting], sites: &'a [Site]) -> Vec<WaitingObject<'a>> {
    hang.iter()
        .map(|w| WaitingObject {
            code: w.code.id(),
            agent: &w.agent,
            place: place(sites, w.site),
            since: w.since,
            waits_for: &w.waits_for,
            needs: &w.needs,
        })
        .collect()
}

fn roles(simulation: &Simulation) -> Vec<RoleObject<'_>> {
    let program = &simulation.subject.program;
    let sites = &program.sites;
    let of = |r: &'_ warpline_sim::report::RoleTime| -> BTreeMap<&'static str, f64> {
        r.stalls.iter().map(|(s, x)| (words::stall(*s), *x)).collect()
    };
    simulation
        .report
        .roles
        .iter()
        .map(|r| RoleObject {
            name: &r.name,
            warps: r.warps,
            busy: r.work.values().sum(),
            work: r.work.iter().map(|(w, x)| (words::work(*w), *x)).collect(),
            stalls: of(r),
            waits: r
                .at
                .iter()
                .map(|(site, s, x)| WaitObject {
                    place: place(sites, *site),
                    stall: words::stall(*s),
                    wait: words::wait(program, *site, *s),
                    fraction: *x,
                })
                .collect(),
        })
        .collect()
}

fn findings(simulation: &Simulation) -> Vec<FindingObject<'_>> {
    finding_objects(&simulation.report.findings, &simulation.subject.program.sites)
}

pub(crate) fn finding_objects<'a>(findings: &'a [Finding], sites: &'a [Site]) -> Vec<FindingObject<'a>> {
    findings
        .iter()
        .map(|f| FindingObject {
            code: f.code(),
            kind: f.kind.name(),
            note: f.note,
            message: &f.message,
            place: place(sites, f.site),
            other: f.other.as_ref().map(|(s, _)| place(sites, *s)),
            other_part: f.other.as_ref().map(|(_, words)| words.as_str()),
            agent: &f.agent,
            cycle: f.cycle,
            times: f.times,
        })
        .collect()
}

fn beside(n: &Neighbor) -> BesideObject<'_> {
    let (simulation, error) = match &n.simulation {
        Ok(simulation) => (Some(simulation), None),
        Err(why) => (None, Some(why.as_str())),
    };
    let r = simulation.map(|s| &s.report);
    BesideObject {
        name: &n.name,
        error,
        outcome: simulation.map(outcome),
        machine: simulation.map(|s| s.subject.machine.name.as_str()),
        clock_mhz: simulation.and_then(|s| s.subject.machine.get("clock.mhz")),
        cycles: r.map(|r| r.cycles),
        cycles_per_tile: r.and_then(|r| r.cycles_per_tile),
        time_us: r.map(|r| r.time_us),
        tflops: r.map(|r| r.tflops),
        shared_bytes: r.map(|r| r.shared_bytes),
        ctas_per_core: r.map(|r| r.occupancy.ctas_per_core),
        bottleneck: r.map(|r| r.bottleneck.as_str()),
    }
}

pub(crate) fn text(object: &impl Serialize) -> Result<String, Error> {
    let mut text =
        serde_json::to_string_pretty(object).map_err(|e| Error::new(format!("cannot write the JSON: {e}")))?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// Objects whose keys are names from the input.
    const MAPS: &str = "parameters bound lets fences by work stalls values params properties numbers run_time";

    /// All field paths of a value, as the document writes them.
    pub(crate) fn paths(value: &Value, at: &str, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (key, v) in fields {
                    let place = ["place", "other"].contains(&key.as_str()) && v.is_object();
                    let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    out.insert(path.clone());
                    if place {
                        paths(v, "place", out);
                    } else if key == "schedule" && v.is_object() {
                        paths(v, "schedule", out);
                    } else if !MAPS.split(' ').any(|map| map == key) {
                        paths(v, &path, out);
                    } else if let Some(inner) = v.as_object().and_then(|m| m.values().find(|v| v.is_object())) {
                        paths(inner, &format!("{path}.*"), out);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|v| paths(v, &format!("{at}[]"), out)),
            _ => {}
        }
    }

    /// The first column of the document's tables under a heading.
    pub(crate) fn documented(heading: &str) -> BTreeSet<String> {
        let doc = include_str!("../docs/json.md");
        let section = doc.split("\n## ").find(|s| s.contains(heading)).expect("the document has the heading");
        let first = |line: &str| line.strip_prefix("| `").and_then(|l| l.split('`').next()).map(str::to_string);
        section.lines().filter_map(first).collect()
    }

    #[test]
    fn the_document_has_every_field_of_a_run_and_no_other() {
        let claim = ClaimResult {
            text: "t".into(),
            from: "f".into(),
            check: "cycles == 1".into(),
            verdict: "held",
            holds: Some(true),
            error: None,
            computed: None,
            unit: None,
            instead: None,
            values: BTreeMap::from([("cycles".to_string(), 1.0)]),
        };
        let part = Part {
            who: Actor::Role("load".into()),
            what: SpanKind::Stall(warpline_sim::timeline::Stall::Mbarrier),
            wake: true,
            site: Some(0),
            fraction: 1.0,
            links: 1,
        };
        let critical = warpline_study::critical::Critical { cycles: 1.0, parts: vec![part] };
        let path = CriticalPath { critical, until: 1.0, whole: true };
        let others = [Neighbor { name: "other".into(), simulation: Ok(sample::ran("other")) }];
        let text = run(&sample::faulty("sample"), Some(&path), &others, &[claim]).expect("serializable");
        let mut found = BTreeSet::new();
        paths(&serde_json::from_str(&text).expect("JSON"), "", &mut found);
        assert_eq!(found, documented(RUN));
    }
}
