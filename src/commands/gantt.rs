//! `warpline gantt`.

use crate::cli::Gantt;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{draw, load, output};

use super::trace::record;

pub(super) fn gantt(args: &Gantt, console: &mut Console) -> Result<Status, Failure> {
    let format = draw::format(&args.output)?;
    let (ran, mut timeline) = record(load::load(&args.subject)?, console)?;
    if let Some(path) = &args.measured {
        let text = load::read(path)?;
        let measured = warpline_calibrate::trace::parse(&text, &ran.subject.program, "device");
        let measured = measured.map_err(|e| Failure::new(format!("`{}`: {e}", path.display())))?;
        timeline = warpline_calibrate::trace::beside(&timeline, &measured, "simulated");
    }
    let chart = draw::chart(&timeline, &ran.report, ran.subject.program.cluster, args, format)?;
    output::write(console, &args.output, &chart)?;
    Ok(ran.status())
}
