//! `warpline gantt`.

use crate::cli::Gantt;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, output, recorded};

pub(super) fn gantt(args: &Gantt, console: &mut Console) -> Result<Status, Failure> {
    let format = draw::format(&args.output)?;
    let (mut a, b) = recorded::both(&args.subject, &args.second, console)?;
    if let Some(path) = &args.measured {
        a.beside_measured(path)?;
    }
    let chart = draw::chart(&a, b.as_ref(), args, format)?;
    output::write(console, &args.output, &chart)?;
    Ok(b.map_or(a.status, |b| a.status.and(b.status)))
}
