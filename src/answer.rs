//! The answer to one command line as a value, for other front ends such as the Python module.
//!
//! [`answer`] reads the arguments of the command line and prints nothing. Texts can stand in the place of files.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::FromArgMatches;
use warpline_api::draw::{self, ChartOptions, Format};
use warpline_api::{Error, OnProgress, ProofOptions, Request, Second, Sources, Status, load};
use warpline_study::sweep::Part;

use crate::cli::{self, Command};
use crate::commands::{gantt, merge, plan, report, sweep};
use crate::console::Paint;
use crate::{diagnose, json, json_compare, json_error, json_plan, json_sweep, json_verify, json_whatif, show};

/// What a command found.
#[derive(Debug)]
pub struct Answer {
    /// How the question turned out.
    pub status: Status,
    /// The text that the command prints.
    pub text: String,
    /// The JSON object of `--json`; empty where the command has none.
    pub json: String,
    /// A picture or a page; empty where the command has none.
    pub bytes: Vec<u8>,
}

/// Text without colors.
const PLAIN: Paint = Paint { color: false };

/// Answers a command line: `run`, `verify` of one kernel, `barriers`, `sweep`, `merge`, `compare`, `whatif`, `plan`,
/// `gantt` or `report`. `args` starts with the program's name. No output file is written. `stop` ends a sweep early.
///
/// # Errors
/// As for the command, arguments that the command does not have, and other commands.
pub fn answer(
    args: impl IntoIterator<Item = OsString>,
    texts: &Sources,
    progress: OnProgress<'_>,
    stop: &Arc<AtomicBool>,
) -> Result<Answer, Error> {
    let parsed = cli::command().try_get_matches_from(args).and_then(|m| cli::Cli::from_arg_matches(&m));
    let command = parsed.map_err(|e| {
        let text = e.render().to_string();
        // A value has no `--help`.
        let message = text.split("\n\nFor more information").next().unwrap_or_default();
        Error::new(message.trim_start_matches("error: ").trim_end())
    })?;
    let with_texts = |request: Request| Request { texts: texts.clone(), ..request };
    match &command.command {
        Command::Run(args) => run(&with_texts(args.input.request()), args.spread),
        Command::Verify(args) => {
            let [scenario] = args.scenarios.as_slice() else { return Err(Error::new("name one scenario or kernel")) };
            let options = ProofOptions { suggest: !args.no_suggestion, ..args.proof.options(args.orders) };
            let v = warpline_api::verify_request(&with_texts(args.proof.request(scenario)), &options)?;
            let text = show::verdict(&v, PLAIN);
            Ok(Answer { status: v.status(), text, json: json_verify::verify(&v)?, bytes: Vec::new() })
        }
        Command::Barriers(args) => {
            let subject = load(&with_texts(args.proof.request(&args.scenario)))?;
            let b = warpline_api::barriers(&subject, &args.proof.options(cli::Orders::default()))?;
            let status = warpline_api::verdict_status(&b.redundancy.whole);
            let text = show::barriers(&b, PLAIN);
            Ok(Answer { status, text, json: json_verify::barriers(&b)?, bytes: Vec::new() })
        }
        Command::Sweep(args) => {
            let mut request = sweep::request(args)?;
            request.request.texts = texts.clone();
            request.stop = Some(stop.clone());
            let part = warpline_api::sweep(&request, progress)?;
            swept(&part, &args.output.metric)
        }
        Command::Merge(args) => swept(&merge::joined(args)?, &args.output.metric),
        Command::Plan(args) => {
            let subject = load(&with_texts(plan::request(args)))?;
            let found = warpline_api::plan(&subject, &plan::options(args), progress)?;
            let (text, json) = (show::plan(&subject, &found, PLAIN), json_plan::plan(&subject, &found)?);
            Ok(Answer { status: plan::status(&found), text, json, bytes: Vec::new() })
        }
        Command::Compare(args) => {
            let second = Second { scenario: &args.with, settings: &args.with_set, schedule: None };
            let [a, b] = warpline_api::two(&with_texts(args.input.request()), second)?;
            let (a, b) = (a.recording()?, b.recording()?);
            let (two, comparison) = ([&a, &b], warpline_api::compare(&a, &b));
            let options = ChartOptions { from: args.from, to: args.to, ..ChartOptions::default() };
            let bytes = draw::chart(&a, Some(&b), &options, Format::Svg)?;
            let (text, json) = (show::compare(two, &comparison, PLAIN), json_compare::compare(two, &comparison)?);
            Ok(Answer { status: a.status.and(b.status), text, json, bytes })
        }
        Command::Whatif(args) => {
            let simulation = warpline_api::run(&load(&with_texts(args.input.request()))?)?;
            let rows = warpline_api::whatif(&simulation)?;
            let (text, json) = (show::whatif(&simulation, &rows, PLAIN), json_whatif::whatif(&simulation, &rows)?);
            let bytes = draw::whatif(&simulation, &rows, Format::Svg)?;
            Ok(Answer { status: Status::Holds, text, json, bytes })
        }
        Command::Gantt(args) => {
            let request = with_texts(args.input.request());
            let (a, b) = match &args.second.with {
                None => (warpline_api::open(&request)?, None),
                Some(scenario) => {
                    let schedule = args.second.with_schedule.as_deref();
                    let second = Second { scenario, settings: &args.second.with_set, schedule };
                    let [a, b] = warpline_api::two(&request, second)?;
                    (a.recording()?, Some(b.recording()?))
                }
            };
            let bytes = gantt::chart(args, &a, b.as_ref(), draw::format(&args.output)?)?;
            let status = b.map_or(a.status, |b| a.status.and(b.status));
            Ok(Answer { status, text: String::new(), json: String::new(), bytes })
        }
        Command::Report(args) => {
            let request = with_texts(args.input.request());
            let recording = warpline_api::record(&load(&request)?)?;
            let verified = match args.no_verify || recording.scheduled {
                true => None,
                false => Some(warpline_api::verify(&load(&request.for_proof())?, &ProofOptions::default())?),
            };
            let bytes = report::page_of(&request, &recording, verified.as_ref())?.into_bytes();
            let status = verified.map_or(recording.status, |v| recording.status.and(v.status()));
            Ok(Answer { status, text: String::new(), json: String::new(), bytes })
        }
        _ => Err(Error::new("this command has no answer as a value; run `warpline`")),
    }
}

