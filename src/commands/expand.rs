//! `warpline expand`.

use serde::Serialize;
use warpline_scenarios::pipeline::{GroupWait, PassOptions, Plan};

use crate::cli::Expand;
use crate::console::Console;
use crate::{json, output};
use warpline_api::{Error, Request, Status, Subject, no_pipelined_loop};

pub(super) fn expand(args: &Expand, console: &mut Console) -> Result<Status, Error> {
    let pipeline = PassOptions {
        arch: None,
        via: args.via,
        schedule: args.schedule,
        stages: args.stages,
        guarded: args.form.as_ref().map(|f| f == "guarded"),
        producers: args.producers,
    };
    let subject = warpline_api::load(&Request {
        machine: args.machine.clone(),
        settings: args.set.clone(),
        pipeline,
        ..Request::named(&args.scenario)
    })?;
    if subject.plans.is_empty() {
        return Err(no_pipelined_loop(&subject));
    }
    let text = subject.sources.get(&subject.program.file).cloned().unwrap_or_default();
    if args.json {
        console.print(&json::text(&Json::new(&subject, &text))?)?;
    } else if let Some(path) = &args.output {
        output::write(console, path, text.as_bytes())?;
    } else {
        console.print(&text)?;
    }
    Ok(Status::Holds)
}

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    scenario: &'a str,
    kernel: &'a str,
    machine: &'a str,
    loops: Vec<Loop<'a>>,
    text: &'a str,
}

#[derive(Serialize)]
struct Loop<'a> {
    schedule: &'static str,
    via: &'static str,
    stages: i64,
    form: &'static str,
    /// Warps that only copy.
    producers: usize,
    depth: i64,
    statements: Vec<Statement<'a>>,
    buffers: Vec<Buffer<'a>>,
    commits_per_step: i64,
    prologue_commits: i64,
    waits: Vec<Wait>,
    epilogue_waits: Vec<Vec<Wait>>,
    barriers_per_step: usize,
}

#[derive(Serialize)]
struct Statement<'a> {
    line: usize,
    text: &'a str,
    stage: i64,
    order: usize,
    group: Option<usize>,
}

#[derive(Serialize)]
struct Buffer<'a> {
    name: &'a str,
    versions: usize,
    shared: bool,
}

#[derive(Serialize)]
struct Wait {
    statement: usize,
    outstanding: i64,
}

impl From<&GroupWait> for Wait {
    fn from(w: &GroupWait) -> Wait {
        Wait { statement: w.statement, outstanding: w.open }
    }
}

impl<'a> Json<'a> {
    fn new(subject: &'a Subject, text: &'a str) -> Json<'a> {
        Json {
            schema: "warpline.expand/1",
            scenario: &subject.name,
            kernel: &subject.program.name,
            machine: &subject.machine.name,
            loops: subject.plans.iter().map(Loop::new).collect(),
            text,
        }
    }
}

impl<'a> Loop<'a> {
    fn new(p: &'a Plan) -> Loop<'a> {
        let waits = |all: &[GroupWait]| all.iter().map(Wait::from).collect::<Vec<_>>();
        Loop {
            schedule: p.schedule.name(),
            via: p.via.name(),
            stages: p.stages,
            form: if p.guarded { "guarded" } else { "unrolled" },
            producers: p.producers,
            depth: p.depth,
            statements: p
                .statements
                .iter()
                .map(|s| Statement { line: s.line, text: &s.text, stage: s.stage, order: s.order, group: s.group })
                .collect(),
            buffers: p
                .buffers
                .iter()
                .map(|b| Buffer { name: &b.name, versions: b.versions, shared: b.shared })
                .collect(),
            commits_per_step: p.commits,
            prologue_commits: p.prologue_commits,
            waits: waits(&p.waits),
            epilogue_waits: p.epilogue_waits.iter().map(|e| waits(e)).collect(),
            barriers_per_step: p.barriers,
        }
    }
}
