//! `warpline run`.

use crate::cli::Run;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::load::{self, Loaded};
use crate::show::{self, Neighbour};
use crate::simulate::simulate;
use crate::{claims, critical, json};

pub(super) fn run(args: &Run, console: &mut Console) -> Result<Status, Failure> {
    let subject = load::load(&args.subject)?;
    if args.quiet {
        return Ok(simulate(console, subject, None)?.status());
    }
    // What keeps to a schedule takes no time of its own, so nothing is compared with it.
    let kept = subject.schedule.is_some();
    let neighbours = if kept { Vec::new() } else { neighbours(args, &subject, console) };
    let ran = simulate(console, subject, None)?;
    let wanted = args.json && !kept;
    let claims = if wanted { claims::evaluate(&ran.subject, Some(&ran.report), &args.subject)? } else { Vec::new() };
    let path = critical::of(&ran);
    if args.json {
        console.print(&json::run(&ran, path.as_ref(), &neighbours, &claims)?)?;
    } else {
        let paint = console.paint();
        if kept {
            console.print(&show::kept(&ran, paint))?;
            return Ok(ran.status());
        }
        console.print(&(show::run(&ran, path.as_ref(), paint) + &show::beside(&ran, &neighbours, paint)))?;
    }
    Ok(ran.status())
}

/// The scenarios this one is compared with. One that cannot be run is a line in the table, not an error.
fn neighbours(args: &Run, this: &Loaded, console: &Console) -> Vec<Neighbour> {
    this.beside
        .iter()
        .filter(|beside| !beside.hidden)
        .map(|beside| {
            let ran = load::load_beside(this, beside, &args.subject).and_then(|s| simulate(console, s, None));
            Neighbour { name: load::label(this, beside), ran: ran.map_err(|f| f.in_a_line()) }
        })
        .collect()
}
