//! `warpline trace`.

use crate::cli::Trace;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, output, recorded};

pub(super) fn trace(args: &Trace, console: &mut Console) -> Result<Status, Failure> {
    let format = draw::trace_format(&args.output, args.format)?;
    let recorded = recorded::open(&args.subject, console)?;
    output::write(console, &args.output, &draw::trace(&recorded.timeline, format)?)?;
    Ok(recorded.status)
}