/// The answer of a sweep, or of its joined parts.
fn swept(part: &Part, metrics: &[String]) -> Result<Answer, Error> {
    let several = metrics.len() > 1;
    let metrics = sweep::metrics(part, metrics)?;
    let text = show::sweep(part, &metrics, several, PLAIN);
    // More than two varied names have no picture.
    let bytes = draw::sweep(part, &metrics[0], Format::Svg).unwrap_or_default();
    Ok(Answer { status: sweep::status(part), text, json: json_sweep::sweep(part)?, bytes })
}

fn run(request: &Request, spread: bool) -> Result<Answer, Error> {
    let subject = load(request)?;
    let beside: Vec<_> = match subject.schedule {
        None => subject.beside.iter().filter(|b| !b.hidden).collect(),
        Some(_) => Vec::new(),
    };
    let beside: Vec<_> = beside.into_iter().map(|b| warpline_api::run_beside(&subject, b, request)).collect();
    let mut simulation = warpline_api::run(&subject)?;
    if spread {
        simulation.spread = Some(warpline_api::spread(&simulation)?);
    }
    let claims = match subject.schedule {
        None => warpline_api::claims(&simulation.subject, Some(&simulation.report), request)?,
        Some(_) => Vec::new(),
    };
    let path = warpline_api::critical_path(&simulation);
    let text = match subject.schedule {
        None => show::run(&simulation, path.as_ref(), PLAIN) + &show::beside(&simulation, &beside, PLAIN),
        Some(_) => show::scheduled(&simulation, PLAIN),
    };
    let json = json::run(&simulation, path.as_ref(), &beside, &claims)?;
    Ok(Answer { status: simulation.status(), text, json, bytes: Vec::new() })
}

/// An error as the error stream shows it, with file, line and caret, without colors.
pub fn error_text(error: &Error) -> String {
    diagnose::error(error, false)
}

/// The JSON object of an error.
pub fn error_json(error: &Error) -> String {
    json_error::error(error).unwrap_or_default()
}
