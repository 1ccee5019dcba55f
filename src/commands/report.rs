//! `warpline report`.

use warpline_api::{Error, Recording, Request, Status, Verification};

use crate::cli::Report;
use crate::console::Console;
use crate::progress::Bar;
use crate::report::{Counterexample, page};
use crate::{output, recorded};

pub(super) fn report(args: &Report, console: &mut Console) -> Result<Status, Error> {
    let request = args.input.request();
    let recording = recorded::record(warpline_api::load(&request)?, console)?;
    let verification = match args.no_verify || recording.scheduled {
        true => None,
        false => Some(super::verify::one(&request.for_proof(), &Default::default(), console)?),
    };
    let bar = Bar::spinner(console.look.progress, format!("writing the page of {}", recording.name));
    let text = page_of(&request, &recording, verification.as_ref())?;
    drop(bar);
    output::write(console, &args.output, text.as_bytes())?;
    Ok(verification.map_or(recording.status, |v| recording.status.and(v.status())))
}

/// The page of a run, with its claims, and with its verdict and counterexample where there is a verification.
pub(crate) fn page_of(request: &Request, run: &Recording, verified: Option<&Verification>) -> Result<String, Error> {
    let counterexample = verified.map_or(Ok(None), |v| replayed(request, v))?;
    page(run, &run.claims(request)?, verified, counterexample.as_ref())
}

/// The fault in time: a run of the kernel at the faulty trip count, which follows the schedule to the fault.
fn replayed(request: &Request, v: &Verification) -> Result<Option<Counterexample>, Error> {
    let (Some(witness), Some(program)) = (&v.witness, &v.faulty) else { return Ok(None) };
    let mut subject = warpline_api::load(request)?;
    subject.program = program.clone();
    subject.schedule = Some(witness.schedule.clone());
    let recording = warpline_api::record(&subject)?;
    let cluster = subject.program.cluster;
    Ok(Some(Counterexample { timeline: recording.timeline, cluster }))
}
