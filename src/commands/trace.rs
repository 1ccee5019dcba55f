//! `warpline trace`.

use warpline_api::draw::Window;
use warpline_api::{Error, Status, draw};
use warpline_sim::words::count;

use crate::cli::Trace;
use crate::console::Console;
use crate::{output, recorded};

pub(super) fn trace(args: &Trace, console: &mut Console) -> Result<Status, Error> {
    let format = args.format.map_or_else(|| draw::trace_format(&args.output), |f| Ok(f.into()))?;
    let recording = recorded::open(&args.input, console)?;
    let window = Window { from: args.from, to: args.to, whole: args.whole };
    let part = draw::trace_part(&recording.timeline, window)?;
    if let Some(cycle) = part.cut {
        let name = &recording.name;
        console.error(&format!(
            "note: nothing after cycle {} is written; --from and --to choose another part, `warpline trace {name} --whole` \
             writes all\n",
            count(cycle as i64)
        ))?;
    }
    output::write(console, &args.output, &draw::trace(&part.timeline, format)?)?;
    Ok(recording.status)
}
