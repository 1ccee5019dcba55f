//! `warpline whatif`.

use warpline_api::{Error, Status, draw};

use super::run::simulate;
use crate::cli::Whatif;
use crate::console::Console;
use crate::progress::Bar;
use crate::{json_whatif, output, show};

pub(super) fn whatif(args: &Whatif, console: &mut Console) -> Result<Status, Error> {
    let format = args.plot.as_deref().map(draw::format).transpose()?;
    if args.input.schedule.is_some() {
        return Err(Error::new("whatif takes no --schedule: a run that follows a schedule has no time of its own"));
    }
    let simulation = simulate(console, &warpline_api::load(&args.input.request())?)?;
    let bar = Bar::spinner(console.look.progress, format!("scaling the numbers of {}", simulation.subject.name));
    let rows = warpline_api::whatif(&simulation)?;
    drop(bar);
    if let (Some(path), Some(format)) = (&args.plot, format) {
        output::write(console, path, &draw::whatif(&simulation, &rows, format)?)?;
    }
    if args.json {
        console.print(&json_whatif::whatif(&simulation, &rows)?)?;
    } else if !args.quiet {
        console.print(&show::whatif(&simulation, &rows, console.paint()))?;
    }
    Ok(Status::Holds)
}
