//! `warpline gantt`.

use crate::cli::Gantt;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, load, output};

use super::trace::record;

pub(super) fn gantt(args: &Gantt, console: &mut Console) -> Result<Status, Failure> {
    let format = draw::format(&args.output)?;
    let (ran, timeline) = record(load::load(&args.subject)?, console)?;
    let chart = draw::chart(&timeline, &ran.report, ran.subject.program.cluster, args, format)?;
    output::write(console, &args.output, &chart)?;
    Ok(ran.status())
}
