//! `warpline gantt`.

use crate::cli::Gantt;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, output, recorded};

pub(super) fn gantt(args: &Gantt, console: &mut Console) -> Result<Status, Failure> {
    let format = draw::format(&args.output)?;
    let recorded = recorded::open(&args.subject, console)?;
    let chart = draw::chart(&recorded, args, format)?;
    output::write(console, &args.output, &chart)?;
    Ok(recorded.status)
}
