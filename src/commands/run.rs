//! `warpline run`.

use warpline_api::{Error, Neighbor, Simulation, Status, Subject};

use crate::cli::Run;
use crate::console::Console;
use crate::progress::Bar;
use crate::{json, show};

pub(super) fn run(args: &Run, console: &mut Console) -> Result<Status, Error> {
    let request = args.input.request();
    let subject = warpline_api::load(&request)?;
    if args.quiet {
        return Ok(simulate(console, &subject)?.status());
    }
    // A run that follows a schedule has no time of its own, so nothing is compared with it.
    let scheduled = subject.schedule.is_some();
    let neighbors = if scheduled { Vec::new() } else { neighbors(args, &subject, console) };
    let mut simulation = simulate(console, &subject)?;
    if args.spread {
        let _bar = Bar::spinner(console.look.progress, format!("varying the numbers of {}", subject.machine.name));
        simulation.spread = Some(warpline_api::spread(&simulation)?);
    }
    let claims = if args.json && !scheduled {
        warpline_api::claims(&simulation.subject, Some(&simulation.report), &request)?
    } else {
        Vec::new()
    };
    let path = warpline_api::critical_path(&simulation);
    if args.json {
        console.print(&json::run(&simulation, path.as_ref(), &neighbors, &claims)?)?;
    } else if scheduled {
        console.print(&show::scheduled(&simulation, console.paint()))?;
    } else {
        let paint = console.paint();
        let text = show::run(&simulation, path.as_ref(), paint) + &show::beside(&simulation, &neighbors, paint);
        console.print(&text)?;
    }
    Ok(simulation.status())
}

/// Runs a kernel with a progress bar.
pub(super) fn simulate(console: &Console, subject: &Subject) -> Result<Simulation, Error> {
    let _bar = Bar::spinner(console.look.progress, format!("running {}", subject.name));
    warpline_api::run(subject)
}

/// The runs that the scenario compares itself with. A run that fails is a line of the table, not an error.
fn neighbors(args: &Run, this: &Subject, console: &Console) -> Vec<Neighbor> {
    let request = args.input.request();
    let shown = this.beside.iter().filter(|beside| !beside.hidden);
    let run = |beside| {
        let _bar = Bar::spinner(console.look.progress, format!("running {}", warpline_api::beside_name(this, beside)));
        warpline_api::run_beside(this, beside, &request)
    };
    shown.map(run).collect()
}
