//! `warpline gantt`.

use warpline_api::draw::{self, ChartOptions, Format};
use warpline_api::{Error, Recording, Status};

use crate::cli::Gantt;
use crate::console::Console;
use crate::{output, recorded};

pub(super) fn gantt(args: &Gantt, console: &mut Console) -> Result<Status, Error> {
    let format = draw::format(&args.output)?;
    let (mut a, b) = recorded::both(&args.input, &args.second, console)?;
    if let Some(path) = &args.measured {
        a.add_measured(path)?;
    }
    let chart = chart(args, &a, b.as_ref(), format)?;
    output::write(console, &args.output, &chart)?;
    Ok(b.map_or(a.status, |b| a.status.and(b.status)))
}

/// The chart that a command line asks for, of finished runs.
pub(crate) fn chart(args: &Gantt, a: &Recording, b: Option<&Recording>, format: Format) -> Result<Vec<u8>, Error> {
    let remarks = match b {
        Some(b) => [claims(args, "A: ", a)?, claims(args, "B: ", b)?].concat(),
        None => claims(args, "", a)?,
    };
    let options = ChartOptions {
        size: args.size,
        scale: args.scale,
        from: args.from,
        to: args.to,
        whole: args.whole,
        rows: args.roles.clone(),
        ctas: args.ctas,
        marks: args.marks.clone(),
        remarks,
        theme: args.theme.into(),
    };
    draw::chart(a, b, &options, format)
}

/// The results of the scenario's claims, if asked for, each with the run's name before it.
fn claims(args: &Gantt, name: &str, of: &Recording) -> Result<Vec<String>, Error> {
    let claims = if args.claims { of.claims(&args.input.request())? } else { Vec::new() };
    Ok(claims.iter().map(|c| format!("{name}{}", c.sentence())).collect())
}
