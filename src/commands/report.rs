//! `warpline report`.

use warpline_api::{Error, Status, Verification};

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
    let counterexample = verification.as_ref().map_or(Ok(None), |v| replayed(args, v, console))?;
    let claims = recording.claims(&request)?;
    let text = page(&recording, &claims, verification.as_ref(), counterexample.as_ref())?;
    output::write(console, &args.output, text.as_bytes())?;
    Ok(verification.map_or(recording.status, |v| recording.status.and(v.status())))
}

/// The fault in time: a run of the kernel at the faulty trip count, which follows the schedule to the fault.
fn replayed(args: &Report, v: &Verification, console: &Console) -> Result<Option<Counterexample>, Error> {
    let (Some(witness), Some(program)) = (&v.witness, &v.faulty) else { return Ok(None) };
    let mut subject = warpline_api::load(&args.input.request())?;
    subject.program = program.clone();
    subject.schedule = Some(witness.schedule.clone());
    let bar = Bar::spinner(console.look.progress, format!("running {}", subject.name));
    let recording = warpline_api::record(&subject)?;
    drop(bar);
    let cluster = subject.program.cluster;
    Ok(Some(Counterexample { timeline: recording.timeline, cluster }))
}
