//! `warpline trace`.

use warpline_api::{Error, Status, draw};

use crate::cli::Trace;
use crate::console::Console;
use crate::{output, recorded};

pub(super) fn trace(args: &Trace, console: &mut Console) -> Result<Status, Error> {
    let format = args.format.map_or_else(|| draw::trace_format(&args.output), |f| Ok(f.into()))?;
    let recording = recorded::open(&args.input, console)?;
    output::write(console, &args.output, &draw::trace(&recording.timeline, format)?)?;
    Ok(recording.status)
}
