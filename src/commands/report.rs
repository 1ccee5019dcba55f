//! `warpline report`.

use crate::cli::{Orders, Proof, Report};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load;
use crate::report::{Counterexample, page};
use crate::verdict::Verified;
use crate::{claims, draw, output, recorded, simulate, verdict};

pub(super) fn report(args: &Report, console: &mut Console) -> Result<Status, Failure> {
    let (ran, timeline) = recorded::record(load::load(&args.subject)?, console)?;
    let kept = ran.subject.schedule.is_some();
    let verified = match args.no_verify || kept {
        true => None,
        false => Some(verdict::verify(
            console,
            &args.subject.scenario,
            (&Proof::of(&args.subject), Orders::default()),
            true,
        )?),
    };
    let counterexample = verified.as_ref().map_or(Ok(None), |v| replayed(args, v, console))?;
    let claims = match kept {
        true => Vec::new(),
        false => claims::evaluate(&ran.subject, Some(&ran.report), &args.subject)?,
    };
    let text = page(&ran, &timeline, &claims, verified.as_ref(), counterexample.as_ref())?;
    output::write(console, &args.output, text.as_bytes())?;
    Ok(verified.map_or(ran.status(), |v| ran.status().and(v.status())))
}

/// The fault in time: the kernel at the trip count that shows it, kept to the schedule that meets it.
fn replayed(args: &Report, v: &Verified, console: &mut Console) -> Result<Option<Counterexample>, Failure> {
    let (Some(witness), Some(program)) = (&v.witness, &v.broken) else { return Ok(None) };
    let mut subject = load::load(&args.subject)?;
    subject.program = program.clone();
    subject.schedule = Some(witness.schedule.clone());
    let mut ran = simulate::simulate(console, subject, Some(draw::SPANS))?;
    let cluster = ran.subject.program.cluster;
    Ok(ran.report.timeline.take().map(|timeline| Counterexample { timeline, cluster }))
}
